"""Decode of several sequences behind one prefix: with its pages shared, and with copies of them.

usage: ./dev bench shared_prefix [--shapes default,1B] [--sequences 16] [--prefixes 2048,8192]
                                 [--quantization q4f16_1] [--threads 2] [--rounds 5] [--json]

`default` is the embedded model, `1B` has Llama 3.2 1B's shape and random weights. The first 1,024
tokens of a prefix are computed, and the others are copies of them. Each round times some steps
without a prefix, which say what a step costs without attention, with pages that all sequences
share, and with pages of their own; medians are printed. The logits of both have to be equal bit by
bit. `at most` is how many times as fast the steps would be if attention were nothing but products,
at the rate of float32 products that the machine has in this run.

The last line of a shape says what it costs to look for shared pages where there are none: steps
behind the shortest prefix, each sequence with pages of its own, by the library and by one whose
attention compares no pages, in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import mlc_core_parts
import numpy as np
from gpu_parts.random_model import random_model
from tvm.tirx.script import builder as T

from mlc_llm.compiler.compile import compile_model
from mlc_llm.compiler.kernels.cpu import paged_attention
from mlc_llm.compiler.machine_limits import products
from mlc_llm.compiler.targets import host
from mlc_llm.prepare.model_source import ResolvedModel, resolve_model

BUILT = Path("build/bench")
STEPS = 8  # in one timing
COST_ROUNDS = 5  # times as many rounds tell differences of 1 %
SHORT = 16  # what stands for an empty history
CHUNK = 512
COMPUTED = 1024  # tokens of a prefix
TOKEN = 7


def model_of(args: argparse.Namespace, shape: str) -> ResolvedModel:
    folder = None if shape == "default" else random_model(shape, args.quantization, BUILT)
    return resolve_model(folder, quantization=args.quantization)


def without_comparing(model: ResolvedModel) -> Path:
    """A library that compares no pages: it takes for granted that nothing is shared."""
    output = (BUILT / f"{model.folder.name}-alone.so").absolute()
    with patch.object(paged_attention, "_emit_shares", lambda call, rows: T.bool(False)):
        compile_model(model.config, output=output)
    return output


class Sequences:
    """One runner with a prefix in sequence 0."""

    def __init__(
        self, args: argparse.Namespace, model: ResolvedModel, longest: int, library: Path
    ) -> None:
        pages = args.sequences * (longest + 2 * STEPS) // 16 + 2 * args.sequences
        self.runner = mlc_core_parts.ModelRunner(
            str(model.folder), str(library), pages, args.threads, model.strips
        )
        self.count, self.length = args.sequences, 0
        vocabulary = self.runner.vocab_size - 1000
        self.text = [int(t) for t in np.random.default_rng(0).integers(20, vocabulary, COMPUTED)]

    def extend(self, length: int) -> None:
        known, end = min(self.length, COMPUTED), min(length, COMPUTED)
        if known > 0:
            self.runner.keep(known)
        for begin in range(known, end, CHUNK):
            self.runner.forward(self.text[begin : min(begin + CHUNK, end)])
        if length > COMPUTED:
            self.runner.repeat(length)
        self.length = length

    def begin(self, shared: bool) -> None:
        self.runner.keep(self.length)
        for child in range(1, self.count):
            if shared:
                self.runner.fork(0, child, self.length)
            else:
                self.runner.copy(0, child)

    def step_ms(self, shared: bool) -> float:
        self.begin(shared)
        self.decode(False)
        begin = time.perf_counter()
        for _ in range(STEPS):
            self.decode(False)
        return (time.perf_counter() - begin) * 1e3 / STEPS

    def decode(self, copy_logits: bool = True) -> bytes | None:
        tokens = [TOKEN + i for i in range(self.count)]
        answer: bytes | None = self.runner.decode(tokens, copy_logits=copy_logits)
        return answer

    def both_equal(self) -> bool:
        found = []
        for shared in (True, False):
            self.begin(shared)
            found.append([self.decode() for _ in range(2)])
        return found[0] == found[1]


def operations(model: ResolvedModel) -> int:
    """Of attention of a row to a position: two for each product."""
    sizes = model.config["model_config"]
    dim = sizes.get("head_dim") or sizes["hidden_size"] // sizes["num_attention_heads"]
    return 4 * int(sizes["num_hidden_layers"] * sizes["num_attention_heads"] * dim)


def measure(args: argparse.Namespace, model: ResolvedModel, shape: str) -> list[dict[str, Any]]:
    lengths = (max(args.prefixes), SHORT)
    long, short = (Sequences(args, model, n, model.model_lib) for n in lengths)
    short.extend(SHORT)
    rows, per_ms = [], 1e-3 * products(host(), args.threads)["float"]
    for prefix in sorted(args.prefixes):
        long.extend(prefix)
        if not long.both_equal():
            raise SystemExit(f"{shape}: shared pages change the logits behind {prefix} tokens")
        times = [(short.step_ms(True), long.step_ms(True), long.step_ms(False))
                 for _ in range(args.rounds)]  # fmt: skip
        base, shared, own = (statistics.median(column) for column in zip(*times, strict=True))
        least = base + args.sequences * prefix * operations(model) / per_ms
        rows.append({"shape": shape, "prefix": prefix, "no_prefix_ms": base, "shared_ms": shared,
                     "own_ms": own, "least_ms": least})  # fmt: skip
    return rows


def measure_nothing_shared(
    args: argparse.Namespace, model: ResolvedModel, shape: str
) -> dict[str, Any]:
    """Medians of steps, in turn, and of the ratios of neighbours."""
    prefix, turns = min(args.prefixes), COST_ROUNDS * args.rounds
    libraries = (model.model_lib, without_comparing(model))
    both = [Sequences(args, model, prefix, library) for library in libraries]
    times: list[list[float]] = [[], []]
    for one in both:
        one.extend(prefix)
    for turn in range(turns):
        for which in (0, 1) if turn % 2 else (1, 0):
            times[which].append(both[which].step_ms(False))
    compares, alone = (statistics.median(column) for column in times)
    ratio = statistics.median(a / b for a, b in zip(*times, strict=True))
    found = {"shape": shape, "prefix": prefix, "ratio": ratio}
    return found | {"compares_ms": compares, "alone_ms": alone}


def main() -> None:
    args = _arguments()
    rows, costs = [], []
    for shape in args.shapes:
        model = model_of(args, shape)
        rows += measure(args, model, shape)
        costs.append(measure_nothing_shared(args, model, shape))
    if args.json:
        print(json.dumps({"shared": rows, "nothing_shared": costs}))
        return
    print(f"{args.sequences} sequences, {args.threads} threads, median of {args.rounds}: ms a step")
    print("model    prefix   without   shared      own   decode   at most   attention alone")
    for r in rows:
        base, shared, own = r["no_prefix_ms"], r["shared_ms"], r["own_ms"]
        print(f"{r['shape']:8} {r['prefix']:6} {base:9.1f} {shared:8.1f} {own:8.1f} "
              f"{own / shared:7.2f}x {own / r['least_ms']:8.2f}x "
              f"{(own - base) / (shared - base):9.2f}x, "
              f"{1 - base / shared:.0%} of the step, was {1 - base / own:.0%}")  # fmt: skip
    for c in costs:
        compares, alone = c["compares_ms"], c["alone_ms"]
        print(f"{c['shape']:8} {c['prefix']:6} nothing shared: {compares:.1f} ms, "
              f"{alone:.1f} if no pages are compared: {c['ratio']:.3f} times")  # fmt: skip


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=lambda t: t.split(","), default=["default", "1B"])
    parser.add_argument("--sequences", type=int, default=16)
    parser.add_argument("--prefixes", type=_prefixes, default=[2048, 8192])
    parser.add_argument("--quantization", default="q4f16_1")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _prefixes(text: str) -> list[int]:
    lengths = [int(length) for length in text.split(",")]
    if any(length <= 0 or length % 16 for length in lengths):
        raise argparse.ArgumentTypeError("whole pages are shared: give multiples of 16")
    return lengths


if __name__ == "__main__":
    main()

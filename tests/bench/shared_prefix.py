"""Decode of several sequences behind one prefix: with its pages shared, and with copies of them.

usage: ./dev bench shared_prefix [--shapes default,1B] [--sequences 16] [--prefixes 2048,8192]
                                 [--quantization q4f16_1] [--threads 2] [--rounds 5] [--json]

`default` is the embedded model, `1B` has Llama 3.2 1B's shape and random weights. Each round times
some steps without a prefix, which say what a step costs without attention, with pages that all
sequences share, and with pages of their own; medians are printed. The logits of both have to be
equal bit by bit.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

import mlc_core_parts
import numpy as np
from gpu_parts.random_model import random_model

from mlc_llm.prepare.model_source import resolve_model

STEPS = 8  # in one timing
SHORT = 16  # what stands for an empty history
CHUNK = 512
TOKEN = 7


class Sequences:
    """One runner with a prefix in sequence 0."""

    def __init__(self, args: argparse.Namespace, shape: str, longest: int) -> None:
        folder = None
        if shape != "default":
            folder = random_model(shape, args.quantization, Path("build/bench"))
        model = resolve_model(folder, quantization=args.quantization)
        pages = args.sequences * (longest + 2 * STEPS) // 16 + 2 * args.sequences
        self.runner = mlc_core_parts.ModelRunner(
            str(model.folder), str(model.model_lib), pages, args.threads
        )
        self.count, self.length = args.sequences, 0
        vocabulary = self.runner.vocab_size - 1000
        self.text = [int(t) for t in np.random.default_rng(0).integers(20, vocabulary, longest)]

    def extend(self, length: int) -> None:
        for begin in range(self.length, length, CHUNK):
            self.runner.forward(self.text[begin : min(begin + CHUNK, length)])
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


def measure(args: argparse.Namespace, shape: str) -> list[dict[str, Any]]:
    long, short = Sequences(args, shape, max(args.prefixes)), Sequences(args, shape, SHORT)
    short.extend(SHORT)
    rows = []
    for prefix in sorted(args.prefixes):
        long.extend(prefix)
        if not long.both_equal():
            raise SystemExit(f"{shape}: shared pages change the logits behind {prefix} tokens")
        times = [(short.step_ms(True), long.step_ms(True), long.step_ms(False))
                 for _ in range(args.rounds)]  # fmt: skip
        base, shared, own = (statistics.median(column) for column in zip(*times, strict=True))
        rows.append({"shape": shape, "prefix": prefix, "no_prefix_ms": base, "shared_ms": shared,
                     "own_ms": own})  # fmt: skip
    return rows


def main() -> None:
    args = _arguments()
    rows = [row for shape in args.shapes for row in measure(args, shape)]
    if args.json:
        print(json.dumps(rows))
        return
    print(f"{args.sequences} sequences, {args.threads} threads, median of {args.rounds}: ms a step")
    print("model    prefix   without   shared      own   decode   attention alone")
    for r in rows:
        base, shared, own = r["no_prefix_ms"], r["shared_ms"], r["own_ms"]
        print(f"{r['shape']:8} {r['prefix']:6} {base:9.1f} {shared:8.1f} {own:8.1f} "
              f"{own / shared:7.2f}x {(own - base) / (shared - base):9.2f}x, "
              f"{1 - base / shared:.0%} of the step, was {1 - base / own:.0%}")  # fmt: skip


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=lambda t: t.split(","), default=["default", "1B"])
    parser.add_argument("--sequences", type=int, default=16)
    parser.add_argument(
        "--prefixes", type=lambda t: [int(n) for n in t.split(",")], default=[2048, 8192]
    )
    parser.add_argument("--quantization", default="q4f16_1")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()

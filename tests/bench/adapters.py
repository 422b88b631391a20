"""What LoRA adapters of requests cost: decode and prompts, with and without them.

usage: ./dev bench adapters [--shapes default,1B] [--rank 16] [--rounds 5] [--tokens 24]
                            [--prompts 64,256,512] [--batches 1,8] [--pairs 40]
                            [--quantization q4f16_1] [--peer] [--json]

`default` is the embedded model, `1B` has Llama 3.2 1B's shape and random weights. Four random
adapters of all linear layers are loaded. Each round runs, in turn, a library without adapters,
plain requests, one adapter, and four adapters over the rows of a batch; the medians of the ratios
to the first one are printed. Beside them is the limit of this machine: for a decode the adapters'
bytes beside those of the weights, for a prompt the time of their products at the rate of
multiply-adds on registers alone.

`--pairs`: that many short decodes of a library without adapters and of plain rows while four are
loaded, in turn; the median of the ratios, and an interval that holds it with 95 %. `--peer`:
llama.cpp with and without `--lora`, on GGUF files of the same shape (4 bits, adapter in float16).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from gpu_parts.random_model import random_model
from safetensors.numpy import save_file

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import resolve_model

ADAPTERS = 4
WAYS = ("library without", "plain rows", "one adapter", "four adapters")


def sizes_of(config: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """The outputs and inputs of the linear layers of a Llama's layer."""
    hidden, wide = config["hidden_size"], config["intermediate_size"]
    heads = config["num_attention_heads"]
    dim = config.get("head_dim") or hidden // heads
    queries, keys = heads * dim, config.get("num_key_value_heads", heads) * dim
    return {
        "self_attn.q_proj": (queries, hidden), "self_attn.k_proj": (keys, hidden),
        "self_attn.v_proj": (keys, hidden), "self_attn.o_proj": (hidden, queries),
        "mlp.gate_proj": (wide, hidden), "mlp.up_proj": (wide, hidden),
        "mlp.down_proj": (hidden, wide),
    }  # fmt: skip


def write_adapter(folder: Path, config: dict[str, Any], rank: int, seed: int) -> Path:
    """PEFT's folder for a Llama of that config."""
    rng, tensors = np.random.default_rng(seed), {}
    for layer in range(config["num_hidden_layers"]):
        for name, (outs, ins) in sizes_of(config).items():
            place = f"base_model.model.model.layers.{layer}.{name}"
            a, b = rng.standard_normal((rank, ins)), rng.standard_normal((outs, rank))
            tensors[f"{place}.lora_A.weight"] = (a / ins**0.5).astype(np.float32)
            tensors[f"{place}.lora_B.weight"] = (1e-3 * b).astype(np.float32)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "adapter_model.safetensors")
    about = {"peft_type": "LORA", "r": rank, "lora_alpha": rank}
    (folder / "adapter_config.json").write_text(json.dumps(about))
    return folder


class Engines:
    """One without adapters, and one with four of them."""

    def __init__(self, args: argparse.Namespace, shape: str, stack: ExitStack) -> None:
        model: Any = None
        if shape != "default":
            model = random_model(shape, args.quantization, Path("build/bench"))
        self.args = args
        settings = {"prefix_cache_mode": "disable", "max_num_sequence": max(args.batches)}
        room = {"lora_ranks": (ADAPTERS + 1) * args.rank}  # one is replaced
        quantization = args.quantization if shape == "default" else None

        def engine(**more: Any) -> MLCEngine:
            made = MLCEngine(
                model, device="cpu", quantization=quantization, engine_config=settings | more
            )
            return stack.enter_context(made)

        self.without, self.engine = engine(), engine(**room)
        folder = resolve_model(model, quantization=quantization).folder
        self.weight_bytes = sum(file.stat().st_size for file in folder.glob("params_shard*"))
        self.config = json.loads((folder / "mlc-chat-config.json").read_text())["model_config"]
        self.load_ms = []
        for index in range(ADAPTERS):
            path = write_adapter(
                Path(f"build/bench/adapters/{shape}-{index}"), self.config, args.rank, index
            )
            self.engine.load_adapter(str(index), path)  # the first time it is converted
            begin = time.perf_counter()
            self.engine.load_adapter(str(index), path)
            self.load_ms.append((time.perf_counter() - begin) * 1e3)

    def run(self, way: str, batch: int, prompt: int, tokens: int) -> float:
        """Tokens a second, of the prompt or of one answer of the batch."""
        engine = self.without if way == WAYS[0] else self.engine
        count = {"one adapter": 1, "four adapters": ADAPTERS}.get(way, 0)

        def ask(row: int) -> float:
            words = " ".join(str((7 * row + 13 * i) % 10) for i in range(prompt // 2))
            made: Any = engine.chat.completions.create(
                messages=[{"role": "user", "content": words}], max_tokens=tokens, temperature=0,
                usage_extra=True, debug_config={"ignore_eos": True},
                lora=str(row % count) if count else None,
            )  # fmt: skip
            extra = made.usage.extra
            return float(extra.decode_tokens_per_s if tokens > 1 else extra.prefill_tokens_per_s)

        with ThreadPoolExecutor(batch) as pool:
            return statistics.mean(pool.map(ask, range(batch)))

    def compare(self, what: str, batch: int, prompt: int, tokens: int) -> list[dict[str, Any]]:
        ways = [way for way in WAYS if batch > 1 or way != "four adapters"]
        speeds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(self.args.rounds):
            for way in ways:
                speeds[way].append(self.run(way, batch, prompt, tokens))
        rows = []
        for way in ways:
            ratios = [base / own for base, own in zip(speeds[WAYS[0]], speeds[way], strict=True)]
            rows.append({"what": what, "way": way, "tokens_per_s": statistics.median(speeds[way]),
                         "cost": statistics.median(ratios) - 1})  # fmt: skip
            count = {"one adapter": 1, "four adapters": ADAPTERS}.get(way)
            if count:
                speed = statistics.median(speeds[WAYS[0]])
                rows[-1]["limit"] = self.limit(count, speed if tokens == 1 else None)
        return rows

    def limit(self, count: int, prompt_tokens_per_s: float | None) -> float:
        """What adapters cost at least: of a decode, which reads `count` of them, or of a prompt."""
        sizes = sizes_of(self.config).values()
        weights = self.args.rank * sum(map(sum, sizes)) * self.config["num_hidden_layers"]
        if prompt_tokens_per_s is None:
            # floats of 16 bits, or codes of 8 bits and scales beside a base of integers
            each = 2 if (self.args.quantization or "").startswith("q0") else 1.125
            return each * count * weights / self.weight_bytes
        return 2 * weights * prompt_tokens_per_s / multiply_add_rate()

    def pairs(self, count: int) -> list[dict[str, Any]]:
        """Plain rows beside a library without adapters, one after the other, in either order."""
        ratios = []
        for turn in range(count):
            ways = WAYS[:2] if turn % 2 else WAYS[1::-1]
            speeds = {way: self.run(way, 1, 16, 8) for way in ways}
            ratios.append(speeds[WAYS[0]] / speeds[WAYS[1]] - 1)
        low, high = interval_of_median(sorted(ratios))
        return [{"what": f"{count} pairs", "way": "plain rows", "cost": statistics.median(ratios),
                 "low": low, "high": high}]  # fmt: skip


@cache
def multiply_add_rate() -> float:
    """Of registers alone, in operations a second; a multiply-add is two."""
    import pictures

    sys.path.append(str(pictures.SUPPORT))
    operations, run = pictures.peak()
    return operations / min(pictures.seconds(run) for _ in range(3))


def interval_of_median(ascending: list[float]) -> tuple[float, float]:
    """The values between which the median is with 95 %, by the binomial distribution of ranks."""
    n = len(ascending)
    below, rank = 0.5**n, 0
    while below <= 0.025 and rank < n // 2:
        rank += 1
        below += math.comb(n, rank) * 0.5**n
    return ascending[max(rank - 1, 0)], ascending[min(n - rank, n - 1)]


def measure(args: argparse.Namespace, shape: str) -> list[dict[str, Any]]:
    with ExitStack() as stack:
        engines = Engines(args, shape, stack)
        rows = [{"what": "load", "way": f"rank {args.rank}",
                 "ms": statistics.median(engines.load_ms)}]  # fmt: skip
        rows += engines.pairs(args.pairs) if args.pairs else []
        for batch in args.batches:
            rows += engines.compare(f"decode of {batch}", batch, 16, args.tokens)
        for prompt in args.prompts:
            rows += engines.compare(f"prompt of {prompt}", 1, prompt, 1)
    if args.peer:  # when our engines are gone
        from adapter_parts import beside

        rows += beside.rows(
            shape, engines.config, sizes_of(engines.config), rank=args.rank, rounds=args.rounds,
            threads=os.cpu_count() or 1, tokens=args.tokens, prompts=args.prompts,
            batches=args.batches,
        )  # fmt: skip
    return [{"shape": shape, **row} for row in rows]


def shown(row: dict[str, Any]) -> str:
    number = "ms" if "ms" in row else "tokens_per_s"
    unit = {"ms": "ms", "tokens_per_s": "tok/s"}[number]
    said = f"{row[number]:9.1f} {unit:5}" if number in row else " " * 15
    said += f" {100 * row['cost']:+7.1f} %" if "cost" in row else ""
    said += f" (limit {100 * row['limit']:.1f} %)" if "limit" in row else ""
    said += f" ({100 * row['low']:+.1f} to {100 * row['high']:+.1f} %)" if "low" in row else ""
    return f"{row['shape']:8} {row['what']:14} {row['way']:22} {said}"


def main() -> None:
    args = _arguments()
    rows = []
    for shape in args.shapes:
        made = measure(args, shape)
        rows += made
        if not args.json:
            print("\n".join(map(shown, made)), flush=True)
    if args.json:
        print(json.dumps(rows))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    numbers: Any = {"type": lambda text: [int(n) for n in text.split(",")]}
    parser.add_argument("--shapes", type=lambda t: t.split(","), default=["default", "1B"])
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--batches", **numbers, default=[1, 8])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--prompts", **numbers, default=[64, 256, 512])
    parser.add_argument("--pairs", type=int, default=40, help="0: none")
    parser.add_argument("--quantization", default="q4f16_1")
    parser.add_argument("--peer", action="store_true", help="llama.cpp too, built for this machine")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()

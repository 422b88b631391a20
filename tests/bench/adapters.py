"""What LoRA adapters of requests cost: decode and prompts, with and without them.

usage: ./dev bench adapters [--shapes default,1B] [--rank 16] [--rounds 5] [--tokens 24]
                            [--prompt 512] [--batches 1,8] [--quantization q4f16_1] [--json]

`default` is the embedded model, `1B` has Llama 3.2 1B's shape and random weights. Four random
adapters of all linear layers are loaded. Each round runs, in turn, a library without adapters,
plain requests, one adapter, and four adapters over the rows of a batch; the medians of the ratios
to the first one are printed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from gpu_parts.random_model import random_model
from safetensors.numpy import save_file

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import resolve_model

ADAPTERS = 4
WAYS = ("library without", "plain rows", "one adapter", "four adapters")


def write_adapter(folder: Path, config: dict[str, Any], rank: int, seed: int) -> Path:
    """PEFT's folder for a Llama of that config."""
    hidden, wide = config["hidden_size"], config["intermediate_size"]
    heads = config["num_attention_heads"]
    dim = config.get("head_dim") or hidden // heads
    queries, keys = heads * dim, config.get("num_key_value_heads", heads) * dim
    sizes = {
        "self_attn.q_proj": (queries, hidden), "self_attn.k_proj": (keys, hidden),
        "self_attn.v_proj": (keys, hidden), "self_attn.o_proj": (hidden, queries),
        "mlp.gate_proj": (wide, hidden), "mlp.up_proj": (wide, hidden),
        "mlp.down_proj": (hidden, wide),
    }  # fmt: skip
    rng, tensors = np.random.default_rng(seed), {}
    for layer in range(config["num_hidden_layers"]):
        for name, (outs, ins) in sizes.items():
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
        config = json.loads((folder / "mlc-chat-config.json").read_text())["model_config"]
        self.load_ms = []
        for index in range(ADAPTERS):
            path = write_adapter(
                Path(f"build/bench/adapters/{shape}-{index}"), config, args.rank, index
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
        return rows


def measure(args: argparse.Namespace, shape: str) -> list[dict[str, Any]]:
    with ExitStack() as stack:
        engines = Engines(args, shape, stack)
        rows = [{"what": "load", "way": f"rank {args.rank}",
                 "ms": statistics.median(engines.load_ms)}]  # fmt: skip
        for batch in args.batches:
            rows += engines.compare(f"decode of {batch}", batch, 16, args.tokens)
        rows += engines.compare(f"prompt of {args.prompt}", 1, args.prompt, 1)
    return [{"shape": shape, **row} for row in rows]


def main() -> None:
    args = _arguments()
    rows = [row for shape in args.shapes for row in measure(args, shape)]
    if args.json:
        print(json.dumps(rows))
        return
    for r in rows:
        said = f"{r['ms']:9.1f} ms" if "ms" in r else f"{r['tokens_per_s']:9.1f} tok/s"
        cost = f"{100 * r['cost']:+7.1f} %" if "cost" in r else ""
        print(f"{r['shape']:8} {r['what']:14} {r['way']:16} {said} {cost}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=lambda t: t.split(","), default=["default", "1B"])
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--batches", type=lambda t: [int(n) for n in t.split(",")], default=[1, 8])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--quantization", default="q4f16_1")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()

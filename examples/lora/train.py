"""Trains a LoRA adapter that writes orders as JSON in the house's style, on a CPU, in minutes.

    python train.py default --output style [--minutes 8]
    python score.py default [--lora style]

The last layers get factors of rank 8 (arXiv 2106.09685), trained by Adam on the answers of
`orders.py`. The folder has the form of PEFT's.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from llama import FUSED, Array, Linear, Llama, Shape
from orders import LEARNT, messages, orders
from safetensors.numpy import save_file

from mlc_llm.compiler.calibrate import floats_of
from mlc_llm.compiler.convert import open_source
from mlc_llm.prepare.model_source import read_chat_config, resolve_model, resolve_source
from mlc_llm.sdk.core_engine import CoreEngine

END = "<|im_end|>"


class Adam:
    def __init__(self, linears: list[Linear]) -> None:
        self.linears, self.steps = linears, 0
        self.means = [[np.zeros((2, *f.shape), np.float32) for f in one.factors] for one in linears]

    def step(self, rate: float) -> None:
        self.steps += 1
        scale = rate * math.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        for linear, means in zip(self.linears, self.means, strict=True):
            for factor, mean, grad in zip(linear.factors, means, linear.grads, strict=True):
                mean[0] += 0.1 * (grad - mean[0])
                mean[1] += 0.001 * (grad * grad - mean[1])
                factor -= scale * mean[0] / (np.sqrt(mean[1]) + 1e-8)


def tokens_of(model: Any, examples: list[tuple[str, str]]) -> tuple[Array, Array]:
    """Tokens (texts, longest), and the one to learn behind each: those of the answers."""
    texts = []
    engine = CoreEngine(
        model, model_lib=None, device="cpu", mode="local", quantization=None, engine_config={}
    )
    with closing(engine):

        def ids(text: str) -> list[int]:
            return list(json.loads(engine.call("tokenize", {"text": text}))["tokens"])

        for text, answer in examples:
            rendered = json.loads(engine.call("render", {"messages": messages(text)}))
            texts.append((ids(rendered["prompt"]), ids(answer + END)))
    longest = max(len(prompt) + len(answer) for prompt, answer in texts) - 1
    tokens, wanted = np.zeros((2, len(texts), longest), np.int64)
    wanted -= 1
    for row, (prompt, answer) in enumerate(texts):
        whole = prompt + answer
        tokens[row, : len(whole) - 1] = whole[:-1]
        wanted[row, len(prompt) - 1 : len(whole) - 1] = answer
    return tokens, wanted


def write(folder: Path, model: Llama, rank: int, alpha: float) -> None:
    tensors = {}
    for place, linear in model.linears().items():
        layer, name = place.split(".", 3)[:3], place.split(".", 3)[3]
        for part, a, b in zip(FUSED[name], linear.a, linear.b, strict=True):
            module = f"base_model.model.{'.'.join(layer)}.{part}"
            tensors |= {f"{module}.lora_A.weight": a, f"{module}.lora_B.weight": b}
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": rank, "lora_alpha": alpha}
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="a Llama: a Hugging Face folder, a .gguf file, or 'default'")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--alpha", type=float, default=16)
    parser.add_argument("--layers", type=int, default=8, help="the last ones, which have factors")
    parser.add_argument("--orders", type=int, default=240)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=8)
    args = parser.parse_args()
    begin = time.monotonic()
    name = None if args.model == "default" else args.model
    tokens, wanted = tokens_of(name, orders(LEARNT, args.orders, 1))
    source = resolve_source(args.model)
    weights = {k: v.numpy() for k, v in floats_of(open_source(source), None).items()}
    shape = Shape.of(read_chat_config(resolve_model(name).folder)["model_config"])
    first = shape.layers - args.layers
    model = Llama(weights, shape, first, args.rank, args.alpha / args.rank)
    parts = range(0, len(tokens), args.batch)
    states = np.concatenate([model.below(tokens[i : i + args.batch]) for i in parts])
    print(f"{tokens.size} tokens read, {time.monotonic() - begin:.0f} s", flush=True)
    adam, chance = Adam(list(model.linears().values())), np.random.default_rng(1)
    start, left = time.monotonic(), 60 * args.minutes - (time.monotonic() - begin)
    for epoch in range(args.epochs):
        order, losses = chance.permutation(len(tokens)), []
        for i in parts:
            passed = (time.monotonic() - start) / left
            done = max((epoch + i / len(tokens)) / args.epochs, passed)
            if done >= 1:
                break
            chosen = order[i : i + args.batch]
            losses.append(model.learn(states[chosen], wanted[chosen]))
            adam.step(args.rate * 0.5 * (1 + math.cos(math.pi * done)))
        if losses:
            seconds = time.monotonic() - begin
            print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, {seconds:.0f} s", flush=True)
    write(args.output, model, args.rank, args.alpha)


if __name__ == "__main__":
    main()

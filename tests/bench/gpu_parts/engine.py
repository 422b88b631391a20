"""Steps of the whole engine on a device, beside the time that their kernels take."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from gpu_parts.random_model import random_model
from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import resolve_model

DEFAULT = "135M"  # the embedded model; the others' weights are random


def decode_step_seconds(
    device: str,
    model: str,
    quantization: str,
    batches: list[int],
    history: int,
    *,
    tokens: int = 32,
    models: Path,
    opt: str,
) -> dict[int, float]:
    """Behind about `history` tokens: a decode step by its number of sequences. `models` is where a
    random model is kept."""
    folder = None if model == DEFAULT else random_model(model, quantization, models)
    found = resolve_model(folder, device=device, quantization=quantization, opt=opt, progress=print)
    return step_seconds(found.folder, found.model_lib, device, batches, history, tokens)


def step_seconds(
    folder: Path, library: Path, device: str, batches: list[int], history: int, tokens: int = 32
) -> dict[int, float]:
    settings = {"max_num_sequence": max(batches)}
    found = {}
    with MLCEngine(
        folder, model_lib=library, device=device, mode="server", engine_config=settings
    ) as engine:
        for batch in batches:
            engine.reset()
            _answer_together(engine, batch, history, tokens)
            times = engine.metrics()["decode_time_by_batch_size"]
            if (seconds := times.get(f"mean{{batch_size={batch}}}")) is not None:
                found[batch] = seconds
    return found


def shares(steps: dict[int, float], kernels: dict[str, Any]) -> dict[str, Any]:
    """How much of a decode step is not kernels, and what comes out."""
    return {
        str(batch): {
            "seconds": seconds,
            "tokens_per_s": batch / seconds,
            "outside_kernels": max(0.0, 1 - kernels[f"decode of {batch}"]["seconds"] / seconds),
        }
        for batch, seconds in steps.items()
    }


def _answer_together(engine: MLCEngine, batch: int, history: int, tokens: int) -> None:
    """Answers so long that the last prompt is read before the first one ends."""
    with ThreadPoolExecutor(batch) as pool:
        list(pool.map(lambda i: _answer(engine, i, history, tokens + batch), range(batch)))


def _answer(engine: MLCEngine, number: int, history: int, tokens: int) -> None:
    engine.completions.create(
        prompt=f"{number} " + "one two three four " * (history // 4),  # of a token each
        max_tokens=tokens,
        temperature=0,
        debug_config={"ignore_eos": True},
    )

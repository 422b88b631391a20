"""Steps of the whole engine on a device, beside the time that their kernels take."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from mlc_llm import MLCEngine
from mlc_llm.model_source import resolve_model


def decode_step_seconds(
    device: str, quantization: str, batches: list[int], history: int
) -> dict[int, float]:
    """Of the default model, behind about `history` tokens: a decode step by its sequences."""
    model = resolve_model(None, device=device, quantization=quantization, progress=print)
    found = {}
    with MLCEngine(model.folder, model_lib=model.model_lib, device=device) as engine:
        for batch in batches:
            engine.reset()
            with ThreadPoolExecutor(batch) as pool:
                list(pool.map(lambda i: _answer(engine, i, history), range(batch)))
            times = engine.metrics()["decode_time_by_batch_size"]
            if (seconds := times.get(f"mean{{batch_size={batch}}}")) is not None:
                found[batch] = seconds
    return found


def _answer(engine: MLCEngine, number: int, history: int) -> None:
    engine.completions.create(
        prompt=f"{number} " + "one two three four " * (history // 4),  # of a token each
        max_tokens=32,
        temperature=0,
        debug_config={"ignore_eos": True},
    )

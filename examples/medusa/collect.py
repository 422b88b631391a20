"""The model's own answers to questions, and the hidden states with which it wrote them."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from mlc_llm import MLCEngine
from mlc_llm.compiler.calibrate import CHUNK, FloatModel, float_module, floats_of
from mlc_llm.compiler.convert import open_source

AT_ONCE = 16  # answers
Array = np.ndarray[Any, Any]
Answer = tuple[list[int], list[int]]  # the tokens of a prompt, and those that follow


def answers(engine: MLCEngine, questions: list[str], tokens: int, seconds: float) -> list[Answer]:
    """Of the questions that are answered in time, without chance."""
    found: dict[tuple[int, ...], list[int]] = {}
    end = time.monotonic() + seconds

    def keep(prompt: list[int], answer: list[int], logits: memoryview) -> None:
        found[tuple(prompt)] = answer

    def ask(question: str) -> None:
        if time.monotonic() < end:
            engine.chat.completions.create(
                messages=[{"role": "user", "content": question}],
                temperature=0,
                max_tokens=tokens,
                logit_processor="keep",
            )

    engine.set_logit_processor("keep", keep)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(ask, questions))
    engine.set_logit_processor("keep", None)
    return [(list(prompt), answer) for prompt, answer in found.items()]


class HiddenStates:
    """Of a model's source, computed in float32."""

    def __init__(self, source: Path) -> None:
        opened = open_source(source)
        self._model = FloatModel(float_module(opened, None), floats_of(opened, None))

    def of(self, ids: list[int]) -> Array:
        """float32 (tokens, hidden)."""
        self._model.restart()
        chunks = range(0, len(ids), CHUNK)
        return np.concatenate(
            [
                self._model.read(ids[begin : begin + CHUNK], result="hidden_states").copy()
                for begin in chunks
            ]
        )

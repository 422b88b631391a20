"""Rows behind 32,768 tokens, of a Qwen 3 and of a Gemma 3 with windows: their logits are NumPy's,
with each precision of pages (--long)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlc_core_parts
import numpy as np
import pytest
import tiny_models
from fixture_models import FixtureModel, tiny_families

from mlc_llm.compiler import reference
from mlc_llm.compiler.compile import compile_model, read_chat_config

LENGTH, CHUNK, ROWS = 32768, 2048, 8  # the last rows are decoded one by one
# How far logits may be from NumPy's, as a share of the largest; of q8: `NEAR` of test_q8_engine.py.
PRECISIONS = {"f32": 1e-3, "f16": 1e-3, "q8": 2e-2}
MODELS: dict[str, dict[str, Any]] = {
    "qwen3": {"num_hidden_layers": 2},
    "gemma3_text": {"num_hidden_layers": 2, "sliding_window": 512},
}


@pytest.mark.parametrize("name", MODELS)
def test_logits_behind_32k_tokens(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("NumPy takes minutes; run with --long")
    norm_mean = 0 if name.startswith("gemma") else 1
    model = FixtureModel(name, norm_mean, max_position_embeddings=LENGTH, **MODELS[name])
    ids = [int(i) for i in np.random.default_rng(3).integers(3, len(tiny_models.tokens()), LENGTH)]
    params = tiny_families.converted(tiny_families.Source(model.weights), model.config)
    expected = reference.logits(model.family.decoder(model.typed), params, ids)[-ROWS:]
    folder = model.written(tmp_path)
    for dtype, near in PRECISIONS.items():
        library = tmp_path / f"{dtype}.so"
        compile_model(read_chat_config(folder), output=library, device="cpu", kv_cache_dtype=dtype)
        found = _last_logits(folder, library, ids)
        off = np.abs(found - expected).max() / np.abs(expected).max()
        assert off < near, (dtype, off)
        print(f"{name} {dtype}: {off:.1e}")


def _last_logits(folder: Path, library: Path, ids: list[int]) -> np.ndarray:
    runner = mlc_core_parts.ModelRunner(str(folder), str(library), LENGTH // 16, 2)
    for begin in range(0, LENGTH - ROWS, CHUNK):
        runner.forward(ids[begin : min(begin + CHUNK, LENGTH - ROWS)])
    rows = [np.frombuffer(runner.forward([token]), np.float32) for token in ids[-ROWS:]]
    return np.stack(rows)

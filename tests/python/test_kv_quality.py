"""What the KV cache costs at 8 bits: the perplexity of the default model (--long)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

TOKENS = 8000
PAGES = 512  # of 16 tokens


def test_q8_costs_less_than_a_thousandth_on_8000_tokens(request: pytest.FixtureRequest) -> None:
    """In one piece, with float weights, beside a cache of float32."""
    if not request.config.getoption("--long"):
        pytest.skip("reads 8,000 tokens twice; run with --long")
    import quality
    from cpu_parts import text
    from mlc_core_parts import Tokenizer

    from mlc_llm.prepare.model_source import resolve_model

    found = {}
    for dtype in ("f32", "q8"):
        model = resolve_model(
            None, quantization="q0f32", kv_cache_dtype=dtype, progress=lambda _: None
        )
        tokenizer = Tokenizer((model.folder / "tokenizer.json").read_text(encoding="utf-8"))
        ids = tokenizer.encode(text.quality_text(), add_special_tokens=True)[:TOKENS]
        assert len(ids) == TOKENS
        forward = quality.core_forward(model, num_pages=PAGES)
        found[dtype] = quality.perplexity(forward, ids)
    assert found["q8"] / found["f32"] < 1.001, found
    assert found["q8"] != found["f32"]

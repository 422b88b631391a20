"""MLC-LLM's model keys: each is a family or refused with its reason, and the page says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlc_llm.compiler import models
from mlc_llm.compiler.models import mlc_keys
from mlc_llm.errors import UnsupportedError

PAGE = Path(__file__).parents[3] / "docs/model-keys.md"


def test_the_page_is_current():
    assert len(set(mlc_keys.KEYS)) == 47
    assert PAGE.read_text(encoding="utf-8") == mlc_keys.table(models.FAMILIES)


@pytest.mark.parametrize("key", [key for key in mlc_keys.KEYS if key not in models.FAMILIES])
def test_a_refused_key_says_why(key):
    with pytest.raises(UnsupportedError) as caught:
        models.config_from_hf({"model_type": key})
    assert caught.value.param == "model_type"
    assert mlc_keys.REASONS[key] in str(caught.value)

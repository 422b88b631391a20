"""Libraries that files of these tests share: each takes seconds to compile, and more to load."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from gpu_engines import LibraryOf, compiled

from mlc_llm.prepare.model_source import ResolvedModel


@pytest.fixture(scope="session")
def tiny_on(tiny_model: ResolvedModel, library_of: LibraryOf) -> Callable[[str], ResolvedModel]:
    """`tiny_on(device)`: the small model with a library for it that computes in floats; prompts of
    more than 32 tokens come in chunks."""

    @cache
    def on(device: str) -> ResolvedModel:
        overrides = "prefill_chunk_size=32"
        return compiled(tiny_model.folder, library_of, device=device, overrides=overrides)

    return on

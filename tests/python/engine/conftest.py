"""Libraries that files of these tests share: each takes seconds to compile, and more to load."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from filelock import FileLock
from gpu_engines import compiled

from mlc_llm.model_source import ResolvedModel, resolve_model


@pytest.fixture(scope="session")
def tiny_on(tiny_model: ResolvedModel, shared_folder: Path) -> Callable[[str], ResolvedModel]:
    """`tiny_on(device)`: the small model with a library for it that computes in floats; prompts of
    more than 32 tokens come in chunks."""

    @cache
    def on(device: str) -> ResolvedModel:
        library = shared_folder / f"{device}.so"
        with FileLock(f"{library}.lock"):  # another process may be at it
            if not library.exists():
                compiled(
                    tiny_model.folder, library, device=device, overrides="prefill_chunk_size=32"
                )
        return resolve_model(
            tiny_model.folder, device=device, model_lib=library, progress=lambda _: None
        )

    return on

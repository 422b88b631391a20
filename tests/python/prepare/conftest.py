"""A home for each test, a small model in two forms, a hub, and a stand-in for the compiler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny_models
from fake_hub import FakeHub, serve

from mlc_llm.compiler.trailer import trailer
from mlc_llm.errors import (
    InternalError,
)
from mlc_llm.prepare import jit_cache


@pytest.fixture
def own_home(tmp_path, monkeypatch):
    """Every test has its own cache, and nobody's settings."""
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "home"))
    for name in ("MLC_JIT_POLICY", "MLC_DOWNLOAD_CACHE_POLICY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")


@pytest.fixture(scope="module")
def hf_folder(tmp_path_factory):
    return tiny_models.write_hf_folder(tmp_path_factory.mktemp("hf"), tiny_models.random_weights())


@pytest.fixture
def prepared(hf_folder, tmp_path):
    """A small `-MLC` folder."""
    from mlc_llm.compiler.convert import convert_model, open_source

    output = tmp_path / "tiny-MLC"
    convert_model(open_source(hf_folder), output, quantization="q4f32_1")
    return output


@pytest.fixture
def compiler(monkeypatch):
    """Stands in for the child that compiles: writes the body it is told to, and counts its runs."""

    class Compiler:
        runs: list[dict] = []
        body = b"library" + trailer(b"library")

        def __call__(self, job, title, steps, **others):
            if job["kind"] == "convert":
                return real(job, title, steps, **others)
            self.runs.append(job | {"config": json.loads(Path(job["config"]).read_text())})
            if not self.body:
                raise InternalError("nothing works", code="compile_failed")
            Path(job["output"]).write_bytes(self.body)

    real = jit_cache.run_job
    made = Compiler()
    made.runs = []
    monkeypatch.setattr(jit_cache, "run_job", made)
    return made


@pytest.fixture
def hub(hf_folder, monkeypatch):
    """An ordinary repository on the loopback hub, with files that a model does not need."""
    files = {path.name: path.read_bytes() for path in hf_folder.iterdir()}
    extra = {"README.md": b"read me", "pytorch_model.bin": b"torch" * 99}
    with serve(FakeHub(files | extra)) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.endpoint)
        yield running

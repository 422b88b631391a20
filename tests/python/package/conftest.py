"""Packages of tiny models: a hub on the loopback interface, and a compiler in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "engine"), str(TESTS / "convert")]

from fake_hub import FakeHub, serve  # noqa: E402
from gpu_engines import leave_samplers_out  # noqa: E402

from mlc_llm.package.config import read_config  # noqa: E402
from mlc_llm.package.package import package_app  # noqa: E402
from mlc_llm.prepare.jit_cache import MakeRules, Policies  # noqa: E402
from mlc_llm.prepare.model_source import ResolvedModel  # noqa: E402
from mlc_llm.prepare.progress import LogSteps  # noqa: E402

REPOSITORIES = ("mlc-ai/one-MLC", "mlc-ai/two-MLC", "mlc-ai/three-MLC", "mlc-ai/four-MLC")


class Packager:
    """Makes packages in a folder, and remembers what was compiled and said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.compiled: list[str] = []
        self.lines: list[str] = []

    def write(self, config: Any) -> Path:
        path = self.folder / "mlc-package-config.json"
        path.write_text(config if isinstance(config, str) else json.dumps(config))
        return path

    def __call__(self, config: Any, output: Path | None = None) -> Path:
        rules = MakeRules(policies=Policies(), steps=LogSteps(self.lines.append))
        output = output or self.folder / "dist"
        package_app(read_config(self.write(config)), output=output, rules=rules)
        return output


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MLC_LLM_HOME of all packages: the same library is compiled once."""
    return tmp_path_factory.mktemp("package-home")


@pytest.fixture
def packager(
    tiny_model: ResolvedModel,
    cache_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Packager]:
    """It compiles in this process, without the functions that sample on GPUs: they take long."""
    from mlc_llm.compiler import jit

    made = Packager(tmp_path)

    def run(job: dict[str, Any], title: str, steps: LogSteps, **_: Any) -> None:
        if job["kind"] == "convert":
            return jit._convert(job)
        made.compiled.append(f"{job['device']} {job['system_lib_prefix']}")
        jit._compile(job)

    leave_samplers_out(monkeypatch)
    monkeypatch.setattr("mlc_llm.prepare.jit_cache.run_job", run)
    monkeypatch.setenv("MLC_LLM_HOME", str(cache_home))
    monkeypatch.delenv("MLC_LLM_RUNTIME_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    files = {path.name: path.read_bytes() for path in tiny_model.folder.iterdir() if path.is_file()}
    with serve(FakeHub(files, repo=REPOSITORIES[0], aliases=REPOSITORIES)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        yield made


@pytest.fixture
def entry() -> Callable[..., dict[str, Any]]:
    """A model of a config: `entry("one", bundle_weight=True)`."""

    def make(name: str, **more: Any) -> dict[str, Any]:
        model = {"model": f"HF://mlc-ai/{name}-MLC", "model_id": f"{name}-MLC"}
        return {**model, "estimated_vram_bytes": 3_000_000, **more}

    return make

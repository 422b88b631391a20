"""A library that several tests need is compiled once in a run, by whichever process is first."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kept_libraries import library_of

from mlc_llm.compiler import compile as compiler
from mlc_llm.compiler import targets
from mlc_llm.compiler.nn.gpu import sampling as gpu_sampling
from mlc_llm.errors import InternalError

DEVICES = ["cpu", "opencl", "cuda", "rocm", "vulkan", "metal"]
CONFIG = {"model_type": "llama", "vocab_size": 300}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The devices for which something was compiled."""
    made: list[str] = []

    def compile_model(config: Any, *, output: Path, device: str, **options: Any) -> None:
        made.append(device)
        if device == "broken":
            raise InternalError("no")
        output.write_text("library")

    monkeypatch.setattr(compiler, "compile_model", compile_model)
    return made


def test_many_that_ask_get_one(compiled: list[str], tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(library_of, tmp_path / "kept", CONFIG, device="cpu") for _ in range(8)]
    assert len({one.result() for one in asked}) == 1 and compiled == ["cpu"]


def test_what_changes_a_library_makes_another_one(
    compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(config: dict[str, Any] = CONFIG, device: str = "opencl", **options: Any) -> Path:
        return library_of(tmp_path, config, device=device, **options)

    found = [ask(), ask(device="vulkan"), ask(opt="O0"), ask(CONFIG | {"vocab_size": 301})]
    monkeypatch.setattr(gpu_sampling, "SAMPLER_VERSION", 0)
    found.append(ask())
    small = replace(targets.GPUS["opencl"], largest_weight=1)
    monkeypatch.setitem(targets.GPUS, "opencl", small)
    found.append(ask())
    assert len(set(found)) == len(compiled) == 6


def test_what_matters_to_gpus_alone_leaves_libraries_for_cpus(
    compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = library_of(tmp_path, CONFIG, device="cpu")
    monkeypatch.setattr(gpu_sampling, "SAMPLER_VERSION", 0)
    assert library_of(tmp_path, CONFIG, device="cpu") == first and compiled == ["cpu"]


def test_a_key_is_the_same_in_every_process(compiled: list[str], tmp_path: Path) -> None:
    code = "from kept_libraries import _key\n"
    code += f"print([_key({CONFIG!r}, device, {{}}) for device in {DEVICES!r}])"
    path = os.pathsep.join(sys.path)
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", code]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    here = [library_of(tmp_path, CONFIG, device=device).stem for device in DEVICES]
    assert told.stdout.strip() == repr(here)


def test_a_failure_is_not_kept(compiled: list[str], tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(InternalError):
            library_of(tmp_path, CONFIG, device="broken")
    assert compiled == ["broken"] * 2

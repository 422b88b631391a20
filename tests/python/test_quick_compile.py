"""Which libraries the tests compile without LLVM's optimizations, and in small tiles."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest
import quick_compile

from mlc_llm.compiler import targets


@pytest.fixture(autouse=True)
def short_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLC_TEST_OPTIMIZED", raising=False)


@dataclass
class Spec:
    config: Any
    device: Any


@pytest.mark.parametrize(("hidden_size", "is_quick"), [(48, True), (256, True), (576, False)])
def test_models_that_are_not_small_are_compiled_as_users_get_them(
    hidden_size: int, is_quick: bool
) -> None:
    compiler = SimpleNamespace(_build=lambda spec, prefix: (spec.device, prefix))
    quick_compile._change(compiler)
    cpu = targets.PRESETS["x86-64-v3"]
    device, prefix = compiler._build(Spec(SimpleNamespace(hidden_size=hidden_size), cpu), "a_")
    assert prefix == "a_" and device.describe() == cpu.describe()
    assert device.target().attrs.get("opt-level") == (0 if is_quick else None)
    tiles = quick_compile.TILES if is_quick else {}
    assert device.vectors == replace(cpu.vectors, **tiles) and cpu.vectors.dot_tile == (2, 2)


def test_what_launches_a_gpus_kernels_is_not_optimized_either() -> None:
    gpu = replace(targets.GPUS["opencl"], host="aarch64-linux-android")
    quick = quick_compile.unoptimized(gpu)
    assert isinstance(quick, targets.GPU) and quick.describe() == gpu.describe()
    assert str(quick.target().host.attrs["mtriple"]) == gpu.host
    assert quick.target().host.attrs["opt-level"] == 0


def test_code_for_browsers_is_left_as_it_is() -> None:
    assert quick_compile.unoptimized(targets.WASM) is targets.WASM


def in_a_process(code: str, **variables: str) -> str:
    environment = {**os.environ, **variables}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_processes_that_tests_start_do_the_same() -> None:
    code = "from mlc_llm.compiler import compile; print(compile._build.__module__)"
    assert in_a_process(code) == "quick_compile"


def test_with_long_no_process_does_it() -> None:
    code = "import sys; print(sum(type(f).__module__ == 'quick_compile' for f in sys.meta_path))"
    assert in_a_process(code) == "1"
    assert in_a_process(code, MLC_TEST_OPTIMIZED="1") == "0"

"""Which libraries the tests compile without LLVM's optimizations."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import quick_compile

from mlc_llm.compiler import targets


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


@pytest.mark.parametrize("device", [targets.GPUS["opencl"], targets.WASM], ids=["gpu", "wasm"])
def test_code_for_gpus_and_browsers_is_left_as_it_is(device: Any) -> None:
    assert quick_compile.unoptimized(device) is device


@pytest.mark.parametrize("variable", ["", "MLC_TEST_OPTIMIZED"])
def test_processes_that_tests_start_do_the_same(variable: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "MLC_TEST_OPTIMIZED"}
    environment |= {variable: "1"} if variable else {}
    code = "from mlc_llm.compiler import compile; print(compile._build.__module__)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ("mlc_llm.compiler.compile" if variable else "quick_compile")

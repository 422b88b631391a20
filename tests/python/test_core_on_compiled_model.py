"""The C++ tests that want a compiled model, on one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from mlc_llm.prepare.model_source import ResolvedModel

BINARY = Path(__file__).resolve().parents[2] / "build/dev/core/mlc_core_test"


def test_engine_life_on_a_compiled_model(tiny_model: ResolvedModel) -> None:
    if not BINARY.exists():
        pytest.skip("the C++ tests are not built; ./dev build builds them")
    run = subprocess.run(
        [BINARY, "--gtest_filter=*EngineLife*/Compiled"],
        env={
            **os.environ,
            "MLC_TEST_MODEL": str(tiny_model.folder),
            "MLC_TEST_MODEL_LIB": str(tiny_model.model_lib),
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "SKIPPED" not in run.stdout and "[  PASSED  ] 5 tests." in run.stdout

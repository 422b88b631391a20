"""The Kotlin binding's own tests, in Kotlin and Java, under the virtual machine's check of JNI."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mlc_llm.model_source import ResolvedModel

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "bindings" / "kotlin" / "build.py"
CANNOT_BUILD = 77


def test_the_binding_passes_its_tests(default_model: ResolvedModel) -> None:
    command = [sys.executable, str(BUILD), "test"]
    model = {
        "MLC_TEST_MODEL": str(default_model.folder),
        "MLC_TEST_MODEL_LIB": str(default_model.model_lib),
    }
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **model})
    if done.returncode == CANNOT_BUILD:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    assert "\nOK (" in done.stdout


def test_the_readmes_program_runs(tmp_path: Path) -> None:
    """With the class path and the properties that stand there."""
    command = [sys.executable, str(BUILD), "classpath"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == CANNOT_BUILD:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    readme = (BUILD.parent / "README.md").read_text(encoding="utf-8")
    source = readme.split("```java\n")[1].split("```")[0]
    (tmp_path / "Hello.java").write_text(source, encoding="utf-8")
    properties = re.findall(r"-Dmlc_llm\.\w+=\S+", readme)
    model = str(ROOT / "tests" / "fixtures" / "fake-model")
    program = ["java", "-cp", done.stdout.strip(), *properties, str(tmp_path / "Hello.java")]
    answer = subprocess.run(
        [*program, model, "none", "fake"], capture_output=True, text=True, cwd=ROOT
    )
    assert answer.returncode == 0, answer.stderr[-4000:]
    assert len(answer.stdout) > 10 and "null" not in answer.stdout

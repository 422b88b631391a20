"""The Kotlin binding's own tests, in Kotlin and Java, under the virtual machine's check of JNI."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CANNOT_BUILD = 77


def test_the_binding_passes_its_tests() -> None:
    command = [sys.executable, str(ROOT / "bindings" / "kotlin" / "build.py"), "test"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == CANNOT_BUILD:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    assert "\nOK (" in done.stdout

"""ChatKit for Android, on the JVM: the shared vectors, downloads from a hub that does everything
wrong, chats with the scripted and with the default model."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlc_llm.prepare.model_source import resolve_model

ROOT = Path(__file__).resolve().parents[2]
CANNOT_BUILD = 77


def test_chatkit_passes_its_tests() -> None:
    model = resolve_model(None, quantization="q4f32_1", progress=lambda _: None)
    named = {"MLC_TEST_MODEL": str(model.folder), "MLC_TEST_MODEL_LIB": str(model.model_lib)}
    command = [sys.executable, "-m", "devtools.apk.chatkit"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, **named}
    )
    if done.returncode == CANNOT_BUILD:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    assert "\nOK (" in done.stdout

"""The screens of the Android app, drawn on the JVM: every text fits, in four languages, in the
dark, with large letters on a small phone, and on a tablet. `MLC_TEST_PICTURES=FOLDER` keeps the
pictures."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CANNOT_BUILD = 77
SCREENS = ("models", "add", "licences", "chats", "chat", "settings", "benchmark")
SIZES = {
    **dict.fromkeys(("light", "dark", "german", "arabic", "chinese"), (540, 960)),
    "large": (480, 960),
    **dict.fromkeys(("tablet", "tablet-arabic"), (960, 720)),
}


def has_fonts() -> bool:
    """For Latin, Arabic and Chinese letters."""
    try:
        done = subprocess.run(["fc-list", ":lang=ar"], capture_output=True, text=True)
        chinese = subprocess.run(["fc-list", ":lang=zh"], capture_output=True, text=True)
    except FileNotFoundError:
        return False
    return bool(done.stdout.strip() and chinese.stdout.strip())


def test_every_text_of_every_screen_fits(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--long"):
        pytest.skip("draws 76 s; run with --long")
    if not has_fonts():
        pytest.skip("no letters: apt-get install fontconfig fonts-noto-core fonts-droid-fallback")
    folder = Path(os.environ.get("MLC_TEST_PICTURES") or tmp_path).resolve()
    command = [sys.executable, "-m", "devtools.apk.views", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode == CANNOT_BUILD:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-4000:]
    assert "\nOK (" in done.stdout
    for phone, size in SIZES.items():
        for screen in SCREENS:
            data = (folder / f"{phone}-{screen}.png").read_bytes()
            assert struct.unpack(">II", data[16:24]) == size

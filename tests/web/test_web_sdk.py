"""The SDK for browsers, in Deno: types, style, and its behaviour over a core in memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "bindings" / "web" / "deno.json"
FOLDERS = ("bindings/web/src", "tests/web", "tests/bindings/typescript", "examples/web")


@pytest.fixture(scope="module")
def deno() -> str:
    beside = shutil.which("deno", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("deno")
    if found is None:
        pytest.skip("deno is not installed: pip install deno")
    return found


def run(deno: str, *arguments: str) -> None:
    environment = {**os.environ, "NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1"}
    done = subprocess.run(
        [deno, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]


def sources() -> list[str]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.ts")]
    return [str(path.relative_to(ROOT)) for path in sorted(found)]


def test_everything_type_checks(deno: str) -> None:
    run(deno, "check", "--quiet", f"--config={CONFIG}", *sources())


def test_everything_has_the_formatter_s_style(deno: str) -> None:
    written = [path for path in sources() if not path.endswith(".gen.ts")]
    run(deno, "fmt", "--quiet", "--check", f"--config={CONFIG}", *written)
    run(deno, "lint", "--quiet", f"--config={CONFIG}", *written)


def test_every_case_holds(deno: str) -> None:
    options = ("--no-check", "--quiet", "--allow-read", f"--config={CONFIG}")
    run(deno, "test", *options, "tests/web")

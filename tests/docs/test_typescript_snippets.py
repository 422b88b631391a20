"""The pages' TypeScript programs compile, each as a module of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import snippets

CONFIG = snippets.ROOT / "bindings" / "web" / "deno.json"


def test_the_programs_type_check(tmp_path: Path) -> None:
    beside = shutil.which("deno", path=str(Path(sys.executable).parent))
    deno = beside or shutil.which("deno")
    if deno is None:
        pytest.skip("deno is not installed: pip install deno")
    files = []
    for number, snippet in enumerate(snippets.to_run("typescript")):
        files.append(tmp_path / f"snippet{number}.ts")
        files[-1].write_text(f"// {snippet.place}\n{snippet.text}", encoding="utf-8")
    done = subprocess.run(
        [deno, "check", "--quiet", f"--config={CONFIG}", *files],
        env={**os.environ, "NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]

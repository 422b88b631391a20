"""docs/kotlin.md, followed to the letter: its commands in their order, in a reader's folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import snippets
from serving import PATIENCE

sys.path.append(str(snippets.ROOT / "bindings" / "kotlin"))

import build  # noqa: E402

PAGE = "docs/kotlin.md"
# What a reader has installed; ./dev build has run before any test.
COMMANDS = {
    "mlc_llm": 'exec "{python}" -m mlc_llm "$@"',
    "dev": '[ "$*" = build ] && [ -f build/dev/core/libmlc_llm.so ]',
    "kotlinc": 'exec java -cp "{compiler}" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler '
    '-no-stdlib -no-reflect "$@"',
}


@pytest.fixture
def clone(reader_folder: Path, tiny_home: Path, tmp_path: Path) -> Path:
    """A clone of the repository with a model in it, and the commands on the path."""
    try:
        with build.exclusive():
            names = ("kernel", "stdlib", "reflect", "script-runtime", "annotations")
            compiler = build.class_path(build.toolchain() / f"{name}.jar" for name in names)
            build.jdk()
    except build.UnavailableError as error:
        pytest.skip(str(error))
    for name in ("bindings", "build"):
        (tmp_path / name).symlink_to(snippets.ROOT / name)
    (tmp_path / "MODEL").symlink_to(reader_folder / "MODEL")
    for name, line in COMMANDS.items():
        script = tmp_path / name
        script.write_text(f"#!/bin/sh\n{line.format(python=sys.executable, compiler=compiler)}\n")
        script.chmod(0o755)
    return tmp_path


def test_the_steps_lead_to_an_answer(clone: Path, tiny_home: Path) -> None:
    page = [s for s in snippets.all_snippets() if s.page == PAGE]
    program = next(s.text for s in page if s.language == "kotlin")
    (clone / "Hello.kt").write_text(program, encoding="utf-8")
    path = f"{clone}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "MLC_LLM_HOME": str(tiny_home)}
    steps = [s.text for s in page if s.language == "sh"]
    assert len(steps) == 3
    for step in steps:
        done = subprocess.run(
            ["bash", "-ec", step],
            cwd=clone,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.strip()

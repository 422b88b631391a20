"""The Kotlin programs of the pages and of examples/kotlin compile, each in a package of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import snippets

sys.path.append(str(snippets.ROOT / "bindings" / "kotlin"))

import build  # noqa: E402

EXAMPLES = sorted(snippets.ROOT.glob("examples/kotlin/*.kt"))


def test_the_programs_compile(tmp_path: Path) -> None:
    programs = snippets.to_run("kotlin")
    assert len(programs) >= 5
    assert len(EXAMPLES) >= 3
    files = []
    for number, path in enumerate(EXAMPLES):
        files.append(tmp_path / path.name)
        text = path.read_text(encoding="utf-8")
        files[-1].write_text(f"package example{number}\n\n{text}", encoding="utf-8")
    for number, program in enumerate(programs):
        files.append(tmp_path / f"Snippet{number}.kt")
        text = f"package snippet{number}  // {program.place}\n\n{program.text}"
        files[-1].write_text(text, encoding="utf-8")
    try:
        with build.exclusive():
            path = [build.core_classes(), *build.libraries()]
            build.kotlinc(files, tmp_path / "classes", path)
    except build.UnavailableError as error:
        pytest.skip(str(error))

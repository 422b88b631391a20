"""The languages' own formatters, at pinned versions, so that output is the same everywhere."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINS = {"clang-format": "23.1.5", "ruff": "0.17.5"}
CLANG_FORMAT = ("clang-format", f"--style=file:{ROOT / '.clang-format'}")
UNUSED_IMPORTS = ("ruff", "check", "--isolated", "--select=F401", "--fix", "-q")
RUFF = ("ruff", "format", "--isolated", "--line-length=100", "--target-version=py310", "-q")


class FormatterError(Exception):
    """A formatter is absent, or refuses what was generated."""


def format_text(path: str, text: str) -> str:
    """`text` as the formatter of `path`'s language leaves it."""
    if path.endswith((".h", ".cc")):
        return _run((*CLANG_FORMAT, f"--assume-filename={path}"), path, text)
    if path.endswith(".py"):
        # A template imports what it may need; what it did not need goes.
        for command in (UNUSED_IMPORTS, RUFF):
            text = _run((*command, f"--stdin-filename={path}", "-"), path, text)
        return text
    return text


def _run(command: tuple[str, ...], path: str, text: str) -> str:
    tool, *arguments = command
    done = subprocess.run(
        [_find(tool), *arguments], input=text, capture_output=True, text=True, encoding="utf-8"
    )
    if done.returncode != 0:
        raise FormatterError(f"{tool} refuses the text of {path}:\n{done.stderr}")
    return done.stdout


def _find(tool: str) -> str:
    """The tool beside this Python, else on PATH."""
    beside = shutil.which(tool, path=str(Path(sys.executable).parent))
    found = beside or shutil.which(tool)
    if found is None:
        raise FormatterError(f"{tool} is not installed: pip install {tool}=={PINS[tool]}")
    return found

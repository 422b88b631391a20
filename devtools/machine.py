"""What a machine must have before `./dev` begins, and what to do about what fails for want of it.

This module is read by any Python 3: it is the one that says which is too old.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

OLDEST_PYTHON = (3, 10)
# A virtual environment without what tests need, and the core.
NEEDED_MB = 900
# Commands that use Debian's packages, or make files for Linux.
ON_LINUX = (
    ("app",),
    *(("build", runtime) for runtime in ("android", "jvm", "swift", "web")),
)
# What the last lines of a command that failed say, and what to do.
_ADVICE = (
    (
        r"from versions: none|connection broken|Failed to establish|Temporary failure in name",
        "the package index cannot be reached: is there a network? Behind a proxy set HTTPS_PROXY",
    ),
    (r"No space left on device|Disk quota exceeded", "the disk is full: make room and start again"),
    (r"Read-only file system|Permission denied", "this folder cannot be written: clone into yours"),
    (r"No CMAKE_CXX_COMPILER|CMAKE_CXX_COMPILER-NOTFOUND", "no C++ compiler is here: install g++"),
    (r"internal compiler error: Killed|fatal error: Killed", "out of memory: set "
     "CMAKE_BUILD_PARALLEL_LEVEL=1, and start again"),
)  # fmt: skip


def complaint(
    folder: Path, is_set_up: bool, words: Sequence[str] = (), system: str = sys.platform
) -> str:
    """Why `./dev WORDS` cannot begin here, and what to do; "" if it can."""
    if system == "win32":
        return (
            "nothing is built on Windows: use Linux, or WSL (wsl --install). On Linux ./dev wheel "
            "windows makes the core for Windows (docs/packaging.md#windows)"
        )
    if system == "darwin" and (named := [w for w in ON_LINUX if tuple(words[: len(w)]) == w]):
        return (
            f"./dev {' '.join(named[0])} runs on Linux alone. On macOS there are ./dev build, "
            "test, wheel and build xcframework, which no Mac has run yet"
        )
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        has = ".".join(map(str, sys.version_info[:3]))
        return f"Python {wanted} or later is needed, and this is {has}: python3.12 ./dev ..."
    free = shutil.disk_usage(folder).free // 1_000_000
    if not is_set_up and free < NEEDED_MB:
        return f"{folder}: {NEEDED_MB} MB are needed and {free} are free: make room"
    return ""


def advice(lines: Sequence[str]) -> str:
    """What to do about a command that failed with these last lines; "" when we do not know."""
    text = "\n".join(lines)
    found = (words for pattern, words in _ADVICE if re.search(pattern, text))
    return next(found, "")

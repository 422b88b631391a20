"""The program that links a model library's object files into a shared library.

linker = require()             # before the work: an error that says what to install
link(linker, Path("model.so"), objects)

A compiled model calls TVM's runtime and the C library, and its process has both. So it needs no
headers and no start files. A bare linker is enough, such as LLVM's in the PyPI package `ziglang`,
which is downloaded on Linux where nothing else is there (`linker_download.py`).
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare import linker_download
from mlc_llm.prepare.progress import Steps, steps_of

_COMPILERS = ("g++", "gcc", "clang++", "clang", "c++", "cc")
_LINKERS = ("ld.lld", "ld", "ld.gold", "mold")
_FULL = ("no space left", "disk quota", os.strerror(errno.ENOSPC).lower(), "file too large")
_NO_SCRATCH = ("temporary file", "tmpdir")
_SPARE_BYTES = 1 << 20


@dataclass(frozen=True)
class Linker:
    """A command. `is_compiler`: it calls the linker itself and knows where libraries are.
    `flags`: those of a linker for another machine, in place of this machine's."""

    command: tuple[str, ...]
    is_compiler: bool
    flags: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join(self.command)

    def arguments(self, output: Path, objects: Sequence[str]) -> list[str]:
        """The whole command line."""
        if self.flags:
            return [*self.command, *self.flags, "-o", str(output), *objects]
        if self.is_compiler:
            system = ["-Wl,-z,lazy"] if sys.platform == "linux" else []
            system = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else system
            return [*self.command, "-shared", "-fPIC", *system, "-o", str(output), *objects]
        lazy = ["-z", "lazy"]
        return [*self.command, "-shared", *lazy, "-o", str(output), *objects, *_maths_library()]


def find() -> Linker | None:
    """The first one that exists of: $CXX or $CC, a C++ compiler, a bare linker, the one in
    `ziglang`."""
    if named := (os.environ.get("CXX") or os.environ.get("CC") or "").strip():
        try:
            return Linker(tuple(shlex.split(named)), is_compiler=True)
        except ValueError:  # a quotation that does not end
            return Linker((named,), is_compiler=True)
    for name in _COMPILERS:
        if path := shutil.which(name):
            return Linker((path,), is_compiler=True)
    if sys.platform == "linux":
        for name in _LINKERS:
            if path := shutil.which(name):
                return Linker((path,), is_compiler=False)
    if importlib.util.find_spec("ziglang") is not None:
        zig = (sys.executable, "-m", "ziglang")
        is_compiler = sys.platform != "linux"
        return Linker((*zig, "cc" if is_compiler else "ld.lld"), is_compiler=is_compiler)
    if kept := linker_download.kept():
        return Linker((str(kept), "ld.lld"), is_compiler=False)
    return None


def lld(name: str) -> tuple[str, ...] | None:
    """The command of one of LLVM's linkers, such as `wasm-ld`: that on PATH, or in `ziglang`."""
    names = (name, *(f"{name}-{version}" for version in range(22, 13, -1)))
    if path := next((found for one in names if (found := shutil.which(one))), None):
        return (path,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", name)
    return None


def require(steps: Steps | None = None) -> Linker:
    """The linker. Where there is none, it is downloaded once. Raises MLCError if it cannot be."""
    linker = find()
    if linker is None:
        zig = linker_download.fetch(steps_of(steps))
        linker = Linker((str(zig), "ld.lld"), is_compiler=False)
    elif shutil.which(linker.command[0]) is None:
        raise error_of(
            reasons.LINKER_MISSING, f"CXX or CC: there is no program '{linker}'", param="CXX"
        )
    return linker


def link(linker: Linker, output: Path, objects: Sequence[str]) -> None:
    """Makes the shared library. Raises MLCError with the linker's own message."""
    import subprocess

    command = linker.arguments(output, objects)
    environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(output.parent / "zig")}
    environment.setdefault("TMPDIR", str(output.parent))
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env=environment
        )
    except OSError as error:
        reason = f"{command[0]}: {error.strerror or error}"
        raise error_of(reasons.LINK_FAILED, f"linking the model library failed: {reason}") from None
    if done.returncode != 0:
        raise failure(output, done.stderr or done.stdout)


def failure(output: Path, words: str) -> MLCError:
    """The error for the output of a linker, or of the program that writes its object files."""
    lower = words.lower()
    scratch = os.environ.get("TMPDIR", str(output.parent))
    free = shutil.disk_usage(output.parent).free
    if any(word in lower for word in _FULL) or free < _SPARE_BYTES:
        full = output.parent if free < _SPARE_BYTES else _fullest(output.parent, scratch)
        return error_of(
            reasons.DISK_FULL,
            f"linking the model library failed: no space left in {full}; make room, or set "
            "MLC_LLM_HOME and TMPDIR to places with 100 MB",
            param="output",
        )
    if any(word in lower for word in _NO_SCRATCH):
        return error_of(
            reasons.NO_SCRATCH_SPACE,
            f"linking the model library failed: the linker cannot write to TMPDIR ({scratch}); "
            "set TMPDIR to a folder that can be written",
            param="TMPDIR",
        )
    lines = words.strip().splitlines() or ["no message"]
    # LLVM's linkers say below their error where the name is used.
    line = next((one for one in lines if "error: undefined" in one), lines[-1])
    return error_of(reasons.LINK_FAILED, f"linking the model library failed: {line}")


def _fullest(*folders: str | Path) -> str | Path:
    """The folder with the least free space."""

    def free(folder: str | Path) -> int:
        with contextlib.suppress(OSError):
            return shutil.disk_usage(folder).free
        return 0

    return min(folders, key=free)


def _maths_library() -> list[str]:
    """The library of math functions, in the version of this process."""
    with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            path = line.split()[-1]
            if Path(path).name.startswith(("libm.so", "libm-")):
                return [path]
    return []

"""LLVM's linker for a Linux machine that has none: the program of the PyPI package `ziglang`.

The package has compilers and headers too. Only its one program is kept, in MLC_LLM_HOME/tools.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare import pypi_file
from mlc_llm.prepare.jit_cache import Policies, home, home_errors_named
from mlc_llm.prepare.progress import Steps
from mlc_llm.prepare.temporary_files import locked

_VERSION = "0.17.1"
_MEMBERS = {
    machine: pypi_file.Member(
        requirement=f"ziglang=={_VERSION}",
        hashes=(sha256,),
        name="ziglang/zig",
        wheel_bytes=101_000_000,
        needed_bytes=300_000_000,
    )
    for machine, sha256 in (
        ("x86_64", "ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54"),
        ("aarch64", "b7c5f02fccd40f89b999ee16a1f5ddced56e6182370f8affe494bcf8a28cf07e"),
    )
}


def _path() -> Path:
    return home() / "tools" / f"zig-{_VERSION}"


def kept() -> Path | None:
    """The program, if it was downloaded."""
    return _path() if _path().is_file() else None


def fetch(steps: Steps) -> Path:
    """Downloads it. Raises MLCError where that is not possible."""
    member = _MEMBERS.get(platform.machine()) if sys.platform == "linux" else None
    if member is None:
        raise _missing("")
    if Policies.from_environment().download not in ("ON", "REDO"):
        raise _missing(" (downloads are switched off: MLC_DOWNLOAD_CACHE_POLICY)")
    path = _path()
    with home_errors_named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path, steps, "the linker"):
            if not path.is_file():  # otherwise another process was faster
                _fetch(member, path, steps)
    return path


def _fetch(member: pypi_file.Member, path: Path, steps: Steps) -> None:
    partial = path.with_name(f"{path.name}.fetched")
    pypi_file.fetch(
        member,
        partial,
        what="a linker, since this machine has none (101 MB)",
        param="model_lib",
        steps=steps,
        failed=lambda reason: _missing(f", and one could not be fetched ({reason})"),
    )
    partial.chmod(0o755)
    partial.rename(path)


def _missing(more: str) -> MLCError:
    return error_of(
        reasons.LINKER_MISSING,
        f"compiling a model needs a linker, and none is on this machine{more}: install g++ or "
        "clang, or run `pip install ziglang` (no administrator needed); or give a compiled library "
        "with --model-lib",
        param="model_lib",
    )

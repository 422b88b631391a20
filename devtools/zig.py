"""Builds for other systems by Clang of the PyPI package `ziglang`: what android, xcframework and
wheel share."""

from __future__ import annotations

import importlib.util
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OPENCL = Path("/usr/include/CL")


def zig_program() -> Path:
    """The compiler in the PyPI package, which `./dev` installs for the commands that need it."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        python = Path(sys.executable)
        raise SystemExit(f"[dev] ziglang is missing: run `{python} -m pip install ziglang==0.17.1`")
    return Path(spec.origin).parent / "zig"


# CMake asks which compiler it is by linking a program, for which zig would compile its libc++: an
# object is enough.
_NO_PROGRAM = 'case "$*" in *CMakeC*CompilerId.c*) set -- -c "$@" ;; esac\n'


def wrapper(path: Path, *command: str | Path, last: Sequence[str | Path] = ()) -> Path:
    """A program that is one word, as CMake and ccache want it. `last`: after its arguments."""
    words = [*(f"'{word}'" for word in command), '"$@"', *(f"'{word}'" for word in last)]
    text = f"#!/bin/sh\n{_NO_PROGRAM}exec {' '.join(words)}\n"
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


def cmake(source: Path, folder: Path, target: str, settings: dict[str, str]) -> None:
    """Configures and builds one target."""
    programs = Path(sys.executable).parent
    words = [f"-D{name}={value}" for name, value in settings.items()]
    words += [f"-DCMAKE_MAKE_PROGRAM={programs / 'ninja'}", f"-DPython_EXECUTABLE={sys.executable}"]
    configure = [programs / "cmake", "-G", "Ninja", "--log-level=WARNING"]
    subprocess.run([*configure, "-S", source, "-B", folder, *words], check=True, cwd=ROOT)
    build = [programs / "cmake", "--build", folder, "--parallel", "2", "--target", target]
    subprocess.run(build, check=True, cwd=ROOT)


def objects_of(folder: Path, targets: str) -> list[Path]:
    """The objects of the core's targets whose names match, in a folder that `cmake` built. It also
    keeps objects of sources that are gone, so the list is ninja's."""
    ninja = [Path(sys.executable).parent / "ninja", "-C", folder, "-t", "targets", "all"]
    listed = subprocess.run(ninja, check=True, capture_output=True, text=True).stdout
    names = re.findall(rf"^(core/CMakeFiles/{targets}\.dir/.+\.o(?:bj)?): ", listed, re.MULTILINE)
    return [path for name in sorted(names) if (path := folder / name).exists()]


def archivers(tools: Path, zig: Path) -> dict[str, str]:
    """CMake's settings of what makes static libraries; the programs are made in `tools`."""
    return {
        "CMAKE_AR": str(wrapper(tools / "ar", zig, "ar")),
        "CMAKE_RANLIB": str(wrapper(tools / "ranlib", zig, "ranlib")),
    }


def core_settings(opencl: str = "") -> dict[str, str]:
    """CMake's settings of a core for another system. `opencl`: the folder of OpenCL's headers."""
    return {
        "MLC_BUILD_PYTHON": "OFF",
        "MLC_TVM_RUNTIME": "inside",
        "MLC_OPENCL_INCLUDE_DIR": opencl,
        **xgrammar_sources(),
    }


def xgrammar_sources() -> dict[str, str]:
    """CMake's variable for sources that another build has fetched."""
    found = next((ROOT / "build").glob("*/xgrammar/xgrammar-*/cpp"), None)
    return {"MLC_XGRAMMAR_DIR": str(found.parent)} if found else {}


def headers_of(name: str, source: Path, folder: Path) -> str:
    """A folder that holds the headers of this name alone. (/usr/include holds glibc's too.)"""
    if not source.exists():
        return ""
    shutil.copytree(source, folder / name / source.name, dirs_exist_ok=True)
    return str(folder / name)

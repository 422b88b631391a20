"""The linker: which one is taken, that bare ones do, and what is said where it fails."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mlc_llm import linker
from mlc_llm.errors import MLCError, ResourceError
from mlc_llm.linker import Linker

SOURCE = "double expm1(double); double f(double x) { return expm1(x) + 1; }"


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """`only("ld")`: a machine with these programs and no others."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(linker.importlib.util, "find_spec", lambda _: None)

    def make(*names: str) -> None:
        for name in names:
            (tmp_path / name).write_text("#!/bin/sh\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

    return make


def test_the_order(only, monkeypatch: pytest.MonkeyPatch) -> None:
    only()
    assert linker.find() is None
    monkeypatch.setattr(linker.importlib.util, "find_spec", lambda name: name == "ziglang")
    assert str(linker.find()) == f"{sys.executable} -m ziglang ld.lld"
    only("ld")
    found = linker.find()
    assert found is not None and found.command[0].endswith("/ld") and not found.is_compiler
    only("clang++")
    found = linker.find()
    assert found is not None and found.command[0].endswith("/clang++") and found.is_compiler
    monkeypatch.setenv("CXX", "ccache my-g++")
    assert linker.find() == Linker(("ccache", "my-g++"), is_compiler=True)


def test_a_machine_without_one_is_told_what_to_do(only) -> None:
    only()
    with pytest.raises(MLCError, match="install g\\+\\+ or clang, or run `pip install ziglang`"):
        linker.require()


def installed() -> list[Linker]:
    """Those of this machine."""
    names = [name for name in ("g++", "ld", "ld.lld") if shutil.which(name)]
    found = [Linker((str(shutil.which(name)),), is_compiler=name == "g++") for name in names]
    if linker.importlib.util.find_spec("ziglang"):
        found.append(Linker((sys.executable, "-m", "ziglang", "ld.lld"), is_compiler=False))
    return found


@pytest.mark.parametrize("which", installed(), ids=str)
def test_a_library_loads_and_computes(which: Linker, tmp_path: Path) -> None:
    """The C library's functions are found by bare linkers too."""
    (tmp_path / "f.c").write_text(SOURCE)
    subprocess.run(["g++", "-xc", "-fPIC", "-c", "f.c"], cwd=tmp_path, check=True)
    library = tmp_path / "f.so"
    linker.link(which, library, [str(tmp_path / "f.o")])
    function = ctypes.CDLL(str(library)).f
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
    assert function(0.5) == pytest.approx(1.6487212707)


FAILURES = {
    "full": ("ld: final link failed: No space left on device", "no space left", "disk_full"),
    "scratch": (
        "Cannot create temporary file in /gone/: No such file or directory",
        "TMPDIR",
        "no_scratch_space",
    ),
    "other": ("first\nundefined symbol: x", "failed: undefined symbol: x", "link_failed"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_what_is_said_where_linking_fails(case: str, tmp_path: Path) -> None:
    words, said, code = FAILURES[case]
    script = tmp_path / "cc"
    script.write_text(f"#!/bin/sh\nprintf '%s\\n' '{words}' >&2\nexit 1\n")
    script.chmod(0o755)
    with pytest.raises(MLCError, match=said) as caught:
        linker.link(Linker((str(script),), is_compiler=True), tmp_path / "x.so", [])
    assert caught.value.code == code
    assert isinstance(caught.value, ResourceError) == (code != "link_failed")


def test_a_linker_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MLCError, match="/nowhere/g\\+\\+: No such file") as caught:
        linker.link(Linker(("/nowhere/g++",), is_compiler=True), tmp_path / "x.so", [])
    assert caught.value.code == "link_failed"

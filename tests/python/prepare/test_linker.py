"""The linker: which one is taken, that bare ones do, and what is said where it fails."""

from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from mlc_llm.errors import MLCError, ResourceError
from mlc_llm.prepare import linker, linker_download
from mlc_llm.prepare.linker import Linker

SOURCE = "double expm1(double); double f(double x) { return expm1(x) + 1; }"


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """`only("ld")`: a machine with these programs and no others."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(linker.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MLC_DOWNLOAD_CACHE_POLICY", "OFF")

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


@pytest.mark.parametrize("named", ["/no/such/g++ -O2", '"g++'])
def test_a_named_one_that_is_not_there(named: str, only, monkeypatch: pytest.MonkeyPatch) -> None:
    only("g++")
    monkeypatch.setenv("CXX", named)
    with pytest.raises(MLCError, match="CXX or CC: there is no program") as raised:
        linker.require()
    assert raised.value.code == "linker_missing"
    monkeypatch.setenv("CXX", " ")
    assert linker.require().command[0].endswith("/g++")


@pytest.fixture
def pip(only, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """`pip(hashes)`: a machine without a linker, and a package index in a folder."""
    only()
    wheel = tmp_path / "index" / "ziglang-0.17.1-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("ziglang/zig", "#!/bin/sh\n")
        info = "ziglang-0.17.1.dist-info"
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: ziglang\nVersion: 0.17.1\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    right = hashlib.sha256(wheel.read_bytes()).hexdigest()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    monkeypatch.setenv("MLC_DOWNLOAD_CACHE_POLICY", "ON")

    def make(sha256: str = right) -> None:
        member = dataclasses.replace(linker_download._MEMBERS["x86_64"], hashes=(sha256,))
        monkeypatch.setitem(linker_download._MEMBERS, platform.machine(), member)

    return make


@pytest.mark.skipif(sys.platform != "linux", reason="fetched on Linux alone")
def test_a_machine_without_one_fetches_it_once(pip, tmp_path: Path) -> None:
    pip()
    found = linker.require()
    kept = tmp_path / "home" / "tools" / "zig-0.17.1"
    assert found == Linker((str(kept), "ld.lld"), is_compiler=False)
    assert kept.stat().st_mode & 0o111 and [p.name for p in kept.parent.glob("*zig*")] == [
        kept.name
    ]
    pip("0" * 64)  # no second download would succeed
    assert linker.require() == found


@pytest.mark.skipif(sys.platform != "linux", reason="fetched on Linux alone")
def test_a_fetched_one_must_have_the_right_hash(pip, tmp_path: Path) -> None:
    pip("0" * 64)
    with pytest.raises(MLCError, match="could not be fetched") as raised:
        linker.require()
    assert raised.value.code == "linker_missing"
    assert not (tmp_path / "home" / "tools" / "zig-0.17.1").exists()


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


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's loader")
@pytest.mark.parametrize("which", installed(), ids=str)
def test_a_library_opens_before_its_functions_are_found(which: Linker, tmp_path: Path) -> None:
    """Also by a linker that some system has told otherwise. The engine binds what is missing
    (core/src/runtime/library_imports.h)."""
    lief = pytest.importorskip("lief")
    (tmp_path / "f.c").write_text("void nowhere(void); void f(void) { nowhere(); }")
    subprocess.run(["g++", "-xc", "-fPIC", "-c", "f.c"], cwd=tmp_path, check=True)
    now = ("-Wl,-z,now",) if which.is_compiler else ("-z", "now")
    eager = dataclasses.replace(which, command=(*which.command, *now))
    linker.link(eager, tmp_path / "f.so", [str(tmp_path / "f.o")])
    tags = lief.ELF.DynamicEntry.TAG
    library = lief.parse(str(tmp_path / "f.so"))  # lives as long as its entries
    entries = {entry.tag: entry for entry in library.dynamic_entries}
    assert tags.BIND_NOW not in entries
    flags, flags_1 = entries.get(tags.FLAGS), entries.get(tags.FLAGS_1)
    assert flags is None or not flags.has(lief.ELF.DynamicEntryFlags.FLAG.BIND_NOW)
    assert flags_1 is None or not flags_1.has(lief.ELF.DynamicEntryFlags.FLAG.NOW)


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

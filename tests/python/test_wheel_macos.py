"""The core and `_core` for macOS, which `./dev wheel macos` linked with TVM's libraries on Linux,
read by lief. Skipped where that command was not run. No Mac has opened them.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
from pathlib import Path

import pytest
from devtools.wheel import macos

from mlc_llm.package.ar import write_ar

lief = pytest.importorskip("lief")
EXTENSION = f"_core.cpython-3{sys.version_info.minor}-darwin.so"
SYSTEM = "/usr/lib/libSystem.B.dylib"
OF_LINKER = {"___dso_handle", "__mh_dylib_header"}
TVM = {"@rpath/libtvm_runtime.dylib", "@rpath/libtvm_ffi.dylib"}


@functools.cache  # lief's objects live as long as the file that they are in
def opened(path: Path):
    return lief.MachO.parse(str(path))


def parsed(name: str):
    path = macos.HERE / name
    if not path.exists():
        pytest.skip("not linked: ./dev wheel macos")
    return opened(path).at(0)


def shown(path: Path) -> set[str]:
    return {symbol.name for symbol in opened(path).at(0).exported_symbols}


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("libmlc_llm.dylib", TVM | {macos.LIBCPP, SYSTEM}),
        (EXTENSION, {"@rpath/libmlc_llm.dylib", macos.LIBCPP, SYSTEM}),
    ],
)
def test_it_is_for_macos_and_finds_what_it_needs(name: str, needed: set[str]) -> None:
    library = parsed(name)
    assert library.header.cpu_type.name == "ARM64"
    assert library.build_version.platform.name == "MACOS"
    assert list(library.build_version.minos) == [*macos.OLDEST, 0]
    own = f"@rpath/{name}"
    assert {one.name for one in library.libraries} - {own} == needed
    assert {path.path for path in library.rpaths} == set(macos.RPATHS)


def test_the_core_shows_what_python_and_tvm_call() -> None:
    parsed("libmlc_llm.dylib")  # or it is skipped
    core = shown(macos.HERE / "libmlc_llm.dylib")
    assert core >= {"_mlc_engine_create", "_mlc_engine_submit", "_mlc_backend_launch_loops"}
    own = re.compile(r"_mlc_|__ZNK?3mlc|__ZT.N3mlc")
    assert [name for name in core - OF_LINKER if not own.match(name)] == []
    module = parsed(EXTENSION)
    assert "_PyInit__core" in shown(macos.HERE / EXTENSION)
    called = {symbol.name for symbol in module.imported_symbols}
    assert {name for name in called if own.match(name)} <= core


def test_objects_of_sources_that_are_gone_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And those of targets that were not built."""
    folder = tmp_path / macos.MACHINE
    of_base = "core/CMakeFiles/mlc_base.dir"
    (folder / of_base / "src").mkdir(parents=True)
    (folder / "build.ninja").write_text(
        "rule cc\n  command = false\n"
        f"build {of_base}/src/new.cc.o: cc\nbuild {of_base}/src/later.cc.o: cc\n"
    )
    for name in ("new", "old"):
        (folder / of_base / "src" / f"{name}.cc.o").write_bytes(name.encode())
    (folder / "core" / "libxgrammar.a").write_bytes(write_ar({}))
    monkeypatch.setattr(macos.build, "FOLDER", tmp_path)
    monkeypatch.setattr(macos.build, "objects", lambda machine: [])
    assert macos.core_objects() == [b"new"]


def test_what_it_calls_is_in_tvms_wheel_or_in_the_system() -> None:
    """Apple's C library by the list of names that zig carries."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        pytest.skip("needs ziglang")
    text = (Path(spec.origin).parent / "lib/libc/darwin/libSystem.tbd").read_text()
    known = set(re.findall(r"[\w$.]+", text))
    called = {symbol.name for symbol in parsed("libmlc_llm.dylib").imported_symbols}
    for path in macos.tvm():
        known |= shown(path)
    of_cpp = re.compile(r"__Z(N[KSV]*t?St3__1|NK?S|S|T[ISTV]|n|d)|___(cxa|gxx|dynamic_cast)")
    assert any("TVMFFIFunctionCall" in name for name in called)
    assert [name for name in called - known if not of_cpp.match(name)] == []

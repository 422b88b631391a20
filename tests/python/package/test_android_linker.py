"""Libraries for Android out of object files, without an NDK."""

from __future__ import annotations

import stat
import struct
import sys
from pathlib import Path

import pytest

from mlc_llm.errors import InvalidRequestError, MLCError
from mlc_llm.package import android


@pytest.fixture
def no_linker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with an empty path and without ziglang. Returns the folder that is the path."""
    for name in ("ANDROID_NDK", "ANDROID_NDK_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    return tmp_path


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_machine_without_a_linker_is_told_what_to_install(no_linker: Path) -> None:
    with pytest.raises(MLCError, match="pip install ziglang") as raised:
        android.link(no_linker / "lib.so", [], abi="arm64-v8a")
    assert raised.value.code == "linker_missing" and raised.value.param == "device"


def test_the_ndk_comes_first(no_linker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path = program(no_linker / "ld.lld-19", "")
    assert android.find_linker() == (str(on_path),)
    ndk = no_linker / "ndk"
    inside = program(ndk / "toolchains/llvm/prebuilt/linux-x86_64/bin/ld.lld", "")
    monkeypatch.setenv("ANDROID_NDK", str(ndk))
    assert android.find_linker() == (str(inside),)


def test_the_linkers_own_words_are_in_the_error(no_linker: Path) -> None:
    program(
        no_linker / "ld.lld", "import sys; sys.exit('ld.lld: error: undefined symbol: mystery')"
    )
    with pytest.raises(MLCError, match="undefined symbol: mystery") as raised:
        android.link(no_linker / "lib.so", [no_linker / "one.o"], abi="arm64-v8a")
    assert raised.value.code == "link_failed"
    with pytest.raises(InvalidRequestError, match="armeabi: not an ABI") as refused:
        android.link(no_linker / "lib.so", [], abi="armeabi")
    assert refused.value.param == "abi"


@pytest.mark.parametrize(("abi", "machine"), [("arm64-v8a", 183), ("x86_64", 62)])
def test_what_a_library_needs_and_its_pages(tmp_path: Path, abi: str, machine: int) -> None:
    """Read by hand: Android's loader finds the engine, and Google Play accepts the pages."""
    if android.find_linker() is None:
        pytest.skip("needs LLVM's linker: pip install ziglang")
    empty = tmp_path / "empty.o"
    empty.write_bytes(android._empty_object(machine))
    data = android.link(tmp_path / "libmodel.so", [empty], abi=abi).read_bytes()
    assert struct.unpack_from("<HH", data, 16) == (3, machine)
    start, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    headers = [struct.unpack_from("<IIQQQQQQ", data, start + 56 * i) for i in range(count)]
    assert {h[7] for h in headers if h[0] == 1} == {android.PAGE_BYTES}  # LOAD
    (dynamic,) = (h for h in headers if h[0] == 2)
    for name in (*android.NEEDED, "libmodel.so"):
        assert name.encode() + b"\0" in data
    tags = [
        struct.unpack_from("<Q", data, at)[0]
        for at in range(dynamic[2], dynamic[2] + dynamic[5], 16)
    ]
    assert tags.count(1) == len(android.NEEDED)

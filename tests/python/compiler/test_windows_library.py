"""Libraries for Windows: their options, and what they show and call, read by lief. wine runs one in
tests/python/test_wheel_windows.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("tvm")

import tvm
from test_compile import CONFIG
from tvm.script import tirx as T

from mlc_llm.compiler import hosts, targets
from mlc_llm.compiler.compile import compile_model
from mlc_llm.compiler.trailer import trailer
from mlc_llm.errors import InvalidRequestError, MLCError, UnsupportedError
from mlc_llm.prepare import linker, windows_linker

ROOT = Path(__file__).resolve().parents[3]
needs_linker = pytest.mark.skipif(
    windows_linker.find() is None, reason="no lld-link: pip install ziglang"
)


@pytest.mark.parametrize(
    ("output", "options", "error", "named", "words"),
    [
        ("m.dll", {"device": "x86-64-v2"}, InvalidRequestError, "output", "--device windows"),
        ("m.so", {"device": "windows"}, InvalidRequestError, "output", "ends in .dll"),
        ("m.a", {"device": "windows"}, InvalidRequestError, "output", "ends in .dll"),
        ("m.dll", {"device": "windows:vulkan"}, UnsupportedError, "device", "not built yet"),
        ("m.dll", {"device": "x86-64-v2", "host": "x86_64-pc-windows-msvc"}, UnsupportedError,
         "host", targets.WINDOWS_TRIPLE),
        ("m.dll", {"device": "x86-64-v2,x86-64-v3", "host": targets.WINDOWS_TRIPLE},
         UnsupportedError, "device", "for one CPU"),
        ("m.dll", {"device": "aarch64", "host": targets.WINDOWS_TRIPLE}, InvalidRequestError,
         "host", "not a machine of --device aarch64"),
    ],
)  # fmt: skip
def test_what_is_no_library_for_windows_is_refused(tmp_path, output, options, error, named, words):
    with pytest.raises(error, match=words) as raised:
        compile_model(CONFIG, output=tmp_path / output, **options)
    assert raised.value.param == named
    assert not (tmp_path / output).exists()


def test_the_device_is_a_preset_on_another_machine():
    windows, linux = targets.resolve("windows"), targets.resolve("x86-64-v3")
    assert hosts.is_windows(windows) and not hosts.is_windows(linux)
    moved = hosts.on_host(linux, targets.WINDOWS_TRIPLE)
    assert {**vars(moved), "name": "windows"} == vars(windows)
    assert windows.cpu_features() == linux.cpu_features()


def test_without_a_linker_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(linker.shutil, "which", lambda name: None)
    monkeypatch.setattr(linker.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MLCError, match="pip install ziglang") as error:
        compile_model(CONFIG, output=tmp_path / "m.dll", device="windows")
    assert error.value.code == "linker_missing"


def names_of(library: str) -> set[str]:
    """What a `.def` file offers."""
    text = (Path(windows_linker.__file__).parent / f"{library}.def").read_text()
    assert f"\nLIBRARY {library}.dll\n" in text
    return set(text.partition("EXPORTS\n")[2].split())


def test_the_engine_offers_the_functions_that_it_binds_elsewhere():
    bound = (ROOT / "core" / "src" / "runtime" / "library_imports.cc").read_text()
    functions = set(re.findall(r'Named\("(\w+)"', bound))
    assert len(functions) >= 5
    assert names_of("mlc_llm") == functions | {"___chkstk_ms"}


def calls_and_exports(path: Path) -> tuple[dict[str, set[str]], set[str]]:
    lief = pytest.importorskip("lief")
    dll = lief.PE.parse(str(path))  # lives as long as its entries
    assert dll.header.machine == lief.PE.Header.MACHINE_TYPES.AMD64
    calls = {one.name: {entry.name for entry in one.entries} for one in dll.imports}
    return calls, {entry.name for entry in dll.get_export().entries}


@needs_linker
def test_a_library_calls_what_the_engine_offers(tmp_path):
    output = tmp_path / "tiny.dll"
    compile_model({**CONFIG, "num_hidden_layers": 1}, output=output, device="windows")
    data = output.read_bytes()
    assert data[-24:] == trailer(data[:-24])
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.dll"]
    calls, shown = calls_and_exports(output)
    assert "TVMFFIErrorSetRaisedFromCStrParts" in calls["mlc_llm.dll"]
    assert calls.keys() <= {"mlc_llm.dll", "ucrtbase.dll"}
    # What the runtime reads and sets when it opens the library, and a kernel.
    needed = {"__tvm_ffi__library_bin", "__TVMBackendParallelLaunch", "__tvm_ffi_paged_attention"}
    assert needed <= shown


def linked(kernel: tvm.tirx.PrimFunc, folder: Path) -> Path:
    module = tvm.compile(tvm.IRModule({"main": kernel}), target=targets.resolve("windows").target())
    module.mod.write_to_file(str(folder / "one.o"), "o")
    windows_linker.link(windows_linker.require(), folder / "one.dll", [str(folder / "one.o")])
    return folder / "one.dll"


@needs_linker
def test_maths_and_large_frames_are_called_by_name(tmp_path):
    @T.prim_func
    def calls(x: T.Buffer((8,), "float32"), at: T.Buffer((1,), "int32")):
        # pieces of the frame, of 250 words each: more than a page of 4 KB
        a = T.alloc_buffer((250,))
        b = T.alloc_buffer((250,))
        c = T.alloc_buffer((250,))
        d = T.alloc_buffer((250,))
        e = T.alloc_buffer((250,))
        for i in range(250):
            a[i] = x[i % 8]
            b[i] = x[i % 7]
            c[i] = x[i % 6]
            d[i] = x[i % 5]
            e[i] = x[i % 4]
        x[0] = a[at[0]] + b[at[0]] + c[at[0]] + d[at[0]] + e[at[0]]
        for i in T.parallel(8):
            x[i] = T.call_extern("float32", "tanhf", x[i])

    found, shown = calls_and_exports(linked(calls, tmp_path))
    assert found["ucrtbase.dll"] == {"tanhf"} and found.keys() == {"mlc_llm.dll", "ucrtbase.dll"}
    assert "___chkstk_ms" in found["mlc_llm.dll"]
    # With a pointer for barriers the library would keep TVM's threads (parallel.cc).
    assert "__TVMBackendParallelLaunch" in shown and "__TVMBackendParallelBarrier" not in shown


@needs_linker
def test_what_no_library_has_is_an_error_with_its_name(tmp_path):
    @T.prim_func
    def calls(x: T.Buffer((1,), "float32")):
        x[0] = T.call_extern("float32", "mystery", x[0])

    with pytest.raises(MLCError, match="undefined symbol: mystery") as error:
        linked(calls, tmp_path)
    assert error.value.code == "link_failed"

"""Static model libraries: what is in them, and a program that they are linked into."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import tvm
import tvm_ffi
from gpu_engines import leave_samplers_out

from mlc_llm import MLCEngine, _core
from mlc_llm.compiler.archive import OUR_LOOPS, TVMS_BARRIER, TVMS_LOOPS, with_our_loops
from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.errors import InvalidRequestError, UnavailableError, UnsupportedError
from mlc_llm.package.ar import read_members
from mlc_llm.package.objects import read_object
from mlc_llm.prepare.model_source import ResolvedModel, resolve_model
from mlc_llm.sdk.core_engine import choose_device

ROOT = Path(__file__).parents[3]


def objects_of(archive: Path, folder: Path) -> list[Path]:
    """The members of a .tar or .a, unpacked."""
    folder.mkdir()
    if archive.suffix == ".tar":
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    else:
        subprocess.run(["ar", "x", str(archive)], cwd=folder, check=True)
    return sorted(folder.iterdir())


def symbols(file: Path, *options: str) -> list[tuple[str, str]]:
    """(type, name) as nm tells."""
    listed = subprocess.run(
        ["nm", "-P", *options, str(file)], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in listed.stdout.splitlines() if len(line.split()) > 1]
    return [(row[1], row[0]) for row in rows]


@pytest.mark.parametrize(
    ("device", "suffix", "host", "machine"),
    [
        ("android:adreno", ".tar", "auto", "AArch64"),
        ("metal:iphone", ".tar", "auto", None),  # Mach-O
        ("aarch64", ".a", "aarch64-linux-android", "AArch64"),  # for the processor alone
    ],
)
def test_an_archive_for_a_phone(
    tiny_model: ResolvedModel,
    tmp_path: Path,
    device: str,
    suffix: str,
    host: str,
    machine: str | None,
) -> None:
    output = tmp_path / f"model{suffix}"
    config = read_chat_config(tiny_model.folder)
    compile_model(config, output=output, device=device, host=host, system_lib_prefix="tiny_")
    objects = objects_of(output, tmp_path / "objects")
    assert [o.name for o in objects] == ["tiny_devc.o", "tiny_lib0.o"]
    if machine is None:
        assert all(o.read_bytes()[:4] == b"\xcf\xfa\xed\xfe" for o in objects)  # 64-bit Mach-O
        return
    for file in objects:
        header = subprocess.run(["readelf", "-h", file], capture_output=True, text=True).stdout
        assert machine in header
        strong = [name for kind, name in symbols(file, "-g", "--defined-only") if kind in "TRDB"]
        assert strong
        assert all(name.removeprefix("__tvm_ffi_").startswith("tiny_") for name in strong)
    undefined = {name for file in objects for kind, name in symbols(file, "-u")}
    assert "TVMBackendParallelLaunch" not in undefined
    assert ("mlc_backend_launch_loops" in undefined) == (device == "aarch64")


@pytest.mark.parametrize("has_barrier", [False, True])
def test_loops_run_on_the_engines_threads(tmp_path: Path, has_barrier: bool) -> None:
    """Unless a kernel has barriers, which need TVM's threads."""
    names = [TVMS_LOOPS, *([TVMS_BARRIER] if has_barrier else [])]
    lines = (f"int {name}(); int f{i}() {{ return {name}(); }}" for i, name in enumerate(names))
    (tmp_path / "kernel.c").write_text("\n".join(lines))
    subprocess.run(["g++", "-xc", "-c", "kernel.c"], cwd=tmp_path, check=True)
    data = (tmp_path / "kernel.o").read_bytes()
    changed = read_object(with_our_loops(data))
    assert (OUR_LOOPS in changed.undefined) != has_barrier
    assert (TVMS_LOOPS in changed.undefined) == has_barrier
    assert changed.defined == read_object(data).defined


def test_the_default_models_archive_for_a_phones_processor(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """Its kernels have bodies that TVM's own pass could not rename (compiler/symbols.py)."""
    if not pytestconfig.getoption("--long"):
        pytest.skip("compiles the default model: run with --long")
    model = resolve_model(None, device="cpu", quantization="q4f32_1", progress=lambda _: None)
    output = tmp_path / "smol.a"
    config = read_chat_config(model.folder)
    options = {"host": "arm64-apple-ios16.0", "system_lib_prefix": "smol_"}
    compile_model(config, output=output, device="aarch64", **options)
    objects = [read_object(data) for data in read_members(output).values()]
    assert {item.machine for item in objects} == {"arm64 ios"}
    assert {item.minimum for item in objects} == {"16.0"}
    defined = frozenset().union(*(item.defined for item in objects))
    assert "smol___tvm_ffi__library_bin" in defined


def test_the_prefix_is_made_of_model_and_quantization(
    tiny_model: ResolvedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_samplers_out(monkeypatch)
    output = tmp_path / "model.tar"
    compile_model(read_chat_config(tiny_model.folder), output=output, device="opencl")
    with tarfile.open(output) as tar:
        assert sorted(tar.getnames()) == ["llama_q4f32_1_devc.o", "llama_q4f32_1_lib0.o"]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"system_lib_prefix": "tiny_"}, InvalidRequestError, "static libraries"),
        ({"output": "x.a", "system_lib_prefix": "a-b"}, InvalidRequestError, "C name"),
        ({"output": "x.a", "device": "x86-64-v2,x86-64-v3"}, InvalidRequestError, "one CPU"),
        ({"output": "x.a", "host": "nonsense"}, InvalidRequestError, "triple"),
        ({"output": "x.a", "host": "wasm32-unknown-none"}, UnsupportedError, "no code for it"),
        ({"output": "x.a", "host": "x86_64-plan9"}, UnsupportedError, "no code for it"),
        ({"device": "iphone"}, UnsupportedError, ".tar"),
        ({"device": "aarch64", "host": "x86_64-linux-gnu"}, InvalidRequestError, "not a machine"),
        ({"device": "opencl", "host": "aarch64-linux-gnu"}, UnsupportedError, "CXX"),
    ],
)
def test_what_cannot_be_is_refused(
    tiny_model: ResolvedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, str],
    error: type[Exception],
    words: str,
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    config = read_chat_config(tiny_model.folder)
    more = {**options, "output": tmp_path / options.get("output", "x.so")}
    with pytest.raises(error, match=words):
        compile_model(config, **more)
    assert list(tmp_path.iterdir()) == []


def test_a_library_that_is_linked_into_a_program(tiny_model: ResolvedModel, tmp_path: Path) -> None:
    """For the processor; and what the program says of one that is not there."""
    check_linked(tiny_model, tmp_path, device="x86-64-v2", run_on="cpu", prefixes=["one_"])
    named = run_linked(tiny_model, tmp_path / "program", "cpu", "one")[0]
    assert named["choices"], "as MLC-LLM's apps name it, without the underscore"
    missing = run_linked(tiny_model, tmp_path / "program", "cpu", "no_")[0]["error"]
    assert missing["param"] == "model_lib" and "'no_'" in missing["message"]


def test_a_file_goes_before_a_linked_library(tiny_model: ResolvedModel, tmp_path: Path) -> None:
    """Of one name. Their context windows tell them apart."""
    config = read_chat_config(tiny_model.folder)
    archive, app, file = (tmp_path / name for name in ("one.a", "app.so", "libone.so"))
    linked = {"device": "x86-64-v2", "system_lib_prefix": "one_"}
    compile_model(config, output=archive, overrides="context_window_size=64", **linked)
    compile_model(config, output=file, device="x86-64-v2", overrides="context_window_size=128")
    objects = objects_of(archive, tmp_path / "objects")
    core = Path(_core.__file__).parent
    folders = [core, Path(tvm_ffi.__file__).parent / "lib"]
    paths = [word for folder in folders for word in (f"-L{folder}", f"-Wl,-rpath,{folder}")]
    command = ["g++", "-shared", *objects, "-o", app, *paths, "-lmlc_llm", "-ltvm_ffi", "-lm"]
    subprocess.run(command, check=True)
    script = (
        "import ctypes, json, sys\n"
        "from mlc_llm import _core, set_directories\n"
        "ctypes.CDLL(sys.argv[2])\n"
        "for folders in ([sys.argv[3]], []):\n"
        "    set_directories(libraries=folders)\n"
        "    plan = json.loads(_core.Engine('{}').plan(sys.argv[1]))\n"
        "    print(plan['context_window_size'])\n"
    )
    model = json.dumps(tiny_model.core_json("cpu") | {"model_lib": "one"})
    asked = [sys.executable, "-c", script, model, str(app), str(tmp_path)]
    ended = subprocess.run(asked, capture_output=True, text=True)
    assert ended.stdout.split() == ["128", "64"], ended


def test_two_libraries_in_a_program(
    tiny_model: ResolvedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For OpenCL, one after the other in one process."""
    leave_samplers_out(monkeypatch)
    try:
        choose_device("opencl")
    except UnavailableError as error:
        pytest.skip(str(error))
    check_linked(tiny_model, tmp_path, device="opencl", run_on="opencl", prefixes=["one_", "b_"])


def check_linked(
    model: ResolvedModel, folder: Path, *, device: str, run_on: str, prefixes: list[str]
) -> None:
    """A program with the libraries in it answers as the same library does when it is shared."""
    config = read_chat_config(model.folder)
    archives = [folder / f"{prefix}.a" for prefix in prefixes]
    for prefix, archive in zip(prefixes, archives, strict=True):
        compile_model(config, output=archive, device=device, system_lib_prefix=prefix)
    link(archives, folder / "program")
    lines = run_linked(model, folder / "program", run_on, *prefixes)
    compile_model(config, output=folder / "shared.so", device=device)
    expected = answer(model, folder / "shared.so", run_on)
    assert [line["choices"][0]["text"] for line in lines] == [expected] * len(prefixes)


def answer(model: ResolvedModel, library: Path, device: str) -> str:
    """What the same library, as a shared one, answers to the program's prompt."""
    with MLCEngine(model.folder, model_lib=library, device=device) as engine:
        made = engine.completions.create(
            prompt="Hello", temperature=0, max_tokens=12, debug_config={"ignore_eos": True}
        )
    return made.choices[0].text


def link(archives: list[Path], program: Path) -> None:
    core = Path(_core.__file__).parent
    folders = [core, Path(tvm.__file__).parent / "lib", Path(tvm_ffi.__file__).parent / "lib"]
    source = ROOT / "tests/fixtures/linked-model/linked_model.c"
    command = [
        "cc",
        "-Wall",
        "-Wextra",
        "-Werror",
        source,
        f"-I{ROOT / 'core/include'}",
        "-pthread",
    ]
    command += ["-Wl,--whole-archive", *archives, "-Wl,--no-whole-archive"]
    command += [f"-Wl,-rpath,{f}" for f in folders] + [f"-L{f}" for f in folders]
    command += ["-lmlc_llm", "-ltvm_ffi", "-ltvm_runtime", "-lm", "-o", program]
    subprocess.run(list(map(str, command)), check=True)


def run_linked(model: ResolvedModel, program: Path, *arguments: str) -> list[dict[str, Any]]:
    """What it prints."""
    done = subprocess.run(
        [program, model.folder, *arguments], capture_output=True, text=True, timeout=300
    )
    return [json.loads(line) for line in done.stdout.splitlines()]

"""`mlc_llm package`: the configs of MLC-LLM's apps, with tiny models in place of theirs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from gguf import GGMLQuantizationType

from mlc_llm import _core
from mlc_llm.compiler.seal import seal_fits
from mlc_llm.errors import CorruptFileError, InvalidRequestError, NotFoundError
from mlc_llm.package import ar
from mlc_llm.package.bundle import HUB
from mlc_llm.package.check import check_package
from mlc_llm.package.devices import DEVICES
from mlc_llm.package.libraries import joined
from mlc_llm.package.objects import read_object
from mlc_llm.package.runtime import lacks_abi
from mlc_llm.prepare.model_source import ResolvedModel

Entry = Callable[..., dict[str, Any]]
SMALL = {"prefill_chunk_size": 128, "context_window_size": 256}
OF_LIBC = {"expf", "exp2f", "logf", "sinf", "cosf", "tanhf", "memcpy", "memset", "bzero"}
OF_LIBC |= {"memset_pattern16"}  # Apple's


def app_list(dist: Path) -> list[dict[str, Any]]:
    return json.loads((dist / "bundle" / "mlc-app-config.json").read_text())["model_list"]


def symbols(archive: Path) -> set[str]:
    return set().union(*(read_object(d).defined for d in ar.read_members(archive).values()))


def test_the_chat_app_for_iphones(packager: Any, entry: Entry) -> None:
    """Several models, one of them bundled; all have overrides. Two share a library."""
    models = [
        entry("one", bundle_weight=True, overrides=SMALL),
        entry("two", overrides={"prefill_chunk_size": 128}),
        entry("three", overrides={"prefill_chunk_size": 128}),
    ]
    dist = packager({"device": "iphone", "model_list": models})
    listed = app_list(dist)
    assert [list(model) for model in listed] == [
        ["model_id", "model_lib", "estimated_vram_bytes", "model_path"],
        ["model_id", "model_lib", "estimated_vram_bytes", "model_url"],
        ["model_id", "model_lib", "estimated_vram_bytes", "model_url"],
    ]
    assert listed[0]["model_path"] == listed[0]["model_id"] == "one-MLC"
    assert listed[1]["model_url"] == f"{HUB}mlc-ai/two-MLC"
    libraries = [model["model_lib"] for model in listed]
    assert libraries[1] == libraries[2] != libraries[0]
    assert all(name.startswith("llama_q4f32_1_") and len(name) == 14 + 32 for name in libraries)
    bundled = {path.name for path in (dist / "bundle" / "one-MLC").iterdir()}
    assert {"mlc-chat-config.json", "tokenizer.json", "tensor-cache.json"} <= bundled
    assert sorted(path.name for path in (dist / "bundle").iterdir()) == [
        "mlc-app-config.json",
        "one-MLC",
    ]
    found = symbols(dist / "lib" / "libmodel_iphone.a")
    assert {f"{name}___tvm_ffi__library_bin" for name in libraries} <= found
    assert len(packager.compiled) == 2
    assert any("no runtime for iphone" in line for line in packager.lines)
    assert check_package(dist).problems == []


def test_a_second_run_makes_nothing_again(packager: Any, entry: Entry) -> None:
    config = {"device": "iphone", "model_list": [entry("one", bundle_weight=True, overrides=SMALL)]}
    dist = packager(config)
    shard = next((dist / "bundle" / "one-MLC").glob("params_shard_*"))
    before = (shard.stat().st_ino, (dist / "lib" / "libmodel_iphone.a").read_bytes())
    packager.compiled.clear()
    packager(config)
    assert packager.compiled == []
    assert (shard.stat().st_ino, (dist / "lib" / "libmodel_iphone.a").read_bytes()) == before
    shard.write_bytes(shard.read_bytes()[:-1])  # a damaged copy is made again
    packager(config)
    assert check_package(dist).problems == []
    assert sorted(path.name for path in dist.iterdir()) == [".mlc-package.json", "bundle", "lib"]


def test_the_example_app_for_iphones(packager: Any, entry: Entry) -> None:
    """One bundled model, whose library has a name; it is given, so nothing is compiled."""
    model = entry("one", bundle_weight=True, model_lib="llama-tiny", overrides=SMALL)
    config = {"device": "iphone", "model_list": [model]}
    dist = packager(config)
    assert app_list(dist)[0]["model_lib"] == "llama-tiny"
    archive = packager.folder / "given.a"
    shutil.copy(dist / "lib" / "libmodel_iphone.a", archive)
    assert "llama_tiny___tvm_ffi__library_bin" in symbols(archive)
    packager.compiled.clear()
    again = packager(
        {**config, "model_lib_path_for_prepare_libs": {"llama-tiny": "given.a"}},
        output=packager.folder / "again",
    )
    assert packager.compiled == []
    libraries = [folder / "lib" / "libmodel_iphone.a" for folder in (dist, again)]
    assert libraries[0].read_bytes() == libraries[1].read_bytes()


def test_the_chat_app_for_android(
    packager: Any, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its app downloads by address; bundled models have one too. Here with OpenCL's kernels alone,
    which take less time."""
    monkeypatch.setitem(DEVICES, "android", replace(DEVICES["android"], cpus=()))
    models = [
        entry("one"),
        entry("two", overrides={"context_window_size": 256, "prefill_chunk_size": 128}),
        entry("four", bundle_weight=True),
    ]
    dist = packager({"device": "android", "model_list": models})
    assert [sorted(model)[-1] for model in app_list(dist)] == ["model_url"] * 3
    assert (dist / "bundle" / "four-MLC" / "tokenizer.json").is_file()
    members = ar.read_members(dist / "lib" / "libmodel_android.a")
    assert {read_object(data).machine for data in members.values()} == {"aarch64 elf"}
    assets = dist / "lib" / "mlc4j" / "src" / "main" / "assets" / "mlc-app-config.json"
    assert json.loads(assets.read_text())["model_list"] == app_list(dist)
    assert check_package(dist).problems == []


def test_a_local_model_for_catalyst(packager: Any, entry: Entry, tiny_model: ResolvedModel) -> None:
    model = entry("local", model=str(tiny_model.folder), bundle_weight=True)
    overrides = {**SMALL, "max_batch_size": 2, "tensor_parallel_shards": 1, "opt": "O1"}
    config = {"device": "macabi", "model_list": [{**model, "overrides": overrides}]}
    dist = packager(config)
    members = ar.read_members(dist / "lib" / "libmodel_macabi.a")
    assert {read_object(data).machine for data in members.values()} == {"arm64 maccatalyst"}
    assert app_list(dist)[0]["model_path"] == "local-MLC"


def test_an_iphone_without_metal(packager: Any, entry: Entry) -> None:
    """Its archive has the CPU's kernels, and calls nothing that the engine does not show."""
    model = entry("one", bundle_weight=True, overrides=SMALL)
    dist = packager({"device": "iphone-cpu", "model_list": [model]})
    report = check_package(dist)
    assert report.problems == []
    (library,) = report.libraries.values()
    assert library["target"]["kind"] == "llvm" and "arm64-apple-ios16.0" in str(library["target"])
    members = ar.read_members(dist / "lib" / "libmodel_iphone-cpu.a").values()
    objects = [read_object(data) for data in members]
    assert {(one.machine, one.minimum) for one in objects} == {("arm64 ios", "16.0")}
    called = set().union(*(one.undefined for one in objects))
    called -= set().union(*(one.defined for one in objects))
    own = {name for name in called if name.startswith(("mlc_", "TVM"))}
    assert own and all(name.startswith(("mlc_", "TVMFFI", "TVMBackend")) for name in own)
    assert called - own <= OF_LIBC, called - own


def test_a_gguf_file_keeps_its_own_types(packager: Any, entry: Entry) -> None:
    """It is not quantized a second time, and the choice is said."""
    file = packager.folder / "tiny.gguf"
    tiny_models.write_gguf(file, tiny_models.random_weights(), kind=GGMLQuantizationType.Q4_1)
    model = entry("one", model=str(file), bundle_weight=True, overrides=SMALL)
    dist = packager({"device": "iphone-cpu", "model_list": [model]})
    assert app_list(dist)[0]["model_lib"].startswith("llama_gguf_q4_1_")
    config = json.loads((dist / "bundle" / "one-MLC" / "mlc-chat-config.json").read_text())
    assert config["quantization"] == "gguf_q4_1"
    assert "one-MLC: quantization gguf_q4_1, the types of its GGUF file" in packager.lines
    assert check_package(dist).problems == []


def test_a_desktop_app_loads_what_was_packaged(
    packager: Any, entry: Entry, tiny_model: ResolvedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library is found by its bare name in a folder that the program gives; and stripped."""
    from mlc_llm import set_directories

    one_cpu = replace(DEVICES["linux"], target="x86-64-v2")
    monkeypatch.setitem(DEVICES, "linux", one_cpu)
    config = {
        "device": ["linux"],
        "model_list": [entry("one", bundle_weight=True, overrides=SMALL)],
    }
    dist = packager(config)
    assert check_package(dist).problems == []
    name = app_list(dist)[0]["model_lib"]
    library = dist / "lib" / "linux" / f"lib{name}.so"
    core = tiny_model.core_json("cpu")
    core |= {"model": str(dist / "bundle" / "one-MLC"), "model_lib": name}
    try:
        set_directories(libraries=[library.parent])
        whole = answer(core)
        if shutil.which("strip"):
            import subprocess

            subprocess.run(["strip", "--strip-unneeded", str(library)], check=True)
            assert b"MLCLIB01" not in library.read_bytes()[-24:]
            assert answer(core) == whole
            assert check_package(dist).problems == []
    finally:
        set_directories()


def answer(core: dict[str, Any]) -> str:
    from mlc_llm import _core

    engine = _core.Engine("{}")
    engine.load(json.dumps(core))
    body = {"prompt": "Hello", "temperature": 0, "max_tokens": 8, "seed": 1}
    _, events = engine.stream("completions", json.dumps(body))
    _, text = events.next()
    engine.close()
    return str(json.loads(text)["choices"][0]["text"])


def test_models_must_not_share_a_name_with_other_settings(packager: Any, entry: Entry) -> None:
    models = [
        entry("one", model_lib="llama_tiny"),
        entry("two", model_lib="llama-tiny", overrides=SMALL),
    ]
    with pytest.raises(InvalidRequestError, match=r"model_list\[1\].model_lib: .* model_list\[0\]"):
        packager({"device": "iphone", "model_list": models})
    assert packager.compiled == []


def test_a_given_library_must_be_the_devices_and_have_the_symbol(
    packager: Any, entry: Entry
) -> None:
    model = entry("one", bundle_weight=True, model_lib="llama-tiny", overrides=SMALL)
    dist = packager({"device": "iphone", "model_list": [model]})
    shutil.copy(dist / "lib" / "libmodel_iphone.a", packager.folder / "given.a")
    given = {"model_lib_path_for_prepare_libs": {"llama-tiny": "given.a"}}
    with pytest.raises(InvalidRequestError, match="for arm64 ios; android needs aarch64 elf"):
        packager({"device": "android", "model_list": [model], **given})
    other = {"model_lib_path_for_prepare_libs": {"llama-other": "given.a"}}
    model["model_lib"] = "llama-other"
    with pytest.raises(
        CorruptFileError,
        match="no symbol llama_other___tvm_ffi__library_bin.*it has llama_tiny___tvm",
    ):
        packager({"device": "iphone", "model_list": [model], **other})
    # the last package that was made stays as it was
    assert app_list(dist)[0]["model_lib"] == "llama-tiny"
    assert check_package(dist).problems == []


def test_a_model_that_is_not_there_is_named(packager: Any, entry: Entry) -> None:
    model = entry("one", model="missing-folder", bundle_weight=True)
    with pytest.raises(NotFoundError, match="missing-folder"):
        packager({"device": "iphone", "model_list": [model]})
    model = entry("one", model="https:/" + "/example.com/org/repo")
    with pytest.raises(InvalidRequestError, match=r"model_list\[0\].model: https:.*example"):
        packager({"device": "iphone", "model_list": [model]})


@pytest.mark.parametrize("name", ["lib", "bundle"])
def test_a_folder_of_another_program_stays(packager: Any, entry: Entry, name: str) -> None:
    own = packager.folder / "app" / name / "main.dart"
    own.parent.mkdir(parents=True)
    own.write_text("void main() {}")
    with pytest.raises(InvalidRequestError, match="is not from") as caught:
        packager({"device": "iphone", "model_list": [entry("one")]}, own.parents[1])
    assert caught.value.param == "output" and own.exists()


def test_a_runtime_is_copied_beside_the_libraries(
    packager: Any, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = packager.folder / "runtimes" / "iphone"
    runtime.mkdir(parents=True)
    (runtime / "notes.txt").write_text("the engine")
    monkeypatch.setenv("MLC_LLM_RUNTIME_DIR", str(runtime.parent))
    model = entry("one", bundle_weight=True, overrides=SMALL)
    dist = packager({"device": "iphone", "model_list": [model]})
    assert (dist / "lib" / "iphone" / "notes.txt").read_text() == "the engine"
    assert not any("no runtime" in line for line in packager.lines)


def test_a_runtime_without_the_engine_for_an_abi_is_found(tmp_path: Path) -> None:
    """The command then prints a note."""
    phones, emulators = DEVICES["android"], DEVICES["android-x86_64"]
    assert not lacks_abi(tmp_path, emulators), "an AAR alone may have any"
    (tmp_path / "lib" / "arm64-v8a").mkdir(parents=True)
    assert lacks_abi(tmp_path, emulators) and not lacks_abi(tmp_path, phones)
    assert not lacks_abi(tmp_path, DEVICES["linux"])


def test_an_android_library_needs_no_linking_by_the_app(
    packager: Any, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the linker in the PyPI package `ziglang`, which is taken where it is. For phones without
    OpenCL the library has the CPU's kernels too (here of one generation), each compiled once for
    both forms."""
    pytest.importorskip("ziglang")
    phones = DEVICES["android"]
    assert phones.cpus == ("aarch64", "aarch64-dotprod", "aarch64-i8mm")
    monkeypatch.setitem(DEVICES, "android", replace(phones, cpus=("aarch64-i8mm",)))
    model = entry("one", overrides=SMALL, model_lib="llama-tiny")
    dist = packager({"device": ["android", "android-x86_64"], "model_list": [model]})
    assert packager.compiled == [
        "android llama_tiny_",
        "aarch64-i8mm llama_tiny_aarch64_i8mm_",
        "x86-64-v2 llama_tiny_",
    ]
    report = check_package(dist)
    assert report.problems == []
    cpus = ", also for the CPUs aarch64-i8mm"
    for abi, machine, more in (("arm64-v8a", "aarch64 elf", cpus), ("x86_64", "x86_64 elf", " (")):
        library = dist / f"lib/mlc4j/src/main/jniLibs/{abi}/libllama_tiny.so"
        item = read_object(library.read_bytes())
        assert item.machine == machine and item.is_shared
        assert seal_fits(library.read_bytes())
        line = f"{library}: the library llama-tiny for {abi}{more}"
        assert any(x.startswith(line) for x in report.lines)
    archive = dist / "lib" / "libmodel_android.a"
    for held in (symbols(archive), _defined(dist, "arm64-v8a")):
        for cpu in ("", "aarch64_i8mm_"):
            assert f"llama_tiny_{cpu}__tvm_ffi__library_bin" in held
    members = ar.read_members(dist / "lib" / "libmodel_android-x86_64.a")
    assert {read_object(data).machine for data in members.values()} == {"x86_64 elf"}


def _defined(dist: Path, abi: str) -> frozenset[str]:
    library = dist / f"lib/mlc4j/src/main/jniLibs/{abi}/libllama_tiny.so"
    return read_object(library.read_bytes()).defined


def test_libraries_must_not_have_objects_of_one_name(tmp_path: Path) -> None:
    """`one_aarch64` is what the CPU's library of `one` is called."""
    data = Path(_core.__file__).read_bytes()
    with pytest.raises(InvalidRequestError, match=r"one_aarch64 has an object one_aarch64_lib0.o"):
        joined({"one": {"one_aarch64_lib0.o": data}, "one_aarch64": {"one_aarch64_lib0.o": data}})


def test_the_commands(
    packager: Any, entry: Entry, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlc_llm.cli import main
    from mlc_llm.cli.package import main as mlc_package

    monkeypatch.setenv("MLC_LLM_SOURCE_DIR", "/somewhere")
    packager.write({"device": "iphone", "model_list": [entry("one", overrides=SMALL)]})
    assert mlc_package([]) == 0
    printed = capsys.readouterr()
    assert "Packaged 1 models for iphone" in printed.out and "not needed" in printed.err
    assert main(["package", "--check"]) == 0
    assert "Everything fits." in capsys.readouterr().out
    (packager.folder / "dist" / "lib" / "libmodel_iphone.a").write_bytes(b"!<arch>\n")
    assert main(["package", "--check"]) == 1
    assert "libmodel_iphone.a: has no object files in it" in capsys.readouterr().err
    assert main(["package", "--package-config", "none.json"]) == 1
    assert "Error: none.json: no such file" in capsys.readouterr().err

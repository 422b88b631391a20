"""`mlc_llm package --check`: what does not fit is named. And the readers of object files."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlc_llm import _core
from mlc_llm.compiler.library import SCHEMA_VERSION
from mlc_llm.compiler.seal import seal_fits, seal_object, sealed
from mlc_llm.compiler.trailer import trailer
from mlc_llm.errors import CorruptFileError, NotFoundError
from mlc_llm.package import ar, check
from mlc_llm.package.check import check_package
from mlc_llm.package.objects import read_object
from mlc_llm.prepare.model_source import ResolvedModel

Entry = Callable[..., dict[str, Any]]
CORE = next(Path(_core.__file__).parent.glob("libmlc_llm.*"))


@pytest.fixture
def dist(packager: Any, entry: Entry) -> Path:
    overrides = {"prefill_chunk_size": 128, "context_window_size": 256}
    model = entry("one", bundle_weight=True, model_lib="llama-tiny", overrides=overrides)
    return packager({"device": "iphone", "model_list": [model]})


def problems(dist: Path) -> str:
    return "\n".join(check_package(dist).problems)


def edit(path: Path, change: Callable[[Any], None]) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def test_it_says_what_each_file_is(dist: Path) -> None:
    lines = check_package(dist).lines
    assert any("libmodel_iphone.a: the libraries llama-tiny for iphone, from" in x for x in lines)
    assert any("the app's config, 1 models" in line for line in lines)
    assert any("the weights of one-MLC" in line for line in lines)
    assert check._LIBRARY_SCHEMA == SCHEMA_VERSION


def test_a_missing_symbol_is_named(dist: Path) -> None:
    edit(
        dist / "bundle" / "mlc-app-config.json",
        lambda c: c["model_list"][0].update(model_lib="llama-other"),
    )
    assert "libmodel_iphone.a: has no symbol llama_other___tvm_ffi__library_bin" in problems(dist)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e: e.pop("model_id"), "model_list[0].model_id is missing"),
        (lambda e: e.update(estimated_vram_bytes="1"), "model_list[0].estimated_vram_bytes"),
        (lambda e: e.update(model_url="x"), "either model_path or model_url"),
        (lambda e: e.pop("model_path"), "either model_path or model_url"),
        (lambda e: e.update(model_path="gone"), "gone: has no mlc-chat-config.json"),
    ],
)
def test_a_wrong_entry_is_named(dist: Path, change: Callable[[Any], Any], words: str) -> None:
    edit(dist / "bundle" / "mlc-app-config.json", lambda c: change(c["model_list"][0]))
    assert words in problems(dist)


def test_weights_of_another_model_and_cut_weights(dist: Path) -> None:
    weights = dist / "bundle" / "one-MLC"
    edit(weights / "mlc-chat-config.json", lambda c: c.update(quantization="q3f16_1"))
    assert "quantization is q3f16_1, and llama-tiny was compiled for q4f32_1" in problems(dist)
    shard = next(weights.glob("params_shard_*"))
    shard.write_bytes(shard.read_bytes()[:-1])
    assert f"{shard.name}: is missing or not" in problems(dist)


def test_weights_without_their_tokenizer(dist: Path) -> None:
    next((dist / "bundle").rglob("tokenizer.json")).unlink()
    assert "tokenizer.json: is missing" in problems(dist)


@pytest.mark.parametrize("name", ["tensor-cache.json", "mlc-chat-config.json"])
def test_damaged_files_of_weights(name: str, dist: Path) -> None:
    for text in ("[" * 100_000, "[]", "{"):
        next((dist / "bundle").rglob(name)).write_text(text)
        assert name in problems(dist)


def test_a_library_for_another_device_or_version(dist: Path) -> None:
    archive = dist / "lib" / "libmodel_iphone.a"
    shutil.copy(archive, dist / "lib" / "libmodel_android.a")
    assert "is for arm64 ios, not aarch64 elf" in problems(dist)
    (dist / "lib" / "libmodel_android.a").unlink()
    old = archive.read_bytes().replace(b'{"schema_version": 3', b'{"schema_version": 2')
    archive.write_bytes(old)
    assert "compiled for schema 2 of model libraries; this version's engine runs 3" in problems(
        dist
    )
    archive.write_bytes(old[:8])  # the magic number alone
    assert "libmodel_iphone.a: has no object files in it" in problems(dist)


def test_runtimes_of_mixed_versions_are_named(dist: Path) -> None:
    own = dist / "lib" / "iphone" / CORE.name
    own.parent.mkdir()
    shutil.copy(CORE, own)
    report = check_package(dist)
    assert report.problems == []
    assert any("the engine, for " in line for line in report.lines)
    data = bytearray(CORE.read_bytes())
    at = data.index(b"MLCLLMBUILDINFO\0") + 16
    struct.pack_into("<i", data, at, 99)
    (own.parent / f"old-{CORE.name}").write_bytes(bytes(data))
    (problem,) = check_package(dist).problems
    assert f"old-{CORE.name}: the engine" in problem and "ABI 99" in problem


def elf(machine: int, content: bytes) -> bytes:
    """A shared library without sections, for that machine of ELF."""
    return struct.pack("<6s10xHH20xQ10xHHH", b"\x7fELF\x02\x01", 3, machine, 0, 64, 0, 0) + content


def test_the_abis_of_android_must_fit(dist: Path) -> None:
    """An app is installed with the libraries of one ABI."""
    at = CORE.read_bytes().index(b"MLCLLMBUILDINFO\0")
    info = CORE.read_bytes()[at : at + 84]
    models = dist / "lib/mlc4j/src/main/jniLibs"
    archive = (dist / "lib" / "libmodel_iphone.a").read_bytes()
    metadata = archive[archive.index(b'{"schema_version"') :][:20_000]
    for abi, machine in (("arm64-v8a", 183), ("x86_64", 62)):
        (models / abi).mkdir(parents=True)
        library = elf(machine, metadata)
        (models / abi / "libllama_tiny.so").write_bytes(library + trailer(library))
    engine = dist / "lib/android/lib"
    for abi, machine in (("arm64-v8a", 183), ("x86_64", 62)):
        (engine / abi).mkdir(parents=True)
        (engine / abi / "libmlc_llm.so").write_bytes(elf(machine, info))
    report = check_package(dist)
    assert report.problems == []
    assert any("libllama_tiny.so: the library llama-tiny for x86_64" in x for x in report.lines)
    assert report.lines[-1].endswith(
        "arm64-v8a, x86_64 of the models, arm64-v8a, x86_64 of the engine"
    )
    (engine / "x86_64" / "libmlc_llm.so").unlink()
    assert "the engine is missing for x86_64" in problems(dist)
    shutil.copy(engine / "arm64-v8a" / "libmlc_llm.so", engine / "x86_64")
    assert "is for aarch64 elf; the folder x86_64 is for x86_64 elf" in problems(dist)


def test_a_folder_that_is_no_package(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="is no package"):
        check_package(tmp_path)


def test_the_seal_survives_strip_and_sees_damage(tiny_model: ResolvedModel, tmp_path: Path) -> None:
    library = tmp_path / "model.so"
    shutil.copy(tiny_model.model_lib, library)
    assert seal_fits(library.read_bytes())
    for tool in ("strip", "llvm-strip"):
        if shutil.which(tool) is None:
            continue
        stripped = tmp_path / f"{tool}.so"
        command = [tool, "--strip-unneeded", "-o", str(stripped), str(library)]
        subprocess.run(command, check=True)
        data = stripped.read_bytes()
        assert len(data) < library.stat().st_size and seal_fits(data)
        text = bytearray(data)
        text[data.index(b'{"schema_version"')] ^= 1
        assert seal_fits(bytes(text)) is False
    assert sealed(b"no library") == b"no library" and seal_fits(b"no library") is None
    assert seal_object(b"\xcf\xfa\xed\xfe") is None


def test_archives_have_an_index_that_linkers_read(dist: Path, tmp_path: Path) -> None:
    members = ar.read_members(dist / "lib" / "libmodel_iphone.a")
    assert ar.write_ar(members) == (dist / "lib" / "libmodel_iphone.a").read_bytes()
    if (cc := shutil.which("cc")) is None or shutil.which("nm") is None:
        pytest.skip("there are no binutils")
    objects = {}
    for name in ("one", "a_name_that_is_longer_than_sixteen"):
        source = tmp_path / f"{name}.c"
        source.write_text(f"int {name}(void) {{ return 7; }}")
        subprocess.run([cc, "-c", source, "-o", tmp_path / f"{name}.o"], check=True)
        objects[f"{name}.o"] = (tmp_path / f"{name}.o").read_bytes()
    archive = tmp_path / "lib.a"
    archive.write_bytes(ar.write_ar(objects))
    assert ar.read_members(archive) == objects
    (tmp_path / "main.c").write_text(
        "int one(void); int a_name_that_is_longer_than_sixteen(void);"
        "int main(void) { return one() + a_name_that_is_longer_than_sixteen() - 14; }"
    )
    program = tmp_path / "program"
    subprocess.run([cc, tmp_path / "main.c", archive, "-o", program], check=True)
    assert subprocess.run([program]).returncode == 0
    listed = subprocess.run(["nm", "-s", archive], capture_output=True, text=True, check=True)
    assert "one in one.o" in listed.stdout


def test_damaged_objects_and_archives_are_errors(tmp_path: Path, tiny_model: ResolvedModel) -> None:
    library = tiny_model.model_lib.read_bytes()
    assert read_object(library).is_shared
    for data in (b"", b"text", library[:80], b"\xcf\xfa\xed\xfe" + bytes(8)):
        with pytest.raises(CorruptFileError):
            read_object(data)
    for name, data in (("x.tar", b"no tar"), ("x.a", b"no ar"), ("y.a", b"!<arch>\n")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(CorruptFileError, match=name):
            ar.read_members(tmp_path / name)

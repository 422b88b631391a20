"""What a model argument means, and the cache of converted weights."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import huggingface_hub.constants
import pytest
import tiny_models
from gguf import GGMLQuantizationType
from progress_lines import Lines

import mlc_llm.errors
from mlc_llm.errors import (
    CorruptFileError,
    InvalidRequestError,
    MLCError,
    NotFoundError,
    ResourceError,
    UnsupportedError,
)
from mlc_llm.prepare import jit_cache, model_source
from mlc_llm.prepare.jit_cache import Policies
from mlc_llm.prepare.model_source import FAKE_DEVICE, resolve_folder, resolve_model

HUB = huggingface_hub.constants.ENDPOINT
PACKAGE_PARENT = str(Path(mlc_llm.errors.__file__).parent.parent)


pytestmark = pytest.mark.usefixtures("own_home")


def test_an_ordinary_folder_is_converted_once(hf_folder):
    lines = Lines()
    first = resolve_folder(hf_folder, progress=lines)
    assert first.name.endswith("-MLC") and "q4f32_1" in first.name
    assert json.loads((first / "mlc-chat-config.json").read_text())["quantization"] == "q4f32_1"
    times = [path.stat().st_mtime_ns for path in sorted(first.glob("[!.]*"))]
    assert resolve_folder(str(hf_folder), progress=lines) == first
    assert [path.stat().st_mtime_ns for path in sorted(first.glob("[!.]*"))] == times
    assert "Converting" in lines[0] and "Using converted weights" in lines[-1]
    other = resolve_folder(hf_folder, quantization="q0f32", progress=lines)
    assert other != first


def test_a_folder_of_an_older_conversion_is_not_used(hf_folder, monkeypatch):
    new = resolve_folder(hf_folder, progress=Lines())
    monkeypatch.setattr(jit_cache, "CONVERTED_FORMAT", jit_cache.CONVERTED_FORMAT - 1)
    assert resolve_folder(hf_folder, progress=Lines()) != new


def test_a_gguf_file_is_converted_again_when_it_changes(tmp_path):
    path = tiny_models.write_gguf(tmp_path / "m.gguf", tiny_models.random_weights())
    first = resolve_folder(path, progress=Lines())
    os.utime(path, ns=(1, 1))
    assert resolve_folder(path, progress=Lines()) == first  # its content counts, not its time
    tiny_models.write_gguf(path, tiny_models.random_weights(seed=1))
    second = resolve_folder(path, progress=Lines())
    assert first != second and second.name.startswith("m-auto-")


def test_a_moved_home_keeps_its_cache(tmp_path, monkeypatch, hf_folder, compiler):
    """Folders, files and libraries are found by their content, wherever they lie."""
    (tmp_path / "home").mkdir()
    file = tiny_models.write_gguf(tmp_path / "home" / "m.gguf", tiny_models.random_weights())
    first = [resolve_model(hf_folder, progress=Lines()), resolve_model(file, progress=Lines())]
    runs = len(compiler.runs)
    (tmp_path / "home").rename(tmp_path / "moved")
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "moved"))
    readonly = Policies(jit="READONLY")
    copied = shutil.copytree(hf_folder, tmp_path / "copy" / hf_folder.name)
    for path, before in zip((copied, tmp_path / "moved" / "m.gguf"), first, strict=True):
        found = resolve_model(path, policies=readonly, progress=Lines())
        assert found.folder.name == before.folder.name
        assert found.model_lib.name == before.model_lib.name
    assert len(compiler.runs) == runs


@pytest.mark.parametrize(
    ("kind", "unread", "kept"),
    [("Q4_1", ("F16", "BF16"), "gguf_q4_1"), ("F16", (), "q0f16"), ("F16", ("F16",), "q4f16_1")],
)
def test_types_that_an_app_s_devices_do_not_read(kind, unread, kept, tmp_path):
    """The devices of a package are not here: they are told by their types."""
    weights = tiny_models.random_weights()
    path = tiny_models.write_gguf(
        tmp_path / "m.gguf", weights, kind=getattr(GGMLQuantizationType, kind)
    )
    folder = resolve_folder(path, otherwise="q4f16_1", unread=unread, progress=Lines())
    assert json.loads((folder / "mlc-chat-config.json").read_text())["quantization"] == kept


def test_a_gguf_file_keeps_its_own_types(tmp_path, hf_folder):
    weights = tiny_models.random_weights()
    path = tiny_models.write_gguf(tmp_path / "m.gguf", weights, kind=GGMLQuantizationType.Q4_1)
    folder = resolve_folder(path, progress=Lines())
    assert folder == resolve_folder(path, quantization="auto", progress=Lines())
    config = json.loads((folder / "mlc-chat-config.json").read_text())
    assert config["quantization"] == "gguf_q4_1"
    again = resolve_folder(path, quantization="q4f32_1", progress=Lines())  # on demand alone
    assert json.loads((again / "mlc-chat-config.json").read_text())["quantization"] == "q4f32_1"
    for device in ("cuda", "vulkan:0", "metal"):  # one folder serves them all
        assert resolve_folder(path, device=device, progress=Lines()) == folder
    assert resolve_folder(folder, quantization="auto", progress=Lines()) == folder
    with pytest.raises(InvalidRequestError, match="gguf_q4_1"):
        resolve_folder(folder, quantization="q4f32_1", progress=Lines())
    plain = resolve_folder(hf_folder, quantization="auto", progress=Lines())
    assert plain == resolve_folder(hf_folder, progress=Lines())


def test_a_file_of_half_floats_is_quantized_for_a_device_without_them(tmp_path, monkeypatch):
    kind = GGMLQuantizationType.F16
    path = tiny_models.write_gguf(tmp_path / "m.gguf", tiny_models.random_weights(), kind=kind)
    probes = {"opencl:0": {"f16": True}, "opencl:1": {"f16": False}}
    monkeypatch.setattr(model_source, "_probe", lambda device: probes.get(device, {}))

    def quantization_on(device, asked=None):
        folder = resolve_folder(path, device=device, quantization=asked, progress=Lines())
        return json.loads((folder / "mlc-chat-config.json").read_text())["quantization"]

    assert quantization_on("opencl:0") == quantization_on("cuda") == "q0f16"
    assert quantization_on("opencl:1") == "q4f32_1"
    assert quantization_on("opencl:1", "auto") == "q0f16"


def test_a_file_whose_types_have_no_kernels_is_quantized_and_that_is_said(
    tmp_path, monkeypatch, capsys
):
    """Unless its own types were asked for."""
    from mlc_llm.compiler import jit
    from mlc_llm.compiler.convert import gguf_weights

    kind = GGMLQuantizationType.Q5_0
    path = tiny_models.write_gguf(tmp_path / "m.gguf", tiny_models.random_weights(), kind=kind)
    known = {name: one for name, one in gguf_weights.TYPES.items() if name != "Q5_0"}
    monkeypatch.setattr(gguf_weights, "TYPES", known)
    job = {"source": str(path), "output": str(tmp_path / "out"), "quantization": "auto"}
    job |= {"extra": {"top_k": 7}, "fallback": "q4f32_1"}
    jit._convert(job)
    config = json.loads((tmp_path / "out" / "mlc-chat-config.json").read_text())
    assert config["quantization"] == "q4f32_1" and config["top_k"] == 7
    notes = [json.loads(line).get("note", "") for line in capsys.readouterr().out.splitlines()]
    assert any("Q5_0" in note and "Converting to q4f32_1" in note for note in notes)
    with pytest.raises(UnsupportedError, match="Q5_0"):
        jit._convert(job | {"fallback": None})


def test_the_types_of_single_tensors_make_another_library():
    mixed = {"quantization": "gguf_q4_k", "weight_types": {"lm_head.weight": [["Q6_K", 96]]}}
    assert jit_cache._library_config(mixed) == mixed


def test_a_damaged_cache_entry_is_made_again(hf_folder):
    folder = resolve_folder(hf_folder, progress=Lines())
    shard = folder / "params_shard_0.bin"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-1])
    assert resolve_folder(hf_folder, progress=Lines()) == folder
    assert shard.read_bytes() == whole


def test_a_prepared_folder_is_taken_as_it_is(prepared):
    assert resolve_folder(prepared, progress=Lines()) == prepared
    assert resolve_folder(prepared / "mlc-chat-config.json", progress=Lines()) == prepared
    assert resolve_folder(prepared, quantization="q4f32_1", progress=Lines()) == prepared
    with pytest.raises(InvalidRequestError, match="q4f32_1; q0f32 was asked for"):
        resolve_folder(prepared, quantization="q0f32", progress=Lines())


def test_errors_of_the_child_are_typed(hf_folder, tmp_path):
    with pytest.raises(UnsupportedError, match="q9"):
        resolve_folder(hf_folder, quantization="q9", progress=Lines())
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF")
    with pytest.raises(MLCError, match="bad.gguf: file ends at byte 4") as caught:
        resolve_folder(bad, progress=Lines())
    assert caught.value.code == "truncated_file"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("Dear Sir,\n", "x.gguf: this is a text file, and no GGUF file"),
        ("version https://lfs.test/git-lfs/v1\noid sha256:00\n", "git lfs pull"),
        ("<!doctype html>", "a web page"),
    ],
)
def test_a_text_that_is_called_gguf(text: str, match: str, tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_text(text)
    with pytest.raises(CorruptFileError, match=match):
        resolve_folder(tmp_path / "x.gguf", progress=Lines())


@pytest.mark.parametrize("name", ["params_shard_0.bin", "model.safetensors", "tokenizer.json"])
def test_a_clone_without_git_lfs_is_named(name: str, hf_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "clone"
    shutil.copytree(hf_folder, folder)
    pointer = "version https://lfs.test/git-lfs/v1\noid sha256:00\nsize 9\n"
    (folder / "pytorch_model.bin").write_text(pointer)  # beside safetensors it is not read
    resolve_model(folder, device=FAKE_DEVICE, progress=Lines())
    (folder / name).write_text(pointer)
    with pytest.raises(CorruptFileError, match=f"{name}: this is a pointer of git-lfs"):
        resolve_folder(folder, progress=Lines())


def test_a_folder_of_one_gguf_file_means_the_file(tmp_path: Path) -> None:
    weights = tiny_models.random_weights()
    folder = tmp_path / "folder"
    folder.mkdir()
    file = tiny_models.write_gguf(folder / "m.gguf", weights)
    made = resolve_folder(folder, progress=Lines())
    assert made.name.split("-")[1] == resolve_folder(file, progress=Lines()).name.split("-")[1]
    (folder / "n-00002-of-00002.gguf").write_bytes(b"GGUF")  # goes with a first part
    assert resolve_folder(folder, progress=Lines()) == made
    (folder / "other.gguf").write_bytes(b"GGUF")
    with pytest.raises(InvalidRequestError, match="2 models; give one of them: m.gguf, other.gguf"):
        resolve_folder(folder, progress=Lines())


@pytest.mark.parametrize(
    ("model", "error", "match"),
    [
        ("nowhere/at/all", NotFoundError, "no such model; give a folder"),
        ("org/repo", NotFoundError, "if it is a repository of the hub: HF://org/repo"),
        ("HF://only-one-name", InvalidRequestError, "HF://org/repo"),
        ("HF://a/b/c", InvalidRequestError, "HF://org/repo"),
        ("HF://../../etc", InvalidRequestError, "HF://org/repo"),
        ("HF://org/repo:../x", InvalidRequestError, "HF://org/repo"),
        ("hf://only-one-name", InvalidRequestError, "HF://org/repo"),
        (f"{HUB}/org", InvalidRequestError, "must name a repository: HF://org/repo"),
        (
            f"{HUB}/org/repo/blob/main/x.gguf",
            InvalidRequestError,
            r"\(HF://org/repo\), or download",
        ),
        ("https://else.test/org/repo", InvalidRequestError, "no page of a model's repository"),
        ("~no-such-user/m.gguf", NotFoundError, "~no-such-user/m.gguf: no such model"),
        ("A question in place of a model? " * 200, NotFoundError, "File name too long"),
        (Path(__file__), InvalidRequestError, "must be a .gguf file"),
        (Path(__file__).parent, NotFoundError, "neither mlc-chat-config.json nor config.json"),
    ],
)
def test_arguments_that_mean_nothing(model, error, match):
    with pytest.raises(error, match=match):
        resolve_folder(model, progress=Lines())


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "model.safetensors"])
def test_a_file_that_cannot_be_read_is_named(name, hf_folder, monkeypatch):
    plain = Path.open

    def opened(path, *args, **options):
        if path.name == name:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return plain(path, *args, **options)

    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(NotFoundError, match=f"{name}: Permission denied"):
        resolve_model(hf_folder, device=FAKE_DEVICE, progress=Lines())


@pytest.mark.parametrize("error", [BrokenPipeError(), BlockingIOError()])
def test_an_error_of_the_caller_s_progress_is_its_own(error, hf_folder):
    def progress(step):
        raise error

    with pytest.raises(type(error)):
        resolve_folder(hf_folder, progress=progress)


def test_a_user_without_a_folder_is_told_what_to_set(hf_folder, monkeypatch):
    monkeypatch.setenv("MLC_LLM_HOME", "~no-such-user/home")
    with pytest.raises(InvalidRequestError, match="set MLC_LLM_HOME to a folder"):
        resolve_folder(hf_folder, progress=Lines())


def test_a_home_that_cannot_be_written_is_named(hf_folder, hub, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "file" / "home"))
    for model in (hf_folder, "HF://org/repo"):
        with pytest.raises(ResourceError, match="set MLC_LLM_HOME"):
            resolve_folder(model, progress=Lines())


def test_an_unknown_policy_is_refused(monkeypatch, prepared):
    monkeypatch.setenv("MLC_JIT_POLICY", "MAYBE")
    with pytest.raises(InvalidRequestError, match="MLC_JIT_POLICY=MAYBE"):
        resolve_folder(prepared)


def fake_core_choices(monkeypatch, probes):
    """`_core.choose_device` knows these devices alone."""
    from mlc_llm import _core

    def choose(device):
        if (probe := probes.get(device.decode())) is None:
            raise _core.CoreError(json.dumps(NotFoundError("no such device").to_dict()))
        return json.dumps({"name": probe["name"], "probes": [probe]})

    monkeypatch.setattr(_core, "choose_device", choose)


def test_default_quantization_follows_the_device(monkeypatch):
    """Devices without 16-bit floats get a scheme without them, alone and among others."""
    fake_core_choices(
        monkeypatch,
        {
            "opencl": {"name": "opencl:0", "f16": True},
            "opencl:0": {"name": "opencl:0", "f16": True},
            "opencl:1": {"name": "opencl:1", "f16": False},
            "vulkan": {"name": "vulkan:0", "f16": False},
        },
    )
    wanted = {
        "cpu": "q4f32_1",
        "auto": "q4f32_1",
        "cuda:0": "q4f16_1",
        "metal": "q4f16_1",
        "opencl": "q4f16_1",
        "opencl:0": "q4f16_1",
        "opencl:1": "q4f32_1",
        "vulkan": "q4f32_1",
        "webgpu": "q4f16_1",  # none is here: whoever loads it says so
    }
    assert {name: model_source.default_quantization(name) for name in wanted} == wanted


# --- The second run: fast, and without the toolchain ---


def test_cached_results_are_found_without_heavy_imports(hf_folder):
    folder = resolve_folder(hf_folder, progress=Lines())
    code = f"""
import sys, time
begin = time.process_time()
from mlc_llm.prepare.model_source import resolve_folder
folder = resolve_folder({str(hf_folder)!r})
print(time.process_time() - begin)
print(folder)
print([name for name in ("tvm", "numpy", "gguf", "huggingface_hub") if name in sys.modules])
"""
    environment = {**os.environ, "PYTHONPATH": PACKAGE_PARENT}
    output = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert output[1:] == [str(folder), "[]"]
    assert float(output[0]) < 1.0  # 0.05 s; of the processor, whatever else it does


def test_two_processes_convert_once(hf_folder):
    code = "import sys; from mlc_llm.prepare.model_source import *\n"
    code += "log = lambda line: print(line, file=sys.stderr)\n"
    code += f"print(resolve_folder({str(hf_folder)!r}, progress=log))"
    environment = {**os.environ, "PYTHONPATH": PACKAGE_PARENT}
    command = [sys.executable, "-c", code]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    children = [subprocess.Popen(command, env=environment, **options) for _ in range(3)]
    answers = [child.communicate(timeout=300) for child in children]
    assert len({answer for answer, _ in answers}) == 1
    assert sum("Converting" in log for _, log in answers) == 1

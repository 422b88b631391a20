"""What a model argument means; the hub against a loopback server; the just-in-time cache."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import huggingface_hub.constants
import pytest
import tiny_models
from fake_hub import COMMIT, FakeHub, serve
from gguf import GGMLQuantizationType

import mlc_llm.errors
from mlc_llm.errors import (
    CorruptFileError,
    DownloadError,
    InternalError,
    InvalidRequestError,
    MLCError,
    NotFoundError,
    ResourceError,
    UnsupportedError,
)
from mlc_llm.prepare import jit_cache, model_source
from mlc_llm.prepare.jit_cache import Policies
from mlc_llm.prepare.model_source import plain_model, resolve_folder, resolve_model

HUB = huggingface_hub.constants.ENDPOINT
PACKAGE_PARENT = str(Path(mlc_llm.errors.__file__).parent.parent)


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Every test has its own cache, and nobody's settings."""
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "home"))
    for name in ("MLC_JIT_POLICY", "MLC_DOWNLOAD_CACHE_POLICY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")


@pytest.fixture(scope="module")
def hf_folder(tmp_path_factory):
    return tiny_models.write_hf_folder(tmp_path_factory.mktemp("hf"), tiny_models.random_weights())


@pytest.fixture
def prepared(hf_folder, tmp_path):
    """A small `-MLC` folder."""
    from mlc_llm.compiler.convert import convert_model, open_source

    output = tmp_path / "tiny-MLC"
    convert_model(open_source(hf_folder), output, quantization="q4f32_1")
    return output


class Lines(list):
    """Collects progress lines."""

    def __call__(self, line):
        self.append(line)

    def text(self):
        return "\n".join(self)


# --- Local models ---


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
    "written",
    ["HF://org/repo", "hf://org/repo", "Hf://org/repo", f"{HUB}/org/repo", f"{HUB}/org/repo/"]
    + [f"{HUB}/org/repo/tree/main", f"{HUB}/org/repo?library=x"],
)
def test_how_a_repository_is_written(written: str) -> None:
    assert plain_model(written) == "HF://org/repo"


def test_the_addresses_of_a_mirror_and_of_a_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plain_model(f"{HUB}/org/repo/tree/v2") == "HF://org/repo:v2"
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.test")
    assert plain_model("https://mirror.test/org/repo") == "HF://org/repo"
    assert plain_model(f"{HUB}/org/repo") == "HF://org/repo"


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
        (Path(__file__), InvalidRequestError, "must be a .gguf file"),
        (Path(__file__).parent, NotFoundError, "neither mlc-chat-config.json nor config.json"),
    ],
)
def test_arguments_that_mean_nothing(model, error, match):
    with pytest.raises(error, match=match):
        resolve_folder(model, progress=Lines())


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


# --- Libraries ---


def trailer(length):
    return b"MLCLIB01" + struct.pack("<QQ", length, 0)


@pytest.fixture
def compiler(monkeypatch):
    """Stands in for the child that compiles: writes the body it is told to, and counts its runs."""

    class Compiler:
        runs: list[dict] = []
        body = b"library" + trailer(7)

        def __call__(self, job, title, steps, **others):
            if job["kind"] == "convert":
                return real(job, title, steps, **others)
            self.runs.append(job | {"config": json.loads(Path(job["config"]).read_text())})
            if not self.body:
                raise InternalError("nothing works", code="compile_failed")
            Path(job["output"]).write_bytes(self.body)

    real = jit_cache.run_job
    made = Compiler()
    made.runs = []
    monkeypatch.setattr(jit_cache, "run_job", made)
    return made


def test_a_library_is_compiled_once(prepared, compiler):
    lines = Lines()
    first = resolve_model(prepared, progress=lines)
    second = resolve_model(prepared, progress=lines)
    assert first.model_lib == second.model_lib and len(compiler.runs) == 1
    assert first.model_lib.read_bytes() == compiler.body
    assert first.quantization == "q4f32_1" and first.name == "tiny-MLC"
    assert lines[-1] == f"Using cached model lib: {first.model_lib}"
    assert (
        compiler.runs[0]["config"]["quantization"] == "q4f32_1" and compiler.runs[0]["opt"] == "O2"
    )


def test_what_matters_makes_another_library(prepared, compiler):
    base = resolve_model(prepared, progress=Lines()).model_lib
    others = [
        resolve_model(prepared, progress=Lines(), opt="O0").model_lib,
        resolve_model(prepared, progress=Lines(), device="cuda").model_lib,
        resolve_model(prepared, progress=Lines(), overrides={"prefill_chunk_size": 7}).model_lib,
    ]
    path = prepared / "mlc-chat-config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"temperature": 0.5}))
    assert resolve_model(prepared, progress=Lines()).model_lib == base
    path.write_text(json.dumps(config | {"context_window_size": 100}))
    others.append(resolve_model(prepared, progress=Lines()).model_lib)
    assert len({base, *others}) == 5
    assert compiler.runs[3]["overrides"] == "prefill_chunk_size=7"


def test_a_damaged_library_is_compiled_again(prepared, compiler):
    library = resolve_model(prepared, progress=Lines()).model_lib
    for damaged in (compiler.body[:-1], b"", b"x" + compiler.body, b"no trailer" * 9):
        library.write_bytes(damaged)
        resolve_model(prepared, progress=Lines())
        assert library.read_bytes() == compiler.body
    assert len(compiler.runs) == 5


def test_a_failed_compilation_says_why_and_leaves_nothing(prepared, compiler, tmp_path):
    compiler.body = b""
    with pytest.raises(InternalError, match="nothing works"):
        resolve_model(prepared, progress=Lines())
    assert list((tmp_path / "home" / "model_lib").iterdir()) == []


def test_jit_policies(prepared, compiler):
    def resolve(jit):
        return resolve_model(prepared, policies=Policies(jit=jit), progress=Lines())

    with pytest.raises(NotFoundError, match="READONLY"):
        resolve("READONLY")
    with pytest.raises(NotFoundError, match="OFF"):
        resolve("OFF")
    resolve("ON")
    resolve("READONLY")
    assert len(compiler.runs) == 1
    resolve("REDO")
    assert len(compiler.runs) == 2
    with pytest.raises(NotFoundError, match="OFF"):
        resolve("OFF")


def test_a_given_library_is_used(prepared, compiler, tmp_path):
    library = tmp_path / "mine.so"
    library.write_bytes(b"x")
    off = Policies(jit="OFF")
    found = resolve_model(prepared, model_lib=library, policies=off, progress=Lines())
    assert found.model_lib == library and compiler.runs == []
    with pytest.raises(NotFoundError, match="gone.so"):
        resolve_model(prepared, model_lib=tmp_path / "gone.so", progress=Lines())


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


# --- HF:// ---


@pytest.fixture
def hub(hf_folder, monkeypatch):
    """An ordinary repository on the loopback hub, with files that a model does not need."""
    files = {path.name: path.read_bytes() for path in hf_folder.iterdir()}
    extra = {"README.md": b"read me", "pytorch_model.bin": b"torch" * 99}
    with serve(FakeHub(files | extra)) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.endpoint)
        yield running


def test_modelopts_config_is_downloaded(hub):
    """It alone says how weights are quantized, if config.json does not."""
    hub.files["hf_quant_config.json"] = b'{"quantization": {"quant_algo": "NVFP4"}}'
    folder = model_source.resolve_source("HF://org/repo", progress=Lines())
    assert (folder / "hf_quant_config.json").read_bytes() == hub.files["hf_quant_config.json"]


def test_an_ordinary_repository(hub, hf_folder, tmp_path):
    lines = Lines()
    folder = resolve_folder("HF://org/repo", progress=lines)
    downloaded = tmp_path / "home" / "model_weights" / "hf" / "org" / "repo"
    assert (downloaded / "model.safetensors").read_bytes() == hub.files["model.safetensors"]
    assert not (downloaded / "README.md").exists()
    assert not (downloaded / "pytorch_model.bin").exists()
    assert folder.name.startswith("repo-q4f32_1-")
    same = tiny_models.read_mlc_folder(resolve_folder(hf_folder, progress=Lines()))
    for name, tensor in tiny_models.read_mlc_folder(folder).items():
        assert tensor.tobytes() == same[name].tobytes()
    hub.requests.clear()
    assert resolve_folder("HF://org/repo", progress=lines) == folder
    assert hub.requests == []  # the second run needs no network
    assert f"Weights already downloaded: {downloaded}" in lines


def test_a_prepared_repository(prepared, monkeypatch):
    files = {path.name: path.read_bytes() for path in prepared.iterdir()}
    with serve(FakeHub(files)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        folder = resolve_folder("HF://org/repo:main", progress=Lines())
    assert folder.name == "repo@main"
    assert {name: (folder / name).read_bytes() for name in files} == files


@pytest.fixture
def small_chunks(monkeypatch):
    """The library writes 10 MB at a time and waits between its tries; here neither."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 10_000)
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)


def test_a_cut_is_resumed(hub, small_chunks):
    """The connection ends half-way once: the rest is asked for, not the whole."""
    hub.cut_after, hub.cuts_left = 100_000, 1
    folder = resolve_folder("HF://org/repo", progress=Lines())
    assert (folder / "tensor-cache.json").is_file()
    assert hub.ranges("model.safetensors")[-1] == "bytes=100000-"


def test_a_download_that_failed_goes_on_where_it_was(hub, small_chunks):
    hub.cut_after, hub.cuts_left, hub.down_after_cut = 50_000, 1, True
    with pytest.raises(DownloadError, match="HF://org/repo"):
        resolve_folder("HF://org/repo", progress=Lines())
    hub.down = False
    hub.requests.clear()
    assert resolve_folder("HF://org/repo", progress=Lines()).is_dir()
    assert hub.ranges("model.safetensors") == ["bytes=50000-"]
    assert hub.ranges("config.json") == []  # what had arrived is not fetched again


def test_a_part_of_another_version_is_thrown_away(hub, tmp_path):
    folder = tmp_path / "home" / "model_weights" / "hf" / "org" / "repo"
    folder.mkdir(parents=True)
    (folder / "model.safetensors.partial").write_bytes(b"an older version")
    resolve_folder("HF://org/repo", progress=Lines())
    assert hub.ranges("model.safetensors") == ["bytes=16-", None]
    assert (folder / "model.safetensors").read_bytes() == hub.files["model.safetensors"]


def test_wrong_content_is_refused_and_removed(hub, tmp_path):
    hub.wrong_bytes = True
    with pytest.raises(DownloadError, match="model.safetensors is not what the hub announced"):
        resolve_folder("HF://org/repo", progress=Lines())
    hub.wrong_bytes = False
    assert resolve_folder("HF://org/repo", progress=Lines()).is_dir()


def test_wrong_content_of_a_small_file_is_refused(hub):
    """Small files have git's hash, large ones SHA-256."""
    hub.wrong_bytes, hub.wrong_suffix = True, "config.json"
    with pytest.raises(DownloadError, match="config.json is not what the hub announced"):
        resolve_folder("HF://org/repo", progress=Lines())


def test_unknown_repositories_and_revisions(hub):
    with pytest.raises(NotFoundError, match="HF://org/nothing: no such repository"):
        resolve_folder("HF://org/nothing", progress=Lines())
    with pytest.raises(NotFoundError, match="no revision 'v9'"):
        resolve_folder("HF://org/repo:v9", progress=Lines())


def test_an_unreachable_hub(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(DownloadError, match="HF://org/repo: download failed"):
        resolve_folder("HF://org/repo", progress=Lines())


def test_repositories_without_usable_weights(hub):
    del hub.files["model.safetensors"]
    with pytest.raises(UnsupportedError, match="torch weights only"):
        resolve_folder("HF://org/repo", progress=Lines())
    hub.files = {"model.Q4_0.gguf": b"GGUF"}
    with pytest.raises(UnsupportedError, match="GGUF files only"):
        resolve_folder("HF://org/repo", progress=Lines())


def test_file_names_that_leave_the_folder(hub):
    hub.files["additional_chat_templates/../../../x.jinja"] = b"evil"
    with pytest.raises(MLCError, match="outside its folder"):
        resolve_folder("HF://org/repo", progress=Lines())


def test_download_policies(hub, tmp_path):
    def resolve(download):
        policies = Policies(download=download)
        return resolve_folder("HF://org/repo", policies=policies, progress=Lines())

    for forbidding in ("READONLY", "OFF"):
        with pytest.raises(DownloadError, match=forbidding):
            resolve(forbidding)
    assert hub.requests == []
    folder = resolve("ON")
    marker = tmp_path / "home/model_weights/hf/org/repo/.mlc-downloaded.json"
    assert json.loads(marker.read_text())["commit"] == COMMIT
    hub.requests.clear()
    assert resolve("READONLY") == folder
    assert hub.requests == []
    shutil.rmtree(folder)
    resolve("REDO")
    assert hub.ranges("model.safetensors") == [None]

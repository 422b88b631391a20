"""Repositories of the hub, against a loopback server."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import huggingface_hub.constants
import pytest
import tiny_models
from fake_hub import COMMIT, FakeHub, serve
from progress_lines import Lines

import mlc_llm.errors
from mlc_llm.errors import (
    DownloadError,
    InvalidRequestError,
    MLCError,
    NotFoundError,
    UnsupportedError,
)
from mlc_llm.prepare import model_source
from mlc_llm.prepare.jit_cache import Policies
from mlc_llm.prepare.model_source import plain_model, resolve_folder

HUB = huggingface_hub.constants.ENDPOINT
PACKAGE_PARENT = str(Path(mlc_llm.errors.__file__).parent.parent)


pytestmark = pytest.mark.usefixtures("own_home")


@pytest.mark.parametrize(
    "written",
    ["HF://org/repo", "hf://org/repo", "Hf://org/repo", f"{HUB}/org/repo", f"{HUB}/org/repo/"]
    + [f"{HUB}/org/repo/tree/main", f"{HUB}/org/repo?library=x"]
    + ["huggingface.co/org/repo", "www.huggingface.co/org/repo/tree/main", "hf.co/org/repo"],
)
def test_how_a_repository_is_written(written: str) -> None:
    assert plain_model(written) == "HF://org/repo"


def test_the_addresses_of_a_mirror_and_of_a_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plain_model(f"{HUB}/org/repo/tree/v2") == "HF://org/repo:v2"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "https://mirror.test")
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.test")
    assert plain_model("https://mirror.test/org/repo") == "HF://org/repo"
    assert plain_model(f"{HUB}/org/repo") == "HF://org/repo"


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


def test_a_part_longer_than_the_file_is_thrown_away(hub, tmp_path):
    folder = tmp_path / "home" / "model_weights" / "hf" / "org" / "repo"
    folder.mkdir(parents=True)
    size = len(hub.files["model.safetensors"])
    (folder / "model.safetensors.partial").write_bytes(bytes(size + 9))
    resolve_folder("HF://org/repo", progress=Lines())
    assert hub.ranges("model.safetensors") == [None]
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
    with pytest.raises(DownloadError, match="HF://org/repo: download failed.*is there a network"):
        resolve_folder("HF://org/repo", progress=Lines())


def test_what_a_hub_says_that_refuses(hub):
    """The network is there: the words are those of the hub."""
    hub.refusal = "Invalid credentials in Authorization header"
    with pytest.raises(DownloadError, match=f"401.*: {hub.refusal}$"):
        resolve_folder("HF://org/repo", progress=Lines())


def test_repositories_without_usable_weights(hub):
    del hub.files["model.safetensors"]
    with pytest.raises(UnsupportedError, match="torch weights only"):
        resolve_folder("HF://org/repo", progress=Lines())
    with pytest.raises(UnsupportedError, match="holds no GGUF files; leave :Q4_0 out"):
        resolve_folder("HF://org/repo:Q4_0", progress=Lines())


GGUF = ("m-Q4_K_M.gguf", "m-Q8_0.gguf", "m-UD-Q2_K_XL.gguf",
        "mmproj-m-bf16.gguf", "mmproj-m-f16.gguf",
        "BF16/m-BF16-00001-of-00002.gguf", "BF16/m-BF16-00002-of-00002.gguf")  # fmt: skip


@pytest.mark.parametrize(
    ("written", "first", "others"),
    [
        ("HF://org/repo", "m-Q4_K_M.gguf", ["mmproj-m-f16.gguf"]),
        ("HF://org/repo:q8_0", "m-Q8_0.gguf", ["mmproj-m-f16.gguf"]),
        ("hf.co/org/repo:Q2_K_XL", "m-UD-Q2_K_XL.gguf", ["mmproj-m-f16.gguf"]),
        (f"{HUB}/org/repo/blob/main/m-Q8_0.gguf", "m-Q8_0.gguf", ["mmproj-m-f16.gguf"]),
        ("HF://org/repo:BF16", GGUF[5], [GGUF[6], "mmproj-m-f16.gguf"]),
    ],
)
def test_a_repository_of_gguf_files_gives_one_model(hub, written, first, others):
    """The one that has the types behind the colon: all its parts, and its tower."""
    hub.files = {name: name.encode() for name in (*GGUF, "README.md")}
    path = model_source.resolve_source(written, progress=Lines())
    folder = path.parents[first.count("/")]
    assert path == folder / first and path.read_bytes() == first.encode()
    downloaded = {str(one.relative_to(folder)) for one in folder.rglob("*.gguf")}
    assert downloaded == {first, *others}


def test_types_that_no_gguf_file_has(hub):
    hub.files = {name: b"" for name in ("m-F32.gguf", "m-Q6_K.gguf")}
    for written in ("HF://org/repo", "HF://org/repo:Q4_0"):
        with pytest.raises(NotFoundError, match="no GGUF files fit.*There are: F32, Q6_K"):
            model_source.resolve_source(written, progress=Lines())


def test_two_models_of_the_same_types_are_named(hub):
    hub.files = {name: b"" for name in ("a-Q4_0.gguf", "b-Q4_0.gguf")}
    with pytest.raises(NotFoundError, match=r"2 models fit: a-Q4_0\.gguf, b-Q4_0\.gguf; download"):
        model_source.resolve_source("HF://org/repo:Q4_0", progress=Lines())


def test_the_address_of_a_file_that_is_no_gguf_model_is_refused():
    for name in ("model-f16.safetensors", "mmproj-m-f16.gguf"):
        with pytest.raises(InvalidRequestError, match="a file of a repository"):
            model_source.resolve_source(f"{HUB}/org/repo/blob/main/{name}", progress=Lines())


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
    hub.requests.clear()
    hub.refusal = "not now"
    with pytest.raises(DownloadError, match="not now"):
        resolve("REDO")
    assert resolve("READONLY") == folder  # what is kept stays until the hub has answered

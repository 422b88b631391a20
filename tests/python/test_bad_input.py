"""Damaged and mistaken input: one clear error that names what is at fault and what to do."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import fake_hub
import pytest
import tiny_models

from mlc_llm import MLCEngine
from mlc_llm.errors import (
    CorruptFileError,
    DownloadError,
    InvalidRequestError,
    MLCError,
    NotFoundError,
    ResourceError,
    UnsupportedError,
)
from mlc_llm.prepare.model_source import ResolvedModel, resolve_model

Run = Callable[..., "subprocess.CompletedProcess[str]"]
HELLO = [{"role": "user", "content": "hello"}]


@dataclass
class Copy:
    """A prepared model that a case may damage."""

    folder: Path
    library: Path

    def edit(self, name: str, pattern: bytes, new: bytes) -> None:
        path = self.folder / name
        data, count = re.subn(pattern, new, path.read_bytes(), count=1)
        assert count == 1, f"{pattern!r} is not in {name}"
        path.write_bytes(data)

    def flip(self, path: Path, at: int) -> None:
        data = bytearray(path.read_bytes())
        data[at] ^= 0x10
        path.write_bytes(data)

    def cut(self, path: Path) -> None:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.fixture
def copy(tiny_model: ResolvedModel, tmp_path: Path) -> Copy:
    folder = tmp_path / "tiny-MLC"
    shutil.copytree(tiny_model.folder, folder)
    library = tmp_path / "tiny.so"
    shutil.copy(tiny_model.model_lib, library)
    return Copy(folder, library)


@pytest.fixture(scope="session")
def other_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of a model with wider layers."""
    root = tmp_path_factory.mktemp("other")
    weights = tiny_models.random_weights()
    for name, weight in weights.items():
        if "mlp." in name:
            shape = tuple(2 * n if n == tiny_models.WIDE else n for n in weight.shape)
            weights[name] = weights[name].repeat(2, axis=shape.index(2 * tiny_models.WIDE))
    source = tiny_models.write_hf_folder(
        root / "wide", weights, intermediate_size=2 * tiny_models.WIDE
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLC_LLM_HOME", str(root / "home"))
        return resolve_model(source, quantization="q4f32_1", progress=lambda _: None).model_lib


def swap(old: bytes, new: bytes) -> Callable[[Copy], None]:
    return lambda copy: copy.edit("mlc-chat-config.json", old, new)


def index(old: bytes, new: bytes) -> Callable[[Copy], None]:
    return lambda copy: copy.edit("tensor-cache.json", old, new)


def shard(copy: Copy) -> Path:
    return copy.folder / "params_shard_0.bin"


def plain_shared_object(copy: Copy) -> None:
    """One that is sound and has nothing to do with us."""
    import mlc_llm._core

    shutil.copy(mlc_llm._core.__file__, copy.library)


# What is done to the model -> the class of the error and words of its message.
CASES: dict[str, tuple[Callable[[Copy], object], type[MLCError], tuple[str, ...]]] = {
    "a missing shard": (
        lambda c: shard(c).unlink(), NotFoundError, ("params_shard_0.bin",)),
    "a truncated shard": (
        lambda c: c.cut(shard(c)), CorruptFileError, ("params_shard_0.bin", "bytes")),
    "no tensor-cache.json": (
        lambda c: (c.folder / "tensor-cache.json").unlink(), NotFoundError, ("tensor-cache.json",)),
    "a broken tensor-cache.json": (
        index(rb'"records"', b'"records'), CorruptFileError, ("tensor-cache.json",)),
    "a flipped byte in tensor-cache.json": (
        index(rb'"dataPath"', b'"dauaPath"'), CorruptFileError, ("tensor-cache.json", "dataPath")),
    "another dtype in tensor-cache.json": (
        index(rb'"float32"', b'"float99"'), CorruptFileError, ("float99",)),
    "a dataPath out of the folder": (
        index(rb'"params_shard_0.bin"', b'"../../x"'), CorruptFileError, ("../../x",)),
    "an absolute dataPath": (
        index(rb'"params_shard_0.bin"', b'"/etc/passwd"'), CorruptFileError, ("/etc/passwd",)),
    "a broken config": (
        swap(rb"^\{", b"["), CorruptFileError, ("mlc-chat-config.json",)),
    "a config that says nothing": (
        lambda c: (c.folder / "mlc-chat-config.json").write_text("{}"),
        CorruptFileError, ("mlc-chat-config.json",)),
    "a wrong type in the config": (
        swap(rb'"vocab_size": 300,(?=\s+"active)', b'"vocab_size": "many",'),
        CorruptFileError, ("mlc-chat-config.json", "vocab_size")),
    "an unknown quantization in the config": (
        swap(rb'"quantization": "q4f32_1"', b'"quantization": "q9f9_9"'),
        MLCError, ("q9f9_9",)),
    "an unknown model type in the config": (
        swap(rb'"model_type": "llama"', b'"model_type": "lamma"'), MLCError, ("lamma",)),
    "no tokenizer": (
        lambda c: (c.folder / "tokenizer.json").unlink(), NotFoundError, ("tokenizer.json",)),
    "a broken tokenizer.json": (
        lambda c: c.cut(c.folder / "tokenizer.json"), CorruptFileError, ("tokenizer.json",)),
    "a flipped byte in tokenizer.json": (
        lambda c: c.edit("tokenizer.json", rb'"BPE"', b'"BPG"'),
        MLCError, ("tokenizer.json", "BPG")),
    "a broken tokenizer_config.json": (
        lambda c: c.edit("tokenizer_config.json", rb"^\{", b"["),
        CorruptFileError, ("tokenizer_config.json",)),
    "a broken chat template": (
        lambda c: c.edit("tokenizer_config.json", rb"endfor", b"endfur"),
        MLCError, ("tokenizer_config.json", "line 1")),
    "a truncated library": (
        lambda c: c.cut(c.library), UnsupportedError, ("tiny.so",)),
    "a flipped byte in the library": (
        lambda c: c.flip(c.library, 5000), CorruptFileError, ("tiny.so",)),
    "an empty library": (
        lambda c: c.library.write_bytes(b""), UnsupportedError, ("tiny.so",)),
    "a text file as library": (
        lambda c: c.library.write_text("hello\n" * 99), UnsupportedError, ("tiny.so",)),
    "a shared object of somebody else's": (
        plain_shared_object, UnsupportedError, ("tiny.so", "mlc_llm compile")),
    "a folder as library": (
        lambda c: (c.library.unlink(), c.library.mkdir()), NotFoundError, ("tiny.so",)),
}  # fmt: skip


def one_error(result: subprocess.CompletedProcess[str], words: tuple[str, ...]) -> None:
    """The command failed with one line that says why."""
    assert result.returncode == 1, result
    assert "Traceback" not in result.stderr and "internal error" not in result.stderr
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1 and result.stderr.splitlines()[-1] == errors[0], result.stderr
    for word in words:
        assert word in errors[0], errors[0]


@pytest.mark.parametrize("name", CASES)
def test_a_damaged_model_is_refused(name: str, copy: Copy, capsys: pytest.CaptureFixture) -> None:
    """By the SDK with a typed error, by the command line with one line."""
    from mlc_llm.cli import main

    damage, error, words = CASES[name]
    damage(copy)
    with pytest.raises(error) as caught:
        MLCEngine(copy.folder, model_lib=copy.library, device="cpu")
    assert type(caught.value) is not MLCError
    assert caught.value.code != "internal_error"
    for word in words:
        assert word in caught.value.message
    options = ["--model-lib", str(copy.library), "--device", "cpu", "--prompt", "hello"]
    status = main(["chat", str(copy.folder), *options])
    printed = capsys.readouterr()
    assert status == 1 and printed.out == ""
    assert printed.err.splitlines()[-1] == f"Error: {caught.value.message}"


def test_a_library_for_another_model(copy: Copy, other_library: Path) -> None:
    with pytest.raises(MLCError) as caught:
        MLCEngine(copy.folder, model_lib=other_library, device="cpu")
    assert caught.value.code != "internal_error"
    for word in (str(other_library), "mlc_llm compile"):
        assert word in caught.value.message


def test_a_failed_load_leaves_nothing_and_the_next_works(copy: Copy) -> None:
    """An engine next to it goes on, too."""
    import threading

    with MLCEngine(copy.folder, model_lib=copy.library, device="cpu") as engine:
        before = threading.active_count()
        for _ in range(3):
            with pytest.raises(NotFoundError):
                MLCEngine(copy.folder, model_lib="nowhere.so", device="cpu")
        assert threading.active_count() <= before  # others may end meanwhile
        with pytest.raises(InvalidRequestError) as caught:
            engine.chat.completions.create(
                messages=[{"role": "user", "content": "a" * 2000}], max_tokens=2
            )
        assert caught.value.code == "context_length_exceeded"
        assert "512 tokens" in caught.value.message
        assert engine.chat.completions.create(messages=HELLO, max_tokens=2).choices


def test_an_unknown_quantization(mlc_llm: Run, tiny_hf_folder: Path, tmp_path: Path) -> None:
    home = {"MLC_LLM_HOME": str(tmp_path)}
    options = ("--device", "cpu", "--quantization", "q9", "--prompt", "x")
    result = mlc_llm("chat", tiny_hf_folder, *options, **home)
    one_error(result, ('"q9"', "q4f32_1"))
    with pytest.raises(UnsupportedError, match="available"):
        resolve_model(tiny_hf_folder, quantization="q9", progress=lambda _: None)


def test_half_a_gguf_file(mlc_llm: Run, tmp_path: Path) -> None:
    path = tiny_models.write_gguf(tmp_path / "half.gguf", tiny_models.random_weights())
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    result = mlc_llm("chat", path, "--device", "cpu", "--prompt", "x", MLC_LLM_HOME=str(tmp_path))
    one_error(result, ("half.gguf", "cut off"))
    path.write_bytes(b"not a model" * 99)
    result = mlc_llm("chat", path, "--device", "cpu", "--prompt", "x", MLC_LLM_HOME=str(tmp_path))
    one_error(result, ("half.gguf", "GGUF"))


def test_a_repository_that_is_not_there(mlc_llm: Run, tmp_path: Path) -> None:
    with fake_hub.serve(fake_hub.FakeHub({"config.json": b"{}"})) as hub:
        where = {"MLC_LLM_HOME": str(tmp_path), "HF_ENDPOINT": hub.endpoint}
        chat = ("chat", "--device", "cpu", "--prompt", "x")
        one_error(mlc_llm(*chat, "HF://org/unknown", **where), ("org/unknown",))
        one_error(mlc_llm(*chat, "HF://org/repo:v9", **where), ("v9",))
        asked = len(hub.requests)
        offline = where | {"MLC_DOWNLOAD_CACHE_POLICY": "OFF"}
        result = mlc_llm(*chat, "HF://org/repo", **offline)
        one_error(result, ("org/repo", "MLC_DOWNLOAD_CACHE_POLICY=OFF"))
        assert len(hub.requests) == asked
    one_error(mlc_llm(*chat, "HF://org/repo", **where), ("org/repo",))  # the hub is gone


def test_policies_that_forbid_or_do_not_exist(
    mlc_llm: Run, tiny_hf_folder: Path, tmp_path: Path
) -> None:
    chat = ("chat", tiny_hf_folder, "--device", "cpu", "--prompt", "x")
    for policy in ("OFF", "READONLY"):
        home = {"MLC_LLM_HOME": str(tmp_path), "MLC_JIT_POLICY": policy}
        one_error(mlc_llm(*chat, **home), (f"MLC_JIT_POLICY={policy}",))
    one_error(mlc_llm(*chat, MLC_JIT_POLICY="maybe"), ("MLC_JIT_POLICY", "READONLY"))


def test_no_space_on_the_disk(tiny_hf_folder: Path, tmp_path: Path) -> None:
    """A limit on the size of a file fails a write as a full disk does."""
    import resource
    import sys

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))

    chat = ["chat", str(tiny_hf_folder), "--device", "cpu", "--prompt", "x"]
    result = subprocess.run(
        [sys.executable, "-m", "mlc_llm", *chat],
        env=_environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=300,
    )
    one_error(result, (str(tmp_path),))
    assert not list(tmp_path.rglob("mlc-chat-config.json"))


def test_a_home_that_cannot_be_written(mlc_llm: Run, tiny_hf_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    home = {"MLC_LLM_HOME": str(tmp_path / "file" / "home")}
    result = mlc_llm("chat", tiny_hf_folder, "--device", "cpu", "--prompt", "x", **home)
    one_error(result, ("MLC_LLM_HOME",))


def _environment(home: Path) -> dict[str, str]:
    import os

    return {**os.environ, "MLC_LLM_HOME": str(home)}


def test_the_error_tree_knows_what_the_core_says() -> None:
    """A code or type of the core's becomes the class that users catch."""
    from mlc_llm import _core
    from mlc_llm.errors import (
        RateLimitError,
        UnavailableError,
        error_from_core,
        error_from_json,
        error_of,
        reasons_gen,
    )

    answer = {"message": "m", "type": "rate_limit_error", "param": None, "code": "queue_full"}
    assert type(error_from_json({"error": answer})) is RateLimitError
    for code, status, kind in (
        ("model_not_loaded", "unavailable", UnavailableError),
        ("out_of_resources", "resource_exhausted", ResourceError),
        ("of a newer core", "resource_exhausted", ResourceError),
    ):
        fields = {"message": "m", "type": "server_error", "param": None, "code": code}
        core_error = _core.CoreError(json.dumps({"error": fields | {"status": status}}))
        assert type(error_from_core(core_error)) is kind
    error = error_of(reasons_gen.CORRUPT_FILE, "m", param="p")
    expected = {"message": "m", "type": "invalid_request_error", "param": "p"}
    assert error.to_dict() == {"error": expected | {"code": "corrupt_file", "status": "corrupt"}}
    assert json.loads(json.dumps(error.to_dict()))
    assert issubclass(DownloadError, MLCError)

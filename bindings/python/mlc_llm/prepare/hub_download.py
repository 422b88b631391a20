"""Downloads a model repository from the Hugging Face Hub and checks the hash of every file.

`huggingface_hub` transfers the files, and reads endpoint, token and proxy from its own environment
variables. Its download functions start a file again after an interruption. Ours keeps the part that
arrived and requests the rest. A folder counts as downloaded only if it has its mark, which is
written after the last check. Then it is found without the network.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import json
import os
import re
import shutil
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from mlc_llm.errors import (
    CorruptFileError,
    DownloadError,
    InvalidRequestError,
    NotFoundError,
    UnsupportedError,
    error_of,
)
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare.gguf_names import files_to_take, is_model_file, names_types, types_in
from mlc_llm.prepare.jit_cache import MakeRules, home_errors_named
from mlc_llm.prepare.progress import Steps
from mlc_llm.prepare.temporary_files import check_space, locked

PREFIX = "HF://"
MARK = ".mlc-downloaded.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TOKENIZER = [
    *("tokenizer*", "vocab.json", "merges.txt", "added_tokens.json", "special_tokens_map.json"),
    *("*.tiktoken", "tiktoken.model", "rwkv_vocab_*.txt"),
    *("chat_template.jinja", "chat_template.json", "additional_chat_templates/*.jinja"),
]
PREPARED_FILES = [
    *("mlc-chat-config.json", "tensor-cache*.json", "ndarray-cache*.json", "params_shard_*.bin"),
    *_TOKENIZER,
]
ORDINARY_FILES = [
    *("config.json", "generation_config.json", "hf_quant_config.json", *_TOKENIZER),
    *("preprocessor_config.json", "processor_config.json"),  # of pictures
    *("model.safetensors", "model.safetensors.index.json", "model-*.safetensors"),
    *("vocab.txt", "modules.json", "*_Pooling/config.json", "*_Dense/*"),  # models for embeddings
]


HOSTS = ("huggingface.co/", "hf.co/")  # also where downloads come from a mirror


def repository(text: str) -> str | None:
    """`HF://org/repo` for the forms in which people write a repository: `hf://org/repo`, and its
    web address with or without its scheme and `/tree/REVISION`. None for anything else."""
    if text[: len(PREFIX)].upper() == PREFIX:
        return PREFIX + text[len(PREFIX) :]
    path = text.partition("?")[0].rpartition("://")[2].removeprefix("www.")
    is_address = re.match("https?:", text) or (path.startswith(HOSTS) and not Path(text).exists())
    if not is_address:
        return None
    from huggingface_hub.constants import ENDPOINT

    mirrors = (os.environ.get("HF_ENDPOINT") or ENDPOINT, ENDPOINT)
    for host in (*(mirror.partition("://")[2].strip("/") + "/" for mirror in mirrors), *HOSTS):
        if path.startswith(host):
            return _of_address(text, path.removeprefix(host).strip("/").split("/"))
    raise InvalidRequestError(
        f"{text}: this is no page of a model's repository; give {PREFIX}org/repo, or download the "
        "file and give its path",
        param="model",
    )


def _of_address(text: str, parts: list[str]) -> str:
    match parts:
        case [owner, repo]:
            return f"{PREFIX}{owner}/{repo}"
        case [owner, repo, "tree", revision]:
            return f"{PREFIX}{owner}/{repo}" + ("" if revision == "main" else f":{revision}")
        case [owner, repo, "blob" | "resolve", "main", *_, name] if types := _types_of_model(name):
            return f"{PREFIX}{owner}/{repo}:{types}"
        case [owner, repo, "blob" | "resolve", *_]:
            raise InvalidRequestError(
                f"{text}: this is a file of a repository; give the whole one "
                f"({PREFIX}{owner}/{repo}), or download the file and give its path",
                param="model",
            )
        case _:
            pass
    raise InvalidRequestError(f"{text}: must name a repository: {PREFIX}org/repo", param="model")


def _types_of_model(name: str) -> str | None:
    """The types in the name of a model's GGUF file. None for any other file."""
    path = PurePosixPath(name)
    return types_in(path) if is_model_file(path) else None


@dataclass(frozen=True)
class HubModel:
    """A repository and its revision: `HF://org/repo` or `HF://org/repo:revision`. A revision with
    the name of types, `:Q4_K_M`, chooses a GGUF file instead, as in llama.cpp and Ollama."""

    repo: str
    revision: str | None = None

    @property
    def types(self) -> str | None:
        """Of a GGUF file's weights."""
        return self.revision if self.revision and names_types(self.revision) else None

    @classmethod
    def parse(cls, text: str) -> HubModel:
        repo, colon, revision = text.removeprefix(PREFIX).partition(":")
        names = repo.rstrip("/").split("/")
        valid = len(names) == 2 and all(_NAME.fullmatch(name) for name in names)
        if not valid or (colon and not all(map(_NAME.fullmatch, revision.split("/")))):
            raise InvalidRequestError(
                f"{text}: must be HF://org/repo or HF://org/repo:revision", param="model"
            )
        return cls("/".join(names), revision or None)

    def __str__(self) -> str:
        return f"{PREFIX}{self.repo}" + (f":{self.revision}" if self.revision else "")

    def folder(self, weights_home: Path) -> Path:
        """The folder of the download: MLC-LLM's path, with the revision behind an @."""
        owner, repo = self.repo.split("/")
        suffix = "@" + self.revision.replace("/", "@") if self.revision else ""
        return weights_home / "hf" / owner / (repo + suffix)


def download(model: HubModel, weights_home: Path, rules: MakeRules) -> Path:
    """The folder of a downloaded repository. Downloads it if the policy allows that."""
    folder = model.folder(weights_home)
    policy = rules.policies.download
    if policy == "OFF":
        raise error_of(
            reasons.DOWNLOAD_FORBIDDEN,
            f"cannot download {model}: MLC_DOWNLOAD_CACHE_POLICY=OFF",
            param="model",
        )
    if policy != "REDO" and (folder / MARK).is_file():
        rules.steps.detail(f"Weights already downloaded: {folder}")
        return folder
    if policy == "READONLY":
        raise error_of(
            reasons.DOWNLOAD_FORBIDDEN,
            f"{model} is not at {folder}, and MLC_DOWNLOAD_CACHE_POLICY=READONLY forbids "
            "a download",
            param="model",
        )
    rules.check()
    _fetch_locked(model, folder, redo=policy == "REDO", steps=rules.steps)
    return folder


def commit_of(folder: Path) -> str | None:
    """The commit of a downloaded folder. None for a folder that was not downloaded by this
    module."""
    try:
        commit = json.loads((folder / MARK).read_text())["commit"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return commit if isinstance(commit, str) else None


def _fetch_locked(model: HubModel, folder: Path, *, redo: bool, steps: Steps) -> None:
    with home_errors_named(folder), locked(folder, steps, str(model)):
        if redo or not (folder / MARK).is_file():  # otherwise another process was faster
            _fetch(model, folder, redo=redo, steps=steps)


def _fetch(model: HubModel, folder: Path, *, redo: bool, steps: Steps) -> None:
    with _errors_named(model):
        commit, files = _list_files(model)
        if redo:  # the hub has answered: without it the kept files stay
            shutil.rmtree(folder, ignore_errors=True)
        total = sum(file.size or 0 for file in files)
        check_space(folder.parent, total - _arrived(folder, files), param="model")
        steps.detail(f"Downloading {model} to {folder}")
        title = f"Downloading {model} ({total / 1e6:,.0f} MB)"
        with steps.step(title, lambda: _arrived(folder, files) / max(1, total)):
            for file in files:
                if not _is_right(folder / file.name, file):
                    _transfer(model, commit, file, folder / file.name)
    (folder / MARK).write_text(json.dumps({"repo": model.repo, "commit": commit}))


def _arrived(folder: Path, files: Sequence[_RemoteFile]) -> int:
    """The bytes of these files that are on the disk, as whole files or parts."""
    found = 0
    for file in files:
        for path in (folder / file.name, folder / f"{file.name}.partial"):
            with contextlib.suppress(OSError):
                found += path.stat().st_size
    return found


@dataclass(frozen=True)
class _RemoteFile:
    name: str
    size: int | None
    sha256: str | None  # for files in large-file storage
    git_sha1: str | None  # for all other files: the hash of git's blob


def _list_files(model: HubModel) -> tuple[str, list[_RemoteFile]]:
    """The commit, and its files that a model needs."""
    from huggingface_hub import HfApi

    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
    revision = None if model.types else model.revision
    info = api.model_info(model.repo, revision=revision, files_metadata=True)
    siblings = {sibling.rfilename: sibling for sibling in info.siblings or []}
    prepared = "mlc-chat-config.json" in siblings
    patterns = PREPARED_FILES if prepared else ORDINARY_FILES
    wanted = [name for name in siblings if any(fnmatch.fnmatch(name, p) for p in patterns)]
    has_safetensors = any(name.endswith(".safetensors") for name in wanted)
    if model.types or not (prepared or has_safetensors):
        if not any(name.endswith(".gguf") for name in siblings):
            raise UnsupportedError(_no_model(model, list(siblings)), param="model")
        wanted = files_to_take(list(siblings), model.types, model)
    files = [_remote_file(model, siblings[name]) for name in wanted]
    assert info.sha is not None, "the hub names the commit where files are asked for"
    return info.sha, sorted(files, key=lambda file: file.size or 0)


def _remote_file(model: HubModel, sibling: Any) -> _RemoteFile:
    path = PurePosixPath(sibling.rfilename)
    if path.is_absolute() or ".." in path.parts or "\\" in sibling.rfilename:
        raise CorruptFileError(f"{model} holds a file outside its folder: {path}", param="model")
    lfs = sibling.lfs
    sha256 = getattr(lfs, "sha256", None) if lfs is not None else None
    git_sha1 = None if lfs is not None else sibling.blob_id
    return _RemoteFile(sibling.rfilename, sibling.size, sha256, git_sha1)


def _no_model(model: HubModel, names: list[str]) -> str:
    if model.types:
        return f"{model} holds no GGUF files; leave :{model.types} out"
    if any(name.endswith(".bin") for name in names):
        return f"{model} holds torch weights only (*.bin): convert it to safetensors first"
    return f"{model} holds no model: neither mlc-chat-config.json nor safetensors nor GGUF"


def _transfer(model: HubModel, commit: str, file: _RemoteFile, path: Path) -> None:
    """Downloads one file, or the rest of it. Moves it to its place if its hash is right."""
    from huggingface_hub import hf_hub_url
    from huggingface_hub.file_download import (
        http_get,  # pyright: ignore[reportUnknownVariableType]
    )
    from huggingface_hub.utils import (  # type: ignore[attr-defined]
        build_hf_headers,  # pyright: ignore[reportUnknownVariableType]
        disable_progress_bars,
    )

    disable_progress_bars("huggingface_hub.http_get")  # our own bar shows all files
    endpoint = os.environ.get("HF_ENDPOINT")
    url = hf_hub_url(model.repo, file.name, revision=commit, endpoint=endpoint)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    with partial.open("ab") as stream:
        resumed = stream.tell() > 0
        if file.size is not None and stream.tell() > file.size:
            stream.seek(0)
            stream.truncate()
        if stream.tell() != file.size:
            http_get(
                url,
                stream,
                resume_size=stream.tell(),
                headers=build_hf_headers(),
                expected_size=file.size,
                displayed_filename=file.name,
            )
    if not _is_right(partial, file):
        partial.unlink()
        if resumed:  # the part may be from another version
            return _transfer(model, commit, file, path)
        raise error_of(
            reasons.HASH_MISMATCH,
            f"{model}: {file.name} is not what the hub announced (wrong size or hash); it was "
            "removed, try again",
            param=file.name,
        )
    partial.replace(path)


def _is_right(path: Path, file: _RemoteFile) -> bool:
    """Whether a file has the size and the hash that the hub announced."""
    if not path.is_file():
        return False
    size = path.stat().st_size
    expected = file.sha256 or file.git_sha1
    return file.size in (None, size) and expected in (None, _hash(path, size, file))


def _hash(path: Path, size: int, file: _RemoteFile) -> str:
    if file.sha256:
        digest = hashlib.sha256()
    else:
        digest = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


@contextlib.contextmanager
def _errors_named(model: HubModel) -> Generator[None]:
    """Turns the library's exceptions into ours."""
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError:
        raise NotFoundError(
            f"{model} is gated: accept its terms on the hub and set HF_TOKEN", param="model"
        ) from None
    except errors.RevisionNotFoundError:
        raise NotFoundError(
            f"{model}: the repository has no revision {model.revision!r}", param="model"
        ) from None
    except errors.RepositoryNotFoundError:
        raise NotFoundError(
            f"{model}: no such repository; check the spelling (a private one needs HF_TOKEN)",
            param="model",
        ) from None
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, OSError, RuntimeError) as error:
        raise _failed(model, error) from None
    except Exception as error:  # noqa: BLE001  the HTTP client's own errors, whichever it is
        if type(error).__module__.startswith("mlc_llm"):
            raise
        raise _failed(model, error) from None


def _failed(model: HubModel, error: Exception) -> DownloadError:
    why = _first_line(error)
    if getattr(error, "response", None) is None:
        why += "; is there a network? A model folder or a .gguf file needs none"
    elif (said := str(getattr(error, "server_message", None) or "")) not in why:
        why += f": {said}"  # the hub's own words, as of a token that is not valid
    return DownloadError(f"{model}: download failed: {why}", param="model")


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]

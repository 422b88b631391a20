"""Where a model is on this machine: the folder or the file that a model argument names."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mlc_llm.errors import CorruptFileError, InvalidRequestError, NotFoundError
from mlc_llm.prepare import embedded_model, hub_download
from mlc_llm.prepare.gguf_names import is_model_file, is_projector, name_of, projector_rank
from mlc_llm.prepare.jit_cache import LAST_USE, MakeRules, home

CHAT_CONFIG = "mlc-chat-config.json"
# The model argument that means the embedded model.
DEFAULT_MODEL = "default"
_HF_CONFIG = "config.json"
NO_PROJECTOR = "none"  # the model reads text alone
# What a clone without git-lfs has in place of a large file.
_LFS_POINTER = "a pointer of git-lfs (`git lfs pull` fetches the file)"
_MAX_POINTER = 1024  # bytes


def local_path(model: str | Path | None, rules: MakeRules) -> Path:
    """The folder or file that the argument names, downloaded if necessary."""
    weights_home = home() / "model_weights"
    if model is None:
        return embedded_model.embedded_model_file(weights_home / "embedded", rules)
    if isinstance(model, str) and model.startswith(hub_download.PREFIX):
        repository = hub_download.HubModel.parse(model)
        folder = hub_download.download(repository, weights_home, rules)
        return next(filter(is_model_file, sorted(folder.rglob("*.gguf"))), folder)
    path = Path(os.path.expanduser(model))
    if path.is_file() and path.name == CHAT_CONFIG:
        path = path.parent
    if not path.exists() and (kept := _kept_folder(str(model))) is not None:
        return kept
    path = _only_gguf(path) or path
    _require_model(path)
    return path.absolute()


def _only_gguf(folder: Path) -> Path | None:
    """The GGUF file of a folder that holds no other model."""
    if not folder.is_dir() or any((folder / name).is_file() for name in (CHAT_CONFIG, _HF_CONFIG)):
        return None
    files = _models_in(folder)
    if len(files) > 1:
        raise InvalidRequestError(
            f"{folder} holds {len(files)} models; give one of them: "
            + ", ".join(path.name for path in files),
            param="model",
        )
    return files[0] if files else None


def projector_beside(model: Path) -> Path | None:
    """The file with the tower of a GGUF model: one in its folder with "mmproj" and the name of the
    model, or any one with "mmproj" if the folder holds no other model."""
    if model.suffix != ".gguf" or is_projector(model):
        return None
    every = [path for path in sorted(model.parent.glob("*.gguf")) if is_projector(path)]
    name = name_of(model)
    found = [path for path in every if name_of(path) == name]
    if not found and {name_of(path) for path in _models_in(model.parent)} == {name}:
        found = every
    return min(found, key=projector_rank, default=None)


def projector_of(model: Path, asked: object) -> Path | None:
    """The file with the tower of a model. `asked`: the path that the user names, or "none"."""
    if asked is not None and not isinstance(asked, (str, Path)):
        raise InvalidRequestError("mmproj must be the path of a file, or none", param="mmproj")
    if asked is None or asked == NO_PROJECTOR:
        return projector_beside(model) if asked is None else None
    if model.suffix != ".gguf":
        raise InvalidRequestError(
            "mmproj is for a .gguf model; a folder has its tower in its own files", param="mmproj"
        )
    path = Path(os.path.expanduser(asked))
    if not path.is_file():
        raise NotFoundError(f"{path}: no such file; it is what mmproj names", param="mmproj")
    return path.absolute()


def _models_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.gguf")) if is_model_file(path)]


def _kept_folder(name: str) -> Path | None:
    """The converted model with this name in `mlc_llm list`; of several, the one used last."""
    if not re.fullmatch(r"[\w.-]+", name):
        return None
    folder = home() / "model_weights" / "converted"
    key = re.compile(re.escape(name) + r"(-[^-]+)?-[0-9a-f]{12}-MLC")
    found = [path for path in folder.glob(f"{name}-*-MLC") if key.fullmatch(path.name)]
    return max(found, key=_last_use, default=None)


def _last_use(folder: Path) -> float:
    mark = folder / LAST_USE
    return mark.stat().st_mtime if mark.exists() else 0.0


def _require_model(path: Path) -> None:
    if path.is_dir():
        if not (path / CHAT_CONFIG).is_file() and not (path / _HF_CONFIG).is_file():
            raise NotFoundError(
                f"{path}: neither {CHAT_CONFIG} nor {_HF_CONFIG} nor a .gguf file is in this "
                "folder",
                param="model",
            )
        needed = (*hub_download.PREPARED_FILES, *hub_download.ORDINARY_FILES)
        found = (file for pattern in needed for file in path.glob(pattern))
        for file in filter(_is_lfs_pointer, found):
            raise CorruptFileError(f"{file}: this is {_LFS_POINTER}", param="model")
    elif not path.is_file():
        hub = hub_download.PREFIX
        may_be_there = len(path.parts) == 2 and not path.is_absolute() and path.suffix != ".gguf"
        raise NotFoundError(
            f"{path}: no such model; give a folder, a .gguf file, {hub}org/repo or "
            f"'{DEFAULT_MODEL}'"
            + (f" (if it is a repository of the hub: {hub}{path})" if may_be_there else ""),
            param="model",
        )
    elif path.suffix != ".gguf":
        raise InvalidRequestError(
            f"{path}: a model file must be a .gguf file; for others give the folder", param="model"
        )
    elif kind := _text_kind(path):
        raise CorruptFileError(f"{path}: this is {kind}, and no GGUF file", param="model")


def _text_kind(path: Path) -> str | None:
    """What kind of text a file holds; None for other files."""
    with path.open("rb") as file:
        begin = file.read(256)
    if not begin.strip() or begin[:4] == b"GGUF":
        return None
    if _is_lfs_pointer(path):
        return _LFS_POINTER
    if begin.lstrip()[:1] == b"<":
        return "a web page (download the file itself)"
    return "a text file" if all(byte >= 9 for byte in begin) else None


def _is_lfs_pointer(path: Path) -> bool:
    try:
        if not path.is_file() or path.stat().st_size > _MAX_POINTER:
            return False
        return re.match(rb"version \S+git-lfs", path.read_bytes()) is not None
    except OSError:  # who needs the file says it
        return False

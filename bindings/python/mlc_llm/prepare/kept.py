"""The models in MLC_LLM_HOME: weights, downloads and libraries; for `list`, `rm` and completion."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from mlc_llm.errors import NotFoundError
from mlc_llm.prepare.embedded_model import NAME
from mlc_llm.prepare.hub_download import MARK, PREFIX, repository
from mlc_llm.prepare.jit_cache import LAST_USE, home
from mlc_llm.prepare.kept_library import (
    all_strips,
    has_own_strips,
    mark_of,
    names_of,
    release,
    users,
)
from mlc_llm.prepare.local_model import DEFAULT_MODEL
from mlc_llm.prepare.model_folder import read_json_object
from mlc_llm.prepare.progress import TerminalSteps
from mlc_llm.prepare.temporary_files import locked

_CONVERTED = re.compile(r"(?P<name>.+)-(?P<quantization>[^-]+)-[0-9a-f]{12}-MLC")

_Kind = Literal["converted", "downloaded", "embedded", "library"]


@dataclass(frozen=True, kw_only=True)
class KeptModel:
    """A kept model. `paths`: its folder or file, the libraries that it uses, and their strips."""

    name: str
    quantization: str  # "-": as downloaded
    paths: tuple[Path, ...]
    last_use: float  # seconds since 1970
    kind: _Kind

    @cached_property
    def size(self) -> int:
        """In bytes."""
        return sum(_size(path) for path in self.paths)

    def answers_to(self, name: str) -> bool:
        """Whether `name` is its name, with or without the quantization, or its folder's name."""
        names = (self.name, f"{self.name}-{self.quantization}", self.paths[0].name)
        return name.lower() in {known.lower() for known in names}


def kept_models() -> list[KeptModel]:
    """All kept models, the last used one first."""
    weights = home() / "model_weights"
    found = [*_converted(weights / "converted"), *_downloads(weights / "hf")]
    embedded = sorted((weights / "embedded").glob("*.gguf"))
    found += [_entry(path, NAME, "-", "embedded") for path in embedded]
    found = _with_libraries(found)
    return sorted(found, key=lambda model: -model.last_use)


def find_kept(names: Sequence[str]) -> list[KeptModel]:
    """The kept models with these names. Raises NotFoundError if one of the names is unknown."""
    kept = kept_models()
    chosen: dict[Path, KeptModel] = {}
    for name in names:
        plain = NAME if name == DEFAULT_MODEL else (repository(name) or name).rstrip("/")
        found = [model for model in kept if model.answers_to(plain)]
        if not found:
            raise NotFoundError(
                f"no model '{name}' is kept here; `mlc_llm list` shows the names", param="model"
            )
        chosen |= {model.paths[0]: model for model in found}
    return list(chosen.values())


def remove(model: KeptModel) -> int:
    """Removes the files of a kept model, but no library that another model uses. Waits while a
    process writes them. Returns their size in bytes."""
    shared = _shared(model)
    paths = [path for path in model.paths if path not in shared]
    size = sum(_size(path) for path in paths)
    for path in paths:
        with locked(path, TerminalSteps()):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    return size


def _shared(model: KeptModel) -> list[Path]:
    """The files of the libraries that another model uses. This one no longer counts."""
    found: list[Path] = []
    folder = model.paths[0]
    for library in (path for path in model.paths[1:] if path.suffix == ".so"):
        if release(library, folder):
            strips = [f for f in all_strips(library) if not has_own_strips(library, folder, f)]
            found += [library, mark_of(library), *strips]
    return found


def _converted(folder: Path) -> Iterator[KeptModel]:
    for path in sorted(folder.glob("[!.]*-MLC")):
        if match := _CONVERTED.fullmatch(path.name):
            quantization = read_json_object(path / "mlc-chat-config.json").get("quantization")
            origin = str(read_json_object(path / LAST_USE).get("model", ""))
            name = origin if origin.startswith(PREFIX) else match["name"]
            yield _entry(path, name, str(quantization or match["quantization"]), "converted")


def _downloads(folder: Path) -> Iterator[KeptModel]:
    for mark in sorted(folder.glob(f"*/*/{MARK}")):
        path = mark.parent
        repo, _, revision = path.name.partition("@")
        name = f"{PREFIX}{path.parent.name}/{repo}" + (f":{revision}" if revision else "")
        config = read_json_object(path / "mlc-chat-config.json")
        yield _entry(path, name, str(config.get("quantization", "-")), "downloaded")


def _entry(path: Path, name: str, quantization: str, kind: _Kind) -> KeptModel:
    used = _time(path / LAST_USE) or _time(path)
    return KeptModel(name=name, quantization=quantization, paths=(path,), last_use=used, kind=kind)


def _with_libraries(models: Sequence[KeptModel]) -> list[KeptModel]:
    """Adds each library to the models that use it, and its strips to the model with these weights.
    Other libraries get an entry of their own."""
    found = list(models)
    folders = [model.paths[0] for model in models]
    for library in sorted((home() / "model_lib").glob("*.so")):
        mark, strips, places = mark_of(library), all_strips(library), users(library)
        for index, folder in enumerate(folders if strips else []):
            own = [file for file in strips if has_own_strips(library, folder, file)]
            strips = [file for file in strips if file not in own]
            found[index] = replace(found[index], paths=(*found[index].paths, *own))
        paths, used = (library, mark, *strips), max(_time(library), _time(mark))
        having = [i for i, f in enumerate(folders) if not names_of(library, f).isdisjoint(places)]
        for index in having:
            model = found[index]
            last = used if len(having) == 1 else 0.0  # of a shared one it is not said whose use
            found[index] = replace(
                model, paths=(*model.paths, *paths), last_use=max(model.last_use, last)
            )
        if not having:
            name = f"library of {Path(places[0] if places else '?').name}"
            entry = _entry(library, name, "-", "library")
            found.append(replace(entry, paths=paths, last_use=used))
    return found


def _size(path: Path) -> int:
    files = [path] if path.is_file() else path.rglob("*")
    return sum(_stat_size(file) for file in files)


def _stat_size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0

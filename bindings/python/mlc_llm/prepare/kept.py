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
from mlc_llm.prepare.hub_download import MARK, PREFIX
from mlc_llm.prepare.jit_cache import LAST_USE, home
from mlc_llm.prepare.local_model import DEFAULT_MODEL
from mlc_llm.prepare.model_folder import read_json_object
from mlc_llm.prepare.progress import TerminalSteps
from mlc_llm.prepare.temporary_files import locked

_CONVERTED = re.compile(r"(?P<name>.+)-(?P<quantization>[^-]+)-[0-9a-f]{12}-MLC")

_Kind = Literal["converted", "downloaded", "embedded", "library"]


@dataclass(frozen=True, kw_only=True)
class KeptModel:
    """A kept model. `paths` are its folder or file, and the libraries that were compiled for it."""

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
        plain = NAME if name == DEFAULT_MODEL else name.rstrip("/")
        found = [model for model in kept if model.answers_to(plain)]
        if not found:
            raise NotFoundError(
                f"no model '{name}' is kept here; `mlc_llm list` shows the names", param="model"
            )
        chosen |= {model.paths[0]: model for model in found}
    return list(chosen.values())


def remove(model: KeptModel) -> None:
    """Removes the files of a kept model. Waits while a process writes them."""
    for path in model.paths:
        with locked(path, TerminalSteps()):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


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


def _with_libraries(models: list[KeptModel]) -> list[KeptModel]:
    """Adds each library to the model for which it was compiled. Other libraries get an entry of
    their own."""
    by_folder = {model.paths[0].name: index for index, model in enumerate(models)}
    models = list(models)
    for library in sorted((home() / "model_lib").glob("*.so")):
        mark = library.with_suffix(".json")
        folder = str(read_json_object(mark).get("folder", "?"))
        paths = (library, mark, *sorted(library.parent.glob(f"{library.stem}-*.strips")))
        used = max(_time(library), _time(mark))
        if (index := by_folder.get(folder)) is not None:
            model = models[index]
            models[index] = replace(
                model,
                paths=(*model.paths, *paths),
                last_use=max(model.last_use, used),
            )
        else:
            name = f"library of {folder}"
            models.append(
                KeptModel(
                    name=name,
                    quantization="-",
                    paths=paths,
                    last_use=used,
                    kind="library",
                )  # fmt: skip
            )
    return models


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

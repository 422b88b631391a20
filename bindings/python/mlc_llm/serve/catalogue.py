"""The models that a server knows, loaded or not: of its settings file, of a folder, and those that
are kept on this machine.

Only names of files are read, and only when somebody asks: a server with many models starts like one
with none.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from mlc_llm.errors.nearest import near_names
from mlc_llm.prepare.gguf_names import is_model_file
from mlc_llm.prepare.local_model import CHAT_CONFIG
from mlc_llm.prepare.model_source import model_name
from mlc_llm.sdk.model_names import same_model

_CONFIGS = (CHAT_CONFIG, "config.json")
_MAX_DEPTH = 3  # folders inside the folder: publisher, repository, file
_SCAN_SECONDS = 1.0  # between two looks at the disk

WhenIdle = Literal["leave", "sleep"]


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """A model in the form of the command line, the settings file or the admin route."""

    model: str | None  # None: the embedded default model
    model_lib: str | None = None
    device: str = "auto"
    mode: str = "local"
    quantization: str | None = None
    engine_config: Mapping[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()  # the served names; empty: the name of `model`
    pinned: bool = False  # it stays in memory once it is loaded
    idle_timeout: float | None = None  # seconds without a request; None: it stays
    when_idle: WhenIdle = "leave"
    adapters: Mapping[str, str] = field(default_factory=dict)  # LoRA adapters: paths by name

    def named(self) -> ModelSpec:
        """The same with at least one name."""
        return self if self.names else replace(self, names=(model_name(self.model),))

    @property
    def argument(self) -> str:
        """The place from which it is loaded, which is also a name for clients."""
        return str(self.model or self.named().names[0])

    def answers_to(self, name: str) -> bool:
        return (
            name in self.names
            or self.adapter_of(name) is not None
            or same_model(name, self.argument)
        )

    def adapter_of(self, name: str) -> str | None:
        """The adapter that is meant by its name, or by MODEL:ADAPTER."""
        base, _, adapter = name.rpartition(":")
        if name in self.adapters:
            return name
        return adapter if adapter in self.adapters and base in self.names else None


Source = Callable[[], Iterable[ModelSpec]]


class Catalogue:
    """The models of several sources. Of two with the same name the first one counts. Thread-safe.

    `first`: models that are known in any case. `sources`: give the others, and are asked again when
    a name is unknown, since files may have come.
    """

    def __init__(self, first: Sequence[ModelSpec] = (), sources: Sequence[Source] = ()) -> None:
        self._first = [spec.named() for spec in first]
        self._sources = list(sources)
        self._lock = threading.Lock()
        self._found: list[ModelSpec] = self._first
        self._scanned_at: float | None = None

    def all(self) -> list[ModelSpec]:
        """Every known model. Looks at the disk, at most once a second."""
        with self._lock:
            if self._sources and self._is_old():
                self._found = list(_distinct([*self._first, *self._scan()]))
                self._scanned_at = time.monotonic()
            return self._found

    def find(self, name: str | None) -> ModelSpec | None:
        """The model with that name; without a name the first one."""
        found = self._find_in(self._found, name)
        return found if found is not None else self._find_in(self.all(), name)

    def near(self, name: str, others: Iterable[str] = ()) -> list[str]:
        """Known names that look like `name`, the most alike first."""
        known = [one for spec in self.all() for one in spec.names]
        return near_names(name, [*known, *others], most=3, alike=0.5)

    @staticmethod
    def _find_in(specs: list[ModelSpec], name: str | None) -> ModelSpec | None:
        if not name:
            return specs[0] if specs else None
        exact = (spec for spec in specs if name in spec.names)
        other = (spec for spec in specs if spec.answers_to(name))
        return next(exact, None) or next(other, None)

    def _is_old(self) -> bool:
        at = self._scanned_at
        return at is None or time.monotonic() - at > _SCAN_SECONDS

    def _scan(self) -> Iterator[ModelSpec]:
        for source in self._sources:
            yield from source()


def _distinct(specs: Iterable[ModelSpec]) -> Iterator[ModelSpec]:
    """Leaves out names that an earlier model has, and models without a name of their own."""
    taken: set[str] = set()
    for spec in specs:
        names = tuple(name for name in spec.names if name not in taken)
        if names:
            taken.update(names)
            yield spec if names == spec.names else replace(spec, names=names)


def models_in(folder: Path, template: ModelSpec) -> Source:
    """The models in a folder: GGUF files and model folders, also in folders inside it. A name is
    the path in the folder, and the last part of it. `template`: their other settings."""

    def specs() -> Iterator[ModelSpec]:
        for path in sorted(_models_below(folder, 1)):
            place = path.relative_to(folder)
            full = str(place.with_suffix("") if path.suffix == ".gguf" else place)
            names = tuple(dict.fromkeys((model_name(path), full)))
            yield replace(template, model=str(path), names=names)

    return specs


def _models_below(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = [one for one in folder.iterdir() if not one.name.startswith(".")]
    except OSError:  # it may be gone, or not ours to read
        return
    yield from (one for one in entries if is_model_file(one) and one.is_file())
    for one in entries:
        if one.suffix == ".gguf" or not one.is_dir():
            continue
        if any((one / name).is_file() for name in _CONFIGS):
            yield one
        elif depth < _MAX_DEPTH:
            yield from _models_below(one, depth + 1)


def kept_here(template: ModelSpec) -> Source:
    """The models of `mlc_llm list`: by their last part, and by the name of that list."""

    def specs() -> Iterator[ModelSpec]:
        from mlc_llm.prepare.kept import kept_models

        for model in kept_models():
            if model.kind == "library":
                continue
            short = model_name(model.name)
            names = {short: None, model.name: None}
            if model.kind == "converted":
                names[f"{short}-{model.quantization}"] = None
            path = None if model.kind == "embedded" else str(model.paths[0])
            yield replace(template, model=path, names=tuple(names))

    return specs

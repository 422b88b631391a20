"""The LoRA adapters of a chat: `--lora` loads them, `/lora` chooses which change the answers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlc_llm.cli.settings import path_and_scale
from mlc_llm.errors import InvalidRequestError

if TYPE_CHECKING:
    from mlc_llm.sdk.core_engine import CoreEngine

DEFAULT_RANKS = 64  # the room for the adapters of `--lora`
_NONE = "none"


def named(text: str) -> tuple[str, str, float]:
    """Name, path and scale of `[NAME=]PATH[:SCALE]`. The name is else that of the file."""
    found, factor = path_and_scale(text)
    name, equals, path = found.partition("=")
    if not equals or "/" in name or Path(found).exists():  # the sign is one of the path
        place, path = Path(os.path.expanduser(found)).absolute(), found
        name = place.name if place.is_dir() else place.stem
    if not name or not path:
        raise InvalidRequestError(f"--lora {text}: must be [NAME=]PATH[:SCALE]", param="lora")
    return name, path, factor


class ChatAdapters:
    """The adapters that are loaded, and those in use with their scales."""

    def __init__(self) -> None:
        self._loaded: list[str] = []
        self._used: dict[str, float] = {}

    def load(self, engine: CoreEngine, given: list[str]) -> None:
        """Loads `[NAME=]PATH[:SCALE]` and uses them."""
        from mlc_llm.sdk import adapters

        for name, path, factor in map(named, given):
            if name in self._loaded:
                raise InvalidRequestError(
                    f"two adapters have the name '{name}'; write --lora NAME=PATH", param="lora"
                )
            adapters.load_adapter(engine, name, path)
            self._loaded.append(name)
            self._used[name] = factor

    def field(self) -> Mapping[str, Any]:
        """For a request."""
        uses = [{"name": name, "scale": factor} for name, factor in self._used.items()]
        return {"lora": uses} if uses else {}

    def choose(self, text: str) -> str:
        """What `/lora` says; `text` follows it: nothing, `none`, or names with scales."""
        if text:
            words = [] if text == _NONE else [path_and_scale(word) for word in text.split()]
            for name, _ in words:
                if name not in self._loaded:
                    known = ", ".join(self._loaded) or "none; `mlc_llm chat --lora PATH` loads them"
                    raise InvalidRequestError(
                        f"no adapter '{name}' is loaded (loaded: {known})", param="lora"
                    )
                if sum(name == other for other, _ in words) > 1:
                    raise InvalidRequestError(f"'{name}' is named twice", param="lora")
            self._used = dict(words)
        uses = " ".join(f"{name}:{factor:g}" for name, factor in self._used.items())
        return f"Adapters: {uses or _NONE}; loaded: {' '.join(self._loaded) or _NONE}"

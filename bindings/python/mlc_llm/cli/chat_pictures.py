"""The pictures of a chat: their paths in what a user writes, and the parts of requests for them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mlc_llm.errors import InvalidRequestError, UnsupportedError
from mlc_llm.pictures import expanded, picture, read_picture

PICTURES = "images"  # the member of a message in the history: paths
_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
_FIRST_WORD = re.compile(r"""["']|file://|~|\.{0,2}[/\\]|[A-Za-z]:[/\\]""")


def paths_in(text: str) -> list[Path]:
    """The paths in a text: apart by blanks, quoted, with `\\` before a blank, or as `file://`."""
    if (whole := expanded(text)).is_file():
        return [whole]
    try:
        words = shlex.split(text) if os.name != "nt" else _windows_words(text)
    except ValueError:  # quotes that do not end
        words = [text]
    return [_path(word) for word in words]


def _windows_words(text: str) -> list[str]:
    return [word.strip("\"'") for word in shlex.split(text, posix=False)]


def _path(word: str) -> Path:
    if word.startswith("file://"):
        with contextlib.suppress(ValueError):  # no address: a strange name
            word = url2pathname(urlsplit(word).path)
    return expanded(word)


def dropped(line: str) -> list[Path]:
    """The picture files of a line that consists of their paths, as a terminal writes it when they
    are dropped on it. Empty: it is another line."""
    text = line.strip()
    looks_like_paths = _FIRST_WORD.match(text) or text.lower().endswith(_SUFFIXES)
    if not looks_like_paths or len(text) > 1 << 16 or "\0" in text:
        return []
    try:
        paths = paths_in(text)
        are_pictures = all(path.suffix.lower() in _SUFFIXES and path.is_file() for path in paths)
    except (OSError, ValueError, RuntimeError):  # no name that a file can have
        return []
    return paths if are_pictures else []


def with_pictures(text: str, paths: Sequence[Path]) -> dict[str, Any]:
    """The user's message, as the history keeps it: a picture is a path."""
    message: dict[str, Any] = {"role": "user", "content": text}
    return {**message, PICTURES: [str(path) for path in paths]} if paths else message


def as_asked(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message of the history as requests have it: with the bytes of its pictures."""
    if not message.get(PICTURES):
        return dict(message)
    parts = [picture(Path(path)) for path in message[PICTURES]]
    text = {"type": "text", "text": message["content"]}
    return {"role": message["role"], "content": [*parts, text]}


class NextPictures:
    """The pictures that go with the next message. `engine`: as `ChatSession` has it."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._paths: list[Path] = []

    def add(self, paths: Iterable[Path]) -> list[str]:
        """Returns what to say about each. Raises MLCError, and adds none, if the model takes no
        pictures, or if a file is none."""
        if "image" not in self._engine.plan()["input_modalities"]:
            raise UnsupportedError(
                f"{self._engine.model.name} reads text only, it takes no pictures", param="image"
            )
        found = [path.absolute() for path in paths]
        if not found:
            raise InvalidRequestError("/image needs a file: /image cat.jpg", param="image")
        said = [self._describe(path) for path in found]
        self._paths += found
        return said

    def take(self) -> list[Path]:
        """They go with a message now."""
        taken, self._paths = self._paths, []
        return taken

    def _describe(self, path: Path) -> str:
        size = len(read_picture(path))
        shown = f"{size} bytes" if size < 1000 else f"{size / 1000:.0f} kB"
        tokens = self._count([path]) - self._count([])
        return f"{path.name}: {shown}, {tokens} tokens"

    def _count(self, paths: Sequence[Path]) -> int:
        """The tokens of a message with these pictures. The engine says what is wrong with one."""
        messages = [as_asked(with_pictures("x", paths))]
        counted: int = json.loads(self._engine.call("input_tokens", {"messages": messages}))[
            "input_tokens"
        ]
        return counted

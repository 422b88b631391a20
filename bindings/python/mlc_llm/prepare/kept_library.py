"""The libraries in MLC_LLM_HOME/model_lib: whether one is whole, whose it is, and its strips.

Models of one shape share a library KEY.so. Its mark KEY.json names their folders; its time is the
last use. KEY-OWNER-WEIGHTS-HASH.strips are the weights of one of these folders, as this library
reads them; the core adds the hash.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlc_llm.prepare.model_folder import read_json_object
from mlc_llm.prepare.progress import Steps
from mlc_llm.prepare.temporary_files import locked

_TRAILER_BYTES = 24  # see docs/model-library.md
Mark = dict[str, Any]


def is_whole_library(library: Path) -> bool:
    """Whether the trailer fits. Its hash takes 60 ms for each MB here, so the mark of a library
    that was made or found whole has a faster one."""
    try:
        data = library.read_bytes()
    except OSError:
        return False
    digest = _digest(data)
    if read_json_object(mark_of(library)).get("sha256") == digest:
        return True
    from mlc_llm.compiler.trailer import trailer  # not needed at most starts

    if data[-_TRAILER_BYTES:] != trailer(data[:-_TRAILER_BYTES]):
        return False
    _change_mark(library, lambda mark: {**mark, "sha256": digest})
    return True


def mark_of(library: Path) -> Path:
    return library.with_suffix(".json")


def mark_library(library: Path, folder: Path, device: str, *, is_new: bool = False) -> None:
    """Records that the model in this folder uses the library, and when."""
    place = _place(library, folder)

    def change(mark: Mark) -> Mark:
        others = [one for one in _users(mark) if one not in (place, folder.name)]
        known = {"sha256": _digest(library.read_bytes())} if is_new else {}
        return {**mark, **known, "folders": [*others, place], "device": device}

    if is_new or place not in users(library):
        _change_mark(library, change)
    with contextlib.suppress(OSError):
        os.utime(mark_of(library))


def users(library: Path) -> list[str]:
    """Where the folders of a library's models are: below `model_weights`, or an absolute path."""
    return _users(read_json_object(mark_of(library)))


def _users(mark: Mapping[str, Any]) -> list[str]:
    """Marks of older versions have the name of one folder."""
    found: Sequence[Any] = mark.get("folders", [mark.get("folder")])
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def names_of(library: Path, folder: Path) -> set[str]:
    """How the marks of this version and of older ones name the folder."""
    return {_place(library, folder), folder.name}


def release(library: Path, folder: Path) -> bool:
    """Takes a folder out of the library's mark. Returns whether another one uses the library."""
    others: list[str] = []

    def change(mark: Mark) -> Mark:
        others[:] = [one for one in _users(mark) if one not in names_of(library, folder)]
        return {**mark, "folders": others}

    _change_mark(library, change)
    return any("/" not in one or (_weights(library) / one).exists() for one in others)


def strips_prefix(library: Path, folder: Path) -> Path:
    """What the path of the strips of a folder's weights begins with."""
    weights = hashlib.sha256()
    for name in ("tensor-cache.json", "ndarray-cache.json"):
        with contextlib.suppress(OSError):
            weights.update((folder / name).read_bytes())
    return library.with_name(f"{_own_strips(library, folder)}{weights.hexdigest()[:8]}")


def has_own_strips(library: Path, folder: Path, file: Path) -> bool:
    """Whether `file` has the strips of this folder for the library."""
    return file.name.startswith(_own_strips(library, folder))


def all_strips(library: Path) -> list[Path]:
    """Those of a draft had a name of their own in older versions."""
    found = library.parent.glob(f"{library.stem}*.strips")
    return sorted(f for f in found if f.name.startswith((f"{library.stem}-", _old_drafts(library))))


def _old_drafts(library: Path) -> str:
    return f"{library.stem}draft--"


def remove_stale_strips(library: Path, folder: Path) -> None:
    """Removes the strips of weights that the folder had before, and those of older versions, whose
    names have no owner: nothing reads them."""
    now = strips_prefix(library, folder).name
    for file in all_strips(library):
        stale = has_own_strips(library, folder, file) and not file.name.startswith(now)
        is_old = file.stem.count("-") == 1 or file.name.startswith(_old_drafts(library))
        if stale or is_old:
            with contextlib.suppress(OSError):
                file.unlink()


def _own_strips(library: Path, folder: Path) -> str:
    owner = hashlib.sha256(_place(library, folder).encode(errors="surrogateescape"))
    return f"{library.stem}-{owner.hexdigest()[:12]}-"


def _place(library: Path, folder: Path) -> str:
    path, weights = folder.resolve(), _weights(library)
    inside = path.is_relative_to(weights)
    return (path.relative_to(weights) if inside else path).as_posix()


def _weights(library: Path) -> Path:
    return library.resolve().parent.with_name("model_weights").resolve()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _change_mark(library: Path, change: Callable[[Mark], Mark]) -> None:
    """Reads and writes it under its lock. Of a home that cannot be written, nothing is recorded."""
    mark = mark_of(library)
    with contextlib.suppress(OSError, NotImplementedError), locked(mark, Steps()):
        written = mark.with_name(f".{mark.name}.new")
        written.write_text(json.dumps(change(read_json_object(mark))))
        written.replace(mark)

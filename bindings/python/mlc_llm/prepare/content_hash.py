"""Short texts that identify the content of a model's files, in any place.

Whole files are hashed. A hash is stored with the file's size and time, so a second start reads
nothing.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import json
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from mlc_llm.errors import NotFoundError
from mlc_llm.prepare.progress import Steps

_BLOCK = 1 << 22


# Errors of pipes, connections and processes, as of a caller's function for progress: no file's.
OTHER_OS_ERRORS = (ConnectionError, BlockingIOError, ChildProcessError)


@contextlib.contextmanager
def file_errors_named(param: str = "model") -> Generator[None]:
    """Turns errors of the file system into an error that names the file."""
    try:
        yield
    except OTHER_OS_ERRORS:
        raise
    except OSError as error:
        words = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise NotFoundError(words, param=param) from None


def hash_of(path: Path, memory: Path, steps: Steps) -> str:
    """The SHA-256 of a file. `memory` is the folder in which hashes are stored."""
    stat = path.stat()
    seen = [stat.st_size, stat.st_mtime_ns, stat.st_ino]
    name = hashlib.sha256(str(path.absolute()).encode(errors="surrogateescape")).hexdigest()[:32]
    note = memory / f"{name}.json"
    remembered = _remembered(note)
    if remembered[:-1] == seen and isinstance(remembered[-1], str):
        return remembered[-1]
    digest = _sha256(path, stat.st_size, steps)
    # a home that cannot be written: the file is hashed each time
    with contextlib.suppress(OSError):
        memory.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps([*seen, digest]))
    return digest


def hashes_of(
    folder: Path, patterns: Sequence[str], memory: Path, steps: Steps
) -> list[tuple[str, str]]:
    """The names and hashes of those files in a folder that match a pattern. A pattern with a slash
    is for files in the folders beside them."""
    found = [*folder.iterdir(), *folder.glob("*/*")]
    names = sorted(path.relative_to(folder).as_posix() for path in found if path.is_file())
    wanted = [name for name in names if any(_matches(name, p) for p in patterns)]
    return [(name, hash_of(folder / name, memory, steps)) for name in wanted]


def _matches(name: str, pattern: str) -> bool:
    return name.count("/") == pattern.count("/") and fnmatch.fnmatch(name, pattern)


def _remembered(note: Path) -> list[Any]:
    try:
        size, moment, inode, digest = json.loads(note.read_text())
    except (OSError, ValueError, TypeError):
        return [None]
    return [size, moment, inode, digest]


def _sha256(path: Path, size: int, steps: Steps) -> str:
    digest = hashlib.sha256()
    done = 0
    title = f"Reading {path.name}"
    with path.open("rb") as stream, steps.step(title) as update:
        while block := stream.read(_BLOCK):
            digest.update(block)
            done += len(block)
            update(done / max(1, size))
    return digest.hexdigest()

"""Temporary folders and locks that leave nothing behind, even after their process is killed.

A scratch folder, `.NAME.tmp-XXXX`, is locked while its owner lives. So the folder of a killed
process has a free lock. The next start removes it (`remove_leftovers`).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare.progress import Steps

if TYPE_CHECKING:  # imported where a lock is taken
    from filelock import BaseFileLock

LOCK = ".lock"
_MARK = ".tmp-"
_POLL_SECONDS = 0.05


@contextlib.contextmanager
def scratch_folder(target: Path) -> Generator[Path]:
    """A folder beside `target`, for files that will become `target`. It is removed at the end."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder, lock = _new_folder(target)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            lock.release()


def remove_leftovers(parent: Path, name: str | None = None) -> None:
    """Removes the scratch folders and locks of killed processes from a folder, for `name` or for
    all names."""
    try:
        entries = [entry for entry in os.scandir(parent) if entry.name.startswith(".")]
    except OSError:
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith(f".{name or ''}") and _MARK in entry.name:
            _remove_if_free(path, path / LOCK)
        elif name is None and entry.name.endswith(LOCK):
            _remove_if_free(path, path)


@contextlib.contextmanager
def locked(
    path: Path, steps: Steps, what: str = "", check: Callable[[], object] = lambda: None
) -> Generator[None]:
    """Holds the lock of a file or folder that is being made. If another process has it, waits and
    says so. `check` may end the waiting by an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.with_name(f".{path.name}{LOCK}")
    lock = _taken(file)
    if lock is None:
        with steps.step(f"Waiting for another process that makes {what or path.name}"):
            while lock is None:
                check()
                time.sleep(_POLL_SECONDS)
                lock = _taken(file)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)  # a process that waits for it sees that, and makes a new one
        lock.release()


def check_space(folder: Path, needed: int, *, param: str) -> None:
    """Raises an error if the disk has too little space for the work."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise disk_full(folder, needed, free, param=param)


def disk_full(folder: Path, needed: int, free: int, *, param: str) -> MLCError:
    """The error of a full disk."""
    return error_of(
        reasons.DISK_FULL,
        f"{folder}: {needed:,} bytes are needed and {free:,} are free; make room, or choose "
        "another place with --output or MLC_LLM_HOME",
        param=param,
    )


def _new_folder(target: Path) -> tuple[Path, BaseFileLock | None]:
    """A new folder beside `target`. It is locked if the file system has locks."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}{_MARK}", dir=target.parent))
        lock: BaseFileLock | None = None
        try:
            lock = _taken(folder / LOCK)
        except (NotImplementedError, OSError):  # no locks here: leftovers stay
            if folder.exists():
                return folder, None
        if lock is not None and (folder / LOCK).exists():  # otherwise a cleaner was faster
            folder.chmod(0o777 & ~_umask())
            return folder, lock


def _remove_if_free(path: Path, lock_file: Path) -> None:
    if not path.exists():
        return
    with contextlib.suppress(NotImplementedError, OSError):
        lock = _taken(lock_file)
        if lock is None:
            return
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        lock.release()


def _taken(file: Path) -> BaseFileLock | None:
    """Takes the lock of that file. None if another process has it."""
    from filelock import FileLock, Timeout

    lock = FileLock(file)
    try:
        lock.acquire(timeout=0)  # pyright: ignore[reportUnknownMemberType]
    except Timeout:
        return None
    return lock


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

"""An output folder that appears whole or not at all.

Everything is written into a temporary sibling, `.NAME.tmp-XXXX`, and moved into place at the end.
The sibling is locked while its writer lives; what an earlier, killed run left is therefore
recognised by its free lock and removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

from mlc_llm.compiler.convert.mlc_writer import TENSOR_CACHE
from mlc_llm.errors import ResourceError

_LOCK = ".lock"
_INDEXES = (TENSOR_CACHE, "tensor-cache-b16.json", "ndarray-cache.json", "ndarray-cache-b16.json")
_SPARE_BYTES = 16 << 20  # config, tokenizer and the file system's own needs


@contextlib.contextmanager
def staged_folder(output: Path, *, needed_bytes: int) -> Iterator[Path]:
    """Yields a folder to write into; on success its files become those of `output`.

    Files of `output` that the new ones do not replace stay, except for weights: when new weights
    come in, the old index and its shards go first, so that a kill in between leaves no folder that
    loads with a mixture of both.
    """
    output = output.absolute()
    _remove_leftovers(output)
    with _os_errors_named(output, needed_bytes):
        output.parent.mkdir(parents=True, exist_ok=True)
        _check_space(output.parent, needed_bytes)
        stage, lock = _new_stage(output)
        try:
            yield stage
            (stage / _LOCK).unlink(missing_ok=True)
            _move_into_place(stage, output)
        finally:
            lock.release()
            shutil.rmtree(stage, ignore_errors=True)


def _new_stage(output: Path) -> tuple[Path, FileLock]:
    """A fresh sibling, locked where the file system has locks."""
    while True:
        stage = Path(tempfile.mkdtemp(prefix=_prefix(output), dir=output.parent))
        lock = FileLock(stage / _LOCK)
        try:
            lock.acquire(timeout=0)
        except (NotImplementedError, OSError):  # no locks here: leftovers will have to stay
            if stage.exists():
                return stage, lock
        if (stage / _LOCK).exists():  # else a cleaner was faster than our lock
            stage.chmod(0o777 & ~_umask())
            return stage, lock


def _remove_leftovers(output: Path) -> None:
    for stage in output.parent.glob(_prefix(output) + "*"):
        lock = FileLock(stage / _LOCK)
        with contextlib.suppress(NotImplementedError, OSError), lock.acquire(timeout=0):
            shutil.rmtree(stage, ignore_errors=True)


def _prefix(output: Path) -> str:
    return f".{output.name}.tmp-"


def _move_into_place(stage: Path, output: Path) -> None:
    if not output.exists():
        _sync(stage)
        stage.replace(output)
        _sync(output.parent)
        return
    names = [path.name for path in stage.iterdir()]
    if TENSOR_CACHE in names:
        _remove_weights(output)
        names.sort(key=lambda name: name == TENSOR_CACHE)  # the index last
    for name in names:
        (stage / name).replace(output / name)
    _sync(output)


def _remove_weights(folder: Path) -> None:
    for name in _INDEXES:
        (folder / name).unlink(missing_ok=True)
    _sync(folder)
    for shard in folder.glob("params_shard_*.bin"):
        shard.unlink()


@contextlib.contextmanager
def _os_errors_named(output: Path, needed_bytes: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            free = shutil.disk_usage(output.parent).free
            raise _disk_full(output.parent, needed_bytes, free) from None
        place = error.filename or output
        raise ResourceError(f"{place}: {error.strerror or error}", param=str(place)) from None


def _check_space(folder: Path, needed_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed_bytes + _SPARE_BYTES:
        raise _disk_full(folder, needed_bytes + _SPARE_BYTES, free)


def _disk_full(folder: Path, needed: int, free: int) -> ResourceError:
    return ResourceError(
        f"{folder}: {needed:,} bytes are needed and {free:,} are free; make room, or choose "
        "another place with --output or MLC_LLM_HOME",
        param="output",
        code="disk_full",
    )


def _sync(folder: Path) -> None:
    """Makes renames in a folder durable, where folders can be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

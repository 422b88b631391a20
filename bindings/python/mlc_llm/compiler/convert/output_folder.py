"""An output folder that is written as a whole or not at all.

Everything is written into a scratch folder beside it (`prepare/temporary_files.py`) and moved at
the end. The files of an earlier run that was killed are removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from mlc_llm.compiler.convert.mlc_writer import TENSOR_CACHE
from mlc_llm.errors import ResourceError
from mlc_llm.prepare.temporary_files import (
    LOCK,
    check_space,
    disk_full,
    remove_leftovers,
    scratch_folder,
)

_INDEXES = (TENSOR_CACHE, "tensor-cache-b16.json", "ndarray-cache.json", "ndarray-cache-b16.json")
_SPARE_BYTES = 16 << 20  # for the config, the tokenizer and the file system


@contextlib.contextmanager
def staged_folder(output: Path, *, needed_bytes: int) -> Iterator[Path]:
    """Yields a folder to write into. On success its files become the files of `output`.

    Files of `output` stay if the new files do not replace them, except weights: before new weights
    are moved, the old index and its shards are removed. So after a kill there is no folder that
    loads a mixture of both.
    """
    output = output.absolute()
    remove_leftovers(output.parent, output.name)
    with _os_errors_named(output, needed_bytes):
        output.parent.mkdir(parents=True, exist_ok=True)
        check_space(output.parent, needed_bytes + _SPARE_BYTES, param="output")
        with scratch_folder(output) as stage:
            yield stage
            _move_into_place(stage, output)


def _move_into_place(stage: Path, output: Path) -> None:
    if not output.exists():
        _sync(stage)
        stage.replace(output)
        (output / LOCK).unlink(missing_ok=True)  # not before: the lock keeps cleaners away
        _sync(output.parent)
        return
    names = [path.name for path in stage.iterdir() if path.name != LOCK]
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
            raise disk_full(output.parent, needed_bytes, free, param="output") from None
        place = error.filename or output
        raise ResourceError(f"{place}: {error.strerror or error}", param=str(place)) from None


def _sync(folder: Path) -> None:
    """Makes the renames in a folder durable, if the system can open folders."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

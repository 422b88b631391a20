"""The UNIX socket of `mlc_llm serve --uds`: who may use it is decided before it exists."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

from mlc_llm.prepare.progress import Steps
from mlc_llm.prepare.temporary_files import locked

_OWNER = 0o600  # nobody else may connect


def bound_socket(path: str, mode: int | None = None) -> tuple[socket.socket, Callable[[], None]]:
    """A socket that listens at `path`, and what removes its file. It takes the place of one that an
    earlier server left, but not of one at which a server listens. Without a mode only its owner may
    connect. Raises OSError."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _alone(Path(path)):
            file = _bind(made, path, _OWNER if mode is None else mode)
    except OSError as error:
        made.close()
        raise OSError(error.errno, error.strerror, path) from None

    def remove() -> None:
        with contextlib.suppress(OSError):
            if os.path.samestat(file, os.stat(path)):  # nobody has removed it and made another
                os.remove(path)

    return made, remove


def _alone(path: Path) -> contextlib.AbstractContextManager[None]:
    """So that of two servers that find a dead socket the second one finds the first one's."""
    there = os.access(path.parent, os.W_OK)
    return locked(path, Steps()) if there else contextlib.nullcontext()


def _bind(made: socket.socket, path: str, mode: int) -> os.stat_result:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.stat(path).st_mode) and _is_dead(path):
            os.remove(path)
    before = os.umask(0o777 & ~mode)  # the socket never has another mode
    try:
        made.bind(path)
    finally:
        os.umask(before)
    made.listen()  # from now on it is not dead
    return os.stat(path)


def _is_dead(path: str) -> bool:
    """Whether nobody listens there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.setblocking(False)  # a server may be too busy to accept
        return client.connect_ex(path) == errno.ECONNREFUSED

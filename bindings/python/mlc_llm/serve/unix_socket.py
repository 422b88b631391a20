"""The UNIX socket of `mlc_llm serve --uds`: who may use it is decided before it exists."""

from __future__ import annotations

import contextlib
import os
import socket
import stat

_OWNER = 0o600  # nobody else may connect


def bound_socket(path: str, mode: int | None = None) -> socket.socket:
    """A socket at `path`, in place of the one that an earlier server left. Without a mode only its
    owner may connect. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.stat(path).st_mode):
            os.remove(path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The socket never has another mode.
    before = os.umask(0o777 & ~(_OWNER if mode is None else mode))
    try:
        made.bind(path)
    except OSError as error:
        made.close()
        raise OSError(error.errno, error.strerror, path) from None
    finally:
        os.umask(before)
    return made

"""The UNIX socket of `mlc_llm serve --uds`: who may use it is decided before it exists."""

from __future__ import annotations

import contextlib
import os
import socket
import stat

OWNER = 0o600  # nobody else may connect


def bound_socket(path: str, mode: int) -> socket.socket:
    """A socket at `path`, in place of the one that an earlier server left. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.stat(path).st_mode):
            os.remove(path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o777 & ~mode)  # the socket never has another mode
    try:
        made.bind(path)
    except OSError as error:
        made.close()
        raise OSError(error.errno, error.strerror, path) from None
    finally:
        os.umask(before)
    return made

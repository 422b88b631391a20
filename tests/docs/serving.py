"""A server of the command line, for the pages' commands and clients."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 300  # seconds that nothing takes, on a machine that has much else to do either


@contextmanager
def serving(command: Sequence[str], log: Path, **options: Any) -> Iterator[str]:
    """The server's address; it must end without an error when it is asked to."""
    with log.open("w") as stderr:
        server = subprocess.Popen(command, stderr=stderr, **options)
    try:
        yield _address_of(server, log)
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE) == 0, log.read_text()
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()


def _address_of(server: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < deadline:
        if found := re.search(r"ready on (\S+:\d+)", log.read_text()):
            return found[1]
        time.sleep(0.05)
    pytest.fail(f"the server did not start:\n{log.read_text()}")

"""Servers that begin as forks of one process, which has imported what they need: a server imports
for more than a second.

    process = Forks().start(["serve", ...], log=...)   # as subprocess.Popen, as far as tests ask
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

LIMIT = 60  # seconds, which nothing here takes


class Forks:
    """The process that forks. It ends when this one does."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, __file__, str(theirs.fileno())]
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        ours.settimeout(LIMIT)
        self._channel = ours.makefile("rw")
        ours.close()

    def start(self, arguments: list[str], log: Path) -> Fork:
        """Runs the command `mlc_llm`, whose standard error goes to `log`."""
        end = log.with_name("end")
        wanted = {
            "arguments": arguments, "log": str(log), "end": str(end), "folder": os.getcwd(),
            "environment": dict(os.environ),
        }  # fmt: skip
        self._channel.write(json.dumps(wanted) + "\n")
        self._channel.flush()
        pid = self._channel.readline()
        assert pid, "the process that forks servers has ended"
        return Fork(int(pid), end)


class Fork:
    """A process of the command; the file `end` has its exit status once it has ended."""

    def __init__(self, pid: int, end: Path) -> None:
        self.pid = pid
        self._end = end
        self._status: int | None = None

    def poll(self) -> int | None:
        if self._status is None and self._end.exists():
            self._status = int(self._end.read_text())
        return self._status

    def wait(self, timeout: float = LIMIT) -> int:
        deadline = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("mlc_llm", timeout)
            time.sleep(0.01)
        return status

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


# ---- In the process that forks -----------------------------------------------------------------


def fork_servers(connection: socket.socket) -> None:
    """Returns in each fork, where the command is to run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for what watches a server
    channel = connection.makefile("rw")
    while line := channel.readline():
        if os.fork() != 0:
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        wanted = json.loads(line)
        server = os.fork()
        if server == 0:
            become(wanted)
            return
        channel.write(f"{server}\n")
        channel.flush()
        redirect(os.devnull, os.devnull)  # who reads what pytest writes does not wait for servers
        status = os.waitstatus_to_exitcode(os.waitpid(server, 0)[1])
        with suppress(FileNotFoundError):  # the test has ended too
            unfinished = Path(f"{wanted['end']}.tmp")
            unfinished.write_text(str(status))
            unfinished.rename(wanted["end"])
        os._exit(0)
    os._exit(0)


def redirect(output: str, errors: str) -> None:
    for descriptor, path in ((1, output), (2, errors)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(opened, descriptor)
        os.close(opened)


def become(wanted: dict[str, Any]) -> None:
    os.environ.clear()
    os.environ.update(wanted["environment"])
    os.chdir(wanted["folder"])
    redirect(os.devnull, wanted["log"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["mlc_llm", *wanted["arguments"]]


if __name__ == "__main__":
    import mlc_llm.cli.serve
    import mlc_llm.serve.app
    import mlc_llm.serve.lifecycle
    import mlc_llm.serve.loading  # noqa: F401
    from mlc_llm.cli import main

    with socket.socket(fileno=int(sys.argv[1])) as connection:
        fork_servers(connection)
    sys.exit(main())

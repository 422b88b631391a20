"""Worker processes, seen from the side that tells them what to time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("worker.py")


class Process:
    """One worker; `load_s` is what its start of the model took, `kv_bytes_per_token` what a token
    leaves behind in all layers."""

    def __init__(self, python: Path, backend: str, options: dict[str, Any], log: Path) -> None:
        with log.open("w") as errors:
            self._child = subprocess.Popen(
                [str(python), str(SCRIPT), backend, json.dumps(options)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        self._log = log
        self.load_s, self.kv_bytes_per_token = self._answer()

    def ask(self, do: str, **arguments: Any) -> Any:
        assert self._child.stdin is not None
        print(json.dumps({"do": do, **arguments}), file=self._child.stdin, flush=True)
        return self._answer()

    def close(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait()

    def _answer(self) -> Any:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            tail = self._log.read_text(errors="replace")[-1500:]
            raise SystemExit(f"the worker ended:\n{tail}")
        return json.loads(line)


@contextmanager
def busy_neighbours(count: int) -> Iterator[None]:
    """That many processes that each keep one core busy."""
    cores = sorted(os.sched_getaffinity(0))
    children = [
        subprocess.Popen([sys.executable, "-c", _SPIN.format(core=cores[i % len(cores)])])
        for i in range(count)
    ]
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.wait()


_SPIN = "import os\nos.sched_setaffinity(0, [{core}])\nwhile True: pass"

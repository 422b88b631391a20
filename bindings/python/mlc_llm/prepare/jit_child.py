"""Runs a conversion or a compilation in a child process, so that this process never loads the
toolchain.

    run_job({"kind": "compile", ...}, "Compiling SmolLM2", steps)

The child (`compiler/jit.py`) answers in lines of JSON: {"progress": 0.4}, {"note": "..."},
{"config": {...}} (the mlc-chat-config.json of a conversion, before any weight is read) and, when it
fails, the JSON of an error. It ends when this process ends in any way, because
this process holds the other end of its standard input.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mlc_llm.errors import InternalError, error_from_json
from mlc_llm.prepare.progress import Steps, Update

if TYPE_CHECKING:
    import subprocess

_KEPT_LINES = 20


TakeConfig = Callable[[dict[str, Any]], None]


class Stopped(Exception):
    """The job was stopped because another job of the same start failed or was interrupted."""


class Children:
    """The child processes that one start of a model runs at the same time. `stop` ends them, and no
    other one begins after it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def check(self) -> None:
        if self._stopped:
            raise Stopped

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for child in self._running:
                child.kill()

    @contextlib.contextmanager
    def run(self, job: dict[str, Any]) -> Generator[subprocess.Popen[str]]:
        """Starts the child of a job. It is killed if this process is interrupted."""
        with self._lock:
            self.check()
            child = _start(job)
            self._running.add(child)
        try:
            yield child
            child.wait()
        except BaseException:
            child.kill()
            child.wait()
            raise
        finally:
            with self._lock:
                self._running.discard(child)


def run_job(
    job: dict[str, Any],
    title: str,
    steps: Steps,
    *,
    children: Children | None = None,
    take_config: TakeConfig | None = None,
) -> None:
    """Runs the job and waits for it. Raises the child's error. The child's log becomes details.

    `take_config` gets the config of a conversion while the weights are converted.
    """
    children = children or Children()
    tail: deque[str] = deque(maxlen=_KEPT_LINES)
    failure: dict[str, Any] | None = None
    with children.run(job) as child, steps.step(title) as update:
        reader = threading.Thread(target=_read_log, args=(child, tail, steps), daemon=True)
        reader.start()
        assert child.stdout is not None
        for line in child.stdout:
            answer = _take(line, update, steps)
            if "config" in answer and take_config is not None:
                take_config(answer["config"])
            failure = answer if "error" in answer else failure
    reader.join()
    if failure is not None:
        raise error_from_json(failure)
    if child.returncode != 0:
        children.check()
        why = f": {tail[-1]}" if tail else ""
        raise InternalError(
            f"{title}: the process ended with status {child.returncode}{why}", param="model"
        )


def _start(job: dict[str, Any]) -> subprocess.Popen[str]:
    import subprocess

    return subprocess.Popen(
        [sys.executable, "-m", "mlc_llm.compiler.jit", json.dumps(job)],
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def _take(line: str, update: Update, steps: Steps) -> dict[str, Any]:
    """Reads one line of the child, and reports the progress and the notes in it."""
    try:
        value = json.loads(line)
    except ValueError:  # other output of a library
        steps.detail(line.rstrip())
        return {}
    if not isinstance(value, dict):
        return {}
    answer = cast("dict[str, Any]", value)
    if "progress" in answer:
        update(float(answer["progress"]))
    if "note" in answer:
        steps.note(str(answer["note"]))
    return answer


def _read_log(child: subprocess.Popen[str], tail: deque[str], steps: Steps) -> None:
    assert child.stderr is not None
    for line in child.stderr:
        tail.append(line.rstrip())
        steps.detail(line.rstrip())


def _environment() -> dict[str, str]:
    """Our environment, with the path of this package first."""
    package_parent = str(Path(__file__).parent.parent)
    paths = [package_parent, os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}

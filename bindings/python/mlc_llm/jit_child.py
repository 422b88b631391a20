"""Runs a conversion or a compilation in a child process, so that this process never loads the
toolchain.

    run_job({"kind": "compile", ...}, "Compiling SmolLM2", steps)

The child (`compiler/jit.py`) answers in lines of JSON: {"progress": 0.4}, {"note": "..."} and, when
it fails, {"class", "message", "param", "code"}. It ends when this process ends in any way, because
this process holds the other end of its standard input.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections import deque
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mlc_llm import errors
from mlc_llm.errors import InternalError, MLCError
from mlc_llm.steps import Steps, Update

if TYPE_CHECKING:
    import subprocess

_KEPT_LINES = 20


def run_job(job: dict[str, Any], title: str, steps: Steps) -> None:
    """Runs the job and waits for it. Raises the child's error. The child's log becomes details."""
    import subprocess

    child = subprocess.Popen(
        [sys.executable, "-m", "mlc_llm.compiler.jit", json.dumps(job)],
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    tail: deque[str] = deque(maxlen=_KEPT_LINES)
    reader = threading.Thread(target=_read_log, args=(child, tail, steps), daemon=True)
    reader.start()
    failure: dict[str, Any] | None = None
    with _killed_on_error(child), steps.step(title) as update:
        assert child.stdout is not None
        for line in child.stdout:
            failure = _take(line, update, steps) or failure
        child.wait()
    reader.join()
    if failure is not None:
        raise _error_of(failure)
    if child.returncode != 0:
        why = f": {tail[-1]}" if tail else ""
        raise InternalError(
            f"{title}: the process ended with status {child.returncode}{why}", param="model"
        )


def _take(line: str, update: Update, steps: Steps) -> dict[str, Any] | None:
    """Handles one line of the child. Returns the error if the line has one."""
    try:
        value = json.loads(line)
    except ValueError:  # other output of a library
        steps.detail(line.rstrip())
        return None
    if not isinstance(value, dict):
        return None
    answer = cast("dict[str, Any]", value)
    if "progress" in answer:
        update(float(answer["progress"]))
    if "note" in answer:
        steps.note(str(answer["note"]))
    return answer if "class" in answer else None


def _read_log(child: subprocess.Popen[str], tail: deque[str], steps: Steps) -> None:
    assert child.stderr is not None
    for line in child.stderr:
        tail.append(line.rstrip())
        steps.detail(line.rstrip())


def _error_of(fields: dict[str, Any]) -> MLCError:
    """The child's typed error."""
    kind: type[MLCError] = getattr(errors, str(fields["class"]), InternalError)
    return kind(fields["message"], param=fields["param"], code=fields["code"])


@contextlib.contextmanager
def _killed_on_error(child: subprocess.Popen[str]) -> Generator[None]:
    """Kills the child when this process is interrupted."""
    try:
        yield
    except BaseException:
        child.kill()
        child.wait()
        raise


def _environment() -> dict[str, str]:
    """Our environment, with the path of this package first."""
    package_parent = str(Path(__file__).parent.parent)
    paths = [package_parent, os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}

"""The child process that converts or compiles a model just in time: see `jit_child.py`.

    python -m mlc_llm.compiler.jit '{"kind": "convert", "source": ..., "output": ..., ...}'

It answers in lines of JSON on standard output. It ends when its parent process ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from mlc_llm.errors import MLCError, UnsupportedError

# The fraction of a compilation that is done when a phase begins, measured with the default model.
SHARES = {"model": 0.1, "graph": 0.4, "calls": 0.45, "memory": 0.5, "runtime": 0.55}
SHARES |= {"machine": 0.6, "code": 0.65, "link": 0.95}
_BETWEEN_SECONDS = 0.1
_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Runs one job; returns the exit status."""
    _end_with_parent()
    job = json.loads(arguments[0])
    try:
        _JOBS[job["kind"]](job)
    except MLCError as error:
        _say(error.to_dict())
        return 1
    return 0


def _end_with_parent() -> None:
    """Ends this process when its parent ends, even after kill -9: its standard input ends then. On
    Linux the kernel ends it, even while the compiler holds Python's lock."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def wait() -> None:
        os.read(0, 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def _convert(job: dict[str, Any]) -> None:
    try:
        _convert_to(job, job["quantization"])
    except UnsupportedError as error:
        if job["fallback"] is None or error.param == "mmproj":
            raise
        _say({"note": f"{error.message.partition('. ')[0]}. Converting to {job['fallback']}."})
        _convert_to(job, job["fallback"])


def _convert_to(job: dict[str, Any], quantization: str) -> None:
    from mlc_llm.compiler.convert import (
        ConfigOverrides,
        convert_model,
        notes,
        open_source,
    )
    from mlc_llm.compiler.convert.tower import require_tower, text_alone

    said_at = 0.0

    def report(fraction: float) -> None:
        nonlocal said_at
        if time.monotonic() > said_at + _BETWEEN_SECONDS:
            said_at = time.monotonic()
            _say({"progress": fraction})

    projector = Path(job["projector"]) if "projector" in job else None
    source = open_source(Path(job["source"]), projector=projector)
    source = text_alone(source) if job.get("text_alone") else source
    if job.get("needs_tower"):
        require_tower(source)
    for note in notes(source, quantization):
        _say({"note": note})
    convert_model(
        source,
        Path(job["output"]),
        quantization=quantization,
        overrides=ConfigOverrides(extra=job["extra"]),
        report=report,
        take_config=lambda config: _say({"config": config}),
    )


def _compile(job: dict[str, Any]) -> None:
    from mlc_llm.compiler.compile import compile_model, read_chat_config

    def report(phase: str) -> None:
        if phase in SHARES:
            _say({"progress": SHARES[phase]})
        print(f"compile: {phase}", file=sys.stderr, flush=True)

    compile_model(
        read_chat_config(Path(job["config"])),
        output=Path(job["output"]),
        device=job["device"],
        host=job.get("host"),
        system_lib_prefix=job.get("system_lib_prefix"),
        opt=job["opt"],
        overrides=job["overrides"] or None,
        kv_cache_dtype=job["kv_cache_dtype"],
        adapters=job.get("adapters", False),
        progress=report,
    )


def _adapter(job: dict[str, Any]) -> None:
    from mlc_llm.compiler.compile import read_chat_config
    from mlc_llm.compiler.convert.adapters import open_adapter, write_run_time

    adapter = open_adapter(Path(job["source"]))
    for note in adapter.notes:
        _say({"note": note})
    write_run_time(adapter, read_chat_config(Path(job["model"])), Path(job["output"]))


_JOBS = {"compile": _compile, "convert": _convert, "adapter": _adapter}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

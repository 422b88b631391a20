"""From an adapter in any format to the file that the core loads, kept in MLC_LLM_HOME."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mlc_llm.errors import NotFoundError
from mlc_llm.prepare.jit_cache import Policies, home, home_errors_named
from mlc_llm.prepare.jit_child import run_job
from mlc_llm.prepare.model_source import StepListener
from mlc_llm.prepare.progress import steps_of
from mlc_llm.prepare.temporary_files import locked

SUFFIX = ".mlc-adapter"
_CONFIG = "mlc-chat-config.json"
_VERSION = 1  # raise it when the file of the same adapter would be another one
_CHUNK = 1 << 20


def run_time_adapter(adapter: Path, model: Path, *, progress: StepListener = None) -> Path:
    """`model`: the -MLC folder. A file that ends in ".mlc-adapter" is one already. The others are
    made once, by a child process; the name of the file depends on the content of both."""
    adapter = adapter.expanduser().absolute()
    if adapter.suffix == SUFFIX:
        return adapter
    if not adapter.exists():
        raise NotFoundError(f"{adapter}: no such folder or file of an adapter", param="path")
    made = home() / "adapters" / f"{_digest(adapter, model)}{SUFFIX}"
    if made.is_file() and Policies.from_environment().jit != "REDO":
        return made
    steps, what = steps_of(progress), f"the adapter {adapter.name}"
    with home_errors_named(made), locked(made, steps, what):
        job = {"kind": "adapter", "source": str(adapter), "model": str(model)}
        run_job(job | {"output": str(made)}, f"Preparing {adapter.name}", steps)
    return made


def _digest(adapter: Path, model: Path) -> str:
    whole = hashlib.sha256(f"{_VERSION} {adapter.suffix}".encode())
    files = sorted(adapter.iterdir()) if adapter.is_dir() else [adapter]
    for path in (model / _CONFIG, *(file for file in files if file.is_file())):
        whole.update(f"{path.name} {path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                whole.update(chunk)
    return whole.hexdigest()[:32]

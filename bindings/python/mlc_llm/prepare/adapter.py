"""From an adapter in any format to the file that the core loads, kept in MLC_LLM_HOME."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from mlc_llm.errors import NotFoundError
from mlc_llm.prepare import content_hash
from mlc_llm.prepare.jit_cache import Policies, home, home_errors_named
from mlc_llm.prepare.jit_child import run_job
from mlc_llm.prepare.local_model import CHAT_CONFIG
from mlc_llm.prepare.model_source import StepListener
from mlc_llm.prepare.progress import Steps, steps_of
from mlc_llm.prepare.temporary_files import locked

SUFFIX = ".mlc-adapter"
_VERSION = 1  # raise it when the file of the same adapter would be another one


@content_hash.file_errors_named("path")
def run_time_adapter(adapter: Path, model: Path, *, progress: StepListener = None) -> Path:
    """`model`: the -MLC folder. A file that ends in ".mlc-adapter" is one already. The others are
    made once, by a child process; the name of the file depends on the content of both."""
    adapter = Path(os.path.expanduser(adapter)).absolute()
    if adapter.suffix == SUFFIX and not adapter.is_dir():
        return adapter
    if not adapter.exists():
        raise NotFoundError(f"{adapter}: no such folder or file of an adapter", param="path")
    steps, what = steps_of(progress), f"the adapter {adapter.name}"
    made = home() / "adapters" / f"{_digest(adapter, model, steps)}{SUFFIX}"
    if made.is_file() and Policies.from_environment().jit != "REDO":
        return made
    with home_errors_named(made), locked(made, steps, what):
        job = {"kind": "adapter", "source": str(adapter), "model": str(model)}
        run_job(job | {"output": str(made)}, f"Preparing {adapter.name}", steps)
    return made


def _digest(adapter: Path, model: Path, steps: Steps) -> str:
    memory = home() / "content"
    files: object
    if adapter.is_dir():
        files = content_hash.hashes_of(adapter, ["*"], memory, steps)
    else:
        files = [adapter.name, content_hash.hash_of(adapter, memory, steps)]
    config = content_hash.hash_of(model / CHAT_CONFIG, memory, steps)
    return hashlib.sha256(json.dumps([_VERSION, config, files]).encode()).hexdigest()[:32]

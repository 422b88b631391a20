"""What `--dump` writes: the module after each pass, the time of each pass, and the code of the
kernels."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tvm

# The formats in which TVM shows the code of its modules, by the suffix of the file.
_HOST_CODE = {"ll": "ll", "s": "asm"}
_DEVICE_SUFFIX = {
    "opencl": "cl",
    "cuda": "cu",
    "rocm": "hip",
    "metal": "metal",
    "vulkan": "spvasm",
}


class PassRecord:
    """Runs passes. With a folder, writes what each has made.

    `00-model.py` is the module at the beginning; `NN-PHASE-PASS.py` follow; `passes.json` has the
    seconds of each; `kernels.*` is their code.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._times: list[dict[str, Any]] = []
        self._begun = False
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def run(
        self, phase: str, passes: Sequence[tvm.transform.Pass], module: tvm.IRModule
    ) -> tvm.IRModule:
        if self._folder is None:
            return tvm.transform.Sequential(passes)(module)
        if not self._begun:
            self._begun = True
            self._write("00-model.py", module.script())
        for one in passes:
            name = str(one.info.name).rpartition(".")[2]
            begin = time.perf_counter()
            module = tvm.transform.Sequential([one])(module)
            seconds = time.perf_counter() - begin
            self._times.append({"phase": phase, "pass": name, "seconds": round(seconds, 4)})
            self._write(f"{len(self._times):02}-{phase}-{name}.py", module.script())
        return module

    def finish(self, executable: tvm.runtime.Executable) -> None:
        """Writes the times and the code."""
        if self._folder is None:
            return
        self._write("passes.json", json.dumps(self._times, indent=1) + "\n")
        for module in _modules_of(executable.mod):
            if module.kind == "llvm":
                for suffix, form in _HOST_CODE.items():
                    self._write(f"kernels.{suffix}", module.inspect_source(form))
            elif module.kind in _DEVICE_SUFFIX:
                self._write(f"kernels.{_DEVICE_SUFFIX[module.kind]}", module.inspect_source())

    def _write(self, name: str, text: str) -> None:
        assert self._folder is not None
        (self._folder / name).write_text(text, encoding="utf-8")


def _modules_of(module: tvm.runtime.Module) -> list[tvm.runtime.Module]:
    return [module, *(found for inner in module.imports for found in _modules_of(inner))]

"""Checks an engine of two shards on two devices, in a process whose drivers the caller chose.

    python sharded_child.py DEVICE FOLDER LIBRARY GREEDY SCRATCH [INCLUDES KERNELS]

GREEDY is a file: the logprobs of one shard's greedy answer, as JSON. On CUDA and ROCm the drivers
are the emulators, CUDA's with INCLUDES (`cuda_emulated.py`, `rocm_driver.py`). Writes one JSON
object.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

import cuda_emulated
import engine_ways
import numpy as np
from engine_ways import PROMPT, WAYS, Model, ask, engine_of

from mlc_llm import MLCEngine
from mlc_llm.errors import MLCError

ATOL = 1e-3
# The emulator and the stand-in for NCCL.
DRIVERS = {
    "cuda": ("libcudart.so.13", "libnccl.so.2"),
    "rocm": (os.environ.get("MLC_HIP_LIBRARY"), os.environ.get("MLC_RCCL_LIBRARY")),
}


class Nearly(list[list[float]]):
    """Logprobs that equal others that are near: the kernels of many rows add in another order."""

    def __eq__(self, other: object) -> bool:
        return np.allclose(self, other, rtol=0, atol=ATOL)

    def __ne__(self, other: object) -> bool:
        return not self == other


def nearly(engine: MLCEngine, text: str = PROMPT, n: int = 1) -> Nearly:
    return Nearly(ask(engine, text, n))


def failures(model: Model, nccl: ctypes.CDLL) -> list[str]:
    """What requests end with when a call of NCCL fails in the prompt. The next ones go on."""
    found = []
    with engine_of(model, prefix_cache_mode="disable") as engine:
        expected = ask(engine)
        for rank, call in ((1, 0), (0, 2), (1, 4)):
            nccl.emulated_nccl_fail(rank, call)
            try:
                ask(engine)
                found.append("no error")
            except MLCError as error:
                found.append(f"{type(error).__name__} {error}")
            assert ask(engine) == expected
    return found


def main() -> None:
    engine_ways.DEVICE, folder, library, greedy, scratch, *emulated = sys.argv[1:]
    if emulated:
        cuda_emulated.register_compiler(emulated[0], Path(emulated[1]))
    # The stand-in for NCCL looks for the emulator.
    libraries = [
        ctypes.CDLL(name, ctypes.RTLD_GLOBAL) for name in DRIVERS.get(engine_ways.DEVICE, ())
    ]
    model, expected = (Path(folder), Path(library)), json.loads(Path(greedy).read_text())
    found: dict[str, Any] = {}
    try:
        engine_ways.check_a_chat(model, expected, ATOL, nearly)
        engine_ways.check_a_saved_state(model, expected, ATOL, Path(scratch))
        if "MORE" in os.environ:
            for way in WAYS.values():
                engine_ways.check_a_way(model, way, nearly)
            engine_ways.check_preemption(model, nearly)
        if libraries:
            driver, nccl = libraries
            found["replays"] = driver.emulated_replays()
            found["calls"] = nccl.emulated_nccl_calls()
            found["failures"] = failures(model, nccl)
    except MLCError as error:
        found["error"] = [type(error).__name__, str(error), error.param]
    print(json.dumps(found))


if __name__ == "__main__":
    main()

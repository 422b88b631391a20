"""Answers of a model on ROCm, in a process whose driver is the emulator of tests/fixtures.

    python rocm_emulated.py FOLDER LIBRARY

The library holds HIP C++, which the plugin compiles by the stand-in for AMD's compiler. Writes one
JSON object.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any

import cuda_emulated
from engine_ways import ask

from mlc_llm import MLCEngine, _core
from mlc_llm.errors import MLCError


def loading_error(folder: str, library: str, memory: int = 2 << 30) -> list[str]:
    """`memory`: how much the device really has."""
    ctypes.CDLL(os.environ["MLC_HIP_LIBRARY"]).emulated_limit(ctypes.c_size_t(memory))
    try:
        MLCEngine(folder, model_lib=library, device="rocm").terminate()
    except MLCError as error:
        return [type(error).__name__, str(error)]
    return ["no error"]


def launch_errors(engine: MLCEngine, driver: ctypes.CDLL) -> list[str]:
    """What a request ends with whose launch fails, and then what the next one has."""
    expected, found = ask(engine), []
    driver.emulated_fail_launch(5)
    try:
        ask(engine, "another prompt")
        found.append("no error")
    except MLCError as error:
        found.append(f"{type(error).__name__} {error}")
    found.append("the same answer" if ask(engine) == expected else "another answer")
    return found


def main() -> None:
    folder, library = sys.argv[1:]
    driver = ctypes.CDLL(os.environ["MLC_HIP_LIBRARY"])
    compiler = ctypes.CDLL(os.environ["MLC_HIP_LIBRARY"].replace("amdhip64", "hiprtc"))
    found: dict[str, Any] = {"devices": json.loads(_core.list_devices())}
    with MLCEngine(folder, model_lib=library, device="rocm") as engine:
        found |= cuda_emulated.answers(engine)
        found["logprobs"] = ask(engine)
        found["launch"] = launch_errors(engine, driver)
    found["replays"] = driver.emulated_replays()
    found["compilations"] = compiler.emulated_compilations()
    print(json.dumps(found))


if __name__ == "__main__":
    main()

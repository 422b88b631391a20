"""What happens when a GPU's driver fails, in a process whose driver does so on command.

    python gpu_faults.py DEVICE SCENARIO FOLDER LIBRARY [ARGUMENT ...]

MLC_OPENCL_LIBRARY, or MLC_WGPU_LIBRARY, names the library made of tests/fixtures/opencl-faults, or
webgpu-faults. A scenario that fails raises; `test_gpu_faults.py` runs them.
"""

from __future__ import annotations

import ctypes
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from gpu_engines import DRIVER_VARIABLES

from mlc_llm import MLCEngine
from mlc_llm.errors import MLCError, ResourceError, UnavailableError

ONCE, ALWAYS, LOSS, GONE = range(4)
LOSS_CODE = -5  # CL_OUT_OF_RESOURCES; WebGPU's losses have none
PROMPTS = ["Hello", "The quick brown fox jumps over the lazy dog. " * 2, "1 2 3 4"]
# Chosen on the device, each by another of its functions.
CHOICES: list[dict[str, Any]] = [
    {"temperature": 0},
    {"temperature": 0.9, "top_p": 0.8, "seed": 1, "frequency_penalty": 0.5},
    {"temperature": 1.0, "seed": 2, "logit_bias": {"70": 2}},
]
NAMES = {"opencl": "opencl:", "vulkan": "webgpu:"}  # as errors call them

device = sys.argv[1]
faults = ctypes.CDLL(os.environ[DRIVER_VARIABLES[device]])


def arm(function: str, after: int, code: int, how: int) -> None:
    faults.fault_arm(function.encode(), after, code, how)


def disarm() -> None:
    arm("", 0, 0, ONCE)


def count(function: str) -> int:
    return faults.fault_count(function.encode())


class Model:
    def __init__(self, folder: str, library: str) -> None:
        self.folder, self.library = folder, library

    def engine(self, **config: int) -> MLCEngine:
        return MLCEngine(
            self.folder, model_lib=self.library, device=device, engine_config=config or None
        )


def text(engine: MLCEngine, prompt: str = PROMPTS[0], **choice: Any) -> str:
    answer = engine.completions.create(
        prompt=prompt,
        max_tokens=12,
        debug_config={"ignore_eos": True},
        **(choice or CHOICES[0]),
    )
    return answer.choices[0].text


def failure(engine: MLCEngine, prompt: str = PROMPTS[0], **choice: Any) -> MLCError | None:
    try:
        text(engine, prompt, **choice)
    except MLCError as error:
        return error
    return None


def _failure_of(engine: MLCEngine, asked: tuple[str, dict[str, Any]]) -> MLCError | None:
    return failure(engine, asked[0], **asked[1])


def check_lost(error: MLCError | None) -> None:
    assert isinstance(error, UnavailableError), repr(error)
    assert error.code == "device_lost", error.code
    assert NAMES[device] in error.message and "load it again" in error.message, error.message


def lost_while_answering(model: Model, function: str, *after: str) -> None:
    """For each number of calls: who was answered fails, and after a new load all is as it was."""
    engine = model.engine()
    asked = list(zip(PROMPTS, CHOICES, strict=True))
    expected = [text(engine, prompt, **choice) for prompt, choice in asked]
    for number in map(int, after):
        engine.reset()
        arm(function, number, LOSS_CODE, LOSS)
        with ThreadPoolExecutor(3) as pool:
            errors = list(pool.map(partial(_failure_of, engine), asked))
        if not any(errors):  # it went by: `number` is more than there are
            break
        check_lost(next(error for error in errors if error is not None))
        for error in errors:
            assert error is None or isinstance(error, UnavailableError), repr(error)
        check_lost(failure(engine))  # the same engine stays lost
        other = model.engine()  # a new one works beside it
        check_lost(failure(engine))
        assert [text(other, prompt, **choice) for prompt, choice in asked] == expected
        engine.terminate()
        engine = other
    engine.terminate()


def gone(model: Model, function: str) -> None:
    """A device that does not come back refuses loads; nothing crashes; then it comes back."""
    engine = model.engine()
    expected = text(engine)
    arm(function, 3, LOSS_CODE, GONE)
    check_lost(failure(engine))
    engine.terminate()
    for _ in range(3):
        try:
            model.engine()
        except UnavailableError as error:
            assert error.code == "device_lost" and "cannot be opened" in error.message
        else:
            raise AssertionError("it loaded")
    disarm()
    engine = model.engine()
    assert text(engine) == expected
    engine.terminate()


def lost_while_loading(model: Model, function: str, after: str) -> None:
    arm(function, int(after), LOSS_CODE, LOSS)
    try:
        model.engine()
    except UnavailableError as error:
        check_lost(error)
    else:
        raise AssertionError(f"it loaded; {function} was called {count(function)} times")
    engine = model.engine()
    text(engine)
    engine.terminate()


def no_memory_while_answering(model: Model, function: str, code: str, after: str) -> None:
    """The request fails, or two of them; the model stays loaded."""
    engine = model.engine()
    expected = text(engine)
    engine.reset()
    # Buffers of these sizes wait in the pool; another length needs others.
    prompt = PROMPTS[1] * 3
    arm(function, int(after), int(code), ALWAYS)
    error = failure(engine, prompt)
    assert isinstance(error, ResourceError) and error.code == "out_of_resources", repr(error)
    disarm()
    assert text(engine) == expected
    assert text(engine, prompt) == text(engine, prompt)
    engine.terminate()


def no_memory_while_loading(model: Model, function: str, code: str, after: str) -> None:
    arm(function, int(after), int(code), ALWAYS)
    try:
        model.engine(max_total_seq_length=8192)
    except ResourceError as error:
        assert error.code == "out_of_resources", error.code
    else:
        raise AssertionError("it loaded")
    disarm()
    engine = model.engine(max_total_seq_length=256)
    text(engine)
    engine.terminate()


def a_limit_of_memory(model: Model) -> None:
    """A megabyte for all: pages for what is left, no more."""
    engine = model.engine(max_total_seq_length=8192)
    pages = engine.metrics()["kv_pages_total"]
    assert 0 < pages < 8192 // 16, pages
    text(engine)
    engine.terminate()


def a_tensor_that_is_too_large(model: Model) -> None:
    try:
        model.engine()
    except ResourceError as error:
        assert error.code == "out_of_resources", error.code
        assert "in one piece: 9000 at most" in error.message, error.message
    else:
        raise AssertionError("it loaded")


if __name__ == "__main__":
    scenario, folder, library, *arguments = sys.argv[2:]
    globals()[scenario](Model(folder, library), *arguments)

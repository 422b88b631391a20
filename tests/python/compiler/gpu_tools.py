"""Runs GPU kernels on the OpenCL device of this machine, which tests take PoCL for."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Array = np.ndarray[Any, Any]


@cache
def why_no_opencl() -> str:
    """Empty when kernels can run."""
    # PoCL would take every core.
    os.environ.setdefault("POCL_MAX_PTHREAD_COUNT", "1")
    import tvm

    from mlc_llm import _core

    plugin = Path(_core.__file__).parent / "libmlc_llm_opencl.so"
    if not plugin.exists():
        return "this build has no OpenCL backend (CL/cl.h was not found)"
    ctypes.CDLL(str(plugin))
    if tvm.device("opencl", 0).exist:
        return ""
    listed = str(tvm.get_global_func("mlc.devices.opencl")())
    return f"no OpenCL device: {listed}"


def require_opencl() -> None:
    if reason := why_no_opencl():
        pytest.skip(reason)


def compiled(function: Any) -> Any:
    """A callable over NumPy arrays on the device; what the kernel writes is written back."""
    require_opencl()
    import tvm

    from mlc_llm.compiler import lowering, targets

    module = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
    target = targets.resolve("opencl").target()
    built = tvm.compile(module, target=target, tir_pipeline=lowering.NAME)
    # Through the plugin's own loader, as a model library is.
    entry = _reloaded(built)["main"]
    device = tvm.device("opencl", 0)

    def call(*arrays: Array) -> None:
        tensors = [tvm.runtime.tensor(np.ascontiguousarray(a), device) for a in arrays]
        entry(*tensors)
        for array, tensor in zip(arrays, tensors, strict=True):
            if array.flags.writeable:
                array[...] = tensor.numpy()

    return call


def _reloaded(built: Any) -> Any:
    import tempfile

    import tvm

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/kernel.so"
        built.export_library(path)
        return tvm.runtime.load_module(path)

"""Runs GPU kernels on the devices of this machine, or on stand-ins for them: PoCL behind OpenCL,
Mesa's lavapipe behind WebGPU (Vulkan). CUDA needs an NVIDIA GPU, ROCm one of AMD's."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quick_compile import unoptimized

Array = np.ndarray[Any, Any]

HAS_GPU = {
    "cuda": Path("/proc/driver/nvidia/version").exists() or Path("/dev/nvidiactl").exists(),
    "rocm": Path("/dev/kfd").exists(),
}
EVERY = ("opencl", "webgpu", *(name for name, there in HAS_GPU.items() if there))
# For parameters. Every kernel of a library runs on both, whatever the options
# (test_library_kernels.py); in other shapes and layouts one code generator will do.
LONG = pytest.mark.skipif("not config.getoption('--long', default=False)")
BACKENDS = [pytest.param(name, marks=LONG if name == "webgpu" else ()) for name in EVERY]


@cache
def why_not(backend: str) -> str:
    """Empty when kernels can run."""
    # They would take every core.
    os.environ.setdefault("POCL_MAX_PTHREAD_COUNT", "1")
    # Half the time goes into LLVM otherwise: kernels run once here.
    os.environ.setdefault("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")
    os.environ.setdefault("LP_NUM_THREADS", "1")
    import tvm

    from mlc_llm import _core

    plugin = Path(_core.__file__).parent / f"libmlc_llm_{backend}.so"
    if not plugin.exists():
        return f"this build has no {backend} backend (see cmake/DevicePlugins.cmake)"
    ctypes.CDLL(str(plugin))
    listed = str(tvm.get_global_func(f"mlc.devices.{backend}")())  # it makes the plugin ready
    return "" if tvm.device(backend, 0).exist else f"no device: {listed}"


def facts(backend: str) -> dict[str, Any]:
    """What the device says of itself."""
    import tvm

    return json.loads(str(tvm.get_global_func(f"mlc.devices.{backend}")()))["devices"][0]


def require(backend: str) -> None:
    if reason := why_not(backend):
        pytest.skip(reason)


def on_device(function: Any, backend: str) -> Any:
    """A callable over tensors on the device."""
    require(backend)
    import tvm

    from mlc_llm.compiler import targets

    module = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
    return library_of(module, unoptimized(targets.resolve(backend)))["main"]


def library_of(module: Any, gpu: Any) -> Any:
    """The kernels of a module, compiled for a device of `targets.py` and loaded."""
    import tvm

    from mlc_llm.compiler import lowering

    with gpu.code():
        built = tvm.compile(module, target=gpu.target(), tir_pipeline=lowering.GPU)
    return reloaded(built)


def compiled(function: Any, backend: str = "opencl") -> Any:
    """A callable over NumPy arrays on the device; what the kernel writes is written back."""
    entry = on_device(function, backend)
    import tvm

    device = tvm.device(backend, 0)

    def call(*arrays: Array) -> None:
        tensors = [tvm.runtime.tensor(np.ascontiguousarray(a), device) for a in arrays]
        entry(*tensors)
        for array, tensor in zip(arrays, tensors, strict=True):
            if array.flags.writeable:
                array[...] = tensor.numpy()

    return call


def loaded(
    module: Any, names: Sequence[str], backend: str = "opencl"
) -> dict[str, Callable[..., Array]]:
    """Functions of a Relax module over NumPy arrays, on the device; each returns its tensor."""
    import tvm
    from tvm import relax

    from mlc_llm.compiler import pipeline, targets

    device = unoptimized(targets.resolve(backend))
    machine = relax.VirtualMachine(reloaded(pipeline.build(module, device)), tvm.device(backend, 0))

    def function(name: str) -> Callable[..., Array]:
        def call(*arrays: Array) -> Array:
            device = tvm.device(backend, 0)
            tensors = [tvm.runtime.tensor(np.ascontiguousarray(a), device) for a in arrays]
            return machine[name](*tensors)[0].numpy()

        return call

    return {name: function(name) for name in names}


def reloaded(built: Any) -> Any:
    """Through the plugin's own loader, as a model library is."""
    import tempfile

    import tvm

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/kernel.so"
        built.export_library(path)
        return tvm.runtime.load_module(path)

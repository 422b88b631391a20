"""Shared by the kernel tests: compiling one kernel, calling it on arrays, and stored weights."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@cache
def host_device() -> Any:
    from mlc_llm.compiler import targets

    return targets.resolve("cpu")


def compiled(function: Any, device: Any = None) -> Any:
    """A callable over NumPy arrays; arrays that the kernel writes are written back."""
    import tvm

    from mlc_llm.compiler import pipeline

    target = (device or host_device()).target()
    module = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
    with pipeline.context():
        entry = tvm.compile(module, target=target)["main"]

    def call(*arrays: Array) -> None:
        tensors = [tvm.runtime.tensor(np.ascontiguousarray(a)) for a in arrays]
        entry(*tensors)
        for array, tensor in zip(arrays, tensors, strict=True):
            if array.flags.writeable:
                array[...] = tensor.numpy()

    return call


def stored_weight(scheme: Any, weight: Array, use: str) -> tuple[list[Array], Array]:
    """A plain matrix (out, in) as the scheme stores it, and what that means in float64."""
    from mlc_llm.compiler.quantization.pack import dequantize_rows, numpy_dtype, quantize_rows

    dtype = numpy_dtype(scheme.model_dtype)
    if not scheme.quantizes(use):
        stored = weight.astype(dtype)
        return [stored], stored.astype(np.float64)
    sizes = {"bits": scheme.bits, "group_size": scheme.group_size}
    words, scales = quantize_rows(weight, dtype=scheme.model_dtype, **sizes)
    exact = dequantize_rows(
        words, scales.astype(np.float32), columns=weight.shape[1], **sizes
    ).astype(np.float64)
    if scheme.layout_of(use) == "KN":
        words, scales = words.T.copy(), scales.T.copy()
    return [words, scales], exact


def frozen(array: Array) -> Array:
    """An input: not written back."""
    array = np.array(array)
    array.flags.writeable = False
    return array

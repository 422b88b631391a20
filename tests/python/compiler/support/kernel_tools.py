"""Shared by the kernel tests: compiling one kernel, calling it on arrays, and stored weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mlc_llm.compiler.quantization import schemes
from mlc_llm.compiler.quantization.stored import HALVES
from mlc_llm.compiler.stored_weights import laid_out

Array = np.ndarray[Any, Any]
# Instruction sets that this machine may lack, and what /proc/cpuinfo calls them.
FLAGS = {
    "avx512vnni": "avx512_vnni",
    "avx512bw": "avx512bw",
    "avxvnni": "avx_vnni",
    "avx2": "avx2",
    "ssse3": "ssse3",
}


@cache
def host_device() -> Any:
    from mlc_llm.compiler import targets

    return targets.resolve("cpu")


def entry_of(function: Any, device: Any = None) -> Any:
    """A callable over TVM's tensors."""
    import tvm

    from mlc_llm.compiler import lowering

    target = (device or host_device()).target()
    module = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
    return tvm.compile(module, target=target, tir_pipeline=lowering.CPU)["main"]


def compiled(function: Any, device: Any = None) -> Any:
    """A callable over NumPy arrays; arrays that the kernel writes are written back."""
    import tvm

    entry = entry_of(function, device)

    def call(*arrays: Array) -> None:
        tensors = [tvm.runtime.tensor(np.ascontiguousarray(a)) for a in arrays]
        entry(*tensors)
        for array, tensor in zip(arrays, tensors, strict=True):
            if array.flags.writeable:
                array[...] = tensor.numpy()

    return call


def schemes_with_own_kernels() -> list[Any]:
    """Those of floats, without the ones that differ in scales of activations alone, which no kernel
    reads."""
    same = ("e4m3_e4m3_f16_max_calibrate", "fp8_e4m3fn_bf16_block_scale_static_activation")
    return [scheme for scheme in schemes.OF_FLOATS if scheme.name not in same]


@dataclass(frozen=True)
class FloatRows:
    """A matrix to convert."""

    matrix: Array
    name: str = "a.weight"
    importance: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.matrix.shape

    @property
    def num_rows(self) -> int:
        return len(self.matrix)

    def floats(self, rows: range) -> Any:
        yield self.matrix[rows.start : rows.stop]

    def blocks(self, rows: range) -> Any:
        raise AssertionError("no file of blocks")

    def float8_parts(self) -> None:
        return None


def matrix_of(scheme: Any, shape: tuple[int, int], use: str = "linear") -> Any:
    """The one matrix that the scheme makes of a weight."""
    (matrix,) = scheme.matrices("a.weight", shape, use)
    return matrix


def stored_weight(scheme: Any, weight: Array, use: str | None) -> tuple[list[Array], Array]:
    """A plain matrix (out, in) as the scheme stores it, and what that means in float64."""
    converted = scheme.convert(FloatRows(weight), use=use)
    stored = [np.concatenate(list(chunks)) for _, chunks in converted]
    if use is None:
        return stored, stored[0].astype(np.float64)
    return stored, matrix_of(scheme, weight.shape, use).floats(stored).astype(np.float64)


def taken(reader: Any, stored: list[Array]) -> list[Array]:
    """Stored tensors as a reader's kernels take them: float8 as bytes, in strips, without those of
    no use."""
    pairs = zip(stored, reader.stored, strict=False)
    seen = ((a if HALVES in (p.strips or ())[2:] else a.view(p.dtype), p) for a, p in pairs)
    return [laid_out(a, p.shape, p.strips) for a, p in seen]


def frozen(array: Array) -> Array:
    """An input: not written back."""
    array = np.array(array)
    array.flags.writeable = False
    return array


def activated(x: Array, activation: str) -> Array:
    """By the textbook, for float64."""
    if activation in ("silu", "quick_gelu"):
        return x / (1 + np.exp(-x * (1 if activation == "silu" else 1.702)))
    u = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    with np.errstate(over="ignore"):
        return x / (1 + np.exp(-2 * u))  # (1 + tanh u) / 2, exact far below 0 too

"""What this machine's CPU can do at most: bytes read from memory, and products, each in a second.

Products are those of the instructions that the kernels use: bytes (`emit_dots`, with weights of 4
bits) and float32 (`fma`), out of registers and the first cache.
"""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm.tirx.script import builder as T

from mlc_llm.compiler import lowering, targets
from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import LANES, splat
from mlc_llm.compiler.kernels.cpu.integer import emit_dots
from mlc_llm.compiler.kernels.cpu.vector import at, emit_value, fma
from mlc_llm.compiler.targets import Device, num_threads

_BLOCK_BYTES = 256 << 20  # far more than the caches hold
_QUADS = 8  # of weights, in registers
_SUMS = 8  # vectors that are added up side by side
_ROUNDS, _TURNS, _CALLS = 4096, 16, 16
_BITS = 4

# Adds one vector's products to a sum: (sum, weights, codes).
_Add = Callable[[Any, list[Any], list[Any]], Any]


def measured() -> dict[str, float]:
    """`bytes`, and operations (two for a product) of `integer` and `float`."""
    return {"bytes": read_bandwidth(num_threads()), **products(targets.host())}


def read_bandwidth(threads: int) -> float:
    """The best of five passes of `threads` threads over memory of their own."""
    blocks = [np.ones(_BLOCK_BYTES // 4, np.float32) for _ in range(threads)]
    times = []
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for _ in range(6):
            begin = time.perf_counter()
            list(pool.map(np.max, blocks))
            times.append(time.perf_counter() - begin)
    return threads * _BLOCK_BYTES / min(times[1:])


def products(device: Device) -> dict[str, float]:
    unit = device.vectors.dot

    def dots(total: Any, weights: list[Any], codes: list[Any]) -> Any:
        return emit_dots(unit, total, weights, codes, weight_bits=_BITS)

    def fused(total: Any, weights: list[Any], codes: list[Any]) -> Any:
        for weight, code in zip(weights, codes, strict=True):
            total = emit_value(fma(weight, splat(code), total))
        return total

    kinds = {
        "integer": (dots, ("uint32", "int32", "int32")),
        "float": (fused, ("float32", "float32", "float32")),
    }
    each = _SUMS * _QUADS * LANES * 2 * _ROUNDS
    operations = {"integer": each * 4, "float": each}
    return {name: operations[name] * _rate(*kind, device) for name, kind in kinds.items()}


def _kernel(add: _Add, dtypes: tuple[str, str, str]) -> Any:
    """f(weights, codes, y). The codes change from round to round, so that no product can be
    computed once for all."""
    weights, codes, sums = dtypes
    args = [
        Arg("weights", (_QUADS, LANES), weights),
        Arg("codes", (_TURNS, _QUADS), codes),
        Arg("y", (1, _SUMS * LANES), sums),
    ]

    def body(weights: Any, codes: Any, y: Any) -> None:
        with T.sblock("limit"):
            T.reads()
            T.writes()
            kept = T.sblock_alloc_buffer((_SUMS * LANES,), sums)
            for i in range(_SUMS):
                T.buffer_store(kept, splat(T.Cast(sums, T.int32(i))), [at(i * LANES)])
            with T.serial(_ROUNDS) as turn:
                rows = [weights[i, at(0)] for i in range(_QUADS)]
                factors = [emit_value(codes[turn % _TURNS, i]) for i in range(_QUADS)]
                for i in range(_SUMS):
                    T.buffer_store(kept, add(kept[at(i * LANES)], rows, factors), [at(i * LANES)])
            for i in range(_SUMS):
                T.buffer_store(y, kept[at(i * LANES)], [0, at(i * LANES)])

    return kernel(args, body)


def _rate(add: _Add, dtypes: tuple[str, str, str], device: Device) -> float:
    """Calls a second, the best of some runs on all threads."""
    function = _kernel(add, dtypes).with_attr("global_symbol", "limit")
    module = tvm.IRModule({"limit": function})
    made = tvm.compile(module, target=device.target(), tir_pipeline=lowering.CPU)
    count = num_threads()
    rng = np.random.default_rng(0)
    tensors = []
    for dtype, shape in zip(dtypes[:2], ((_QUADS, LANES), (_TURNS, _QUADS)), strict=True):
        octets = rng.integers(0, 16, (*shape, 4), np.uint8)
        values = octets.view(np.int32)[..., 0] if "int" in dtype else octets[..., 0] / 16
        tensors.append(tvm.runtime.tensor(values.astype(dtype)))
    limit, row = made["limit"], np.zeros((1, _SUMS * LANES), dtypes[2])

    def run(result: Any) -> None:
        for _ in range(_CALLS):
            limit(*tensors, result)

    results, times = [tvm.runtime.tensor(row) for _ in range(count)], []
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        for _ in range(6):
            begin = time.perf_counter()
            list(pool.map(run, results))
            times.append(time.perf_counter() - begin)
    return count * _CALLS / min(times)

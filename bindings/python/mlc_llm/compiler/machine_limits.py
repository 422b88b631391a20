"""What this machine's CPU can do at most: bytes read from memory, and products, each in a second.

Products are those of the instructions that the kernels use: bytes (`emit_dots`, with weights of 4
bits) and float32 (`fma`), out of registers and the first cache. Where registers do not hold the
weights (AVX2, AVX-VNNI), byte products are made in the loop of the kernels' own tile, out of the
first cache and without taking codes apart: then a share says what the rest of a kernel costs.
"""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import tvm
from tvm.tirx.script import builder as T

from mlc_llm.compiler import lowering, targets
from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.values import LANES, splat
from mlc_llm.compiler.kernels.cpu.activations import GROUP, Codes
from mlc_llm.compiler.kernels.cpu.integer import emit_dots, holds_group, steps_of
from mlc_llm.compiler.kernels.cpu.integer_instructions import Steps
from mlc_llm.compiler.kernels.cpu.integer_tile import emit_tile
from mlc_llm.compiler.kernels.cpu.vector import at, emit_sums, emit_value, fma
from mlc_llm.compiler.targets import Device, num_threads

_BLOCK_BYTES = 256 << 20  # far more than the caches hold
_QUADS = 8  # of weights, in registers
_ROUNDS, _TURNS, _CALLS = 4096, 16, 256  # some milliseconds of a thread
_BITS = 4

# Adds products of weights to sums: (sums, weights, code of a sum and a weight).
_Add = Callable[[list[Any], Any, Callable[[int, int], Any]], list[Any]]


def measured() -> dict[str, float]:
    """`bytes`, and operations (two for a product) of `integer` and `float`."""
    threads = num_threads()
    return {"bytes": read_bandwidth(threads), **products(targets.host(), threads)}


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


def products(device: Device, threads: int) -> dict[str, float]:
    steps = steps_of(device.vectors.dot, _BITS, _QUADS)
    integer = _in_turn(device) if steps is None else _in_tiles(device, steps)
    limits = {"integer": (integer, 4), "float": (_fused(device), 1)}
    return {
        name: 2 * each * one.products * _rate(one, device, threads)
        for name, (one, each) in limits.items()
    }


@dataclass(frozen=True)
class _Limit:
    """f(weights [8, 16], codes, y [1, sums]): so many products of a weight's element of 32 bits."""

    products: int
    args: list[Arg]
    body: Callable[[Any, Any, Any], None]


def _in_turn(device: Device) -> _Limit:
    """Each sum has codes of its own, which change from round to round, so that no product can be
    computed once for all."""
    dots = partial(emit_dots, device.vectors.dot, weight_bits=_BITS)

    def add(totals: list[Any], rows: Any, code: Callable[[int, int], Any]) -> list[Any]:
        some = [rows[i, at(0)] for i in range(_QUADS)]
        own = ([code(m, i) for i in range(_QUADS)] for m in range(len(totals)))
        return [dots(total, some, codes) for total, codes in zip(totals, own, strict=True)]

    sums = 16 if holds_group(device.vectors.dot) else 8  # beside the weights in registers
    return _in_registers(add, sums, "uint32", "int32")


def _fused(device: Device) -> _Limit:
    """As many sums as inner loops of kernels have, but at most 16. They take one weight after
    another."""

    def add(totals: list[Any], rows: Any, code: Callable[[int, int], Any]) -> list[Any]:
        for i in range(_QUADS):
            weight = emit_value(rows[i, at(0)])
            totals = [
                emit_value(fma(weight, splat(code(m, i)), total)) for m, total in enumerate(totals)
            ]
        return totals

    sizes = device.vectors.attention_sizes
    sums = min(sizes["registers"] * sizes["width"] // LANES, _TURNS)
    return _in_registers(add, sums, "float32", "float32")


def _in_registers(add: _Add, sums: int, weights: str, dtype: str) -> _Limit:
    assert sums <= _TURNS, "sums with equal codes would be computed once"

    def body(rows: Any, codes: Any, y: Any) -> None:
        kept = [emit_sums(1, dtype)[0] for _ in range(sums)]
        with T.serial(_ROUNDS) as turn:

            def code(m: int, i: int) -> Any:
                return emit_value(codes[(turn + m) % _TURNS, i])

            for total, more in zip(kept, add([k[at(0)] for k in kept], rows, code), strict=True):
                T.buffer_store(total, more, [at(0)])
        for i, total in enumerate(kept):
            T.buffer_store(y, total[at(0)], [0, at(i * LANES)])

    args = [Arg("weights", (_QUADS, LANES), weights), Arg("codes", (_TURNS, _QUADS), dtype)]
    args.append(Arg("y", (1, sums * LANES), dtype))
    return _Limit(sums * _QUADS * LANES * _ROUNDS, args, body)


def _in_tiles(device: Device, steps: Steps) -> _Limit:
    """As kernels multiply where registers hold the sums of some rows, but not the weights."""
    codes = Codes(size=_TURNS * GROUP, bits=8, weight_bits=_BITS, zero=0)
    rows = device.vectors.integer_tile

    def body(weights: Any, x: Any, y: Any) -> None:
        kept = T.sblock_alloc_buffer((rows * LANES,), "int32")
        for m in range(rows):
            T.buffer_store(kept, splat(T.int32(0)), [at(m * LANES)])

        def quads(group: Any, turn: Any) -> list[tuple[Any, Any]]:
            places = (turn, turn + _QUADS // 2)
            return [(place, emit_value(weights[place, at(0)])) for place in places]

        def finish(group: Any, whole: Callable[[int, Any], Any]) -> None:
            for m in range(rows):
                total = kept[at(m * LANES)] + whole(m, T.int32(0))
                T.buffer_store(kept, total, [at(m * LANES)])

        with T.serial(_ROUNDS // _TURNS):
            emit_tile(codes, steps, x, 0, rows, quads, finish)
        for m in range(rows):
            T.buffer_store(y, kept[at(m * LANES)], [0, at(m * LANES)])

    x = Arg("codes", (rows, codes.arg.shape[1]), "int32")
    args = [Arg("weights", (_QUADS, LANES), "uint32"), x, Arg("y", (1, rows * LANES), "int32")]
    return _Limit(rows * _QUADS * LANES * _ROUNDS, args, body)


def _rate(limit: _Limit, device: Device, threads: int) -> float:
    """Calls a second of so many threads, the best of some runs."""

    def body(*args: Any) -> None:
        with T.sblock("limit"):
            T.reads()
            T.writes()
            limit.body(*args)

    function = kernel(limit.args, body).with_attr("global_symbol", "limit")
    module = tvm.IRModule({"limit": function})
    made = tvm.compile(module, target=device.target(), tir_pipeline=lowering.CPU)["limit"]
    rng = np.random.default_rng(0)
    tensors = []
    for arg in limit.args[:2]:
        octets = rng.integers(0, 16, (*arg.shape, 4), np.uint8)
        values = octets.view(np.int32)[..., 0] if "int" in arg.dtype else octets[..., 0] / 16
        tensors.append(tvm.runtime.tensor(values.astype(arg.dtype)))
    out = limit.args[2]
    results = [tvm.runtime.tensor(np.zeros(out.shape, out.dtype)) for _ in range(threads)]

    def run(result: Any) -> None:
        for _ in range(_CALLS):
            made(*tensors, result)

    times = []
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for _ in range(6):
            begin = time.perf_counter()
            list(pool.map(run, results))
            times.append(time.perf_counter() - begin)
    return threads * _CALLS / min(times)

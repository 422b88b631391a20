"""Splits a weight into the matrices that a device's kernels take.

A scheme may store a weight as several matrices, each with some of the outputs. A matrix that is too
large for one kernel argument is split by outputs too. Each part has its own parameters, which the
core loads from the tensors in the weight files, and its own kernel call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.quantization import Matrix, Scheme, shards
from mlc_llm.compiler.quantization.rounding import numpy_dtype
from mlc_llm.compiler.spec import WeightSource
from mlc_llm.errors import UnsupportedError


@dataclass(frozen=True)
class Part:
    """Some outputs of a weight, and their reader: `Matrix.on_cpu()` or `Matrix.on_gpu()`."""

    outputs: range
    reader: Any


def parts_of(
    weight: WeightSource,
    scheme: Scheme,
    reader: Callable[[Matrix], Any],
    largest_bytes: int,
    split: shards.Split | None = None,
) -> list[Part]:
    """The parts of a weight. `largest_bytes`: the limit for a kernel argument; 0: no limit.
    `split`: how shards share the weight; then these are the parts that a shard has."""
    assert weight.quantizable is not None, weight
    parts, first = [], 0
    of = (scheme, weight.name, weight.shape, weight.quantizable)
    for matrix in shards.matrices_of(*of, split):
        if weight.experts:
            check_size(weight.name, matrix, largest_bytes)
            return [Part(range(matrix.shape[0]), reader(matrix))]
        for span in spans_of(matrix, largest_bytes):
            outputs = range(first + span.start, first + span.stop)
            parts.append(Part(outputs, reader(matrix.cut(span))))
        first += matrix.shape[0]
    return parts


def spans_of(matrix: Matrix, largest_bytes: int) -> list[range]:
    """The outputs of each part of a matrix. The parts have nearly the same size."""
    outs, each = matrix.shape[0], matrix.granule
    if not largest_bytes:
        return [range(outs)]
    count = -(-outs // each)  # granules
    granule_bytes = max(
        math.prod(p.shape) // count * numpy_dtype(p.dtype).itemsize for p in matrix.stored
    )
    most = max(1, largest_bytes // granule_bytes)
    size = -(-count // -(-count // most)) * each
    return [range(first, min(first + size, outs)) for first in range(0, outs, size)]


def check_size(name: str, matrix: Matrix, largest_bytes: int) -> None:
    """Refuses experts that are too large together: they are not split."""
    sizes = [math.prod(p.shape) * numpy_dtype(p.dtype).itemsize for p in matrix.stored]
    if largest_bytes and max(sizes) > largest_bytes:
        raise UnsupportedError(
            f"{name}: the experts of a layer take {max(sizes)} bytes, and this device takes at "
            f"most {largest_bytes} in one buffer; choose a quantization with fewer bits or another "
            "device",
            param="device",
        )

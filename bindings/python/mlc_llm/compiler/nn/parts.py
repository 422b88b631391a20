"""How weights that a device cannot give a kernel whole are cut, by rows.

    parts_of(stored, largest_bytes)      # [range(0, 65536), range(65536, 128256)]

Each part is a parameter of its own, which the core loads out of the one tensor in the weight files,
and has a kernel call of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mlc_llm.compiler.models.family import WeightSource
from mlc_llm.compiler.quantization import AnyScheme, Scheme, StoredParam
from mlc_llm.compiler.quantization.pack import numpy_dtype


def parts_of(stored: Sequence[StoredParam], largest_bytes: int) -> list[range]:
    """The rows of each part, of nearly equal numbers; `stored` are tensors of the same rows."""
    count = stored[0].shape[0]
    row_bytes = max(math.prod(p.shape[1:]) * numpy_dtype(p.dtype).itemsize for p in stored)
    most = max(1, largest_bytes // row_bytes)
    size = -(-count // -(-count // most))
    return [range(first, min(first + size, count)) for first in range(0, count, size)]


def weight_parts(weight: WeightSource, scheme: AnyScheme, largest_bytes: int) -> list[range]:
    """The parts of a weight; one where it need not be cut, or cannot be: matrices that are stored
    (in, out), which no device with such a bound prefers."""
    stored, use = weight.stored_params(scheme), weight.quantizable
    by_columns = isinstance(scheme, Scheme) and use is not None and scheme.layout_of(use) == "KN"
    if not largest_bytes or use is None or by_columns and scheme.quantizes(use):
        return [range(weight.shape[0])]
    return parts_of(stored, largest_bytes)

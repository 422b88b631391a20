"""How weights that a device cannot give a kernel whole are cut, by outputs.

    parts_of(stored, largest_bytes)      # [range(0, 65536), range(65536, 128256)]

Outputs are rows of what is stored, or its columns where a scheme stores matrices (in, out). Each
part is a parameter of its own, which the core loads out of the one tensor in the weight files, and
has a kernel call of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mlc_llm.compiler.models.family import WeightSource
from mlc_llm.compiler.quantization import AnyScheme, Scheme, StoredParam
from mlc_llm.compiler.quantization.pack import numpy_dtype


def parts_of(stored: Sequence[StoredParam], largest_bytes: int, axis: int = 0) -> list[range]:
    """The outputs of each part, of nearly equal numbers; `stored` are tensors that have as many
    along `axis`."""
    count = stored[0].shape[axis]
    output_bytes = max(math.prod(p.shape) // count * numpy_dtype(p.dtype).itemsize for p in stored)
    most = max(1, largest_bytes // output_bytes)
    size = -(-count // -(-count // most))
    return [range(first, min(first + size, count)) for first in range(0, count, size)]


def weight_parts(weight: WeightSource, scheme: AnyScheme, largest_bytes: int) -> list[range]:
    """The parts of a weight; one where it need not be cut."""
    if not largest_bytes or weight.quantizable is None:
        return [range(weight.shape[0])]
    return parts_of(weight.stored_params(scheme), largest_bytes, axis_of(weight, scheme))


def axis_of(weight: WeightSource, scheme: AnyScheme) -> int:
    """Of what is stored: where the outputs are."""
    use = weight.quantizable
    if use is None or not isinstance(scheme, Scheme) or not scheme.quantizes(use):
        return 0
    return 1 if scheme.layout_of(use) == "KN" else 0

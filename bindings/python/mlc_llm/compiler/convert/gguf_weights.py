"""GGUF's own weights into an `-MLC` folder, in the types that the file has.

    scheme = scheme_of_file(source, weights, wanted="auto")
    for piece, arrays in stored_pieces(source, weight, scheme): ...

Only whole rows change their places (llama.cpp's order of q and k), and bits theirs: nothing is
rounded. See `quantization/gguf_types.py` for the layout.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from mlc_llm.compiler.convert.source import Array, ModelSource, TensorInfo
from mlc_llm.compiler.models import WeightSource
from mlc_llm.compiler.quantization import AnyScheme, GGUFScheme, get
from mlc_llm.compiler.quantization.gguf_blocks import Parts, read_blocks, strips_of
from mlc_llm.compiler.quantization.gguf_scheme import NAMES, PREFIX, Piece, Runs, merged
from mlc_llm.compiler.quantization.gguf_types import TYPES, BlockType
from mlc_llm.errors import CorruptFileError, InvalidRequestError, UnsupportedError

AUTO = "auto"
DEFAULT = "q4f32_1"  # what `auto` means for a model that is not quantized
_UNQUANTIZED = {"F32": "q0f32", "F16": "q0f16", "BF16": "q0bf16"}
_CHUNK_WEIGHTS = 4 << 20


class BlockSource(ModelSource, Protocol):
    """A `.gguf` file."""

    def read_blocks(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        """Rows [start, stop) as they lie in the file, uint8 (rows, bytes of a row)."""


def keeps_types(quantization: str) -> bool:
    """Whether that names, or may name, the types of the file itself."""
    return quantization == AUTO or quantization in NAMES


def scheme_of_file(
    source: ModelSource, weights: Sequence[WeightSource], *, wanted: str
) -> AnyScheme:
    """The scheme that keeps every tensor as it is; `wanted` is its name or "auto"."""
    if not hasattr(source, "read_blocks"):
        if wanted == AUTO:
            return get(DEFAULT)
        raise InvalidRequestError(
            f"quantization {wanted} keeps the weights of a GGUF file, and this model is none; "
            f"choose another one, such as {DEFAULT}",
            param="quantization",
        )
    tensors = source.tensors()
    runs = {w.name: _runs(w, tensors) for w in weights if w.quantizable is not None}
    name = _name(weights, runs)
    if wanted not in (AUTO, name):
        raise InvalidRequestError(
            f"most weights of this GGUF file have another type than {wanted} says: choose {name}, "
            f"or {AUTO}, which is the same",
            param="quantization",
        )
    if not name.startswith(PREFIX):
        return get(name)
    usual = name.removeprefix(PREFIX).upper()
    others = {
        w.name: runs[w.name]
        for w in weights
        if w.name in runs and runs[w.name] != ((usual, w.shape[0]),)
    }
    return GGUFScheme(name=name, others=others)


def stored_pieces(
    source: BlockSource, weight: WeightSource, scheme: GGUFScheme
) -> Iterator[tuple[Piece, list[Array]]]:
    """The pieces of a matrix with the arrays of their parameters, one after the other."""
    names = iter(zip(weight.sources, weight.source_shapes, strict=True))
    for piece in scheme.pieces(weight.name, (weight.shape[0], weight.shape[1])):
        mine, rows = [], 0
        while rows < piece.shape[0]:
            name, shape = next(names)
            mine.append((name, shape))
            rows += shape[0]
        if isinstance(piece.kind, BlockType):
            yield piece, strips_of(piece.kind, _parts(source, piece.kind, mine))
        else:
            dtype = piece.kind.dtype
            yield piece, [np.concatenate([_plain(source, name, dtype) for name, _ in mine])]


def _runs(weight: WeightSource, tensors: Mapping[str, TensorInfo]) -> Runs:
    kinds = [(tensors[name].dtype, name) for name in weight.sources]
    for kind, name in kinds:
        if kind not in TYPES:
            raise UnsupportedError(
                f"tensor {name} has type {kind}, which has no kernels here; those that have are "
                f"{', '.join(TYPES)}. Use a file of these, or quantize this one anew, with some "
                f"loss, by another --quantization, such as {DEFAULT}",
                param=name,
            )
    rows = [shape[0] for shape in weight.source_shapes]
    return merged([(kind, n) for (kind, _), n in zip(kinds, rows, strict=True)])


def _name(weights: Sequence[WeightSource], runs: Mapping[str, Runs]) -> str:
    """Of the scheme: the quantized type of most weights."""
    count: Counter[str] = Counter()
    for weight in weights:
        for kind, rows in runs.get(weight.name, ()):
            count[kind] += rows * math.prod(weight.shape[1:])
    quantized = {kind: n for kind, n in count.items() if isinstance(TYPES[kind], BlockType)}
    if quantized:
        return PREFIX + max(quantized, key=lambda kind: quantized[kind]).lower()
    return _UNQUANTIZED[max(count, key=lambda kind: count[kind])]


def _parts(source: BlockSource, kind: BlockType, tensors: Sequence) -> Parts:
    found = [
        read_blocks(kind, source.read_blocks(name, start, min(start + step, shape[0])))
        for name, shape in tensors
        for step in [max(1, _CHUNK_WEIGHTS // shape[1])]
        for start in range(0, shape[0], step)
    ]
    arrays = [np.concatenate(arrays) for arrays in zip(*(p.arrays() for p in found), strict=True)]
    for array in arrays:
        if array.dtype == np.float16 and not np.isfinite(array).all():
            raise CorruptFileError(
                f"tensor {tensors[0][0]} holds NaN or infinite scales", param=tensors[0][0]
            )
    return Parts.of(kind, arrays)


def _plain(source: ModelSource, name: str, dtype: str) -> Array:
    from mlc_llm.compiler.quantization.pack import numpy_dtype

    values = source.read(name)
    if not np.isfinite(values).all():
        raise CorruptFileError(f"tensor {name} holds NaN or infinite values", param=name)
    return values.astype(numpy_dtype(dtype))

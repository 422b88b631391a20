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
from mlc_llm.compiler.quantization.gguf_blocks import read_blocks, strips_of
from mlc_llm.compiler.quantization.gguf_scheme import NAMES, PREFIX, Piece, Runs, merged
from mlc_llm.compiler.quantization.gguf_types import STRIP, TYPES, BlockType
from mlc_llm.errors import CorruptFileError, InvalidRequestError, UnsupportedError

AUTO = "auto"
DEFAULT = "q4f32_1"  # what `auto` means for a model that is not quantized
_UNQUANTIZED = {"F32": "q0f32", "F16": "q0f16", "BF16": "q0bf16"}
_CHUNK_WEIGHTS = 4 << 20

Tensor = tuple[str, tuple[int, ...]]  # its name and shape


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
        mine: list[Tensor] = []
        rows = 0
        while rows < piece.shape[0]:
            name, shape = next(names)
            mine.append((name, shape))
            rows += shape[0]
        if isinstance(piece.kind, BlockType):
            yield piece, _strips(source, piece.kind, mine)
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


def _strips(source: BlockSource, kind: BlockType, tensors: Sequence[Tensor]) -> list[Array]:
    """The stored tensors of rows that follow each other."""
    found = []
    for raw in _whole_strips(_raw_rows(source, tensors)):
        parts = read_blocks(kind, raw)
        if not all(np.isfinite(a).all() for a in parts.arrays() if a.dtype == np.float16):
            name = tensors[0][0]
            raise CorruptFileError(f"tensor {name} holds NaN or infinite scales", param=name)
        found.append(strips_of(kind, parts))
    return [np.concatenate(arrays) for arrays in zip(*found, strict=True)]


def _raw_rows(source: BlockSource, tensors: Sequence[Tensor]) -> Iterator[Array]:
    for name, shape in tensors:
        step = max(STRIP, _CHUNK_WEIGHTS // shape[1])
        for start in range(0, shape[0], step):
            yield source.read_blocks(name, start, min(start + step, shape[0]))


def _whole_strips(chunks: Iterator[Array]) -> Iterator[Array]:
    """The same rows, cut where strips end."""
    rest: Array | None = None
    for chunk in chunks:
        rows = chunk if rest is None else np.concatenate([rest, chunk])
        whole = len(rows) // STRIP * STRIP
        if whole:
            yield rows[:whole]
        rest = rows[whole:]
    if rest is not None and len(rest):
        yield rest


def _plain(source: ModelSource, name: str, dtype: str) -> Array:
    from mlc_llm.compiler.quantization.pack import numpy_dtype

    values = source.read(name)
    if not np.isfinite(values).all():
        raise CorruptFileError(f"tensor {name} holds NaN or infinite values", param=name)
    return values.astype(numpy_dtype(dtype))

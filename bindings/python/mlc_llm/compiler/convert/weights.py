"""Reads a model's weights, stacks and quantizes them, and hands them to the writer.

One tensor is worked on at a time, in chunks of rows: the most that is in memory is one finished
tensor's codes and one chunk.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import numpy as np

from mlc_llm.compiler.convert.gguf_weights import BlockSource, stored_pieces
from mlc_llm.compiler.convert.mlc_writer import WeightWriter
from mlc_llm.compiler.convert.progress import Advance
from mlc_llm.compiler.convert.source import Array, ModelSource, TensorInfo
from mlc_llm.compiler.models import WeightSource
from mlc_llm.compiler.quantization import AnyScheme, GGUFScheme, Scheme, StoredParam
from mlc_llm.compiler.quantization.pack import numpy_dtype, quantize_chunks
from mlc_llm.errors import CorruptFileError, UnsupportedError

_CHUNK_ELEMENTS = 4 << 20  # 16 MB of float32


def check_tensors(weights: Sequence[WeightSource], tensors: Mapping[str, TensorInfo]) -> None:
    """Refuses a model whose tensors are not those its config asks for."""
    for weight in weights:
        for name, shape in zip(weight.sources, weight.source_shapes, strict=True):
            if name not in tensors:
                raise CorruptFileError(
                    f"tensor {name} is missing; the config asks for it", param=name
                )
            if tensors[name].shape != shape:
                raise CorruptFileError(
                    f"tensor {name} has shape {list(tensors[name].shape)}; "
                    f"the config asks for {list(shape)}",
                    param=name,
                )


def stored_bytes(weights: Sequence[WeightSource], scheme: AnyScheme) -> int:
    """The size of the model in that scheme."""
    return sum(_param_bytes(param) for weight in weights for param in weight.stored_params(scheme))


def count_elements(weights: Sequence[WeightSource]) -> int:
    """How many weights the model has, before quantization."""
    return sum(math.prod(weight.shape) for weight in weights)


def convert_weights(
    source: ModelSource,
    weights: Sequence[WeightSource],
    scheme: AnyScheme,
    writer: WeightWriter,
    advance: Advance,
) -> None:
    """Writes every tensor in order, and the index."""
    for weight in weights:
        params = weight.stored_params(scheme)
        if isinstance(scheme, GGUFScheme) and weight.quantizable is not None:
            _write_as_it_is(cast("BlockSource", source), weight, scheme, writer)
            advance(sum(_param_bytes(param) for param in params))
            continue
        chunks = _checked(weight.name, _chunks(source, weight))
        if len(params) == 1:
            dtype = numpy_dtype(params[0].dtype)
            writer.add(params[0], _cast(weight.name, chunks, dtype))
        else:
            for param, array in zip(params, _quantized(weight, chunks, scheme), strict=True):
                writer.add(param, [array])
        advance(sum(_param_bytes(param) for param in params))
    writer.finish(original_elements=count_elements(weights))


def _write_as_it_is(
    source: BlockSource, weight: WeightSource, scheme: GGUFScheme, writer: WeightWriter
) -> None:
    for piece, arrays in stored_pieces(source, weight, scheme):
        for param, array in zip(piece.stored_params(), arrays, strict=True):
            writer.add(param, [array])


def _param_bytes(param: StoredParam) -> int:
    return math.prod(param.shape) * numpy_dtype(param.dtype).itemsize


def _chunks(source: ModelSource, weight: WeightSource) -> Iterator[Array]:
    """The rows of all sources, one after the other."""
    for name, shape in zip(weight.sources, weight.source_shapes, strict=True):
        step = max(1, _CHUNK_ELEMENTS // math.prod(shape[1:]))
        for start in range(0, shape[0], step):
            yield source.read(name, start, min(start + step, shape[0]))


def _checked(name: str, chunks: Iterator[Array]) -> Iterator[Array]:
    """Refuses weights that are no numbers: they would spoil every answer without a word."""
    for chunk in chunks:
        if not np.isfinite(chunk).all():
            raise CorruptFileError(f"tensor {name} holds NaN or infinite values", param=name)
        yield chunk


def _cast(name: str, chunks: Iterator[Array], dtype: np.dtype) -> Iterator[Array]:
    for chunk in chunks:
        with np.errstate(over="ignore"):
            cast = chunk.astype(dtype, copy=False)
        if dtype.itemsize == 2 and not np.isfinite(cast).all():
            raise UnsupportedError(
                f"tensor {name} has values beyond the range of {dtype}; "
                "choose a quantization with bf16 or f32",
                param=name,
            )
        yield cast


def _quantized(
    weight: WeightSource, chunks: Iterator[Array], scheme: Scheme
) -> tuple[Array, Array]:
    assert weight.quantizable is not None
    return quantize_chunks(
        _cast(weight.name, chunks, numpy_dtype(scheme.model_dtype)),
        (weight.shape[0], weight.shape[1]),
        bits=scheme.bits,
        group_size=scheme.group_size,
        dtype=scheme.model_dtype,
        transpose=scheme.layout_of(weight.quantizable) == "KN",
    )

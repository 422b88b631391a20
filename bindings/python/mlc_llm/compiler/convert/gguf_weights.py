"""Finds the scheme that keeps the weights of a GGUF file in their own types.

scheme = scheme_of_file(source, weights, wanted="auto")
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence

from mlc_llm.compiler.convert.source import ModelSource, TensorInfo
from mlc_llm.compiler.quantization import Scheme, get
from mlc_llm.compiler.quantization.gguf.scheme import NAMES, PREFIX, GGUFScheme, Runs, merged
from mlc_llm.compiler.quantization.gguf.types import ANEW, TYPES, TYPES_ANEW, WIDE
from mlc_llm.compiler.spec import WeightSource
from mlc_llm.errors import InvalidRequestError, UnsupportedError

AUTO = "auto"
AUTO_WIDE = "auto_wide"  # the same numbers, in the larger form of those types that have one
DEFAULT = "q4f32_1"  # the scheme of `auto` for a model that is not quantized
_UNQUANTIZED = {"F32": "q0f32", "F16": "q0f16", "BF16": "q0bf16"}


def keeps_types(quantization: str) -> bool:
    """Whether the name means, or may mean, the types of the file itself."""
    return quantization in (AUTO, AUTO_WIDE) or quantization in NAMES


def scheme_of_file(source: ModelSource, weights: Sequence[WeightSource], *, wanted: str) -> Scheme:
    """The scheme that keeps every tensor unchanged. `wanted` is its name, "auto" or "auto_wide"."""
    if source.blocks() is None:
        if wanted in (AUTO, AUTO_WIDE):
            return get(DEFAULT)
        raise InvalidRequestError(
            f"quantization {wanted} keeps the weights of a GGUF file, or of a repository in NVFP4 "
            f"or MXFP4, and this model is neither; choose another one, such as {DEFAULT}",
            param="quantization",
        )
    tensors = source.tensors()
    weights = [w for w in weights if w.quantizable not in (None, "tower")]
    _warn_of_types_anew(weights, tensors)
    runs = {w.name: _runs(w, tensors) for w in weights}
    if wanted == AUTO_WIDE or wanted.endswith(WIDE.lower()):
        runs = {weight: _widened(own) for weight, own in runs.items()}
    name = _name(weights, runs)
    if wanted not in (AUTO, AUTO_WIDE, name):
        raise InvalidRequestError(
            f"most weights of this model have another type than {wanted} says: choose {name}, "
            f"or {AUTO}, which is the same",
            param="quantization",
        )
    if not name.startswith(PREFIX):
        return get(name)
    usual = name.removeprefix(PREFIX).upper()
    others = {
        w.name: runs[w.name] for w in weights if runs[w.name] != ((usual, math.prod(w.shape[:-1])),)
    }
    return GGUFScheme(name=name, others=others)


def _runs(weight: WeightSource, tensors: Mapping[str, TensorInfo]) -> Runs:
    kinds = [(_kept(tensors[part.tensor].dtype), part.tensor) for part in weight.parts]
    for kind, name in kinds:
        if kind not in TYPES:
            raise UnsupportedError(
                f"tensor {name} has type {kind}, which has no kernels here; those that have are "
                f"{', '.join(TYPES)}. Use a file of these, or quantize this one anew, with some "
                f"loss, by another --quantization, such as {DEFAULT}",
                param=name,
            )
    for part in weight.parts:
        if not part.moves_rows:
            raise UnsupportedError(
                f"tensor {part.tensor} has to be changed before it can be used, so that it cannot "
                f"stay as the file has it; choose another --quantization, such as {DEFAULT}",
                param=part.tensor,
            )
    rows = [part.shape[0] for part in weight.parts]
    if weight.experts and len({kind for kind, _ in kinds}) > 1:
        raise UnsupportedError(
            f"tensors {', '.join(sorted({name for _, name in kinds}))} have different types; those "
            "of experts are kept only where they have one. Choose another --quantization, such as "
            f"{DEFAULT}",
            param=kinds[0][1],
        )
    return merged([(kind, n) for (kind, _), n in zip(kinds, rows, strict=True)])


def _widened(runs: Runs) -> Runs:
    return tuple((kind + WIDE if kind + WIDE in TYPES else kind, rows) for kind, rows in runs)


def _kept(kind: str) -> str:
    return ANEW if kind in TYPES_ANEW else kind


def _warn_of_types_anew(weights: Sequence[WeightSource], tensors: Mapping[str, TensorInfo]) -> None:
    """Warns of tensors that are not kept unchanged."""
    names = [p.tensor for w in weights for p in w.parts]
    found = sorted({tensors[n].dtype for n in names} & set(TYPES_ANEW))
    if found:
        warnings.warn(
            f"this GGUF file has weights of {', '.join(found)}, which have no kernels here: they "
            f"are quantized anew as {ANEW}. That takes 8.5 bits a weight and adds a rounding error "
            "of up to 0.4 % of the largest of 32 weights; a file of Q2_K to Q6_K is kept as it is",
            stacklevel=2,
        )


def _name(weights: Sequence[WeightSource], runs: Mapping[str, Runs]) -> str:
    """The name of the scheme: the quantized type of most weights."""
    count: Counter[str] = Counter()
    for weight in weights:
        for kind, rows in runs.get(weight.name, ()):
            count[kind] += rows * weight.shape[-1]
    quantized = {kind: n for kind, n in count.items() if not TYPES[kind].is_float}
    if quantized:
        return PREFIX + max(quantized, key=lambda kind: quantized[kind]).lower()
    return _UNQUANTIZED[max(count, key=lambda kind: count[kind])]

"""Reads a model's weights, stacks them, and gives the scheme's results to the writer.

It converts one tensor at a time, in chunks of rows. The memory holds at most the codes of one
tensor and one chunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mlc_llm.compiler.convert.mlc_writer import WeightWriter
from mlc_llm.compiler.convert.source import Array, ModelSource, TensorInfo, wrong_tensor
from mlc_llm.compiler.models.family import ModelFamily
from mlc_llm.compiler.quantization import Scheme, StoredParam
from mlc_llm.compiler.quantization.gguf.types import STRIP
from mlc_llm.compiler.quantization.rounding import is_finite, numpy_dtype
from mlc_llm.compiler.quantization.stored import Float8Part
from mlc_llm.compiler.spec import Part, WeightSource
from mlc_llm.compiler.spec.transforms import Transposed, apply_all
from mlc_llm.errors import InvalidRequestError, UnsupportedError

_CHUNK_ELEMENTS = 4 << 20  # 16 MB of float32
_ROWS = 128  # large chunks have a multiple of it, so that they are whole blocks of any scheme


Advance = Callable[[int], None]  # gets the number of written bytes
Change = Callable[[Array, int], Array]  # rows of a weight, from a row on, to other values for them
ChangeOf = Callable[[str], "Change | None"]  # of the weight with that name of ours


# Prefixes that files of one family have or leave out: (ours, theirs).
_PREFIXES = (
    ("transformer.", ""),
    ("transformer.", "model."),
    ("model.", "model.language_model."),
    ("model.", "model.text_model."),
    ("", "language_model."),
    ("", "llm."),
    ("model.", ""),
    ("", "bert."),
    ("", "model."),
    ("", "roberta."),
)


def as_in_files(
    weights: Sequence[WeightSource], tensors: Mapping[str, TensorInfo]
) -> list[WeightSource]:
    """The weight map with the names that the files use, if they differ by a known prefix: GPT-2's
    own repository and bare models have none, models that also take pictures have one more, and an
    encoder with a head has the encoder's name in front. What is turned already stays as it is."""

    def renamed(part: Part) -> Part:
        for ours, theirs in (("", ""), *_PREFIXES):
            other = theirs + part.tensor.removeprefix(ours)
            if part.tensor.startswith(ours) and other in tensors:
                turned = part.transforms[:1] == (Transposed(),) and tensors[other].is_turned
                return replace(part, tensor=other, transforms=part.transforms[int(turned) :])
        return part

    every = [_experts_in_files(weight, tensors) for weight in weights]
    return [replace(w, parts=tuple(renamed(part) for part in w.parts)) for w in every]


_HALVES = {"gate_up_proj": ("gate_proj", "up_proj"), "down_proj": ("down_proj",)}


def _experts_in_files(weight: WeightSource, tensors: Mapping[str, TensorInfo]) -> WeightSource:
    """The tensors of each expert, where the map has one tensor for all and the files do not:
    transformers 5 saves Qwen 3.5-MoE in this way."""
    whole = weight.parts[0]
    head, _, last = whole.tensor.rpartition(".")
    halves = _HALVES.get(last, ())
    if whole.expert is None or whole.transforms or not halves or not head.endswith(".experts"):
        return weight
    if _is_there(whole.tensor, tensors) or not _is_there(f"{head}.0.{halves[0]}.weight", tensors):
        return weight
    parts = [
        Part(f"{head}.{part.expert}.{half}.weight",
             (part.shape[0] // len(halves), *part.shape[1:]))
        for part in weight.parts
        for half in halves
    ]  # fmt: skip
    return replace(weight, parts=tuple(parts))


def _is_there(name: str, tensors: Mapping[str, TensorInfo]) -> bool:
    """Under one of the known prefixes."""
    return any(
        name.startswith(ours) and theirs + name.removeprefix(ours) in tensors
        for ours, theirs in (("", ""), *_PREFIXES)
    )


def with_mtp_of_files(config: Any, family: ModelFamily, source: ModelSource) -> Any:
    """The config without an MTP layer if the files have none: many quantized repositories leave it
    out. Qwen 3-Next's files have one of which the config says nothing."""
    count: int = getattr(config, "num_mtp_layers", 0)
    if not count and not getattr(config, "mtp_unsaid", False):
        return config
    given = replace(config, num_mtp_layers=max(count, 1))
    tensors = source.tensors()
    weights = as_in_files(family.weight_map(given, source.format), tensors)
    parts = [part for weight in weights if weight.draft for part in weight.parts]
    is_there = {part.tensor in tensors for part in parts} == {True}
    return given if is_there else replace(config, num_mtp_layers=0)


def check_tensors(
    weights: Sequence[WeightSource], tensors: Mapping[str, TensorInfo], scheme: Scheme
) -> None:
    """Refuses a model whose tensors are not those that its config and the scheme need."""
    for weight in weights:
        suffixes = scheme.source_suffixes(weight.quantizable)
        for part in weight.parts:
            if suffixes == ("weight",):
                _check_plain(part, tensors)
            else:
                _check_quantized(part.tensor, suffixes, tensors, scheme)


def _check_plain(part: Part, tensors: Mapping[str, TensorInfo]) -> None:
    name, shape = part.tensor, part.source_shape
    if name not in tensors:
        raise wrong_tensor(name, "is missing; the config asks for it")
    if tensors[name].shape != shape:
        raise wrong_tensor(
            name, f"has shape {list(tensors[name].shape)}; the config asks for {list(shape)}"
        )


def _check_quantized(
    name: str, suffixes: Sequence[str], tensors: Mapping[str, TensorInfo], scheme: Scheme
) -> None:
    if name in tensors and sibling(name, suffixes[0]) not in tensors:
        raise InvalidRequestError(
            f"quantization {scheme.name} keeps what a repository has quantized, and in this one "
            f"{name} is not; choose another one, such as q4f16_1",
            param="quantization",
        )
    for part in (sibling(name, suffix) for suffix in suffixes):
        if part not in tensors:
            raise wrong_tensor(part, f"is missing; quantization {scheme.name} asks for it")


def sibling(name: str, suffix: str) -> str:
    """Another tensor of the module to which the weight `name` belongs."""
    return f"{name.removesuffix('.weight')}.{suffix}"


def stored_bytes(weights: Sequence[WeightSource], scheme: Scheme) -> int:
    """The size of the model in that scheme, in bytes."""
    return sum(_param_bytes(param) for weight in weights for param in weight.stored_params(scheme))


def count_elements(weights: Sequence[WeightSource]) -> int:
    """The number of weights of the model, before quantization."""
    return sum(math.prod(weight.shape) for weight in weights)


def convert_weights(
    source: ModelSource,
    weights: Sequence[WeightSource],
    scheme: Scheme,
    writer: WeightWriter,
    advance: Advance,
    importance: Mapping[str, Array] | None = None,
    change_of: ChangeOf = lambda name: None,
) -> None:
    """Writes every tensor in order, and the index. `importance`: of weights' inputs, by name."""
    for weight in weights:
        rows = SourceRows(
            source, weight, (importance or {}).get(weight.name), change_of(weight.name)
        )
        for param, chunks in scheme.convert(rows, use=weight.quantizable):
            writer.add(param, chunks)
            advance(_param_bytes(param))
    writer.finish(original_elements=count_elements(weights))


def _param_bytes(param: StoredParam) -> int:
    return math.prod(param.shape) * numpy_dtype(param.dtype).itemsize


class SourceRows:
    """The `WeightRows` of a weight: the rows of all its parts, one part after another. `change`:
    of an adapter that is merged into it."""

    def __init__(
        self,
        source: ModelSource,
        weight: WeightSource,
        importance: Array | None = None,
        change: Change | None = None,
    ) -> None:
        self._source, self._weight, self.importance = source, weight, importance
        self._change = change
        self.name, self.shape = weight.name, weight.shape
        self.num_rows = sum(part.shape[0] for part in weight.parts)

    def floats(self, rows: range) -> Iterator[Array]:
        """Refuses weights that are not numbers: they would make every answer wrong without an
        error."""
        first = rows.start
        for chunk in self._chunks(self._source.read, rows, 1):
            if not is_finite(chunk):
                raise wrong_tensor(self.name, "holds NaN or infinite values")
            yield chunk if self._change is None else self._change(chunk, first)
            first += len(chunk)

    def blocks(self, rows: range) -> Iterator[Array]:
        blocks = self._source.blocks()
        assert blocks is not None, self.name
        return self._chunks(blocks.read, rows, STRIP)

    def tensors(self, suffix: str) -> list[Array]:
        self._need_unchanged()
        return [self._source.read(sibling(part.tensor, suffix)) for part in self._weight.parts]

    def float8_parts(self) -> list[Float8Part] | None:
        parts = self._weight.parts
        if self._change or not all(self._source.has_float8(part.tensor) for part in parts):
            return None
        self._need_unchanged()
        return [self._source.float8_part(part.tensor) for part in parts]

    def _need_unchanged(self) -> None:
        for part in self._weight.parts:
            if part.transforms:
                raise UnsupportedError(
                    f"tensor {part.tensor} has to be changed before it can be used, so it cannot "
                    "stay as the repository has quantized it; choose another --quantization, such "
                    "as q4f16_1",
                    param=part.tensor,
                )

    def _chunks(self, read: Callable[..., Array], rows: range, fewest: int) -> Iterator[Array]:
        first = 0
        for part in self._weight.parts:
            start, stop = max(rows.start - first, 0), min(rows.stop - first, part.shape[0])
            if start < stop:
                yield from _part_chunks(read, part, range(start, stop), fewest)
            first += part.shape[0]


def _part_chunks(
    read: Callable[..., Array], part: Part, rows: range, fewest: int
) -> Iterator[Array]:
    """Rows of the tensor that a part's transforms make, in chunks."""
    if part.expert is not None:
        yield from _expert_chunks(read, part, rows)
        return
    shape, together = part.source_shape, part.rows_together
    step = max(fewest, _CHUNK_ELEMENTS // math.prod(shape[1:]))
    step -= step % _ROWS if step > _ROWS else 0
    every = shape[0] if shape else 1  # a number is no row
    step = max(step // together, 1) * together if together else every
    if rows != range(part.shape[0]):
        assert part.moves_rows and rows.start % max(together, 1) == 0, (part, rows)
    last = rows.stop if rows.stop < part.shape[0] else every
    for start in range(rows.start, last, step):
        yield apply_all(part.transforms, read(part.tensor, start, min(start + step, last)))


def _expert_chunks(read: Callable[..., Array], part: Part, rows: range) -> Iterator[Array]:
    """The same for one expert of a tensor of all experts: the expert is read as a whole."""
    assert part.expert is not None
    whole = apply_all(part.transforms, read(part.tensor, part.expert, part.expert + 1)[0])
    step = max(STRIP, _CHUNK_ELEMENTS // math.prod(part.shape[1:]) // STRIP * STRIP)
    for start in range(rows.start, rows.stop, step):
        yield whole[start : min(start + step, rows.stop)]

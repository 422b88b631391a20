"""Where an `-MLC` folder that MLC-LLM's converter made stores the tensors of a library.

    stored_parts(family, config, scheme)
    # {"model.layers.0.mlp.gate_up_proj.q_weight":
    #     {"parts": [{"name": "...gate_proj.q_weight", ...}, {"name": "...up_proj.q_weight", ...}]}}

Most of its tensors are ours. `ModelFamily.mlc` says which are not: those are joined, reordered or
changed when the core loads them, by the field "from" of a parameter (docs/model-library.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlc_llm.compiler.models.family import MLCFormat, ModelFamily
from mlc_llm.compiler.quantization import Scheme, StoredParam
from mlc_llm.compiler.quantization.stored import WeightUse
from mlc_llm.compiler.spec import Parameter, Part, WeightSource, parameters
from mlc_llm.compiler.spec.transforms import (
    Array,
    LogMinusLog,
    MinusExp,
    PlusOne,
    Transposed,
    apply_all,
)
from mlc_llm.errors import UnsupportedError

StoredParts = dict[str, dict[str, Any]]  # by the name of a parameter
_CHANGES = {
    PlusOne: "plus_one",
    MinusExp: "minus_exp",
    LogMinusLog: "log_minus_log",
    Transposed: "transposed",
}
_FLOAT8 = "uint8"  # as which the core reads 8-bit floats


def weights_of(weights: Sequence[WeightSource], mlc: MLCFormat) -> list[WeightSource]:
    """The weight map with the uses that the folder's tensors have."""
    use = {"router": "linear"} if mlc.router_is_linear else {}
    return [replace(w, quantizable=use.get(w.quantizable, w.quantizable)) for w in weights]


def stored_parts(family: ModelFamily, config: Any, scheme: Scheme) -> StoredParts:
    """The field "from" of the parameters that the folder does not have as they are. `scheme`
    leaves plain what `mlc.plain` says."""
    assert family.mlc is not None
    tensors = family.mlc.tensors(config)
    found: StoredParts = {}
    for parameter in parameters(replace(family.decoder(config), draft=None)):  # they have none
        if tensors.has(parameter):
            parts = tensors.parts(parameter)
        else:
            shape = (sum(parameter.pieces), *parameter.inputs)
            shape = (parameter.experts, *shape) if parameter.experts else shape
            parts = (Part(parameter.name, shape, tensors.norm if parameter.is_norm else ()),)
        found.update(_Stored(parameter, parts, scheme, family.mlc).described())
    return found


@dataclass(frozen=True)
class _Stored:
    """A parameter of the decoder, and the folder's tensors of which it is made."""

    parameter: Parameter
    parts: Sequence[Part]
    scheme: Scheme
    mlc: MLCFormat

    def described(self) -> Iterator[tuple[str, dict[str, Any]]]:
        p = self.parameter
        shape = (sum(p.pieces), *p.inputs)
        ours = self._stored(p.name, (p.experts, *shape) if p.experts else shape)
        for index, param in enumerate(ours):
            made = self._from(index)
            same = {"name": param.name, "shape": list(param.shape), "dtype": _dtype(param)}
            if made != {"parts": [same]}:
                yield param.name, made

    @property
    def _use(self) -> WeightUse | None:
        as_linear = self.parameter.use == "router" and self.mlc.router_is_linear
        return "linear" if as_linear else self.parameter.use

    def _stored(self, name: str, shape: tuple[int, ...]) -> Sequence[StoredParam]:
        return self.scheme.stored_params(name, shape, use=self._use)

    def _from(self, index: int) -> dict[str, Any]:
        """Of the tensor with that index among those in which the scheme stores the weight."""
        first = self.parts[0]
        changes = {_CHANGES[type(t)] for t in first.transforms if type(t) in _CHANGES}
        if changes or self._is_float8 or self.parameter.role in self.mlc.float32:
            change = {"change": changes.pop()} if changes else {}
            return {"parts": [self._whole(first)], **change}
        joined, axis = [], 0
        for part in self.parts:
            stored = self._stored(self.mlc.prefix + part.tensor, part.source_shape)[index]
            made = {"name": stored.name, "shape": list(stored.shape), "dtype": _dtype(stored)}
            if part.transforms or len(self.parts) > 1:
                axis, rows = self._rows(part, index)
                made |= {"rows": rows} if part.transforms else {}
            joined.append(made)
        return {"parts": joined, **({"axis": axis} if axis else {})}

    def _whole(self, part: Part) -> dict[str, Any]:
        """A tensor whose elements are changed."""
        assert all(other.tensor == part.tensor for other in self.parts), part
        role, name = self.parameter.role, self.mlc.prefix + part.tensor
        made = {"name": name, "shape": list(part.source_shape), "dtype": self.scheme.model_dtype}
        if role in self.mlc.float32:
            made["dtype"] = "float32"
        if self._is_float8:
            made |= {"dtype": _FLOAT8, "scales": f"{name}_scale_inv"}
        return made

    @property
    def _is_float8(self) -> bool:
        return self.scheme.keeps_float8 and self.parameter.role in self.mlc.float8

    def _rows(self, part: Part, index: int) -> tuple[int, list[list[int]]]:
        """The axis along which the scheme's tensor has outputs, and which of its places the part
        takes."""
        granule, axis, size = self._outputs(part.source_shape[1:], index)
        outputs = apply_all(part.transforms, np.arange(part.source_shape[0]))
        is_last = part is self.parts[-1]
        whole = len(outputs) // granule * granule
        blocks = outputs[:whole].reshape(-1, granule)
        together = np.array_equal(blocks, blocks[:, :1] + np.arange(granule))
        if (len(outputs) > whole and not is_last) or not together or (blocks[:, 0] % granule).any():
            raise self._refused(f"in blocks of {granule} outputs")
        first = blocks[:, :1] // granule * size
        places = (first + np.arange(size)).reshape(-1)
        if len(outputs) > whole and part.transforms:
            raise self._refused(f"in blocks of {granule} outputs")
        return axis, runs(places)

    def _outputs(self, inputs: tuple[int, ...], index: int) -> tuple[int, int, int]:
        """How many outputs the scheme keeps together, the axis that has them, and how many places
        there they take."""
        if self._use is None:
            return 1, 0, 1
        rows = sum(self.parameter.pieces)
        granule = self.scheme.stacked(self.parameter.name, (rows, *inputs), self._use)[0].granule
        once, twice = (
            self._stored(self.parameter.name, (n * granule, *inputs))[index].shape for n in (1, 2)
        )
        for axis, (one, two) in enumerate(zip(once, twice, strict=True)):
            if one != two:
                return granule, axis, two - one
        raise self._refused("with one factor for a whole tensor")

    def _refused(self, how: str) -> UnsupportedError:
        return UnsupportedError(
            f"quantization {self.scheme.name} stores weights {how}, so that the tensors of which "
            f"{self.parameter.name} is made in a folder by MLC-LLM cannot be joined; convert the "
            "model from its Hugging Face folder",
            param="quantization",
        )


def _dtype(param: StoredParam) -> str:
    return _FLOAT8 if param.dtype.startswith("float8") else param.dtype


def runs(places: Array) -> list[list[int]]:
    """The places as loops [first, count, step, ...], the outermost count first: one list if they
    are regular, otherwise several."""
    if not len(places):  # of a last part that is smaller than a block
        return []
    loops = _loops(places)
    if loops is not None:
        return [[int(places[0]), *loops]]
    found, start = [], 0
    steps = np.diff(places)
    while start < len(places):  # each as long as its step stays
        step = int(steps[start]) if start < len(steps) else 1
        stop = start + 1
        while stop < len(places) and step > 0 and steps[stop - 1] == step:
            stop += 1
        found.append([int(places[start]), stop - start, max(step, 1)])
        start = stop
    return found


def _loops(places: Array) -> list[int] | None:
    if len(places) == 1:
        return [1, 1]
    steps = np.diff(places)
    other = np.flatnonzero(steps != steps[0])
    count = int(other[0]) + 1 if len(other) else len(places)
    if steps[0] < 1 or len(places) % count:
        return None
    inner = [count, int(steps[0])]
    if count == len(places):
        return inner
    blocks = places.reshape(-1, count)
    if (blocks - blocks[:, :1] != blocks[0] - blocks[0, 0]).any():
        return None
    outer = _loops(blocks[:, 0])
    return None if outer is None else [*outer, *inner]

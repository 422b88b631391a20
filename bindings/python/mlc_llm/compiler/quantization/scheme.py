"""The interface of a quantization scheme.

A scheme says how a weight is converted, which tensors are stored with which names, and which
readers the kernels of CPUs and GPUs use. Nothing outside of this folder asks which scheme it has.

    for matrix in scheme.matrices("lm_head.weight", (49152, 576), "lm_head"):
        matrix.stored                  # the tensors in the weight files
        matrix.on_cpu()                # a reader of kernels/cpu/matrices.py
        matrix.cut(range(32)).on_gpu() # a reader of kernels/gpu/packs.py, of the first 32 outputs

A new scheme is a file here with a `Matrix` for each new form of storage, and a line in the table of
`schemes.py`. Nothing here imports TVM, except inside `on_cpu` and `on_gpu`, because a converter
does not need a compiler.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from mlc_llm.compiler.quantization.pack import cast_rows
from mlc_llm.compiler.quantization.stored import STRIP, Float8Part, StoredParam, WeightUse
from mlc_llm.errors import UnsupportedError

if TYPE_CHECKING:
    from mlc_llm.compiler.kernels.cpu.matrices import CPUMatrix
    from mlc_llm.compiler.kernels.gpu.packs import Packs

TOWER = "tower_quantization"  # the field of an mlc-chat-config.json
Array = np.ndarray[Any, Any]
Converted = tuple[StoredParam, Iterable[Array]]  # a tensor and its rows, in chunks


class WeightRows(Protocol):
    """The weight to convert, by rows (outputs). Data is read only when it is requested."""

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def num_rows(self) -> int:
        """The rows of all experts together, if the shape has an axis for experts."""

    def floats(self, rows: range) -> Iterator[Array]:
        """Chunks of those rows as floats. All are finite numbers."""

    def blocks(self, rows: range) -> Iterator[Array]:
        """Chunks of those rows as a GGUF file stores them, uint8 (rows, bytes of a row)."""

    def tensors(self, suffix: str) -> list[Array]:
        """For a repository that is quantized already: that tensor ("qweight", ...), unchanged, of
        each module from which the weight is stacked."""

    @property
    def importance(self) -> Array | None:
        """How much each input matters, float32 (inputs,), if the converter knows it."""

    def float8_parts(self) -> list[Float8Part] | None:
        """The weight's parts, if all of them are 8-bit floats with scales for blocks of 128 x 128
        already."""


class Matrix(Protocol):
    """Neighbouring rows of a weight (out, in) that are stored in the same form; usually all
    rows."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def stored(self) -> tuple[StoredParam, ...]: ...

    @property
    def granule(self) -> int:
        """The number of outputs that cannot be divided."""

    @property
    def inputs_together(self) -> int:
        """The number of inputs that cannot be divided."""

    def cut(self, outputs: range) -> Matrix:
        """The matrix of those outputs. They begin at a multiple of the granule, and end at one or
        at the end."""

    def convert(self, rows: WeightRows, outputs: range) -> Sequence[Iterable[Array]]:
        """The arrays of `stored`, each in chunks along its first axis."""

    def floats(self, arrays: Sequence[Array]) -> Array:
        """The values of stored arrays: (out, in), float32."""

    def on_cpu(self) -> CPUMatrix: ...

    def on_gpu(self) -> Packs: ...


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """How all weights of a model are stored. A scheme has `matrices`; the rest follows."""

    name: str
    model_dtype: str  # of tensors that no scheme quantizes; with float16 some devices compute in it
    tower: str = ""  # the scheme of the linear weights of what reads pictures; "": floats

    @property
    def exact(self) -> bool:
        """Whether weights are plain floats. Then nothing else should be less exact."""
        return False

    @property
    def keeps_float8(self) -> bool:
        """Whether weights that are `WeightRows.float8_parts` stay as they are."""
        return False

    def with_plain(self, uses: frozenset[Any]) -> Any:
        """The scheme that leaves those weights plain. Error: UnsupportedError if it cannot."""
        if not uses or self.exact:
            return self
        raise UnsupportedError(
            f"quantization {self.name} cannot leave the weights of {', '.join(uses)} plain, as "
            "folders by MLC-LLM have them in this family; convert the model from its Hugging Face "
            "folder",
            param="quantization",
        )

    def matrices(self, name: str, shape: tuple[int, int], use: WeightUse) -> Sequence[Matrix]:
        """The matrices of the weight `name` ("....weight"), whose plain shape is `shape`."""
        raise NotImplementedError

    def stacked(self, name: str, shape: tuple[int, ...], use: WeightUse) -> Sequence[Matrix]:
        """The same for a stack (experts, out, in): one matrix with the rows of all experts. Its
        stored tensors have an axis for experts before the others."""
        if use == "tower":
            return [self._of_tower(name, (shape[0], shape[1]))]
        if use != "experts":
            rows, ins = shape
            return self.matrices(name, (rows, ins), use)
        experts, outs, ins = shape
        made = self.matrices(name, (experts * outs, ins), use)
        if len(made) > 1 or outs % made[0].granule:
            raise UnsupportedError(
                f"{name}: quantization {self.name} cannot store these experts: they need one type "
                f"for all, and a multiple of {made[0].granule} outputs, not {outs}; choose another "
                "--quantization, such as q4f16_1",
                param="quantization",
            )
        return [_with_experts(made[0], experts)]

    def _of_tower(self, name: str, shape: tuple[int, int]) -> Matrix:
        """Inputs that are no whole vectors stay floats, as those of the first layer often are."""
        from mlc_llm.compiler.quantization.plain import TowerMatrix
        from mlc_llm.compiler.quantization.schemes import get

        if self.tower and shape[1] % STRIP == 0:
            (matrix,) = get(self.tower).matrices(name, shape, "linear")
            return cast("Matrix", replace(matrix, pads=True))
        return TowerMatrix.of(name, shape, self.model_dtype if self.exact else "float16")

    def with_rows(self, name: str, rows: int) -> Any:
        """The scheme of a model whose stack `name` has so many rows."""
        return self

    def stored_params(
        self, name: str, shape: tuple[int, ...], *, use: WeightUse | None
    ) -> tuple[StoredParam, ...]:
        """All stored tensors for the tensor `name`."""
        if use is None:
            return (StoredParam(name, shape, self.model_dtype),)
        return tuple(p for matrix in self.stacked(name, shape, use) for p in matrix.stored)

    def convert(self, rows: WeightRows, *, use: WeightUse | None) -> Iterator[Converted]:
        """The same with the content, one tensor after another."""
        if use is None:
            (param,) = self.stored_params(rows.name, rows.shape, use=None)
            yield param, cast_rows(rows.name, rows.floats(range(rows.num_rows)), param.dtype)
            return
        first = 0
        for matrix in self.stacked(rows.name, rows.shape, use):
            outputs = range(first, first + matrix.shape[0])
            yield from zip(matrix.stored, matrix.convert(rows, outputs), strict=True)
            first = outputs.stop

    def source_suffixes(self, use: WeightUse | None) -> tuple[str, ...]:
        """The tensors of a module that a model in safetensors must have: usually its weight."""
        return ("weight",)

    def config_fields(self) -> dict[str, Any]:
        """The fields of the scheme in mlc-chat-config.json, besides its name."""
        return {TOWER: self.tower} if self.tower else {}


def _with_experts(matrix: Any, experts: int) -> Matrix:
    stored = (
        replace(p, shape=(experts, p.shape[0] // experts, *p.shape[1:])) for p in matrix.stored
    )
    changed: Matrix = replace(matrix, stored=tuple(stored))
    return changed


def no_experts(scheme: str) -> UnsupportedError:
    """The error of a scheme without a form for experts."""
    return UnsupportedError(
        f"quantization {scheme} has no form for the weights of experts; choose another one, such "
        "as q4f16_1",
        param="quantization",
    )

"""How a GPU kernel reads a weight matrix (out, in): in packs of neighbours along the inputs.

A pack is one word of a quantized matrix, or four floats of a plain one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.cpu.function import Arg
from mlc_llm.compiler.kernels.gpu.grid import emit_value, scalar, to_float
from mlc_llm.compiler.quantization import AnyScheme, Scheme, StoredParam, WeightUse
from mlc_llm.errors import UnsupportedError


@dataclass(frozen=True)
class Packs:
    """`by_columns`: the matrix is stored (in, out), as `_0` schemes do."""

    stored: tuple[StoredParam, ...]
    scheme: Scheme | None  # None: plain floats
    by_columns: bool
    ins: int

    @property
    def size(self) -> int:
        """Weights in a pack."""
        return self.scheme.codes_per_word if self.scheme else 4

    @property
    def count(self) -> int:
        """Packs along a row; the last may be padded."""
        return -(-self.ins // self.size)

    @property
    def step(self) -> int:
        """Packs that belong together: of one scale, or about 32 weights."""
        return self.scheme.words_per_group if self.scheme else 8

    @property
    def args(self) -> list[Arg]:
        return [Arg(f"weight{i}", p.shape, p.dtype) for i, p in enumerate(self.stored)]

    def emit(self, buffers: Any, out: Any, pack: Any) -> list[Any]:
        """The weights of a pack, as float32."""
        if self.scheme is None:
            return [self._plain(buffers[0], out, pack * self.size + i) for i in range(self.size)]
        scheme = self.scheme
        scale = emit_value(to_float(self._at(buffers[1], out, pack // scheme.words_per_group), 1))
        word = emit_value(self._at(buffers[0], out, pack))
        mask = T.uint32((1 << scheme.bits) - 1)
        codes = [
            T.bitwise_and(T.shift_right(word, T.uint32(i * scheme.bits)), mask)
            for i in range(self.size)
        ]
        zero = scalar(float(scheme.qmax))
        return [(T.Cast("float32", code) - zero) * scale for code in codes]

    def _at(self, buffer: Any, out: Any, place: Any) -> Any:
        return buffer[place, out] if self.by_columns else buffer[out, place]

    def _plain(self, buffer: Any, out: Any, place: Any) -> Any:
        """The last pack may reach beyond the row."""
        inside = place if self.ins % self.size == 0 else T.min(place, self.ins - 1)
        return to_float(self._at(buffer, out, inside), 1)


def packs_of(scheme: AnyScheme, name: str, shape: tuple[int, int], use: WeightUse | None) -> Packs:
    if not isinstance(scheme, Scheme):
        raise UnsupportedError(
            f'quantization "{scheme.name}" has no GPU kernels yet; use q4f32_1, or q4f16_1 where '
            "the device has 16-bit floats",
            param="quantization",
        )
    stored = scheme.stored_params(name, shape, use=use)
    if not scheme.quantizes(use):
        return Packs(stored, None, False, shape[1])
    return Packs(stored, scheme, scheme.layout_of(use) == "KN", shape[1])

"""A product of many rows by a vendor's library, if the machine that runs the model has it.

The host asks at each launch, because one model library is for machines with and without it. The
vendor's library multiplies matrices of one type: float16 if the scheme's weights or scales are
float16, otherwise float32. So first the rows of x are rounded, and quantized weights are
dequantized.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg
from mlc_llm.compiler.kernels.gpu.grid import emit_spread, grid, scalar, to_float
from mlc_llm.compiler.kernels.gpu.packs import Packs
from mlc_llm.compiler.targets import LibraryGemm

_ITEMS = 128
# bytes of weights that are dequantized at a time: the cache size of a large GPU
_SLICE_BYTES = 32 << 20
_MAX_HALF = 65504.0


class GemmCall:
    """How the library multiplies a matrix. `of` returns None if it cannot."""

    def __init__(self, library: LibraryGemm, packs: Packs, shape: tuple[int, int]) -> None:
        self.library, self.packs = library, packs
        self.outs, self.ins = shape
        self.dtype = packs.library_dtype
        row_bytes = self.ins * (2 if self.dtype == "float16" else 4)
        slices = math.ceil(self.outs / max(1, _SLICE_BYTES // row_bytes))
        self.slice = math.ceil(self.outs / slices) if not packs.is_plain else self.outs

    @classmethod
    def of(
        cls, library: LibraryGemm | None, packs: Packs, shape: tuple[int, int]
    ) -> GemmCall | None:
        fits = library is not None and packs.library_dtype
        return cls(library, packs, shape) if library is not None and fits else None

    @property
    def scratch(self) -> list[Arg]:
        """The temporary tensors of a call: x, and a slice of the weights."""
        args = [Arg("rounded", ("n", self.ins), self.dtype)] if self.dtype == "float16" else []
        if not self.packs.is_plain:
            args.append(Arg("written_out", (self.slice, self.ins), self.dtype))
        return args

    def emit(self, product: Any, scratch: Mapping[str, Any], otherwise: Callable[[], None]) -> None:
        """`product` is from linear.py, `scratch` has the tensors by name. `otherwise` emits the
        kernel without the library."""
        with T.If(T.call_packed(self.library.is_there) != 0):
            with T.Then():
                self._emit_call(product, scratch)
            with T.Else():
                otherwise()

    def _emit_call(self, product: Any, scratch: Mapping[str, Any]) -> None:
        x = product.x
        if self.dtype == "float16":
            x = scratch["rounded"]
            self._emit_rounded(product, x)
        adds = product.bias is not None or product.residual is not None
        if adds:
            self._emit_summands(product)
        if self.packs.is_plain:
            self._emit_gemm(x, product.weights[0], product.y, 0, self.outs, adds)
            return
        with T.serial(math.ceil(self.outs / self.slice)) as index:
            first = index * self.slice
            count = T.min(self.slice, self.outs - first)
            self._emit_written_out(product.weights, scratch["written_out"], first, count)
            self._emit_gemm(x, scratch["written_out"], product.y, first, count, adds)

    def _emit_gemm(self, x: Any, w: Any, y: Any, first: Any, count: Any, adds: bool) -> None:
        T.evaluate(T.call_packed(self.library.function, x, w, y, first, count, int(adds)))

    def _emit_rounded(self, product: Any, rounded: Any) -> None:
        """float16 ends at 65,504. Larger values become 65,504."""
        with grid((product.rows,), _ITEMS) as ((row,), item):

            def store(k: Any) -> None:
                value = T.max(T.min(product.x[row, k], scalar(_MAX_HALF)), scalar(-_MAX_HALF))
                T.buffer_store(rounded, T.Cast("float16", value), [row, k])

            emit_spread(self.ins, _ITEMS, item, store)

    def _emit_summands(self, product: Any) -> None:
        """Writes the values to which the library adds the product."""
        with grid((product.rows,), _ITEMS) as ((row,), item):

            def store(out: Any) -> None:
                value = scalar(0.0) if product.bias is None else to_float(product.bias[out], 1)
                if product.residual is not None:
                    value = value + product.residual[row, out]
                T.buffer_store(product.y, value, [row, out])

            emit_spread(self.outs, _ITEMS, item, store)

    def _emit_written_out(self, weights: Any, slice_: Any, first: Any, count: Any) -> None:
        packs = self.packs
        with grid((count,), _ITEMS) as ((row,), item):

            def store_pack(pack: Any) -> None:
                for i, weight in enumerate(packs.emit(weights, first + row, pack)):
                    k = pack * packs.size + i
                    if self.ins % packs.size == 0:
                        T.buffer_store(slice_, T.Cast(self.dtype, weight), [row, k])
                        continue
                    with T.If(k < self.ins), T.Then():
                        T.buffer_store(slice_, T.Cast(self.dtype, weight), [row, k])

            def store_element(k: Any) -> None:  # neighbours write neighbouring elements
                weight = packs.element(weights, first + row, k)
                T.buffer_store(slice_, T.Cast(self.dtype, weight), [row, k])

            if packs.chunk is not None:
                emit_spread(self.ins, _ITEMS, item, store_element)
            else:
                emit_spread(packs.count, _ITEMS, item, store_pack)

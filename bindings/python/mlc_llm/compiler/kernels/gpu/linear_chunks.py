"""Products of a few rows with a quantized matrix, as `linear.py` by rows, with reads of 16 bytes.

The inputs are in shared memory, because work-items read them with large strides: reads of global
memory would take longer than those of the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.gpu.grid import (
    barrier,
    emit_fill,
    emit_spread,
    emit_sums,
    emit_value,
    grid,
    registers,
    scalar,
    shared,
    to_float,
)

if TYPE_CHECKING:
    from mlc_llm.compiler.kernels.gpu.linear import Product


def emit_few(product: Product, rows: int) -> None:
    """One launch that multiplies a few rows, or one."""
    s, packs, chunk = product.sizes, product.packs, product.packs.chunk
    items, outs = (s.items, s.outs) if rows == 1 else (s.few_items, s.few_outs)
    outs = min(outs, product.outs)
    inputs = _Inputs(product, chunk, rows, items)
    count, chunks = rows * outs, product.ins // chunk.size
    with grid((-(-product.outs // outs), product.row_groups(rows)), items) as ((og, rg), item):
        sums = registers(count)
        emit_fill(sums, count, 0.0)
        product.begin_row(rg * rows)
        inputs.allocate()

        def add(at) -> None:
            places = [T.min(og * outs + o, product.outs - 1) for o in range(outs)]
            read = [packs.emit_chunk(product.weights, product.base + o, at) for o in places]
            totals = [scalar(0.0)] * rows
            dots = [[scalar(0.0)] * rows for _ in range(outs)]
            for w in range(4):
                x = [inputs.emit_word(r, w, item) for r in range(rows)]
                for r in range(rows):
                    whole = [v * scalar(1 / f) for v, f in zip(x[r], chunk.factors, strict=True)]
                    totals[r] = emit_value(sum(whole, totals[r]))
                for o, (words, _) in enumerate(read):
                    codes = [emit_value(code) for code in chunk.codes(words[w])]
                    for r in range(rows):
                        products = [c * v for c, v in zip(codes, x[r], strict=True)]
                        dots[o][r] = emit_value(sum(products, dots[o][r]))
            for o, (_, scale) in enumerate(read):
                for r in range(rows):
                    value = (dots[o][r] - totals[r] * scalar(float(chunk.zero))) * scale
                    T.buffer_store(sums, sums[o * rows + r] + value, [o * rows + r])

        with T.serial(-(-chunks // items)) as step:
            inputs.emit_load(rg * rows, step, item)
            barrier()
            at = emit_value(step * items + item)
            if chunks % items == 0:
                add(at)
            else:
                with T.If(at < chunks), T.Then():
                    add(at)
            barrier()

        def store(index, value) -> None:
            out, row = index // rows, index % rows
            product.emit_store(rg * rows + row, og * outs + out, value)

        _emit_sums(sums, count, items, item, store)


def _emit_sums(sums, count: int, items: int, item, store: Callable) -> None:
    """Calls `store(i, total)` for the sum over the work-items of each of `count` sums."""
    if count < 16:
        partial = emit_sums(sums, item, items, count)
        with T.If(item < count), T.Then():
            store(item, partial[item])
        return
    # One work-item for each sum. One element between the sums avoids conflicts of banks.
    partial, total = shared(count * (items + 1)), registers(1)
    for i in range(count):
        T.buffer_store(partial, sums[i], [i * (items + 1) + item])
    barrier()

    def add_up(index) -> None:
        T.buffer_store(total, scalar(0.0), [0])
        with T.serial(items) as i:
            T.buffer_store(total, total[0] + partial[index * (items + 1) + i], [0])
        store(index, total[0])

    emit_spread(count, items, item, add_up)


class _Inputs:
    """The inputs that a work-group uses in one step, in shared memory: for each row, and each
    work-item's chunk of weights, its elements times the factors of their codes. 16 bytes between
    the chunks avoid conflicts of banks."""

    def __init__(self, product: Product, chunk: Any, rows: int, items: int) -> None:
        self.product, self.chunk, self.rows, self.items = product, chunk, rows, items
        self.stride = chunk.size + 4

    def allocate(self) -> None:
        self.memory = shared(self.rows * self.items * self.stride)

    def emit_load(self, row0, step, item) -> None:
        """Neighbours read neighbouring elements, four each."""
        product, size, items = self.product, self.chunk.size, self.items
        for r in range(self.rows):
            row = emit_value(T.min(row0 + r, product.rows - 1))

            def load(quad, r: int = r, row: Any = row) -> None:
                k = emit_value(step * (items * size) + quad * 4)
                with T.If(k < product.ins), T.Then():
                    read = emit_value(product.x[row, T.ramp(k, 1, 4)])
                    place = quad * 4 // size * self.stride + quad * 4 % size
                    for i in range(4):
                        value = to_float(T.Shuffle([read], [i]), 1) * self._factor(quad, i)
                        at = r * items * self.stride + place + i
                        T.buffer_store(self.memory, value, [at])

            emit_spread(items * size // 4, items, item, load)

    def _factor(self, quad, i: int):
        """Of element i of four, which are a part of a word or a whole one."""
        factors = self.chunk.factors
        if len(factors) == 4:
            return scalar(factors[i])
        return T.Select(quad % 2 == 0, scalar(factors[i]), scalar(factors[4 + i]))

    def emit_word(self, row: int, word: int, item) -> list:
        """The inputs of a word of the work-item's chunk."""
        size = self.chunk.word_size
        begin = (row * self.items + item) * self.stride + word * size
        read = [emit_value(self.memory[T.ramp(begin + i, 1, 4)]) for i in range(0, size, 4)]
        return [emit_value(T.Shuffle([vector], [i])) for vector in read for i in range(4)]

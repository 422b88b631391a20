"""RWKV 5, 6 and 7 on GPUs. What does not depend on a state is computed for all rows at once; then a
work-item has the state of one channel and walks the rows of its sequence (`recurrence.py`).

`dtypes` are the types of those rows that other layers give; all results are float32. No kernel has
more than 8 tensors, because WebGPU promises no more; so vectors of a row lie side by side in one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.common.recurrent import (
    DecayMixShape,
    NarrowShape,
    RowMixShape,
    ShiftShape,
    TimeMixShape,
    step_args,
)
from mlc_llm.compiler.kernels.gpu.elementwise import ACTIVATIONS, ITEMS, sigmoid
from mlc_llm.compiler.kernels.gpu.grid import (
    emit_fill,
    emit_group_sums,
    emit_spread,
    emit_value,
    grid,
    registers,
    scalar,
    shared,
    to_float,
)
from mlc_llm.compiler.kernels.gpu.recurrence import Column, Steps

MOST_TENSORS = 8
# Vectors of a row: of RWKV 7, and of RWKV 5 and 6, where "asked" is the key times the bonus.
TIME_VECTORS = ("unit", "taken", "key", "kept")
DECAY_VECTORS = ("key", "kept", "asked")
_SLOWEST = -math.exp(-0.5)  # of decays, as a power of e
_FASTEST = 60.0  # a decay from which on nothing is left
_UNIT_LENGTH = 1e-12  # the least length of a key that is scaled to 1


def shift(width: int, dtype: str = "float32") -> tirx.PrimFunc:
    """f(x [n, width], *steps, y [n, width]): the row before minus the row. `dtype` is that of x."""

    def body(x, source, indptr, writes, states, y) -> None:
        steps = Steps(source, indptr, writes, states)
        with grid((-(-width // ITEMS), source.shape[0]), ITEMS) as ((part, sequence), item):
            channel, past = emit_value(part * ITEMS + item), registers(1)

            def row(r) -> None:
                value = emit_value(to_float(x[r, channel], 1))
                T.buffer_store(y, past[0] - value, [r, channel])
                T.buffer_store(past, value, [0])

            def write(slot) -> None:
                T.buffer_store(states, past[0], [slot, 0, channel])

            with T.If(channel < width), T.Then():
                T.buffer_store(past, steps.emit_read(sequence, 0, channel), [0])
                steps.emit(sequence, row, write)

    x, y = Arg("x", ("n", width), dtype), Arg("y", ("n", width))
    return kernel([x, *step_args(1, width), y], body)


def mix_parts(shape: ShiftShape) -> list[range]:
    """The mixtures that each call of `mix` computes."""
    free = MOST_TENSORS - 2  # besides x and the change
    most = free // 2 if shape.apart else free - 1
    return [range(j, min(j + most, shape.count)) for j in range(0, shape.count, most)]


def mix(shape: ShiftShape, part: range, dtype: str = "float32") -> tirx.PrimFunc:
    """f(x [n, width], change [n, width], *mixes, *y [n, width]): the mixtures `part` of
    `kernels/cpu/rwkv.py`. If mixes are apart, only those of the part are given."""
    width = shape.width

    def body(x, change, *rest) -> None:
        mixes, made = rest[: -len(part)], rest[-len(part) :]
        with grid((-(-width // ITEMS), x.shape[0]), ITEMS) as ((place, row), item):
            k = emit_value(place * ITEMS + item)
            with T.If(k < width), T.Then():
                value = emit_value(to_float(x[row, k], 1))
                for i, (j, y) in enumerate(zip(part, made, strict=True)):
                    share = to_float(mixes[i][0, 0, k] if shape.apart else mixes[0][j, k], 1)
                    share = share if shape.of_before else scalar(1.0) - share
                    T.buffer_store(y, value + share * change[row, k], [row, k])

    given = [shape.mixes[j] for j in part] if shape.apart else shape.mixes
    rows = [Arg("x", ("n", width), dtype), Arg("change", ("n", width))]
    return kernel([*rows, *given, *(Arg(f"y{j}", ("n", width)) for j in part)], body)


def _rows(names: Sequence[str], width: int, dtypes: Sequence[str]) -> list[Arg]:
    return [Arg(n, ("n", width), dtype) for n, dtype in zip(names, dtypes, strict=True)]


def _emit_total(load: Callable, dim: int, item: Any) -> Any:
    """The sum of load(k) over a head, for all work-items of its group."""
    sums, partial = registers(1), shared(ITEMS)
    emit_fill(sums, 1, 0.0)
    emit_spread(dim, ITEMS, item, lambda k: T.buffer_store(sums, sums[0] + load(k), [0]))
    T.buffer_store(partial, sums[0], [item])
    emit_group_sums(partial, item, ITEMS, 1)
    return emit_value(partial[0])


def time_vectors(shape: TimeMixShape, dtypes: tuple[str, ...]) -> tirx.PrimFunc:
    """f(keys, decay, rate [n, width], key_scale, key_rate [width], y [n, 4 width]): TIME_VECTORS
    side by side (TimeMixSpec)."""
    rows, weights = ("keys", "decay", "rate"), ("key_scale", "key_rate")
    wide = shape.width

    def body(*buffers) -> None:
        given, y = dict(zip((*rows, *weights), buffers, strict=False)), buffers[-1]
        with grid((shape.heads, y.shape[0]), ITEMS) as ((head, row), item):
            first = emit_value(head * shape.head_dim)

            def of(name: str, k: Any) -> Any:
                where = (first + k,) if name in weights else (row, first + k)
                return to_float(given[name][where], 1)

            def square(k: Any) -> Any:
                value = emit_value(of("keys", k) * of("key_scale", k))
                return value * value

            length = T.sqrt(_emit_total(square, shape.head_dim, item))
            factor = emit_value(scalar(1.0) / T.max(length, scalar(_UNIT_LENGTH)))

            def store(k: Any) -> None:
                one, key = scalar(1.0), emit_value(of("keys", k))
                unit = emit_value(key * of("key_scale", k) * factor)
                rate = emit_value(sigmoid(of("rate", k)))
                found = {"unit": unit, "taken": unit * rate}
                found["key"] = key * (one + (rate - one) * of("key_rate", k))
                found["kept"] = T.exp(sigmoid(of("decay", k)) * scalar(_SLOWEST))
                for i, name in enumerate(TIME_VECTORS):
                    T.buffer_store(y, found[name], [row, i * wide + first + k])

            emit_spread(shape.head_dim, ITEMS, item, store)

    dtype_of = dict(zip(shape.WEIGHTS, shape.dtypes, strict=True))
    args = [*_rows(rows, wide, dtypes), *(Arg(n, (wide,), dtype_of[n]) for n in weights)]
    return kernel([*args, Arg("y", ("n", len(TIME_VECTORS) * wide))], body)


def mix_values(width: int, dtypes: tuple[str, ...]) -> tirx.PrimFunc:
    """f(values, first, share, y [n, width]): values + (first - values) * sigmoid(share)."""

    def body(values, first, share, y) -> None:
        with grid((-(-width // ITEMS), y.shape[0]), ITEMS) as ((part, row), item):
            k = emit_value(part * ITEMS + item)
            with T.If(k < width), T.Then():
                value = emit_value(to_float(values[row, k], 1))
                apart = to_float(first[row, k], 1) - value
                made = value + apart * sigmoid(to_float(share[row, k], 1))
                T.buffer_store(y, made, [row, k])

    rows = _rows(("values", "first", "share"), width, dtypes)
    return kernel([*rows, Arg("y", ("n", width))], body)


def time_scan(shape: TimeMixShape, dtypes: tuple[str, ...]) -> tirx.PrimFunc:
    """f(receptance [n, width], vectors [n, 4 width], values [n, width], *steps, y [n, width])."""

    def row(at: Callable, state: Column, total: Any, recalled: Any) -> None:
        values = state.values
        emit_fill(recalled, 1, 0.0)
        emit_fill(total, 1, 0.0)
        with T.serial(shape.head_dim) as i:
            T.buffer_store(recalled, recalled[0] - at("unit", i) * values[i], [0])
        value = emit_value(at("values", state.column))
        with T.serial(shape.head_dim) as i:
            made = at("kept", i) * values[i] + at("taken", i) * recalled[0]
            made = emit_value(made + at("key", i) * value)
            T.buffer_store(total, total[0] + at("receptance", i) * made, [0])
            T.buffer_store(values, made, [i])

    return _scan(shape, TIME_VECTORS, dtypes, row)


def _scan(
    shape: Any, vectors: Sequence[str], dtypes: tuple[str, ...], row: Callable
) -> tirx.PrimFunc:
    """`row(at, state, total, spare)`: takes a row up into the state of a channel and leaves what it
    answers in `total`; at(name, i) is element i of the head. `dtypes`: of receptance and values."""
    dim, wide = shape.head_dim, shape.width

    def body(receptance, packed, values, source, indptr, writes, states, y) -> None:
        steps, parts = Steps(source, indptr, writes, states), -(-dim // ITEMS)
        with grid((parts * shape.heads, source.shape[0]), ITEMS) as ((group, sequence), item):
            head, column = emit_value(group // parts), emit_value(group % parts * ITEMS + item)
            state = Column(steps, dim, dim, head, column, registers(dim))
            first, total, spare = emit_value(head * dim), registers(1), registers(1)

            def one(r: Any) -> None:
                def at(name: str, i: Any) -> Any:
                    if name in vectors:
                        return packed[r, vectors.index(name) * wide + first + i]
                    buffer = receptance if name == "receptance" else values
                    return to_float(buffer[r, first + i], 1)

                row(at, state, total, spare)
                T.buffer_store(y, total[0], [r, first + column])

            with T.If(column < dim), T.Then():
                state.emit_begin(sequence)
                steps.emit(sequence, one, state.emit_write)

    receptance, values = _rows(("receptance", "values"), wide, dtypes)
    packed = Arg("vectors", ("n", len(vectors) * wide))
    steps, y = step_args(*shape.state), Arg("y", ("n", wide))
    return kernel([receptance, packed, values, *steps, y], body)


def decay_vectors(shape: DecayMixShape, dtypes: tuple[str, ...]) -> tirx.PrimFunc:
    """f(keys [n, width], decay [n, width] or [heads, head_dim], bonus [heads, head_dim],
    y [n, 3 width]): DECAY_VECTORS side by side. `dtypes`: of keys, and of decays of rows."""
    wide, dim = shape.width, shape.head_dim

    def body(keys, decay, bonus, y) -> None:
        with grid((-(-wide // ITEMS), y.shape[0]), ITEMS) as ((part, row), item):
            k = emit_value(part * ITEMS + item)
            with T.If(k < wide), T.Then():
                own = (emit_value(k // dim), emit_value(k % dim))
                key = emit_value(to_float(keys[row, k], 1))
                rate = to_float(decay[(row, k) if shape.by_row else own], 1)
                rate = T.exp(T.min(rate, scalar(_FASTEST)))
                found = {"key": key, "kept": T.exp(scalar(0.0) - rate)}
                found["asked"] = key * to_float(bonus[own], 1)
                for i, name in enumerate(DECAY_VECTORS):
                    T.buffer_store(y, found[name], [row, i * wide + k])

    weights = {weight.name: weight for weight in shape.weights}
    if shape.by_row:
        given = _rows(("keys", "decay"), wide, dtypes)
    else:
        given = [*_rows(("keys",), wide, dtypes), weights["decay"]]
    return kernel([*given, weights["bonus"], Arg("y", ("n", len(DECAY_VECTORS) * wide))], body)


def decay_scan(shape: DecayMixShape, dtypes: tuple[str, ...]) -> tirx.PrimFunc:
    """f(receptance [n, width], vectors [n, 3 width], values [n, width], *steps, y [n, width]): the
    step of RWKV 5 and 6 (spec.DecayMixSpec)."""

    def row(at: Callable, state: Column, total: Any, spare: Any) -> None:
        values = state.values
        emit_fill(total, 1, 0.0)
        value = emit_value(at("values", state.column))
        with T.serial(shape.head_dim) as i:
            before = emit_value(values[i])
            asked = at("asked", i) * value + before
            T.buffer_store(total, total[0] + at("receptance", i) * asked, [0])
            T.buffer_store(values, at("kept", i) * before + at("key", i) * value, [i])

    return _scan(shape, DECAY_VECTORS, dtypes, row)


def bonus_values(shape: TimeMixShape, dtypes: tuple[str, ...]) -> tirx.PrimFunc:
    """f(receptance [n, width], vectors [n, 4 width], values [n, width], bonus [width],
    y [n, width]): values * the head's sum(receptance * key * bonus)."""
    dim, wide, bonus_dtype = shape.head_dim, shape.width, shape.dtypes[2]

    def body(receptance, packed, values, bonus, y) -> None:
        with grid((shape.heads, y.shape[0]), ITEMS) as ((head, row), item):
            first = emit_value(head * dim)
            keys = emit_value(first + TIME_VECTORS.index("key") * wide)

            def product(k: Any) -> Any:
                share = to_float(receptance[row, first + k], 1) * packed[row, keys + k]
                return share * to_float(bonus[first + k], 1)

            total = _emit_total(product, dim, item)

            def store(k: Any) -> None:
                value = to_float(values[row, first + k], 1)
                T.buffer_store(y, total * value, [row, first + k])

            emit_spread(dim, ITEMS, item, store)

    receptance, values = _rows(("receptance", "values"), wide, dtypes)
    packed = Arg("vectors", ("n", len(TIME_VECTORS) * wide))
    bonus = Arg("bonus", (wide,), bonus_dtype)
    return kernel([receptance, packed, values, bonus, Arg("y", ("n", wide))], body)


def head_norm(
    shape: TimeMixShape | DecayMixShape, norm_dtypes: tuple[str, ...], dtype: str
) -> tirx.PrimFunc:
    """f(x, gate, (added) [n, width], norm weight, norm bias [width], y [n, width]): RWKV 7:
    (norm(x) + added) * gate. RWKV 5 and 6: norm(x) * silu(gate). `dtype` is the gate's."""
    adds, dim = isinstance(shape, TimeMixShape), shape.head_dim

    def body(x, gates, *rest) -> None:
        *added, weight, bias, y = rest
        with grid((shape.heads, y.shape[0]), ITEMS) as ((head, row), item):
            first, share = emit_value(head * dim), scalar(1.0 / dim)
            mean = emit_value(_emit_total(lambda k: x[row, first + k], dim, item) * share)

            def square(k: Any) -> Any:
                value = emit_value(x[row, first + k] - mean)
                return value * value

            variance = _emit_total(square, dim, item) * share
            factor = emit_value(scalar(1.0) / T.sqrt(variance + scalar(shape.eps)))

            def store(k: Any) -> None:
                place = emit_value(first + k)
                value = (x[row, place] - mean) * factor * to_float(weight[place], 1)
                value = value + to_float(bias[place], 1)
                gate = emit_value(to_float(gates[row, place], 1))
                if adds:
                    made = (value + added[0][row, place]) * gate
                else:
                    made = value * (gate * sigmoid(gate))
                T.buffer_store(y, made, [row, place])

            emit_spread(dim, ITEMS, item, store)

    row = ("n", shape.width)
    rows = [Arg("x", row), Arg("gate", row, dtype), *([Arg("added", row)] if adds else [])]
    norm = [Arg(f"norm{i}", (shape.width,), own) for i, own in enumerate(norm_dtypes)]
    return kernel([*rows, *norm, Arg("y", row)], body)


def narrow(shape: NarrowShape) -> tirx.PrimFunc:
    """As `kernels/cpu/rwkv6.py` has it."""

    def body(x, weight, *rest) -> None:
        *bias, y = rest
        with grid((-(-shape.outs // ITEMS), y.shape[0]), ITEMS) as ((part, row), item):
            k, total = emit_value(part * ITEMS + item), registers(1)
            with T.If(k < shape.outs), T.Then():
                emit_fill(total, 1, 0.0)
                with T.serial(shape.ins) as i:
                    made = total[0] + x[row, i] * to_float(weight[i, k], 1)
                    T.buffer_store(total, made, [0])
                value = total[0] + to_float(bias[0][0, 0, k], 1) if bias else total[0]
                activation = ACTIVATIONS.get(shape.activation, lambda x: x)
                T.buffer_store(y, activation(emit_value(value)), [row, k])

    return kernel(shape.args, body)


def row_mix_parts(shape: RowMixShape) -> list[range]:
    """The mixtures that each call of `row_mix` computes."""
    most = (MOST_TENSORS - 4) // 2
    return [range(j, min(j + most, shape.count)) for j in range(0, shape.count, most)]


def row_mix(shape: RowMixShape, part: range, dtype: str = "float32") -> tirx.PrimFunc:
    """f(x, change [n, width], hidden [n, count rank], up [count, rank, width], *mixes
    [1, 1, width], *y [n, width]): the mixtures `part` of `kernels/cpu/rwkv6.py`, whose mixes alone
    are given. `dtype` is that of x."""

    def body(x, change, hidden, up, *rest) -> None:
        mixes, made = rest[: len(part)], rest[len(part) :]
        with grid((-(-shape.width // ITEMS), x.shape[0]), ITEMS) as ((place, row), item):
            k, total = emit_value(place * ITEMS + item), registers(1)
            with T.If(k < shape.width), T.Then():
                for j, own, y in zip(part, mixes, made, strict=True):
                    T.buffer_store(total, to_float(own[0, 0, k], 1), [0])
                    with T.serial(shape.rank) as i:
                        share = hidden[row, j * shape.rank + i] * to_float(up[j, i, k], 1)
                        T.buffer_store(total, total[0] + share, [0])
                    mixed = to_float(x[row, k], 1) + total[0] * change[row, k]
                    T.buffer_store(y, mixed, [row, k])

    x, *others = shape.args
    rows, mixes, made = others[:3], others[3 : 3 + shape.count], others[3 + shape.count :]
    args = [*rows, *(mixes[j] for j in part), *(made[j] for j in part)]
    return kernel([Arg(x.name, x.shape, dtype), *args], body)

"""The kernels of RWKV 5, 6 and 7 on every backend of GPUs here, against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")

import gpu_tools  # noqa: E402
import test_rwkv  # noqa: E402
import test_rwkv6  # noqa: E402
from kernel_tools import frozen  # noqa: E402
from step_states import SLOTS, Step, check_states, random, rows_one_by_one  # noqa: E402

from mlc_llm.compiler.kernels.common.recurrent import (  # noqa: E402
    DecayMixShape,
    NarrowShape,
    RowMixShape,
    ShiftShape,
    TimeMixShape,
)
from mlc_llm.compiler.kernels.gpu import rwkv  # noqa: E402

Array = np.ndarray[Any, Any]
FLOATS = ("float32",)


@pytest.fixture(params=gpu_tools.BACKENDS)
def compiled(request: pytest.FixtureRequest) -> Callable[[Any], Callable[..., None]]:
    gpu_tools.require(request.param)
    return partial(gpu_tools.compiled, backend=request.param)


def made(kernel: Any, given: list[Array], shape: tuple[int, ...], count: int = 1) -> list[Array]:
    results = [np.full(shape, np.nan, np.float32) for _ in range(count)]
    kernel(*map(frozen, given), *results)
    return results


@pytest.mark.parametrize(("apart", "of_before"), [(True, True), (True, False), (False, True)])
def test_a_row_is_mixed_with_the_row_before(compiled, apart, of_before):
    rng, step, width, count = np.random.default_rng(4), Step(9), 80, 7
    x, mixes = random(rng, step.rows, width), random(rng, count, 1, 1, width)
    shape = ShiftShape(width=width, count=count, apart=apart, of_before=of_before)
    before = random(rng, SLOTS, *shape.state)
    states, change = before.copy(), np.zeros_like(x)
    compiled(rwkv.shift(width))(frozen(x), *step.arrays(), states, change)
    past = np.concatenate([np.zeros((1, width), np.float32), x[:-1]])
    for first, _, slot in step.spans:
        past[first] = before[slot, 0] if slot >= 0 else 0
    np.testing.assert_allclose(change, past - x, rtol=1e-6)
    check_states(step, before, states, {r: x[r : r + 1] for r in range(step.rows)})
    start, end = (x, past) if of_before else (past, x)
    parts = rwkv.mix_parts(shape)
    assert [j for part in parts for j in part] == list(range(count)) and len(parts) > 1
    for part in (parts[0], parts[-1]):
        given = [mixes[j] for j in part] if apart else [mixes.reshape(count, width)]
        found = made(compiled(rwkv.mix(shape, part)), [x, change, *given], x.shape, len(part))
        for j, y in zip(part, found, strict=True):
            np.testing.assert_allclose(y, start + mixes[j, 0] * (end - start), rtol=1e-3, atol=1e-5)


def walked(kernel: Any, step: Step, given: list[Array], shape: Any, states_of: Any) -> Array:
    """Walks the rows of a step; they have the same bits one by one. `states_of(rows, state)`:
    NumPy's states [head, key, value] behind the rows of a sequence."""
    heads, dim = shape.heads, shape.head_dim
    before = random(np.random.default_rng(9), SLOTS, *shape.state)
    states, y = before.copy(), np.zeros((step.rows, shape.width), np.float32)
    kernel(*map(frozen, given), *step.arrays(), states, y)
    kept: dict[int, Array] = {}
    for first, end, slot in step.spans:
        empty = np.zeros((heads, dim, dim))
        state = before[slot].reshape(empty.shape).astype(np.float64) if slot >= 0 else empty
        kept.update(zip(range(first, end), states_of(slice(first, end), state), strict=True))
    check_states(step, before, states, kept)
    alone = rows_one_by_one(kernel, given, before[2], step, shape.width)
    assert np.array_equal(alone, y[4:])
    return y


@pytest.mark.parametrize("mixes_values", [False, True])
def test_a_head_of_rwkv_7(compiled, mixes_values):
    rng, step = np.random.default_rng(6), Step(9)
    shape = TimeMixShape(heads=3, head_dim=16, eps=0.3, mixes_values=mixes_values)
    rows = [random(rng, step.rows, shape.width) for _ in range(8 if mixes_values else 6)]
    weights = [random(rng, shape.width) for _ in TimeMixShape.WEIGHTS]
    receptance, keys, values, decay, rate, gate, *mixed = rows
    scale, key_rate, bonus, *norm = weights
    packed, whole = (step.rows, 4 * shape.width), np.zeros(keys.shape)
    kernel = compiled(rwkv.time_vectors(shape, FLOATS * 3))
    (vectors,) = made(kernel, [keys, decay, rate, scale, key_rate], packed)
    if mixed:
        kernel = compiled(rwkv.mix_values(shape.width, FLOATS * 3))
        (values,) = made(kernel, [values, *mixed], keys.shape)

    def states_of(own: slice, state: Array) -> list[Array]:
        turned = state.swapaxes(1, 2)
        whole[own], after = test_rwkv.stepped(shape, [t[own] for t in rows], weights, turned)
        return after

    scan = compiled(rwkv.time_scan(shape, FLOATS * 2))
    y = walked(scan, step, [receptance, vectors, values], shape, states_of)
    kernel = compiled(rwkv.bonus_values(shape, FLOATS * 2))
    (added,) = made(kernel, [receptance, vectors, values, bonus], keys.shape)
    kernel = compiled(rwkv.head_norm(shape, FLOATS * 2, "float32"))
    (answer,) = made(kernel, [y, gate, added, *norm], keys.shape)
    np.testing.assert_allclose(answer, whole, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("by_row", [False, True])
def test_a_head_of_rwkv_5_and_6(compiled, by_row):
    rng, step = np.random.default_rng(7), Step(9)
    shape = DecayMixShape(heads=3, head_dim=16, eps=64e-5, by_row=by_row)
    rows = [random(rng, step.rows, shape.width) for _ in shape.rows]
    weights = [random(rng, *weight.shape) for weight in shape.weights]
    receptance, keys, values, gate, *decay = rows
    *constant, bonus, norm, bias = weights
    kernel = compiled(rwkv.decay_vectors(shape, FLOATS * (1 + by_row)))
    packed, whole = (step.rows, 3 * shape.width), np.zeros(keys.shape)
    (vectors,) = made(kernel, [keys, *decay, *constant, bonus], packed)

    def states_of(own: slice, state: Array) -> list[Array]:
        whole[own], after = test_rwkv6.stepped(shape, [t[own] for t in rows], weights, state)
        return after

    scan = compiled(rwkv.decay_scan(shape, FLOATS * 2))
    y = walked(scan, step, [receptance, vectors, values], shape, states_of)
    kernel = compiled(rwkv.head_norm(shape, FLOATS * 2, "float32"))
    (answer,) = made(kernel, [y, gate, norm, bias], keys.shape)
    np.testing.assert_allclose(answer, whole, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("activation", ["tanh", None])
def test_a_linear_layer_with_its_inputs_first(compiled, activation):
    rng, dtype = np.random.default_rng(8), None if activation else "float32"
    x, weight, bias = random(rng, 5, 48), random(rng, 48, 80) / 4, random(rng, 1, 1, 80)
    shape = NarrowShape(ins=48, outs=80, activation=activation, bias_dtype=dtype)
    given = [x, weight, *([] if activation else [bias])]
    (y,) = made(compiled(rwkv.narrow(shape)), given, (5, 80))
    expected = x.astype(np.float64) @ weight
    expected = np.tanh(expected) if activation else expected + bias[0]
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_each_row_has_mixes_of_its_own(compiled):
    rng, shape = np.random.default_rng(5), RowMixShape(width=80, rank=16, count=5)
    x, change, hidden = random(rng, 7, 80), random(rng, 7, 80), random(rng, 7, 80)
    ups, mixes = random(rng, 5, 16, 80), random(rng, 5, 1, 1, 80)
    for part in rwkv.row_mix_parts(shape)[1:]:
        given = [x, change, hidden, ups, *(mixes[j] for j in part)]
        found = made(compiled(rwkv.row_mix(shape, part)), given, x.shape, len(part))
        for j, y in zip(part, found, strict=True):
            mix = mixes[j, 0] + hidden[:, 16 * j : 16 * j + 16].astype(np.float64) @ ups[j]
            np.testing.assert_allclose(y, x + mix * change, rtol=1e-4, atol=1e-4)


def test_no_kernel_has_more_tensors_than_webgpu_promises():
    sizes = {"heads": 1, "head_dim": 16, "eps": 0.3}
    seven, six = TimeMixShape(**sizes, mixes_values=True), DecayMixShape(**sizes, by_row=True)
    apart = ShiftShape(width=16, count=4, apart=True)
    joined, own = ShiftShape(width=16, count=6), RowMixShape(width=16, rank=16, count=5)
    kernels = [
        rwkv.shift(16),
        *(rwkv.mix(shape, part) for shape in (apart, joined) for part in rwkv.mix_parts(shape)),
        *(rwkv.row_mix(own, part) for part in rwkv.row_mix_parts(own)),
        rwkv.time_vectors(seven, FLOATS * 3),
        rwkv.mix_values(16, FLOATS * 3),
        rwkv.time_scan(seven, FLOATS * 2),
        rwkv.bonus_values(seven, FLOATS * 2),
        rwkv.head_norm(seven, FLOATS * 2, "float32"),
        rwkv.decay_vectors(six, FLOATS * 2),
        rwkv.decay_scan(six, FLOATS * 2),
        rwkv.head_norm(six, FLOATS * 2, "float32"),
        rwkv.narrow(NarrowShape(ins=16, outs=16, bias_dtype="float32")),
    ]
    counts = [len(kernel.attrs["mlc.arguments"]) for kernel in kernels]
    assert max(counts) == 8, counts

"""RWKV's layers on GPUs: several kernels in place of the CPU's one (`kernels/gpu/rwkv.py`).

`step(kernel, args)` calls a kernel that goes on from the layer's states.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from tvm import relax

from mlc_llm.compiler.kernels.common.recurrent import (
    DecayMixShape,
    RowMixShape,
    ShiftShape,
    TimeMixShape,
)
from mlc_llm.compiler.kernels.gpu import rwkv
from mlc_llm.compiler.nn.tensors import num_rows, tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder

Step = Callable[[relax.GlobalVar, list], list[relax.Var]]


def _types(*rows: Any) -> tuple[str, ...]:
    return tuple(str(row.ty.dtype) for row in rows)


def _kernel(nn: Builder, name: str, key: tuple) -> relax.GlobalVar:
    return nn.kernel(name, key, partial(getattr(rwkv, name), *key))


def _call(nn: Builder, name: str, key: tuple, args: list, width: int) -> relax.Var:
    """The result has the rows of the first argument."""
    return nn.call(_kernel(nn, name, key), args, tensor(num_rows(args[0]), width))


def _calls(nn: Builder, name: str, key: tuple, args: list, width: int, count: int) -> list:
    """`count` results, each of as many rows as the first argument has."""
    out = [tensor(num_rows(args[0]), width)] * count
    made = nn.call(_kernel(nn, name, key), args, out if count > 1 else out[0])
    return nn.members_of(made, count) if count > 1 else [made]


def shift_mix(nn: Builder, shape: ShiftShape, x: Any, mixes: list, step: Step) -> list[relax.Var]:
    """The mixtures, and the change if the shape says so."""
    (dtype,) = _types(x)
    (change,) = step(_kernel(nn, "shift", (shape.width, dtype)), [x])
    made: list[relax.Var] = []
    for part in rwkv.mix_parts(shape):
        given = [mixes[j] for j in part] if shape.apart else mixes
        args = [x, change, *given]
        made += _calls(nn, "mix", (shape, part, dtype), args, shape.width, len(part))
    return [*made, change] if shape.gives_change else made


def row_mix(nn: Builder, shape: RowMixShape, rows: list, up: Any, mixes: list) -> list[relax.Var]:
    """`rows`: x, the change, and what the narrow layer makes of the first mixture."""
    made: list[relax.Var] = []
    for part in rwkv.row_mix_parts(shape):
        args, key = [*rows, up, *(mixes[j] for j in part)], (shape, part, *_types(rows[0]))
        made += _calls(nn, "row_mix", key, args, shape.width, len(part))
    return made


def time_mix(
    nn: Builder, shape: TimeMixShape, rows: list, weights: list[str], step: Step
) -> relax.Var:
    """RWKV 7. `rows` and `weights` are those of the CPU's kernel."""
    receptance, keys, values, decay, rate, gate, *mixed = rows
    scale, key_rate, bonus, *norm = map(nn.param, weights)
    wide, key = shape.width, (shape, _types(keys, decay, rate))
    packed = len(rwkv.TIME_VECTORS) * wide
    vectors = _call(nn, "time_vectors", key, [keys, decay, rate, scale, key_rate], packed)
    if mixed:
        key = (wide, _types(values, *mixed))
        values = _call(nn, "mix_values", key, [values, *mixed], wide)
    key = (shape, _types(receptance, values))
    (answer,) = step(_kernel(nn, "time_scan", key), [receptance, vectors, values])
    added = _call(nn, "bonus_values", key, [receptance, vectors, values, bonus], wide)
    key = (shape, shape.dtypes[-2:], *_types(gate))
    return _call(nn, "head_norm", key, [answer, gate, added, *norm], wide)


def decay_mix(
    nn: Builder, shape: DecayMixShape, rows: list, weights: list[str], step: Step
) -> relax.Var:
    """RWKV 5 and 6, in the same way."""
    receptance, keys, values, gate, *decay = rows
    *constant, bonus, norm_weight, norm_bias = map(nn.param, weights)
    wide, key = shape.width, (shape, _types(keys, *decay))
    packed = len(rwkv.DECAY_VECTORS) * wide
    vectors = _call(nn, "decay_vectors", key, [keys, *decay, *constant, bonus], packed)
    key = (shape, _types(receptance, values))
    (answer,) = step(_kernel(nn, "decay_scan", key), [receptance, vectors, values])
    key = (shape, shape.dtypes[-2:], *_types(gate))
    return _call(nn, "head_norm", key, [answer, gate, norm_weight, norm_bias], wide)

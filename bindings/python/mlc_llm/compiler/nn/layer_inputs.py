"""What layers get of a token besides the residual, and a learned factor on a layer's result."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from tvm import relax

from mlc_llm.compiler.kernels.cpu import layer_inputs as on_cpu
from mlc_llm.compiler.kernels.gpu import layer_inputs as on_gpu
from mlc_llm.compiler.nn.row_numbers import zeros
from mlc_llm.compiler.nn.tensors import num_rows, plain, tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.layers import layer_inputs as spec
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.spec.part import Place


_TYPED = ("add_inputs", "gate_input")  # on GPUs they are also made for the type of rows


def _call(
    nn: Builder, name: str, key: tuple, args: list, width: int, dtype: str = "float32"
) -> relax.Var:
    """Calls a kernel of the device. The result has the rows of the first argument."""
    own = (nn.row_dtype,) if name in _TYPED else ()
    key = nn.of(key, (*key, *own))
    kernel = nn.kernel(name, key, partial(getattr(nn.of(on_cpu, on_gpu), name), *key))
    return nn.call(kernel, args, tensor(num_rows(args[0]), width, dtype=dtype))


def side_by_side(nn: Builder, first: Any, second: Any, *widths: int) -> relax.Var:
    """(rows, their widths together). `widths`: of each; one number: both have it."""
    both = (widths[0], widths[-1])
    return _call(nn, "join", (both,), [plain(first), plain(second)], sum(both))


class LayerInputs:
    """The vectors of all layers (`LayerInputSpec`). A step gets embeddings without the tokens,
    so each embedding has the tokens' part of the vectors behind it."""

    def __init__(self, nn: Builder, inputs: spec.LayerInputSpec, at: Place) -> None:
        self.nn, self.hidden, self.layers = nn, at.hidden, len(at.spec.layers)
        self.size, self.wide = inputs.width, self.layers * inputs.width
        # the linear layer's results are divided by sqrt(hidden), which a norm does not see
        self.eps = inputs.norm.eps * at.hidden
        scale, table = (inputs.width / 2) ** 0.5, at.name("input_table")
        self.table = nn.embedding(table, inputs.entries, self.wide, scale=scale)
        self.linear = nn.linear(at.name("inputs"), self.wide, at.hidden)
        self.norm = f"{at.name('inputs_norm')}.weight"

    @property
    def width(self) -> int:
        """Of an embedding with the vectors."""
        return self.hidden + self.wide

    def join(self, x: relax.Expr, ids: relax.Expr) -> relax.Var:
        """The embeddings `x` of the tokens, each with the vectors behind it."""
        return side_by_side(self.nn, x, self.table(ids), self.hidden, self.wide)

    def of_tower(self, rows: Any, like: Any) -> relax.Var:
        """Rows of a tower, which are no tokens: behind them stand the vectors of the token 0."""
        return self.join(rows, zeros(self.nn, like))

    def split(self, rows: relax.Expr, batch: Batch) -> tuple[relax.Var, Batch]:
        """The embeddings, and the batch with the vectors of all layers."""
        nn, hidden = self.nn, self.hidden
        x = _call(nn, "first_columns", (self.width, hidden), [rows], hidden)
        key = (self.layers, self.size, hidden, self.eps, nn.stored(self.norm).dtype)
        args = [self.linear(x), rows, nn.param(self.norm)]
        return x, replace(batch, inputs=_call(nn, "add_inputs", key, args, self.wide))


class Levels:
    """Embeddings with vectors for the first layers behind them (`layers.pictures`)."""

    def __init__(self, nn: Builder, hidden: int, levels: int) -> None:
        self.nn, self.hidden, self.width = nn, hidden, hidden * (1 + levels)

    def join(self, x: relax.Expr, ids: relax.Expr) -> relax.Var:
        """Tokens have zeros."""
        return _call(self.nn, "widen", (self.hidden, self.width), [plain(x)], self.width)

    def of_tower(self, rows: Any, like: Any) -> Any:
        """A tower makes the vectors too."""
        return rows

    def split(self, rows: relax.Expr, batch: Batch) -> tuple[relax.Var, Batch]:
        """The embeddings, and the batch with all of the rows."""
        x = _call(self.nn, "first_columns", (self.width, self.hidden), [rows], self.hidden)
        return x, replace(batch, inputs=rows)


class AddedLevel:
    """x + the row's vector of a level."""

    def __init__(self, nn: Builder, hidden: int, level: int) -> None:
        self.nn, self.hidden, self.level = nn, hidden, level

    def __call__(self, x: relax.Expr, batch: Batch, memory: Memory) -> relax.Var:
        total = int(batch.inputs.ty.shape[1])
        key = (self.hidden, total, (1 + self.level) * self.hidden)
        return _call(self.nn, "add_columns", key, [plain(x), batch.inputs], self.hidden)


class LayerInput:
    """x + norm(up(activation(gate(x)) * the layer's vector))."""

    def __init__(self, nn: Builder, part: spec.LayerInput, at: Place) -> None:
        self.nn, self.size = nn, part.width
        self.key = (len(at.spec.layers), part.width, part.activation)
        self.layer = nn.constant(np.array([at.index], "int32"))
        self.gate = nn.linear(at.name("input_gate"), part.width, at.hidden)
        self.up = nn.linear(at.name("input_up"), at.hidden, part.width)
        self.norm = nn.norm(at.name("post_input_norm"), at.hidden, at.norm_spec)

    def __call__(self, x: relax.Expr, batch: Batch, memory: Memory) -> relax.Var:
        nn, args = self.nn, [self.gate(x), self.layer, batch.inputs]
        gated = _call(nn, "gate_input", self.key, args, self.size, nn.row_dtype)
        return self.norm.add(self.up(gated), residual=x)


class LayerScale:
    """x times a learned number."""

    def __init__(self, nn: Builder, name: str, size: int) -> None:
        self.nn, self.name, self.key = nn, name, (size, nn.stored(name).dtype)

    def __call__(self, x: relax.Expr, batch: Batch, memory: Memory) -> relax.Var:
        return _call(self.nn, "times", self.key, [x, self.nn.param(self.name)], self.key[0])

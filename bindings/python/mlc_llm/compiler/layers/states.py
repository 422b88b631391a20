"""What mixers with states share: how their kernels are called, and a causal convolution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.spec.part import Place
from mlc_llm.compiler.spec.tensors import CONV
from mlc_llm.compiler.spec.transforms import Array, MinusExp
from mlc_llm.compiler.spec.weights import Parameter, Source, Tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference

# The roles of a mixer between two linear layers. In files they have the names of Qwen 3.5.
TENSORS = {
    "recurrent_in": Tensor(
        "linear_attn.in_proj",
        "linear_attn.in_proj_qkv linear_attn.in_proj_z linear_attn.in_proj_b linear_attn.in_proj_a",
    ),
    "recurrent_conv": Tensor("linear_attn.conv1d", Source("linear_attn.conv1d", CONV)),
    "recurrent_norm": Tensor("linear_attn.norm"),
    "recurrent_out": Tensor("linear_attn.out_proj"),
    "decay": Tensor("linear_attn.A", Source("linear_attn.A_log", (MinusExp(),), is_whole=True)),
    "time_step": Tensor("linear_attn.dt_bias", Source("linear_attn.dt_bias", is_whole=True)),
    "skip": Tensor("linear_attn.D"),
}


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


class Recurrence:
    """A state of each sequence, and the kernels that go on from it."""

    def __init__(self, nn: Builder, at: Place, shape: Any) -> None:
        """`shape`: the sizes of the kernels; it says that of the state."""
        from mlc_llm.compiler.nn.pages import State

        assert at.index is not None
        self.nn, self.shape = nn, shape
        self.state = nn.add_state(State(at.index, shape.state))

    def run(
        self,
        name: str,
        make: Callable[..., Any],
        args: list[Any],
        batch: Batch,
        memory: Memory,
        width: int,
        **types: Any,
    ) -> Any:
        """One result of `make(shape)`. `types`: those of rows, for devices that have several."""
        nn, types = self.nn, self.nn.typed(**types)
        make = partial(make, self.shape, **types)
        kernel = nn.kernel(name, (self.shape, *types.items()), make)
        out = nn.rows(args[0], width, dtype=types.get("y_dtype", "float32"))
        both = self._call(kernel, args, batch, memory, [out])
        memory.states[self.state] = nn.item(both, 0)
        return nn.item(both, 1)

    def results(
        self, batch: Batch, memory: Memory, kernel: Any, args: list[Any], count: int = 1
    ) -> list[Any]:
        """`count` results of a kernel, each as wide as the shape says."""
        out = [self.nn.rows(args[0], self.shape.width)] * count
        made = self._call(kernel, args, batch, memory, out)
        memory.states[self.state], *tensors = self.nn.members_of(made, count + 1)
        return tensors

    def _call(
        self, kernel: Any, args: list[Any], batch: Batch, memory: Memory, out: list[Any]
    ) -> Any:
        own = self.nn.block.emit(memory.states[self.state])
        args = [*args, batch.state_source, batch.row_indptr, batch.state_writes, own]
        changed = [len(args) - 1, *[-1] * len(out)]
        return self.nn.call_in_place(kernel, args, changed, [own.ty, *out])


class Norm:
    """The norm of each row's result, with gates in the mixer's input."""

    def __init__(
        self,
        nn: Builder,
        at: Place,
        name: str,
        make: Callable[..., Any],
        key: tuple[Any, ...],
        activation: str = "",
    ) -> None:
        """`key` begins with the number of norms and their width. `activation`: of the gates, if
        `make` has it besides."""
        self.nn, self.name, self.make, self.activation = nn, name, make, activation
        self.weight = f"{at.name('recurrent_norm')}.weight"
        self.key = (*key, nn.stored(self.weight).dtype)

    def __call__(self, made: Any, x: Any) -> Any:
        nn, key = self.nn, self.key
        types = nn.typed(x_dtype=x, y_dtype=nn.row_dtype)
        own = (*key, *types.items(), self.activation)
        kernel = nn.kernel(self.name, own, partial(self.make, *key, **types))
        out = nn.rows(x, key[0] * key[1], dtype=nn.row_dtype)
        return nn.call(kernel, [made, x, nn.param(self.weight)], out)


class Gate:
    """Each row's result times silu of the gates in the mixer's input."""

    def __init__(self, nn: Builder, make: Callable[..., Any], key: tuple[int, int, int]) -> None:
        """`key`: the width, that of the input, and where the gates begin in it."""
        self.nn, self.make, self.key = nn, make, key

    def __call__(self, made: Any, x: Any) -> Any:
        nn, key = self.nn, self.key
        types = nn.typed(x_dtype=x, y_dtype=nn.row_dtype)
        kernel = nn.kernel("gated_rows", (*key, *types.items()), partial(self.make, *key, **types))
        return nn.call(kernel, [made, x], nn.rows(x, key[0], dtype=nn.row_dtype))


class Conv:
    """A causal convolution and its state: each channel is the weighted sum of the last `taps`
    rows."""

    def __init__(self, nn: Builder, at: Place, *, bias: bool, is_gated: bool, **sizes: int) -> None:
        from mlc_llm.compiler.kernels.common.recurrent import ConvShape
        from mlc_llm.compiler.kernels.cpu.recurrence import causal_conv as on_cpu
        from mlc_llm.compiler.kernels.gpu.recurrence import causal_conv as on_gpu

        self.nn, self.make = nn, nn.of(on_cpu, on_gpu)
        kinds = ("weight", "bias") if bias else ("weight",)
        self.weights = [f"{at.name('recurrent_conv')}.{kind}" for kind in kinds]
        dtype, *bias_dtype = (nn.stored(name).dtype for name in self.weights)
        types = {"weight_dtype": dtype, "bias_dtype": bias_dtype[0] if bias else None}
        self.states = Recurrence(nn, at, ConvShape(is_gated=is_gated, **types, **sizes))

    def __call__(self, x: Any, batch: Batch, memory: Memory) -> Any:
        nn, shape = self.nn, self.states.shape
        args = [x, *map(nn.param, self.weights)]
        types = {"x_dtype": x} | ({"y_dtype": nn.row_dtype} if shape.is_gated else {})
        width = shape.width
        return self.states.run("causal_conv", self.make, args, batch, memory, width, **types)


def conv_parameters(
    at: Place, taps: int, width: int, bias: bool, runs: tuple[int, ...] = ()
) -> Iterator[Parameter]:
    """`runs`: of the channels, see `Parameter`."""
    yield at.vector("recurrent_conv", taps, width, runs=runs)
    if bias:
        yield at.parameter("recurrent_conv", "bias", (width,), runs=runs)


def conv_reference(at: Reference, taps: int, x: Array, bias: bool) -> Array:
    padded = np.concatenate([np.zeros((taps - 1, x.shape[1])), x])
    weight = at.weight("recurrent_conv")  # (taps, channels)
    made = sum(padded[j : j + len(x)] * tap for j, tap in enumerate(weight))
    return np.asarray(made + at.bias("recurrent_conv") if bias else made)

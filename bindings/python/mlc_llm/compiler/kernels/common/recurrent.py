"""The arguments that the kernels of recurrent layers share, and the sizes of each kind.

The state of sequence s is read from slot `state_source[s]` (-1: zeros); its rows are
[row_indptr[s], row_indptr[s + 1]); the state behind row r is written to slot `state_writes[r]`,
unless that is -1. A sequence's own slot may be written, by its last row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from mlc_llm.compiler.kernels.common.function import Arg
from mlc_llm.compiler.kernels.common.values import LANES
from mlc_llm.errors import UnsupportedError


def step_args(*shape: int) -> list[Arg]:
    """`shape` is that of the state in a slot."""
    return [
        Arg("state_source", ("b",), "int32"),
        Arg("row_indptr", ("indptr",), "int32"),
        Arg("state_writes", ("n",), "int32"),
        Arg("states", ("num_states", *shape)),
    ]


@dataclass(frozen=True, kw_only=True)
class ConvShape:
    """`width` channels, each the sum of its last `taps` rows times their weights.

    `is_gated`: x holds b, c and x, and y = c * conv(b * x). Else x begins with the channels, has
    `columns` in all, and y = silu(conv(x)).
    """

    width: int
    taps: int
    columns: int
    is_gated: bool
    parts: int = 1  # with several the weight is (parts, taps, width / parts)
    weight_dtype: str = "float32"
    bias_dtype: str | None = None

    def __post_init__(self) -> None:
        if self.width % (self.parts * LANES) or not 2 <= self.taps <= LANES:
            raise UnsupportedError(
                f"a convolution of {self.taps} rows over {self.width} channels: there must be 2 to "
                f"{LANES} rows, and a multiple of {LANES} channels",
                param="conv_L_cache",
            )

    @property
    def state(self) -> tuple[int, int]:
        """The rows before the next one, the oldest first."""
        return (self.taps - 1, self.width)

    @property
    def weight(self) -> Arg:
        each = (self.taps, self.width // self.parts)
        shape = each if self.parts == 1 else (self.parts, *each)
        return Arg("weight", shape, self.weight_dtype)

    def tap(self, weight: Any, j: int, channel: Any, at: Any = lambda place: place) -> Any:
        """The weight of a channel (of those `at` it) for the row `j` of the taps."""
        if self.parts == 1:
            return weight[j, at(channel)]
        each = self.width // self.parts
        return weight[channel // each, j, at(channel % each)]


@dataclass(frozen=True, kw_only=True)
class DeltaShape:
    """Sizes of a gated delta rule (DeltaRuleSpec). `columns` are those of what `in` gives: as
    wide as `convolved` are queries, keys and values, behind them z, beta and the time steps."""

    heads: int
    key_heads: int
    key_dim: int
    value_dim: int
    tiled: bool = False  # which heads share a key
    decay_dtype: str = "float32"
    time_step_dtype: str = "float32"

    def __post_init__(self) -> None:
        if self.key_dim % LANES or self.value_dim % LANES or self.heads % self.key_heads:
            raise UnsupportedError(
                f"recurrent heads of {self.key_dim} by {self.value_dim}: both must be multiples of "
                f"{LANES}, and {self.heads} heads one of {self.key_heads} key heads",
                param="linear_key_head_dim",
            )

    @property
    def keys(self) -> int:
        return self.key_heads * self.key_dim

    @property
    def values(self) -> int:
        return self.heads * self.value_dim

    @property
    def convolved(self) -> int:
        return 2 * self.keys + self.values

    @property
    def columns(self) -> int:
        return self.convolved + self.values + 2 * self.heads

    @property
    def state(self) -> tuple[int, int]:
        return (self.heads, self.key_dim * self.value_dim)


@dataclass(frozen=True, kw_only=True)
class ChannelDeltaShape(DeltaShape):
    """The same where each row of a state decays by itself: every head has its own key, and decays
    and betas are computed before."""

    key_heads: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "key_heads", self.heads)
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class ScanShape:
    """Sizes of a scan (StateSpaceSpec). `columns` are those of what `in` gives: as wide as
    `convolved` are values, writers and readers of all groups, behind them z and the time steps."""

    heads: int
    head_dim: int
    state_dim: int
    groups: int
    decay_dtype: str = "float32"
    time_step_dtype: str = "float32"
    skip_dtype: str = "float32"

    def __post_init__(self) -> None:
        if self.head_dim % LANES or self.heads % self.groups or self.convolved % LANES:
            raise UnsupportedError(
                f"{self.heads} recurrent heads of {self.head_dim} with states of {self.state_dim}, "
                f"in {self.groups} groups: a head must be a multiple of {LANES} wide, the states "
                f"of all groups a multiple of {LANES // 2}, and the groups must divide the heads",
                param="head_dim",
            )

    @property
    def values(self) -> int:
        return self.heads * self.head_dim

    @property
    def convolved(self) -> int:
        return self.values + 2 * self.groups * self.state_dim

    @property
    def columns(self) -> int:
        return self.convolved + self.values + self.heads

    @property
    def state(self) -> tuple[int, int]:
        return (self.heads, self.state_dim * self.head_dim)


@dataclass(frozen=True, kw_only=True)
class SelectiveShape:
    """Sizes of a selective scan (SelectiveSpec). The gates are behind `width` other columns."""

    width: int
    state_dim: int
    decay_dtype: str = "float32"
    skip_dtype: str = "float32"

    def __post_init__(self) -> None:
        if self.width % LANES:
            raise UnsupportedError(
                f"{self.width} recurrent channels: there must be a multiple of {LANES}",
                param="mamba_expand",
            )

    @property
    def state(self) -> tuple[int, int]:
        return (self.state_dim, self.width)

    def args(self, x_dtype: str = "float32", time_dtype: str = "float32") -> list[Arg]:
        """x, gates, times, pair, decay, skip."""
        return [
            Arg("x", ("n", self.width)),
            Arg("gates", ("n", 2 * self.width), x_dtype),
            Arg("times", ("n", self.width), time_dtype),
            Arg("pair", ("n", 2 * self.state_dim)),
            Arg("decay", self.state, self.decay_dtype),
            Arg("skip", (self.width,), self.skip_dtype),
        ]


@dataclass(frozen=True, kw_only=True)
class ShiftShape:
    """Rows mixed with the row before in `count` ways (layers/rwkv7.py, layers/rwkv6.py).

    `apart`: each mix is a tensor [1, 1, width] of its own. `of_before`: a mix says how much of the
    row before there is; otherwise how much of the row itself. `gives_change`: the last result is
    the row before minus the row.
    """

    width: int
    count: int
    apart: bool = False
    of_before: bool = True
    gives_change: bool = False
    mixes_dtype: str = "float32"

    @property
    def mixes(self) -> list[Arg]:
        if self.apart:
            own = (1, 1, self.width)
            return [Arg(f"mix{j}", own, self.mixes_dtype) for j in range(self.count)]
        return [Arg("mixes", (self.count, self.width), self.mixes_dtype)]

    @property
    def results(self) -> int:
        return self.count + self.gives_change

    @property
    def state(self) -> tuple[int, int]:
        return (1, self.width)


@dataclass(frozen=True, kw_only=True)
class _SquareStates:
    """Heads whose states have a number for each pair of the head's numbers."""

    heads: int
    head_dim: int
    eps: float

    size_field: ClassVar[str] = "head_dim"  # of a config

    def __post_init__(self) -> None:
        if self.head_dim % LANES:
            raise UnsupportedError(
                f"recurrent heads of {self.head_dim}: a head must be a multiple of {LANES} wide",
                param=self.size_field,
            )

    @property
    def width(self) -> int:
        return self.heads * self.head_dim

    @property
    def state(self) -> tuple[int, int]:
        return (self.heads, self.head_dim * self.head_dim)


@dataclass(frozen=True, kw_only=True)
class TimeMixShape(_SquareStates):
    """Sizes of RWKV 7's states (TimeMixSpec). `mixes_values`: with those of the first layer.
    `dtypes` are those of `WEIGHTS`."""

    ROWS: ClassVar = ("receptance", "keys", "values", "decay", "rate", "gate")
    WEIGHTS: ClassVar = ("key_scale", "key_rate", "bonus", "norm_weight", "norm_bias")

    mixes_values: bool
    dtypes: tuple[str, ...] = ("float32",) * len(WEIGHTS)


@dataclass(frozen=True, kw_only=True)
class DecayMixShape(_SquareStates):
    """Sizes of the states of RWKV 5 and 6 (spec.DecayMixSpec). `by_row`: each row has a decay of
    its own, as in RWKV 6. `dtypes` are those of `weights`."""

    size_field = "head_size"

    by_row: bool
    dtypes: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[str, ...]:
        """The inputs with a row for each row."""
        return ("receptance", "keys", "values", "gate", *(("decay",) if self.by_row else ()))

    @property
    def weights(self) -> list[Arg]:
        heads = [] if self.by_row else ["decay"]
        shapes = {name: (self.heads, self.head_dim) for name in (*heads, "bonus")}
        shapes |= {name: (self.width,) for name in ("norm_weight", "norm_bias")}
        dtypes = self.dtypes or ("float32",) * len(shapes)
        given = zip(shapes.items(), dtypes, strict=True)
        return [Arg(name, shape, dtype) for (name, shape), dtype in given]


@dataclass(frozen=True, kw_only=True)
class NarrowShape:
    """A linear layer with its weight as [ins, outs]: y = activation(x weight + bias)."""

    ins: int
    outs: int
    activation: str | None = None
    weight_dtype: str = "float32"
    bias_dtype: str | None = None  # None: no bias

    def __post_init__(self) -> None:
        if self.outs % LANES or self.ins % LANES:
            raise UnsupportedError(
                f"narrow linear layers of {self.ins} by {self.outs}: both must be multiples of "
                f"{LANES}",
                param="lora_rank_decay",
            )

    @property
    def args(self) -> list[Arg]:
        weight = Arg("weight", (self.ins, self.outs), self.weight_dtype)
        bias = [Arg("bias", (1, 1, self.outs), self.bias_dtype)] if self.bias_dtype else []
        return [Arg("x", ("n", self.ins)), weight, *bias, Arg("y", ("n", self.outs))]


@dataclass(frozen=True, kw_only=True)
class RowMixShape:
    """Rows mixed with the row before in `count` ways, with mixes of each row (spec.DecayMixSpec).
    `rank`: how many numbers each mix is made of."""

    width: int
    rank: int
    count: int
    up_dtype: str = "float32"
    mixes_dtype: str = "float32"

    @property
    def args(self) -> list[Arg]:
        """f(x, change, hidden, up, *mixes, *y)."""
        rows = {"x": self.width, "change": self.width, "hidden": self.count * self.rank}
        given = [Arg(name, ("n", width)) for name, width in rows.items()]
        given.append(Arg("up", (self.count, self.rank, self.width), self.up_dtype))
        own = (1, 1, self.width)
        given += [Arg(f"mix{j}", own, self.mixes_dtype) for j in range(self.count)]
        return given + [Arg(f"y{j}", ("n", self.width)) for j in range(self.count)]

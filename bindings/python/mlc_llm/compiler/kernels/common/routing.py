"""The form in which the kernels of a mixture of experts share their work.

A step has `n` rows, each with `chosen` experts. That makes n * chosen pairs of a row and an expert.
The kernels work on the pairs in the order of their experts, so that each expert is one run of
pairs.

    choices  i32 [n, chosen]      the experts of each row, the best first
    weights  f32 [n, chosen]      their weights
    runs     i32 [experts + 1, 3] runs[0, 0]: the number of runs. Behind it, for each run: its
                                  expert, its first place, its number of pairs
    sources  i32 [n, chosen]      the row of each place, in the order of places
    places   i32 [n, chosen]      the place of each pair
    owners   i32 [n, chosen]      on GPUs: the expert of each place

Tensors with a row for each place have the shape [n, chosen * size], since the number of places is
no run-time size of a library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg
from mlc_llm.compiler.quantization.stored import StoredParam

RUN = 3  # the numbers of a run
TINY = 1e-20  # a sum of weights is at least this


def runs_arg(experts: int) -> Arg:
    return Arg("runs", (experts + 1, RUN), "int32")


def pairs_arg(name: str, chosen: int, dtype: str = "int32") -> Arg:
    return Arg(name, ("n", chosen), dtype)


@dataclass(frozen=True, kw_only=True)
class Router:
    """How a router chooses; the fields are those of `RouterSpec`."""

    experts: int
    chosen: int
    scores: str = "softmax"
    jitter: float = 0.0
    correction: bool = False
    groups: int = 1
    chosen_groups: int = 1
    group_best: int = 2
    normalize: bool = False
    factor: float = 1.0


def choose_args(router: Router, correction: str | None, scale: str | None) -> list[Arg]:
    """f(logits [n, experts], correction [experts]?, scale [experts]?, choices, weights)."""
    args = [Arg("logits", ("n", router.experts))]
    args += [Arg("correction", (router.experts,), correction)] if correction else []
    args += [Arg("scale", (router.experts,), scale)] if scale else []
    return [
        *args,
        pairs_arg("choices", router.chosen),
        pairs_arg("weights", router.chosen, "float32"),
    ]


@dataclass(frozen=True)
class Stack:
    """The sizes of the weights of all experts of a layer, and how many each row uses."""

    experts: int
    chosen: int
    outs: int
    ins: int
    stored: tuple[StoredParam, ...]

    def args(self, x: Arg, bias: str | None) -> list[Arg]:
        """f(x [n, chosen * size], runs, *stored, bias [experts, outs]?, y [n, chosen * outs])."""
        return [x, runs_arg(self.experts), *self.weights(bias), self.y("float32")]

    def weights(self, bias: str | None) -> list[Arg]:
        """The stored tensors, and the bias."""
        found = [Arg(f"weight{i}", p.shape, p.dtype) for i, p in enumerate(self.stored)]
        return [*found, *([Arg("bias", (self.experts, self.outs), bias)] if bias else [])]

    def y(self, dtype: str) -> Arg:
        return Arg("y", ("n", self.chosen * self.outs), dtype)


def joined(weight: Any) -> Any:
    """The axes of experts and of their rows as one."""
    experts, rows, *rest = weight.shape
    shape = (int(experts) * int(rows), *rest)
    return T.decl_buffer(shape, str(weight.dtype), data=weight.data)

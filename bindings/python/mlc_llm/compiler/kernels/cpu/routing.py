"""Chooses the experts of each row, and sorts the pairs of a row and an expert by expert.

`kernels/common/routing.py` describes the tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import kernel, named_kernel
from mlc_llm.compiler.kernels.common.routing import TINY, Router, choose_args, pairs_arg, runs_arg
from mlc_llm.compiler.kernels.common.values import LANES, NEVER, splat, to_float
from mlc_llm.compiler.kernels.cpu.vector import (
    at,
    emit_floats,
    emit_fold,
    emit_rows,
    emit_value,
    exp2,
    sigmoid,
)

_LOG2_E = 1.4426950408889634


def choose(
    router: Router, correction: str | None = None, scale: str | None = None
) -> tirx.PrimFunc:
    """f(logits [n, experts], correction [experts]?, scale [experts]?, choices, weights)."""

    def body(logits, choices, weights, correction=None, scale=None) -> None:
        def row(r) -> None:
            _Row(router, logits, correction, r).emit(choices, weights)
            for k in range(0 if scale is None else router.chosen):
                factor = to_float(scale[choices[r, k]], 1)
                T.buffer_store(weights, weights[r, k] * factor, [r, k])

        emit_rows(choices.shape[0], row, parallel_from=64)

    return named_kernel(choose_args(router, correction, scale), body)


class _Row:
    """One row. `scores` and `ranks` (what is compared) are padded to whole vectors."""

    def __init__(self, router: Router, logits: Any, added: Any, row: Any) -> None:
        self.router, self.logits, self.added, self.row = router, logits, added, row
        self.vectors = -(-router.experts // LANES)
        self.scores, self.ranks = emit_floats(self.vectors), emit_floats(self.vectors)

    def emit(self, choices: Any, weights: Any) -> None:
        self._emit_scores()
        self._emit_ranks()
        if self.router.groups > 1:
            self._emit_best_groups()
        for i in range(self.router.chosen):
            top, best = emit_best(self.ranks, 0, self.router.experts)
            T.buffer_store(choices, best, [self.row, i])
            mixed = self.router.scores == "sparsemixer"
            weight = self._emit_share(top) if mixed else self.scores[best]
            T.buffer_store(weights, weight, [self.row, i])
            T.buffer_store(self.ranks, T.float32(2 * NEVER / 3), [best])
        self._emit_weights(weights)

    def _emit_share(self, top: Any):
        """The softmax of the best logit among those that are left and close to it."""
        total = T.sblock_alloc_buffer((1,), "float32")
        T.buffer_store(total, T.float32(0), [0])
        with T.serial(self.router.experts) as i:
            logit = emit_value(self.logits[self.row, i])
            widest = T.max(T.max(logit, -logit), top) * T.float32(2 * self.router.jitter)
            near = T.And(self.ranks[i] > T.float32(NEVER / 2), top - logit <= widest)
            with T.If(near), T.Then():
                power = exp2((logit - top) * T.float32(_LOG2_E), 1)
                T.buffer_store(total, total[0] + power, [0])
        return emit_value(T.float32(1) / total[0])

    def _each(self, body: Callable[[Any], None]) -> None:
        with T.serial(self.vectors) as vector:
            body(vector * LANES)

    def _emit_scores(self) -> None:
        experts = self.router.experts
        self._each(lambda base: T.buffer_store(self.scores, splat(NEVER), [at(base)]))
        with T.serial(experts) as i:
            T.buffer_store(self.scores, self.logits[self.row, i], [i])
        if self.router.scores == "sigmoid":
            self._each(lambda b: T.buffer_store(self.scores, sigmoid(self.scores[at(b)]), [at(b)]))
        if self.router.scores == "softmax":
            emit_softmax(self.scores, self.vectors)

    def _emit_ranks(self) -> None:
        """For a softmax alone the logits are compared: they differ where tiny scores do not."""
        router = self.router
        plain = router.scores == "softmax" and self.added is None and router.groups == 1
        with T.serial(router.experts) as i:
            rank = self.logits[self.row, i] if plain else self.scores[i]
            rank = rank if self.added is None else rank + to_float(self.added[i], 1)
            T.buffer_store(self.ranks, rank, [i])

    def _emit_best_groups(self) -> None:
        """Removes the experts of all groups but the best ones."""
        router, size = self.router, self.router.experts // self.router.groups
        values = T.sblock_alloc_buffer((router.groups,), "float32")
        kept = T.sblock_alloc_buffer((router.experts,), "float32")
        with T.serial(router.experts) as i:
            T.buffer_store(kept, self.ranks[i], [i])
        with T.serial(router.groups) as group:
            T.buffer_store(values, T.float32(0), [group])
            for _ in range(min(router.group_best, size)):
                value, best = emit_best(self.ranks, group * size, size)
                T.buffer_store(values, values[group] + value, [group])
                T.buffer_store(self.ranks, T.float32(NEVER / 3), [best])
        with T.serial(router.experts) as i:
            T.buffer_store(self.ranks, T.float32(NEVER / 3), [i])
        for _ in range(router.chosen_groups):
            _, best = emit_best(values, 0, router.groups)
            T.buffer_store(values, T.float32(NEVER), [best])
            with T.serial(size) as i:
                T.buffer_store(self.ranks, kept[best * size + i], [best * size + i])

    def _emit_weights(self, weights: Any) -> None:
        router, row = self.router, self.row
        total = T.sblock_alloc_buffer((1,), "float32")
        if router.scores == "chosen":
            largest = emit_value(weights[row, 0])
            for i in range(router.chosen):
                power = exp2((weights[row, i] - largest) * T.float32(_LOG2_E), 1)
                T.buffer_store(weights, power, [row, i])
        T.buffer_store(total, T.float32(0), [0])
        for i in range(router.chosen):
            T.buffer_store(total, total[0] + weights[row, i], [0])
        divide = router.normalize or router.scores == "chosen"
        below = T.max(total[0], T.float32(TINY)) if divide else T.float32(1)
        factor = emit_value(T.float32(router.factor) / below)
        for i in range(router.chosen):
            T.buffer_store(weights, weights[row, i] * factor, [row, i])


def emit_best(values: Any, first: Any, count: int) -> tuple[Any, Any]:
    """The largest of `count` values from `first` on, and its index; the first of equal ones."""
    best = T.sblock_alloc_buffer((1,), "float32")
    where = T.sblock_alloc_buffer((1,), "int32")
    T.buffer_store(best, values[first], [0])
    T.buffer_store(where, T.Cast("int32", first), [0])
    with T.serial(count - 1) as i:
        with T.If(values[first + i + 1] > best[0]), T.Then():
            T.buffer_store(best, values[first + i + 1], [0])
            T.buffer_store(where, T.Cast("int32", first + i + 1), [0])
    return emit_value(best[0]), emit_value(where[0])


def emit_softmax(values: Any, vectors: int) -> None:
    """Of whole vectors, in place."""
    largest, total = emit_floats(1), emit_floats(1)
    T.buffer_store(largest, splat(NEVER), [at(0)])
    T.buffer_store(total, splat(0.0), [at(0)])
    with T.serial(vectors) as i:
        T.buffer_store(largest, T.max(largest[at(0)], values[at(i * LANES)]), [at(0)])
    most = emit_fold(largest[at(0)], T.max)
    with T.serial(vectors) as i:
        power = exp2((values[at(i * LANES)] - splat(most)) * splat(_LOG2_E))
        T.buffer_store(values, power, [at(i * LANES)])
        T.buffer_store(total, total[at(0)] + values[at(i * LANES)], [at(0)])
    inverse = emit_value(T.float32(1) / emit_fold(total[at(0)], lambda a, b: a + b))
    with T.serial(vectors) as i:
        T.buffer_store(values, values[at(i * LANES)] * splat(inverse), [at(i * LANES)])


def sort_pairs(experts: int, chosen: int) -> tirx.PrimFunc:
    """f(choices, runs, sources, places): pairs of one expert keep the order of their rows."""

    def body(choices, runs, sources, places) -> None:
        rows = choices.shape[0]
        with T.sblock("all"):
            T.reads()
            T.writes()
            ends = T.sblock_alloc_buffer((experts + 1,), "int32")
            with T.serial(experts + 1) as i:
                T.buffer_store(ends, 0, [i])
            with T.serial(rows) as r, T.serial(chosen) as k:
                T.buffer_store(ends, ends[choices[r, k] + 1] + 1, [choices[r, k] + 1])
            _emit_runs(runs, ends, experts)
            with T.serial(rows) as r, T.serial(chosen) as k:
                expert = emit_value(choices[r, k])
                place = emit_value(ends[expert])
                T.buffer_store(places, place, [r, k])
                T.buffer_store(sources, T.Cast("int32", r), [place // chosen, place % chosen])
                T.buffer_store(ends, place + 1, [expert])

    pairs = [pairs_arg(name, chosen) for name in ("sources", "places")]
    return kernel([pairs_arg("choices", chosen), runs_arg(experts), *pairs], body)


def _emit_runs(runs: Any, ends: Any, experts: int) -> None:
    """`ends[e + 1]` is the number of pairs of expert e. Then `ends[e]` is its first place."""
    T.buffer_store(runs, 0, [0, 0])
    with T.serial(experts) as e:
        count = emit_value(ends[e + 1])
        with T.If(count > 0), T.Then():
            run = emit_value(runs[0, 0] + 1)
            for i, value in enumerate((T.Cast("int32", e), ends[e], count)):
                T.buffer_store(runs, value, [run, i])
            T.buffer_store(runs, run, [0, 0])
        T.buffer_store(ends, ends[e] + count, [e + 1])

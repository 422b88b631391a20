"""Chooses the experts of each row, and sorts the pairs of a row and an expert by expert, on GPUs.

The same as `kernels/cpu/routing.py`, with a work-group for each row; one work-group sorts. All sums
have a fixed order, so a row's bits do not depend on other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import kernel, named_kernel
from mlc_llm.compiler.kernels.common.routing import (
    RUN,
    TINY,
    Router,
    choose_args,
    pairs_arg,
    runs_arg,
)
from mlc_llm.compiler.kernels.gpu.grid import (
    NEVER,
    barrier,
    emit_spread,
    emit_value,
    grid,
    registers,
    scalar,
    shared,
    to_float,
)

ITEMS = 64


def choose(
    router: Router, correction: str | None = None, scale: str | None = None
) -> tirx.PrimFunc:
    """f(logits [n, experts], correction [experts]?, scale [experts]?, choices, weights)."""

    def body(logits, choices, weights, correction=None, scale=None) -> None:
        with grid((choices.shape[0],), ITEMS) as ((row,), item):
            _Row(router, logits, correction, scale, row, item).emit(choices, weights)

    return named_kernel(choose_args(router, correction, scale), body)


class _Row:
    """The work of one work-group."""

    def __init__(
        self, router: Router, logits: Any, added: Any, scales: Any, row: Any, item: Any
    ) -> None:
        self.router, self.logits, self.added, self.scales = router, logits, added, scales
        self.row, self.item = row, item
        self.scores, self.ranks = shared(router.experts), shared(router.experts)
        self.best, self.where = shared(ITEMS), shared(ITEMS, "int32")

    def emit(self, choices: Any, weights: Any) -> None:
        router = self.router
        self._emit_scores()
        if router.groups > 1:
            self._emit_best_groups()
        for i in range(router.chosen):
            found = self._emit_best(self.ranks, 0, router.experts)
            with T.If(self.item == 0), T.Then():
                T.buffer_store(choices, found, [self.row, i])
                mixed = router.scores == "sparsemixer"
                weight = self._emit_share(found) if mixed else self.scores[found]
                T.buffer_store(weights, weight, [self.row, i])
                T.buffer_store(self.ranks, scalar(2 * NEVER / 3), [found])
            barrier()
        with T.If(self.item == 0), T.Then():
            self._emit_weights(choices, weights)

    def _emit_share(self, found: Any) -> Any:
        """The softmax of the best logit among those that are left and close to it. One work-item
        computes it."""
        total, top = registers(1), emit_value(self.scores[found])
        T.buffer_store(total, scalar(0.0), [0])
        with T.serial(self.router.experts) as i:
            logit = emit_value(self.scores[i])
            magnitude = T.max(logit, scalar(0.0) - logit)
            widest = T.max(magnitude, top) * scalar(2 * self.router.jitter)
            near = T.And(self.ranks[i] > scalar(NEVER / 2), top - logit <= widest)
            with T.If(near), T.Then():
                T.buffer_store(total, total[0] + T.exp(logit - top), [0])
        return emit_value(scalar(1.0) / total[0])

    def _each(self, count: int, body: Callable[[Any], None]) -> None:
        emit_spread(count, ITEMS, self.item, body)
        barrier()

    def _emit_scores(self) -> None:
        """The scores, and what is compared: for a softmax alone the logits, since they differ where
        tiny scores do not."""
        router = self.router

        def load(i) -> None:
            logit = emit_value(self.logits[self.row, i])
            made = scalar(1.0) / (scalar(1.0) + T.exp(scalar(0.0) - logit))
            T.buffer_store(self.scores, made if router.scores == "sigmoid" else logit, [i])

        self._each(router.experts, load)
        if router.scores == "softmax":
            self._emit_softmax()
        plain = router.scores == "softmax" and self.added is None and router.groups == 1

        def rank(i) -> None:
            value = self.logits[self.row, i] if plain else self.scores[i]
            value = value if self.added is None else value + to_float(self.added[i], 1)
            T.buffer_store(self.ranks, value, [i])

        self._each(router.experts, rank)

    def _emit_softmax(self) -> None:
        largest = emit_value(
            self.logits[self.row, self._emit_best(self.scores, 0, self.router.experts)]
        )
        self._each(
            self.router.experts,
            lambda i: T.buffer_store(self.scores, T.exp(self.scores[i] - largest), [i]),
        )
        total = registers(1)
        T.buffer_store(total, scalar(0.0), [0])
        with T.serial(self.router.experts) as i:
            T.buffer_store(total, total[0] + self.scores[i], [0])
        barrier()
        self._each(
            self.router.experts,
            lambda i: T.buffer_store(self.scores, self.scores[i] / total[0], [i]),
        )

    def _emit_best(self, values: Any, first: Any, count: int) -> Any:
        """The index of the largest of `count` values from `first` on; the first of equal ones."""
        best, where, item = self.best, self.where, self.item
        T.buffer_store(best, scalar(NEVER), [item])
        T.buffer_store(where, T.Cast("int32", first), [item])

        def compare(i) -> None:
            with T.If(values[first + i] > best[item]), T.Then():
                T.buffer_store(best, values[first + i], [item])
                T.buffer_store(where, T.Cast("int32", first + i), [item])

        emit_spread(count, ITEMS, item, compare)
        barrier()
        width = ITEMS // 2
        while width:
            with T.If(item < width), T.Then():
                other, own = item + width, item
                larger = best[other] > best[own]
                earlier = T.And(best[other] == best[own], where[other] < where[own])
                with T.If(T.Or(larger, earlier)), T.Then():
                    T.buffer_store(best, best[other], [own])
                    T.buffer_store(where, where[other], [own])
            barrier()
            width //= 2
        found = registers(1, "int32")
        T.buffer_store(found, where[0], [0])
        barrier()
        return found[0]

    def _emit_best_groups(self) -> None:
        """Removes the experts of all groups but the best ones."""
        router, size = self.router, self.router.experts // self.router.groups
        values, kept = shared(router.groups), shared(router.experts)
        self._each(router.experts, lambda i: T.buffer_store(kept, self.ranks[i], [i]))

        def value(group) -> None:
            T.buffer_store(values, scalar(0.0), [group])
            for _ in range(min(router.group_best, size)):
                where = registers(1, "int32")
                T.buffer_store(where, T.Cast("int32", group * size), [0])
                with T.serial(size) as i:
                    with T.If(self.ranks[group * size + i] > self.ranks[where[0]]), T.Then():
                        T.buffer_store(where, T.Cast("int32", group * size + i), [0])
                T.buffer_store(values, values[group] + self.ranks[where[0]], [group])
                T.buffer_store(self.ranks, scalar(NEVER / 3), [where[0]])

        self._each(router.groups, value)
        self._each(router.experts, lambda i: T.buffer_store(self.ranks, scalar(NEVER / 3), [i]))
        for _ in range(router.chosen_groups):
            best = self._emit_best(values, 0, router.groups)

            def restore(i, best=best) -> None:
                T.buffer_store(self.ranks, kept[best * size + i], [best * size + i])

            self._each(size, restore)
            with T.If(self.item == 0), T.Then():
                T.buffer_store(values, scalar(NEVER), [best])
            barrier()

    def _emit_weights(self, choices: Any, weights: Any) -> None:
        router, row, total = self.router, self.row, registers(1)
        if router.scores == "chosen":
            largest = registers(1)
            T.buffer_store(largest, weights[row, 0], [0])
            for i in range(router.chosen):
                T.buffer_store(weights, T.exp(weights[row, i] - largest[0]), [row, i])
        T.buffer_store(total, scalar(0.0), [0])
        for i in range(router.chosen):
            T.buffer_store(total, total[0] + weights[row, i], [0])
        divide = router.normalize or router.scores == "chosen"
        below = T.max(total[0], scalar(TINY)) if divide else scalar(1.0)
        for i in range(router.chosen):
            value = weights[row, i] * (scalar(router.factor) / below)
            if self.scales is not None:
                value = value * to_float(self.scales[choices[row, i]], 1)
            T.buffer_store(weights, value, [row, i])


def sort_pairs(experts: int, chosen: int) -> tirx.PrimFunc:
    """f(choices, runs, sources, places, owners). A work-item walks over all pairs for each of its
    experts, so that no two write the same place."""

    def body(choices, runs, sources, places, owners) -> None:
        rows = T.Cast("int32", choices.shape[0])
        with grid((1,), ITEMS) as (_, item):
            counts = shared(experts, "int32")
            place = registers(1, "int32")

            def each_pair(expert, found: Callable[[Any, Any], None]) -> None:
                with T.serial(rows) as row, T.serial(chosen) as k:
                    with T.If(choices[row, k] == expert), T.Then():
                        found(row, k)
                        T.buffer_store(place, place[0] + 1, [0])

            def count(expert) -> None:
                T.buffer_store(place, 0, [0])
                each_pair(expert, lambda row, k: None)
                T.buffer_store(counts, place[0], [expert])

            def put(expert) -> None:
                T.buffer_store(place, counts[expert], [0])

                def store(row, k) -> None:
                    at = [place[0] // chosen, place[0] % chosen]
                    T.buffer_store(places, place[0], [row, k])
                    T.buffer_store(sources, row, at)
                    T.buffer_store(owners, T.Cast("int32", expert), at)

                each_pair(expert, store)

            emit_spread(experts, ITEMS, item, count)
            barrier()
            with T.If(item == 0), T.Then():
                _emit_runs(runs, counts, experts)
            barrier()
            emit_spread(experts, ITEMS, item, put)

    pairs = [pairs_arg(name, chosen) for name in ("sources", "places", "owners")]
    return kernel([pairs_arg("choices", chosen), runs_arg(experts), *pairs], body)


def _emit_runs(runs: Any, counts: Any, experts: int) -> None:
    """Writes the runs. `counts` then holds each expert's first place."""
    first, number = registers(1, "int32"), registers(1, "int32")
    count = registers(1, "int32")
    for register in (first, number):
        T.buffer_store(register, 0, [0])
    with T.serial(experts) as expert:
        T.buffer_store(count, counts[expert], [0])
        T.buffer_store(counts, first[0], [expert])
        with T.If(count[0] > 0), T.Then():
            T.buffer_store(number, number[0] + 1, [0])
            values = (T.Cast("int32", expert), first[0], count[0])
            for i, value in zip(range(RUN), values, strict=True):
                T.buffer_store(runs, value, [number[0], i])
        T.buffer_store(first, first[0] + count[0], [0])
    T.buffer_store(runs, number[0], [0, 0])

"""The rows of kernels that choose tokens: each gets what NumPy made of a batch up to there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import sampling_numpy as chosen
from library_kernels import Array, Call, Kernel, Rng, Want
from sampling_tools import packed, random_task

from mlc_llm.compiler.kernels.gpu import sampling_cut as cut_words
from mlc_llm.compiler.kernels.gpu.sampling_rows import SUM

Calls = Iterator[Call]
_FLOAT_STATE = (cut_words.WANTED, cut_words.SUM_ABOVE, cut_words.NUM_ABOVE)


class _Choice:
    """A batch of random tasks, over random logits."""

    def __init__(self, kernel: Kernel, rng: Rng) -> None:
        self.rows = kernel.model.rows
        count, columns = 9, self.rows.columns
        self.logits = (rng.standard_normal((count, columns)) * 4).astype(np.float32)
        self.logits[2] = -np.inf
        self.logits[3, columns // 2] = np.nan
        tasks = [
            random_task(rng, int(i), columns, top_k=True, every=True)
            for i in rng.permutation(count)
        ]
        self.tasks, self.extra = packed(tasks, columns)
        self.adjusted = chosen.adjust(self.tasks, self.extra, self.logits)
        self.masked, *self.likely = chosen.maxima(self.rows, self.tasks, self.extra, self.adjusted)
        self.deviations = chosen.spread(self.tasks, self.adjusted)
        self.near = chosen.near(self.tasks, *self.likely, self.deviations, self.masked)
        self.weights, self.sums = chosen.weigh(self.rows, self.tasks, *self.likely, self.near)
        self.cuts = [chosen.whole(self.sums)]
        self.rounds: list[tuple[Array, Array, Array]] = []  # state, sums, counts
        for kind in (cut_words.TOP_K_KIND, cut_words.TOP_P_KIND):
            state = chosen.aim(kind, self.tasks, self.cuts[-1])
            digits = chosen.first_digit(self.rows, self.tasks, state, self.weights)
            self.rounds.append((state, *digits))
            for _ in range(cut_words.ROUNDS - 1):
                found = chosen.next_digit(self.rows, self.tasks, *self.rounds[-1], self.weights)
                self.rounds.append(found)
            self.cuts.append(chosen.settle(*self.rounds[-1], self.cuts[-1]))

    def inputs(self, **more: Array) -> dict[str, Array]:
        """Whatever a kernel may ask for; `more` goes before."""
        values, places = self.likely
        return {
            **{"tasks": self.tasks, "extra": self.extra, "logits": self.weights},
            **{"values": values, "places": places, **more},
        }

    def call(self, kernel: Kernel, wants: list[Want], **more: Array) -> Call:
        known = self.inputs(**more)
        written = {w.name: np.full(w.value.shape, 77, kernel[w.name].dtype) for w in wants}
        arrays = {a.name: known.get(a.name, written.get(a.name)) for a in kernel.arguments}
        return Call({name: np.array(array) for name, array in arrays.items()}, wants)


def _of_choices(row: Callable[[Kernel, _Choice], Calls]) -> Callable[[Kernel, Rng], Calls]:
    def calls(kernel: Kernel, rng: Rng) -> Calls:
        for _ in range(2):
            yield from row(kernel, _Choice(kernel, rng))

    return calls


def adjust(kernel: Kernel, batch: _Choice) -> Calls:
    want = Want("logits", _finite(batch.adjusted), 4e-6, decode=_finite)
    yield batch.call(kernel, [want], logits=batch.logits)


def _finite(logits: Array) -> Array:
    return np.where(np.isfinite(logits), logits, np.where(np.isnan(logits), np.nan, -1e4))


def maxima(kernel: Kernel, batch: _Choice) -> Calls:
    values, places = batch.likely
    wants = [Want("logits", batch.masked), Want("values", values), Want("places", places)]
    yield Call(
        {
            **{"tasks": batch.tasks, "extra": batch.extra, "logits": batch.adjusted.copy()},
            **{"values": np.zeros_like(values), "places": np.zeros_like(places)},
        },
        wants,
    )


def pick(kernel: Kernel, batch: _Choice) -> Calls:
    yield batch.call(kernel, [Want("tokens", chosen.pick(*batch.likely))])


def weigh(kernel: Kernel, batch: _Choice) -> Calls:
    wants = [Want("logits", batch.weights, 1e-6), Want("sums", batch.sums, 1e-3)]
    yield batch.call(kernel, wants, logits=batch.near)


def spread(kernel: Kernel, batch: _Choice) -> Calls:
    yield batch.call(kernel, [Want("deviations", batch.deviations, 1e-4)], logits=batch.adjusted)


def near(kernel: Kernel, batch: _Choice) -> Calls:
    more = {"logits": batch.masked, "deviations": batch.deviations}
    yield batch.call(kernel, [Want("logits", batch.near)], **more)


def exclude(kernel: Kernel, batch: _Choice) -> Calls:
    for cut in batch.cuts:
        above, equal = chosen.measure(batch.rows, batch.tasks, cut, batch.weights)
        left = chosen.exclude(batch.tasks, cut, above, equal, batch.weights)
        yield batch.call(kernel, [Want("logits", left)], cut=cut, above=above, equal=equal)


def whole(kernel: Kernel, batch: _Choice) -> Calls:
    want = Want("cut", batch.cuts[0], 1e-6, float_words=[SUM])
    yield batch.call(kernel, [want], sums=batch.sums)


def aim(kernel: Kernel, batch: _Choice, search: int) -> Calls:
    """`search` 0 is top_k's, in everything; 1 is top_p's, in what that has left."""
    state = batch.rounds[search * cut_words.ROUNDS][0]
    want = Want("state", state, 1e-6, float_words=_FLOAT_STATE)
    yield batch.call(kernel, [want], cut=batch.cuts[search])


def _digits(suffix: str, sums: Array, counts: Array) -> list[Want]:
    return [Want(f"sums{suffix}", sums, 1e-3), Want(f"counts{suffix}", counts)]


def first_digit(kernel: Kernel, batch: _Choice) -> Calls:
    for search in (0, cut_words.ROUNDS):
        state, *digits = batch.rounds[search]
        yield batch.call(kernel, _digits("", *digits), state=state)


def next_digit(kernel: Kernel, batch: _Choice) -> Calls:
    for place, (state, sums, counts) in enumerate(batch.rounds):
        if place % cut_words.ROUNDS == cut_words.ROUNDS - 1:
            continue
        new, *digits = batch.rounds[place + 1]
        # Sums of the whole row, in another order: within its roundings.
        wants = [Want("new_state", new, 1e-5, float_words=_FLOAT_STATE)]
        wants += _digits("_new", *digits)
        yield batch.call(kernel, wants, state=state, sums=sums, counts=counts)


def settle(kernel: Kernel, batch: _Choice) -> Calls:
    for search in (0, 1):
        state, sums, counts = batch.rounds[(search + 1) * cut_words.ROUNDS - 1]
        want = Want("new_cut", batch.cuts[search + 1], 1e-5, float_words=[SUM])
        inputs = {"state": state, "sums": sums, "counts": counts, "cut": batch.cuts[search]}
        yield batch.call(kernel, [want], **inputs)


def measure(kernel: Kernel, batch: _Choice) -> Calls:
    for cut in batch.cuts:
        above, equal = chosen.measure(batch.rows, batch.tasks, cut, batch.weights)
        wants = [Want("above", above, 1e-3), Want("equal", equal)]
        yield batch.call(kernel, wants, cut=cut)


def draw(kernel: Kernel, batch: _Choice) -> Calls:
    for cut in batch.cuts:
        above, equal = chosen.measure(batch.rows, batch.tasks, cut, batch.weights)
        tokens, margins = chosen.draw(batch.tasks, *batch.likely, cut, batch.weights)
        clear = margins > 2e-6  # others the sums' rounding decides
        want = Want(
            "tokens",
            np.where(clear, tokens, -2),
            decode=lambda found, clear=clear: np.where(clear, found, -2),
        )
        yield batch.call(kernel, [want], cut=cut, above=above, equal=equal)


TABLE: dict[str, Callable[[Kernel, Rng], Calls]] = {
    **{
        f.__name__: _of_choices(f)
        for f in (
            *(adjust, spread, maxima, pick, near, weigh, whole),
            *(first_digit, next_digit, settle, measure, exclude, draw),
        )
    },
    "aim_top_k": _of_choices(lambda kernel, batch: aim(kernel, batch, 0)),
    "aim_top_p": _of_choices(lambda kernel, batch: aim(kernel, batch, 1)),
}

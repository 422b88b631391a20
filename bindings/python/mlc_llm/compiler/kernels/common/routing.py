"""The form in which the kernels of a mixture of experts share their work.

A step has `n` rows, each with `chosen` experts. That makes n * chosen pairs of a row and an expert.
The kernels work on the pairs in the order of their experts, so that each expert is one run of
pairs.

    choices  i32 [n, chosen]      the experts of each row, the best first
    weights  f32 [n, chosen]      their weights
    runs     i32 [experts + 1, 3] runs[0, 0]: the number of runs. Behind it, for each run: its expert,
                                  its first place, its number of pairs
    sources  i32 [n, chosen]      the row of each place, in the order of places
    places   i32 [n, chosen]      the place of each pair

Tensors with a row for each place have the shape [n, chosen * size], since the number of places is no
run-time size of a library.
"""

from __future__ import annotations

from mlc_llm.compiler.kernels.common.function import Arg

RUN = 3  # the numbers of a run


def runs_arg(experts: int) -> Arg:
    return Arg("runs", (experts + 1, RUN), "int32")


def pairs_arg(name: str, chosen: int, dtype: str = "int32") -> Arg:
    return Arg(name, ("n", chosen), dtype)

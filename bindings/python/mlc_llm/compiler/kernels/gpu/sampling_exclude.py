"""The tokens that top_n_sigma and XTC exclude.

Top-nsigma: Tang et al. 2024, "Top-n-sigma: Not All Logits Are You Need". XTC ("exclude top
choices"): P. E. Weidmann 2024, text-generation-webui, pull request 6335. One work-group reads a
whole row.
"""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.gpu.grid import (
    barrier,
    emit_group_sums,
    emit_spread,
    emit_value,
    grid,
    registers,
    scalar,
    shared,
)
from mlc_llm.compiler.kernels.gpu.sampler_words_gen import LIMIT, ROW, TOP_N_SIGMA, XTC_THRESHOLD
from mlc_llm.compiler.kernels.gpu.sampling_rows import (
    CUT,
    IMPOSSIBLE,
    ITEMS,
    TASKS,
    Best,
    Remaining,
    Rows,
    as_float,
    emit_best,
    emit_total,
    is_finite,
)

DEVIATIONS = Arg("deviations", ("n",))


def spread(rows: Rows) -> tirx.PrimFunc:
    """f(tasks, logits, deviations [n]): the standard deviation of each row's finite logits."""

    def body(tasks, logits, deviations) -> None:
        with grid((tasks.shape[0],), ITEMS) as ((task,), item):
            row, limit = emit_value(tasks[task, ROW]), emit_value(tasks[task, LIMIT])
            memory, own = shared(ITEMS), registers(1)

            def mean_of(value_of) -> Any:
                T.buffer_store(own, scalar(0.0), [0])

                def add(column) -> None:
                    value = emit_value(logits[row, column])
                    with T.If(T.And(column < limit, is_finite(value))), T.Then():
                        T.buffer_store(own, own[0] + value_of(value), [0])

                emit_spread(rows.columns, ITEMS, item, add)
                barrier()  # the sum before is not read any more
                T.buffer_store(memory, own[0], [item])
                emit_group_sums(memory, item, ITEMS, 1)
                return emit_value(memory[0])

            count = emit_value(T.max(mean_of(lambda value: scalar(1.0)), scalar(1.0)))
            mean = emit_value(mean_of(lambda value: value) / count)
            squares = mean_of(lambda value: (value - mean) * (value - mean))
            with T.If(item == 0), T.Then():
                T.buffer_store(deviations, T.sqrt(squares / count), [task])

    return kernel([TASKS, rows.logits, DEVIATIONS], body)


def near(rows: Rows) -> tirx.PrimFunc:
    """f(tasks, values, places, deviations, logits): what is more than top_n_sigma deviations below
    the largest becomes IMPOSSIBLE in place."""

    def body(tasks, values, places, deviations, logits) -> None:
        with grid((rows.parts, tasks.shape[0]), ITEMS) as ((part, task), item):
            row, most = emit_value(tasks[task, ROW]), emit_value(as_float(tasks[task, TOP_N_SIGMA]))
            largest, _ = emit_best(rows, values, places, task, item)
            below = emit_value(largest - most * deviations[task])

            def look(column) -> None:
                with T.If(T.And(most > scalar(0.0), logits[row, column] < below)), T.Then():
                    T.buffer_store(logits, scalar(IMPOSSIBLE), [row, column])

            rows.emit_columns(part, item, look)

    found = [rows.of_parts("values"), rows.of_parts("places", "int32")]
    return kernel([TASKS, *found, DEVIATIONS, rows.logits], body)


def exclude(rows: Rows) -> tirx.PrimFunc:
    """f(tasks, cut, above, equal, logits): of the weights that are left and are at least
    xtc_threshold of their sum, all but the least become 0 in place."""

    def body(tasks, cut, above, equal, logits) -> None:
        with grid((tasks.shape[0],), ITEMS) as ((task,), item):
            row, left = emit_value(tasks[task, ROW]), Remaining(tasks, cut, task)
            threshold = emit_value(as_float(tasks[task, XTC_THRESHOLD]))
            memory = shared(ITEMS)
            sum_above = emit_total(above, (task,), rows.parts, item, memory)
            barrier()  # the sum is not read any more
            num_equal = registers(1)
            T.buffer_store(num_equal, scalar(0.0), [0])
            with T.serial(rows.parts) as i:
                more = T.Cast("float32", equal[task, i])
                T.buffer_store(num_equal, num_equal[0] + more, [0])
            ties = T.min(num_equal[0], T.Cast("float32", left.num_equal))
            bound = emit_value(threshold * (sum_above + ties * left.edge_weight))
            best = Best(rows)

            def offer(column) -> None:
                weight = emit_value(logits[row, column])
                is_left = T.Or(left.is_above(weight), left.is_equal(weight))
                with T.If(T.And(is_left, weight >= bound)), T.Then():
                    best.offer(-weight, column)

            emit_spread(rows.columns, ITEMS, item, offer)
            largest, _ = best.emit_result(item)
            least = emit_value(-largest)  # over every weight if there is none

            def drop(column) -> None:
                with T.If(logits[row, column] > least), T.Then():
                    T.buffer_store(logits, scalar(0.0), [row, column])

            emit_spread(rows.columns, ITEMS, item, drop)

    masses = [rows.of_parts("above"), rows.of_parts("equal", "int32")]
    return kernel([TASKS, CUT, *masses, rows.logits], body)

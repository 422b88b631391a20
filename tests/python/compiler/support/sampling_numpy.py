"""What each kernel of `kernels/gpu/sampling*.py` does, in NumPy: the same names and arguments.

    logits = adjust(tasks, extra, logits)
    logits, values, places = maxima(rows, tasks, extra, logits)
    ...

Sums are of float64, rounded to float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlc_llm.compiler.kernels.gpu import sampler_words_gen as words
from mlc_llm.compiler.kernels.gpu import sampling_cut as search
from mlc_llm.compiler.kernels.gpu import sampling_rows
from mlc_llm.compiler.kernels.gpu.sampling_rows import Rows

Array = np.ndarray[Any, Any]


def as_float(word: Any) -> Array:
    return np.asarray(word, np.int32).view(np.float32)


def as_word(value: Any) -> Array:
    return np.asarray(value, np.float32).view(np.int32)


def of_parts(rows: Rows, row: Array) -> list[Array]:
    return [row[begin : begin + rows.part] for begin in range(0, rows.columns, rows.part)]


def adjust(tasks: Array, extra: Array, logits: Array) -> Array:
    out = logits.copy()
    for task in tasks:
        first, count = task[words.CHANGES_START], task[words.NUM_CHANGES]
        changes = extra[first : first + count * words.LOGIT_CHANGE_WORDS].reshape(
            count, words.LOGIT_CHANGE_WORDS
        )
        for token, *others in changes:
            bias, repetition, penalty = as_float(others).astype(np.float64)
            value = out[task[words.ROW], token] + bias
            if np.isfinite(value):
                scaled = value / repetition if value > 0 else value * repetition
                out[task[words.ROW], token] = scaled - penalty
    return out


def maxima(rows: Rows, tasks: Array, extra: Array, logits: Array) -> tuple[Array, Array, Array]:
    out, found = logits.copy(), []
    for task in tasks:
        row, columns = logits[task[words.ROW]], np.arange(rows.columns)
        allowed = columns < task[words.LIMIT]
        if task[words.MASK_START] >= 0:
            bits = extra[task[words.MASK_START] :][: -(-rows.columns // 32)].copy().view(np.uint8)
            allowed &= np.unpackbits(bits, bitorder="little")[: rows.columns] != 0
        possible = allowed & np.isfinite(row)
        out[task[words.ROW]] = kept = np.where(possible, row, np.float32(sampling_rows.IMPOSSIBLE))
        broken = allowed & ~np.isfinite(row) & (row != -np.inf)
        found.append([])
        for places in of_parts(rows, columns):
            if broken[places].any():
                found[-1].append((sampling_rows.BROKEN, -1))
            elif possible[places].any():
                best = places[np.argmax(kept[places])]
                found[-1].append((kept[best], best))
            else:
                found[-1].append((sampling_rows.IMPOSSIBLE, rows.columns))
    both = np.array(found, np.float64)
    return out, both[..., 0].astype(np.float32), both[..., 1].astype(np.int32)


def best(values: Array, places: Array) -> tuple[Array, Array]:
    """(value, place) of each row."""
    value = values.max(1)
    return value, np.where(values == value[:, None], places, 2**30).min(1)


def pick(values: Array, places: Array) -> Array:
    value, place = best(values, places)
    is_token = (value > np.float32(sampling_rows.IMPOSSIBLE)) & (
        value < np.float32(sampling_rows.BROKEN)
    )
    return np.where(is_token, place, -1).astype(np.int32)


def spread(tasks: Array, logits: Array) -> Array:
    out = []
    for task in tasks:
        row = logits[task[words.ROW]][: task[words.LIMIT]].astype(np.float64)
        finite = row[np.isfinite(row)]
        out.append(finite.std() if len(finite) else 0.0)
    return np.array(out, np.float32)


def near(tasks: Array, values: Array, places: Array, deviations: Array, logits: Array) -> Array:
    out = logits.copy()
    for task, largest, deviation in zip(tasks, best(values, places)[0], deviations, strict=True):
        most = as_float(task[words.TOP_N_SIGMA])
        row = out[task[words.ROW]]
        if most > 0:
            row[row < np.float32(largest - most * deviation)] = sampling_rows.IMPOSSIBLE
    return out


def weigh(
    rows: Rows, tasks: Array, values: Array, places: Array, logits: Array
) -> tuple[Array, Array]:
    out, sums = logits.copy(), []
    for task, largest in zip(tasks, best(values, places)[0].astype(np.float64), strict=True):
        row = logits[task[words.ROW]].astype(np.float64)
        power = (row - largest) * float(as_float(task[words.SCALE]))
        counts = (row > np.float32(sampling_rows.IMPOSSIBLE)) & (power >= -87)
        weights = np.where(counts, np.exp(np.clip(power, -100, 0)), 0).astype(np.float32)
        out[task[words.ROW]] = weights
        sums.append([part.sum(dtype=np.float64) for part in of_parts(rows, weights)])
    return out, np.array(sums, np.float32)


def whole(sums: Array) -> Array:
    total = as_word(sums.sum(1, dtype=np.float64))
    return np.stack([np.zeros_like(total), np.full_like(total, sampling_rows.ALL), total], axis=1)


def aim(kind: int, tasks: Array, cut: Array) -> Array:
    state = np.zeros((len(tasks), search.STATE_WORDS), np.int32)
    top_k, top_p = tasks[:, words.TOP_K], as_float(tasks[:, words.TOP_P].copy())
    if kind == search.TOP_K_KIND:
        wanted = top_k.astype(np.float32)
        asked = (top_k > 1) & (top_k < tasks[:, words.LIMIT])
    else:
        wanted = top_p * as_float(cut[:, sampling_rows.SUM].copy())
        asked = (top_k != 1) & (top_p < 1)
    state[:, search.SHIFT] = np.where(asked, search.DIGIT_BITS * (search.ROUNDS - 1), -1)
    state[:, search.KIND], state[:, search.WANTED] = kind, as_word(wanted)
    return state


def first_digit(rows: Rows, tasks: Array, state: Array, logits: Array) -> tuple[Array, Array]:
    shape = (len(tasks), rows.parts, search.DIGITS)
    sums, counts = np.zeros(shape), np.zeros(shape)
    for i, (task, begun) in enumerate(zip(tasks, state, strict=True)):
        shift, prefix = int(begun[search.SHIFT]), int(begun[search.PREFIX])
        if shift < 0:
            continue
        for part, weights in enumerate(of_parts(rows, logits[task[words.ROW]])):
            digits = as_word(weights) >> shift
            above = digits >> search.DIGIT_BITS
            fits = (above == prefix >> shift >> search.DIGIT_BITS) & (weights > 0)
            low = digits[fits] & (search.DIGITS - 1)
            sums[i, part] = np.bincount(low, weights[fits].astype(np.float64), search.DIGITS)
            counts[i, part] = np.bincount(low, minlength=search.DIGITS)
    return sums.astype(np.float32), counts.astype(np.float32)


def _found(state: Array, sums: Array, counts: Array) -> tuple[Array, Array]:
    """The state with the next digit in it, and how many weights have that digit."""
    out, there = state.copy(), np.zeros(len(state))
    for i, (begun, total, count) in enumerate(zip(state, sums.sum(1), counts.sum(1), strict=True)):
        seen = [float(as_float(begun[w])) for w in (search.SUM_ABOVE, search.NUM_ABOVE)]
        wanted, digit, above = float(as_float(begun[search.WANTED])), 0, list(seen)
        for candidate in reversed(range(search.DIGITS)):
            if count[candidate] == 0:
                continue
            digit, above = candidate, list(seen)
            seen = [seen[0] + float(total[candidate]), seen[1] + float(count[candidate])]
            if seen[1 if begun[search.KIND] == search.TOP_K_KIND else 0] >= wanted:
                break
        there[i] = count[digit]
        out[i, search.PREFIX] |= digit << max(int(begun[search.SHIFT]), 0)
        out[i, search.SUM_ABOVE], out[i, search.NUM_ABOVE] = as_word(above)
    return out, there


def next_digit(
    rows: Rows, tasks: Array, state: Array, sums: Array, counts: Array, logits: Array
) -> tuple[Array, Array, Array]:
    new, _ = _found(state, sums, counts)
    new[:, search.SHIFT] = np.maximum(state[:, search.SHIFT] - search.DIGIT_BITS, -1)
    return new, *first_digit(rows, tasks, new, logits)


def settle(state: Array, sums: Array, counts: Array, cut: Array) -> Array:
    out = cut.copy()
    new, there = _found(state, sums, counts)
    for i, found in enumerate(new):
        edge, least = int(found[search.PREFIX]), int(cut[i, sampling_rows.LEAST])
        if found[search.SHIFT] < 0 or edge < least:
            continue
        weight = max(float(as_float(edge)), 1e-38)
        wanted, above, number = (
            float(as_float(found[w])) for w in (search.WANTED, search.SUM_ABOVE, search.NUM_ABOVE)
        )
        by_count = found[search.KIND] == search.TOP_K_KIND
        needed = wanted - number if by_count else np.ceil((wanted - above) / weight)
        equal = int(max(min(needed, there[i]), 1))
        if edge == least:
            equal = min(equal, int(cut[i, sampling_rows.NUM_EQUAL]))
        out[i] = edge, equal, as_word(above + equal * float(as_float(edge)))
    return out


def _left(task: Array, cut: Array, weights: Array) -> tuple[Array, Array]:
    """Which weights are above the edge, and which are at it."""
    enough = weights >= as_float(task[words.MIN_P])
    bits = as_word(weights)
    at_edge = (bits == cut[sampling_rows.LEAST]) & (weights > 0)
    return (bits > cut[sampling_rows.LEAST]) & enough, at_edge & enough


def measure(rows: Rows, tasks: Array, cut: Array, logits: Array) -> tuple[Array, Array]:
    above, equal = [], []
    for task, edge in zip(tasks, cut, strict=True):
        weights = logits[task[words.ROW]]
        is_above, is_equal = _left(task, edge, weights)
        kept = np.where(is_above, weights, 0)
        above.append([part.sum(dtype=np.float64) for part in of_parts(rows, kept)])
        equal.append([part.sum() for part in of_parts(rows, is_equal)])
    return np.array(above, np.float32), np.array(equal, np.int32)


def exclude(tasks: Array, cut: Array, above: Array, equal: Array, logits: Array) -> Array:
    out = logits.copy()
    for i, (task, edge) in enumerate(zip(tasks, cut, strict=True)):
        weights = out[task[words.ROW]]
        is_above, is_equal = _left(task, edge, weights)
        ties = min(equal[i].sum(), edge[sampling_rows.NUM_EQUAL])
        total = above[i].sum(dtype=np.float64) + ties * float(as_float(edge[sampling_rows.LEAST]))
        bound = float(as_float(task[words.XTC_THRESHOLD])) * total
        likely = weights[(is_above | is_equal) & (weights >= bound)]
        weights[weights > min(likely, default=np.inf)] = 0
    return out


def draw(
    tasks: Array, values: Array, places: Array, cut: Array, logits: Array
) -> tuple[Array, Array]:
    """The tokens, and how far (of 1) each random number is from where another would be chosen."""
    tokens, margins = pick(values, places), np.full(len(tasks), np.inf)
    for i, (task, edge) in enumerate(zip(tasks, cut, strict=True)):
        if tokens[i] < 0 or task[words.TOP_K] == 1:
            continue
        weights = logits[task[words.ROW]]
        is_above, is_equal = _left(task, edge, weights)
        ties = is_equal & (np.cumsum(is_equal) <= edge[sampling_rows.NUM_EQUAL])
        edges = np.cumsum(np.where(is_above | ties, weights, 0), dtype=np.float64)
        edges /= edges[-1]
        uniform = float(as_float(task[words.UNIFORM]))
        tokens[i] = np.searchsorted(edges, uniform, side="right")
        margins[i] = np.abs(edges - uniform).min()
    return tokens, margins

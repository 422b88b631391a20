"""The words that choose a token on a GPU, written and explained in NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mlc_llm.compiler.kernels.gpu import sampler_words_gen as words

Array = np.ndarray[Any, Any]


@dataclass
class Task:
    """What a request asks for. `changes`: token -> (bias, repetition penalty, penalty)."""

    row: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    top_n_sigma: float = 0.0
    xtc_threshold: float = 2.0
    uniform: float = 0.5
    limit: int = 0  # 0: every column is a token
    allowed: Array | None = None
    changes: dict[int, tuple[float, float, float]] = field(default_factory=dict)


def random_task(
    rng: np.random.Generator, row: int, columns: int, *, top_k: bool, every: bool = False
) -> Task:
    allowed = rng.random(columns) < rng.choice([0.02, 0.5]) if rng.random() < 0.4 else None
    if allowed is not None:
        allowed[rng.integers(columns)] = True
    tokens = rng.choice(columns, int(rng.choice([0, 5, 80])), replace=False)
    return Task(
        row=row,
        temperature=float(rng.choice([0, 0.3, 1.0, 1.7])),
        top_p=float(rng.choice([1.0, 0.95, 0.5, 0.01])),
        top_k=int(rng.choice([0, 1, 2, 40, columns])) if top_k else 0,
        min_p=float(rng.choice([0.0, 0.0, 0.1, 1.0])),
        top_n_sigma=float(rng.choice([0.0, 0.5, 1.5, 3.0])) if every else 0.0,
        xtc_threshold=float(rng.choice([0.02, 0.1, 0.4, 2.0])) if every else 2.0,
        uniform=float(np.float32(rng.random())),
        limit=int(rng.choice([0, columns - 5])),
        allowed=allowed,
        changes={
            int(t): (float(rng.normal()), float(rng.uniform(0.7, 1.5)), float(rng.normal()))
            for t in tokens
        },
    )


def _bits(value: float) -> int:
    return int(np.float32(value).view(np.int32))


def packed(tasks: list[Task], columns: int) -> tuple[Array, Array]:
    """`tasks` and `extra`, as a library takes them."""
    table = np.zeros((len(tasks), words.TASK_WORDS), np.int32)
    extra: list[int] = []
    for entry, task in zip(table, tasks, strict=True):
        entry[words.ROW], entry[words.LIMIT] = task.row, task.limit or columns
        entry[words.TOP_K] = 1 if task.temperature == 0 else task.top_k
        entry[words.SCALE] = _bits(1 / task.temperature if task.temperature else 1)
        for word, value in (
            (words.TOP_P, task.top_p),
            (words.MIN_P, task.min_p),
            (words.TOP_N_SIGMA, task.top_n_sigma),
            (words.XTC_THRESHOLD, task.xtc_threshold),
            (words.UNIFORM, task.uniform),
        ):
            entry[word] = _bits(value)
        entry[words.MASK_START] = -1
        if task.allowed is not None:
            entry[words.MASK_START] = len(extra)
            padded = np.zeros(-(-columns // 32) * 32, bool)
            padded[:columns] = task.allowed
            extra += np.packbits(padded, bitorder="little").view(np.int32).tolist()
        entry[words.CHANGES_START], entry[words.NUM_CHANGES] = len(extra), len(task.changes)
        for token, change in task.changes.items():
            extra += [token, *map(_bits, change)]
    return table, np.array(extra or [0], np.int32)


def changed(row: Array, task: Task) -> tuple[Array, float]:
    """The logits, float64; what cannot be chosen is -infinity. And how far (in deviations) the
    nearest logit is from where top_n_sigma begins to exclude."""
    x = row.astype(np.float64)
    for token, (bias, repetition, penalty) in task.changes.items():
        if np.isfinite(x[token]):
            value = x[token] + bias
            x[token] = (value / repetition if value > 0 else value * repetition) - penalty
    x[task.limit or len(x) :] = -np.inf
    finite = x[np.isfinite(x)]
    deviation = finite.std() if len(finite) else 0.0
    if task.allowed is not None:
        x[~task.allowed] = -np.inf
    if task.top_n_sigma <= 0 or task.temperature == 0 or not np.isfinite(x).any():
        return x, np.inf
    least = x[np.isfinite(x)].max() - task.top_n_sigma * deviation
    margin = np.abs(x - least).min() / max(deviation, 1e-9)
    x[x < least] = -np.inf
    return x, margin


def expected(row: Array, task: Task) -> tuple[int, float]:
    """The token, and how far (of 1) the random number is from where another would be chosen; with
    infinity where rounding does not matter. -1: no token. By sorting, in float64."""
    x, margin = changed(row, task)
    if np.isnan(x).any() or (x == np.inf).any() or not np.isfinite(x).any():
        return -1, np.inf
    if task.temperature == 0 or task.top_k == 1:
        return int(np.argmax(x)), np.inf
    weights = np.exp((x - x.max()) / task.temperature)
    weights[weights < np.exp(-87)] = 0
    order = np.lexsort((np.arange(len(x)), -weights))
    if 0 < task.top_k < len(x):
        weights[order[task.top_k :]] = 0
    if task.top_p < 1:
        reached = np.cumsum(weights[order]) / weights.sum()
        kept = int(np.searchsorted(reached, task.top_p)) + 1
        margin = min(margin, np.abs(reached - task.top_p).min())
        weights[order[kept:]] = 0
    weights[weights < task.min_p] = 0
    if task.xtc_threshold <= 1:
        shares = weights / weights.sum()
        margin = min(margin, np.abs(shares[shares > 0] - task.xtc_threshold).min())
        likely = weights[shares >= task.xtc_threshold]
        weights[weights > min(likely, default=np.inf)] = 0
    edges = np.cumsum(weights) / weights.sum()
    token = int(np.searchsorted(edges, task.uniform, side="right"))
    return token, min(margin, np.abs(edges - task.uniform).min())

"""The kernels of towers for `test_kernels_everywhere.py`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from kernel_cases import Call, Case, Rng, Rows, close, draw_rows, draw_x, row_calls, unwritten
from kernel_tools import frozen

from mlc_llm.compiler.kernels.cpu import linear, linear_panels, patch_attention
from mlc_llm.compiler.kernels.cpu.integer import doubles_words
from mlc_llm.compiler.kernels.cpu.patch_attention_words import WordHead
from mlc_llm.compiler.quantization.stored import StoredParam
from mlc_llm.compiler.vector_units import VectorUnit


def panels(name: str, dtype: str, rng: Rng, unit: VectorUnit) -> Case:
    rows, outs, ins = draw_rows(rng), int(rng.integers(1, 200)), int(rng.integers(1, 1700))
    weight = rng.standard_normal((outs, ins)).astype(dtype)
    x, residual = draw_x(rng, rows, ins), draw_x(rng, rows, outs)
    stored = StoredParam("a.weight", (outs, ins), dtype)
    tile = linear.Tile(*unit.panel_tile)
    function = linear_panels.linear_panels(stored, tile=tile, residual=True)
    expected = x.astype(np.float64) @ weight.astype(np.float64).T + residual
    inputs = [Rows(x), weight, Rows(residual)]
    calls = row_calls(rng, inputs, unwritten(rows, outs), close(expected, 1e-5))
    return Case(name, function, calls)


def patches(name: str, dim: int, rng: Rng, unit: VectorUnit, *, in_words: bool = False) -> Case:
    """All views together, and the last one alone."""
    heads = int(rng.integers(1, 4))
    lengths = [int(rng.integers(1, 20)), int(rng.integers(257, 420)), int(rng.integers(30, 60))]
    views = np.array([0, *np.cumsum(lengths)], np.int32)
    qkv = rng.standard_normal((views[-1], 3 * heads * dim)).astype(np.float32) * 2
    tile = linear.Tile(*unit.panel_tile)
    has_words = in_words and doubles_words(unit.dot)
    head = partial(WordHead, unit=unit.dot) if has_words else None
    function = patch_attention.patch_attention(heads, dim, dim**-0.5, tile=tile, head=head)
    expected = np.concatenate(
        [attended(qkv[a:b], heads) for a, b in zip(views[:-1], views[1:], strict=True)]
    )
    whole, tolerance = unwritten(len(qkv), heads * dim), 5e-3 if has_words else 1e-5
    alone = unwritten(lengths[-1], heads * dim)
    last, ends = qkv[-lengths[-1] :], np.array([0, lengths[-1]], np.int32)

    def check_alone() -> None:
        assert np.array_equal(alone, whole[-lengths[-1] :]), "views change each other"

    calls = [
        Call([frozen(qkv), frozen(views), whole], lambda: close(expected, tolerance)(whole)),
        Call([frozen(last), frozen(ends), alone], check_alone),
    ]
    return Case(name, function, calls)


def attended(qkv: np.ndarray, heads: int) -> np.ndarray:
    """Of one view, by the textbook."""
    rows = len(qkv)
    parts = np.split(qkv.astype(np.float64), 3, axis=1)
    q, k, v = (part.reshape(rows, heads, -1).transpose(1, 0, 2) for part in parts)
    scores = q @ k.transpose(0, 2, 1) * q.shape[-1] ** -0.5
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    made = scores / scores.sum(-1, keepdims=True) @ v
    return made.transpose(1, 0, 2).reshape(rows, -1)


CASES: dict[str, Callable[[Rng, VectorUnit], Case]] = {
    **{f"panels_{d}": partial(panels, f"panels_{d}", d) for d in ("float16", "float32")},
    **{f"patches_{n}": partial(patches, f"patches_{n}", n) for n in (64, 72)},
    "words_72": partial(patches, "words_72", 72, in_words=True),
}

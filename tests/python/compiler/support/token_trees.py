"""Token trees as the core lays them out: each branch a sequence with pages of its own from where it
leaves the others (`core/src/engine/branches.h`), and what NumPy says its rows are.

    tree = random_tree(rng, shape, history=83, count=12)
    kernel(*tree.copies(), tree.pages)           # `copy_slots`
    y = attend(kernel, tree, q, *tree.rows())    # of test_attention
    expected = tree.expected(q)
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from kernel_tools import frozen
from numpy_pages import as_kept, copy_slot, unknown_pages, write_slot
from test_attention import expected_row

from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE, AttentionShape

Array = np.ndarray[Any, Any]
Rng = np.random.Generator


class TokenTree:
    """`parents[i]` is an earlier token, or -1: the end of the history. Tokens come depth first: one
    that does not follow the token before it begins a branch. `past` and `own` are keys and values
    `[2, positions, kv_heads, dim]` of the history and of the tokens."""

    def __init__(
        self, shape: AttentionShape, past: Array, own: Array, parents: list[int], rng: Rng
    ) -> None:
        self.shape, self.past, self.own, self.parents = shape, past, own, parents
        self.sinks = np.linspace(-1, 2, shape.heads).astype(shape.learned_sinks or "float32")
        self.history, count = past.shape[1], len(parents)
        most = (self.history // PAGE_SIZE + 2) + (count + 1) * (count // PAGE_SIZE + 2)
        self._numbers = list(rng.permutation(most).astype(np.int32))
        self.pages = unknown_pages(most, shape)
        self.tables: list[list[int]] = [[]]
        self.places: list[tuple[int, int]] = []  # position and branch of each token
        self._copies: list[tuple[int, int]] = []
        self._grow(0, self.history)
        for position in range(self.history):
            self._write(self._slot(0, position), past[:, position])
        for token in range(count):
            self._add(token)
        for token, (position, branch) in enumerate(self.places):
            self._write(self._slot(branch, position), own[:, token])

    def path(self, token: int) -> list[int]:
        above = [] if self.parents[token] < 0 else self.path(self.parents[token])
        return [*above, token]

    def _grow(self, branch: int, length: int) -> None:
        while len(self.tables[branch]) * PAGE_SIZE < length:
            self.tables[branch].append(self._numbers.pop())

    def _slot(self, branch: int, position: int) -> int:
        return self.tables[branch][position // PAGE_SIZE] * PAGE_SIZE + position % PAGE_SIZE

    def _write(self, slot: int, value: Array) -> None:
        page, offset = divmod(slot, PAGE_SIZE)
        write_slot(self.shape, self.pages[page], offset, value)

    def _add(self, token: int) -> None:
        position = self.history + len(self.path(token)) - 1
        if self.parents[token] != token - 1:
            self._fork(token, position)
        branch = len(self.tables) - 1
        self._grow(branch, position + 1)
        self.places.append((position, branch))

    def _fork(self, token: int, position: int) -> None:
        parent, above = self.parents[token], self.path(token)[:-1]
        table = self.tables[self.places[parent][1] if parent >= 0 else 0]
        shared = position // PAGE_SIZE
        self.tables.append(table[:shared])
        if position % PAGE_SIZE == 0:
            return
        branch = len(self.tables) - 1
        self._grow(branch, position)
        self.pages[self.tables[branch][shared]] = self.pages[table[shared]]
        for place in range(max(self.history, shared * PAGE_SIZE), position):
            source = self.places[above[place - self.history]]
            self._copies.append((self._slot(source[1], source[0]), self._slot(branch, place)))

    def copies(self) -> tuple[Array, Array]:
        """Sources and destinations of `copy_slots`."""
        pairs = np.array(self._copies, np.int32).reshape(-1, 2)
        return frozen(pairs[:, 0].copy()), frozen(pairs[:, 1].copy())

    def copy(self) -> None:
        """Does what `copy_slots` does."""
        for source, destination in self._copies:
            (old, place), (new, to) = divmod(source, PAGE_SIZE), divmod(destination, PAGE_SIZE)
            copy_slot(self.shape, self.pages[old], place, self.pages[new], to)

    def rows(self) -> tuple[list[int], list[int]]:
        """Positions and sequences."""
        return [p for p, _ in self.places], [b for _, b in self.places]

    def indices(self) -> tuple[Array, Array]:
        indptr = np.cumsum([0, *(len(t) for t in self.tables)]).astype(np.int32)
        return frozen(indptr), frozen(np.concatenate(self.tables).astype(np.int32))

    def expected(self, q: Array) -> Array:
        """What each row is, in float64: it sees the history and the tokens that lead to it."""
        rows = enumerate(self.places)
        return np.stack(
            [expected_row(self.line(i), q[i], position, 0) for i, (position, _) in rows]
        )

    def line(self, token: int) -> SimpleNamespace:
        """The history and the tokens that lead to `token`, as `expected_row` reads a sequence."""
        keys, values = np.concatenate([self.past, self.own[:, self.path(token)]], axis=1)
        return SimpleNamespace(shape=self.shape, sinks=self.sinks, keys=[keys], values=[values])

    def alone(self, token: int, rng: Rng) -> TokenTree:
        """The tokens that lead to `token`, as a chain."""
        path = self.path(token)
        own, parents = self.own[:, path], list(range(-1, len(path) - 1))
        return TokenTree(self.shape, self.past, own, parents, rng)


def random_tree(rng: Rng, shape: AttentionShape, history: int, count: int) -> TokenTree:
    def drawn(size: int) -> Array:
        numbers = rng.standard_normal((2, size, shape.kv_heads, shape.dim))
        return as_kept(numbers, shape)

    parents = [
        int(rng.integers(-1, i)) if i > 0 and rng.random() < 0.3 else i - 1 for i in range(count)
    ]
    return TokenTree(shape, drawn(history), drawn(count), parents, rng)

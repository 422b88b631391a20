"""Where products read the groups of a strip: in the stored tensors, or in memory of the thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import LANES
from mlc_llm.compiler.kernels.cpu.strips import Strips
from mlc_llm.compiler.kernels.cpu.vector import at, emit_value

AHEAD_LINES = 128


@dataclass(frozen=True)
class Group:
    """A group of inputs of a strip, in registers."""

    quads: list[Any]
    scales: list[Any]  # one for all quads, or one for each half
    minimums: list[Any]  # as many, or none


class Groups(Protocol):
    """Where a tile reads the groups of a strip."""

    def emit_each(self, count: int, body: Callable[[Any, Group], None]) -> None:
        """Calls `body(group, content)` for each of the groups, in ascending order."""


@dataclass(frozen=True)
class StoredGroups:
    """In the stored tensors."""

    weights: Strips
    buffers: Any
    index: Any
    groups: int  # of a strip
    together: int = 1  # neighbouring strips, whose groups are read in turn

    @property
    def has_pairs(self) -> bool:
        """Whether there is `emit_pair`."""
        return not self.weights.kind.takes_bytes

    def emit_each(self, count: int, body: Callable[[Any, Group], None]) -> None:
        with T.serial(count) as group:
            body(group, self.emit(group))

    def emit_pair(self, group, turn, rows: int) -> list[Any]:
        """The quad `turn` of a group and the one half a group behind it; both are under the same
        scale. Products of one row wait for memory, those of more for instructions."""
        ahead = (self.buffers, *self.ahead(group))
        self.weights.emit_prefetch_pair(*ahead, turn)
        if rows == 1:
            with T.If(turn == 0), T.Then():
                self.weights.emit_prefetch_scales(*ahead)
        return self.weights.emit_pair(self.buffers, self.index, group, turn)

    def emit_scales(self, group) -> Group:
        """A group without its quads."""
        where = (self.buffers, self.index, group)
        return Group([], self.weights.emit_scales(*where), self.weights.emit_minimums(*where))

    def emit(self, group) -> Group:
        quads = self.weights.emit_quads(self.buffers, self.index, group)
        found = self.emit_scales(group)
        ahead = (self.buffers, *map(emit_value, self.ahead(group)))
        self.weights.emit_prefetch(*ahead)
        self.weights.emit_prefetch_scales(*ahead)
        return replace(found, quads=quads)

    def ahead(self, group) -> tuple[Any, Any]:
        """The strip and the group that are read `AHEAD_LINES` later. A group behind the end of a
        strip is in the next one, or behind all that are read together."""
        later = group + self.weights.groups_in(AHEAD_LINES)
        return self.index + later // self.groups * (self.together - 1), later


@dataclass(frozen=True)
class KeptGroups:
    """In memory of the thread, as bytes and float32."""

    quads: Any
    scales: Any
    minimums: Any
    each: int  # scales of a group
    count: int  # quads of a group

    def emit_each(self, count: int, body: Callable[[Any, Group], None]) -> None:
        with T.serial(count) as group:
            quads = _emit_some(self.quads, group, self.count)
            scales = _emit_some(self.scales, group, self.each)
            minimums = [] if self.minimums is None else _emit_some(self.minimums, group, self.each)
            body(group, Group(quads, scales, minimums))

    def store(self, group, found: Group) -> None:
        for buffer, count, vectors in (
            (self.quads, self.count, found.quads),
            (self.scales, self.each, found.scales),
            (self.minimums, self.each, found.minimums),
        ):
            for i, vector in enumerate(vectors):
                T.buffer_store(buffer, vector, [at((group * count + i) * LANES)])


def _emit_some(buffer: Any, group: Any, count: int) -> list[Any]:
    """The `count` vectors of a group."""
    return [emit_value(buffer[at((group * count + i) * LANES)]) for i in range(count)]

"""How the shards of a model compute one result (`spec/shards.py`). With one shard, nothing here
changes a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mlc_llm.compiler.kernels.common import shards as kernels
from mlc_llm.compiler.kernels.cpu import shards as on_cpu
from mlc_llm.compiler.nn import tensors
from mlc_llm.compiler.quantization.shards import Split

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory


class Shards:
    def __init__(self, nn: Builder, splits: Mapping[str, Split]) -> None:
        """`splits`: of the weights that shards share."""
        self.nn, self._splits = nn, splits
        self.count = next((split.count for split in splits.values()), 1)

    def split(self, weight: str) -> Split | None:
        return self._splits.get(weight)

    def summed(self, part: Any) -> Any:
        """A part of a layer, of which each shard computes a summand."""
        return part if self.count == 1 else _Summed(self, part)

    def table(self, table: Any, name: str, entries: int) -> Callable[[Any], Any]:
        """The embeddings of tokens; `entries`: those that a shard has."""
        if self.split(f"{name}.weight") is None:
            return table
        return _Table(self, table, entries)

    def joined(self, name: str) -> Callable[[Any], Any]:
        """What makes the logits of all tokens of those of the shards."""
        return (lambda x: x) if self.split(f"{name}.weight") is None else self._join

    def sum(self, x: Any) -> Any:
        """The sum of all shards' x, on each shard."""
        x = tensors.plain(x)
        width = int(x.ty.shape[1])
        return self._call("sum_of_shards", (width,), x, x.ty)

    def _join(self, x: Any) -> Any:
        x = tensors.plain(x)
        width = int(x.ty.shape[1])
        out = self.nn.rows(x, self.count * width)
        return self._call("join_shards", (width, self.count), x, out)

    def own_tokens(self, ids: Any, entries: int) -> Any:
        return self._call("own_tokens", (entries,), ids, ids.ty)

    def _call(self, name: str, key: tuple[int, ...], x: Any, out: Any) -> Any:
        kernel = self.nn.kernel(name, key, lambda: getattr(kernels, name)(*key))
        return self.nn.call(kernel, [x], out)


class _Summed:
    def __init__(self, shards: Shards, part: Any) -> None:
        self.shards, self.part = shards, part

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        made = self.shards.sum(self.part(x, batch, memory))
        if residual is None:
            return made
        add = self.shards.nn.scaled_add(int(made.ty.shape[1]), 1.0)
        return add.add(made, residual=residual)


class _Table:
    """A table of which each shard has some rows. A row is zeros on the other shards."""

    def __init__(self, shards: Shards, table: Any, entries: int) -> None:
        self.shards, self.table, self.entries = shards, table, entries

    def __call__(self, ids: Any) -> Any:
        nn, own = self.shards.nn, self.shards.own_tokens(ids, self.entries)
        known = nn.call(nn.kernel("known_rows", (), on_cpu.known_rows), [own], own.ty)
        x = tensors.plain(self.table(known))
        size = int(x.ty.shape[1])
        kernel = nn.kernel("keep_own", (size,), lambda: on_cpu.keep_own(size))
        return self.shards.sum(nn.call(kernel, [x, own], x.ty))

"""How the shards of a model compute one result (`spec/shards.py`). With one shard, nothing here
changes a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mlc_llm.compiler.kernels.common.shards import sum_of_shards
from mlc_llm.compiler.kernels.cpu import shards as on_cpu
from mlc_llm.compiler.kernels.gpu import shards as on_gpu
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
        if self.count == 1:
            return x
        x = tensors.plain(x)
        width = int(x.ty.shape[1])
        return self._call("sum_of_shards", (width,), sum_of_shards, [x], x.ty)

    def beside(self, x: Any) -> Any:
        """All shards' x side by side, on each shard."""
        if self.count == 1:
            return x
        x = tensors.plain(x)
        width = int(x.ty.shape[1])
        out = self.nn.rows(x, self.count * width)
        return self.sum(self.own("own_columns", (width, self.count), [x], out))

    def norm(self, weights: Mapping[str, int], eps: float) -> Callable[[Any], Any]:
        """f(x): the RMS norms of the first columns of rows, piece by piece, of each of which this
        shard has some columns. `weights`: the weight of each piece, and its size here."""
        nn, pieces = self.nn, tuple(weights.values())
        dtypes = tuple(nn.stored(name).dtype for name in weights)

        def norm(x: Any) -> Any:
            x = tensors.plain(x)
            columns, params = int(x.ty.shape[1]), map(nn.param, weights)
            made = self.own("squares", (pieces, columns), [x], nn.rows(x, len(pieces)))
            args = [x, self.sum(made), *params]
            key = (pieces, columns, self.count, eps, dtypes)
            return self.own("norm_of_shards", key, args, nn.rows(x, columns))

        return norm

    def _join(self, x: Any) -> Any:
        nn, x = self.nn, tensors.plain(x)
        width = int(x.ty.shape[1])
        key, out = (width, self.count), nn.rows(x, self.count * width)
        if nn.of(on_cpu, on_gpu) is on_cpu:
            return self._call("join_shards", key, on_cpu.join_shards, [x], out)
        scratch = tensors.types_of([on_gpu.gathered(*key)], rows=tensors.num_rows(x))
        made = self._call("join_shards", key, on_gpu.join_shards, [x], [out, *scratch])
        return nn.first_of(made)

    def own(self, name: str, key: tuple[Any, ...], given: list[Any], out: Any) -> Any:
        """Calls a kernel about what this shard has."""
        make = getattr(self.nn.of(on_cpu, on_gpu), name)
        return self._call(name, key, make, given, out)

    def _call(self, name: str, key: tuple[Any, ...], make: Any, given: list[Any], out: Any) -> Any:
        kernel = self.nn.kernel(name, key, lambda: make(*key))
        return self.nn.call(kernel, given, out)


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
        known = self.shards.own("known_rows", (self.entries,), [ids], ids.ty)
        x = tensors.plain(self.table(known))
        key = self.entries, int(x.ty.shape[1])
        return self.shards.sum(self.shards.own("keep_own", key, [x, ids], x.ty))

"""Runs the program of a shard once for each shard, in threads, through TVM's own virtual machine.
What the kernels between shards call is NumPy here; the core has its own (`runtime/shards`)."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from vm_runner import Runner

Array = np.ndarray[Any, Any]
_PATIENCE_SECONDS = 120


class _Group:
    """The shards that compute now."""

    def __init__(self, count: int) -> None:
        self.barrier = threading.Barrier(count)
        self.shown: list[Any] = [None] * count
        self.own = threading.local()

    def all_of(self, x: Any) -> list[Array]:
        self.shown[self.own.rank] = x.numpy()
        self.barrier.wait(_PATIENCE_SECONDS)
        found = list(self.shown)
        self.barrier.wait(_PATIENCE_SECONDS)
        return found


_group = _Group(1)


def _sum(x: Any, made: Any) -> None:
    made.copyfrom(np.add.reduce(_group.all_of(x)))


def _join(x: Any, made: Any) -> None:
    parts = _group.all_of(x)
    if _group.own.rank == 0:
        made.copyfrom(np.concatenate(parts, axis=1))


def _rank() -> int:
    return int(_group.own.rank)


@contextlib.contextmanager
def _in_place_of_the_cores() -> Iterator[None]:
    """The core's functions have the same names in this process, and engines of other tests call
    them."""
    calls = {"mlc.shards.sum": _sum, "mlc.shards.join": _join, "mlc.shards.rank": _rank}
    cores = {name: tvm_ffi.get_global_func(name, allow_missing=True) for name in calls}
    for name, call in calls.items():
        tvm_ffi.register_global_func(name, call, override=True)
    try:
        yield
    finally:
        for name, call in cores.items():
            if call is None:
                tvm_ffi.remove_global_func(name)
            else:
                tvm_ffi.register_global_func(name, call, override=True)


@contextlib.contextmanager
def as_shard(rank: int) -> Iterator[None]:
    """The calling thread is that shard."""
    _group.own.rank = rank
    with _in_place_of_the_cores():
        yield


def share_of(value: Array, shares: Mapping[str, Any] | None, rank: int) -> Array:
    """What a shard has of a stored tensor, by the field "shares" of a parameter."""
    if shares is None:
        return value
    if not shares["runs"]:
        return value if rank == 0 else np.zeros_like(value)
    runs = [(first, n, *(step or [n])) for first, n, *step in shares["runs"]]
    places = [np.arange(n) + first + rank * step for first, n, step in runs]
    return np.take(value, np.concatenate(places), axis=shares["axis"])


class ShardRunners:
    """`Runner`s of all shards, with the logits of the first one."""

    def __init__(self, module: Any, weights: Mapping[str, Array], **options: Any) -> None:
        machine = tvm.relax.VirtualMachine(module, tvm.cpu())
        metadata = str(machine["_metadata"]())
        self.metadata = json.loads(metadata)
        self.count = self.metadata["tensor_parallel_shards"]
        shares = {p["name"]: p.get("shares") for p in self.metadata["params"]}
        self.runners = []
        for rank in range(self.count):
            own = {n: share_of(w, shares[n], rank) for n, w in weights.items() if n in shares}
            self.runners.append(Runner(module, own, **options))

    def forward(self, work: Sequence[tuple[str, Sequence[int]]]) -> Array:
        global _group
        _group = _Group(self.count)

        def run(rank: int) -> Array:
            _group.own.rank = rank
            try:
                return self.runners[rank].forward(work)
            except BaseException:
                _group.barrier.abort()
                raise

        with _in_place_of_the_cores(), ThreadPoolExecutor(self.count) as pool:
            return list(pool.map(run, range(self.count)))[0]

"""Kernels between shards. The core does the work: each calls one of its functions by name
(`core/src/runtime/shards/collective.h`), and all shards call the same ones in the same order."""

from __future__ import annotations

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel

SUM, JOIN, OWN = "mlc.shards.sum", "mlc.shards.join", "mlc.shards.own_tokens"


def sum_of_shards(width: int) -> tirx.PrimFunc:
    """f(x [rows, width], y [rows, width]): on each shard the sum of all shards' x, added in the
    order of the shards."""
    return _call(SUM, Arg("x", ("rows", width)), Arg("y", ("rows", width)))


def join_shards(width: int, count: int) -> tirx.PrimFunc:
    """f(x [rows, width], y [rows, count * width]): all shards' x side by side, on the first shard;
    on the others y is undefined."""
    return _call(JOIN, Arg("x", ("rows", width)), Arg("y", ("rows", count * width)))


def own_tokens(vocabulary: int) -> tirx.PrimFunc:
    """f(ids [rows], own [rows]): the rows of a shard's part of the vocabulary; -1 for tokens of
    another shard."""
    return _call(OWN, Arg("ids", ("rows",), "int32"), Arg("own", ("rows",), "int32"), vocabulary)


def _call(function: str, given: Arg, made: Arg, *numbers: int) -> tirx.PrimFunc:
    def body(x, y) -> None:
        with T.serial(1), T.sblock("call"):
            T.reads()
            T.writes()
            T.evaluate(T.call_packed(function, x, y, *numbers))

    return kernel([given, made], body)

"""Kernels between shards. The core does the work: each calls its functions by name
(`core/src/runtime/shards/collective.h`), and all shards call the same ones in the same order."""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.function import Arg, kernel

RANK, SUM, JOIN = "mlc.shards.rank", "mlc.shards.sum", "mlc.shards.join"


def sum_of_shards(width: int) -> tirx.PrimFunc:
    """f(x [rows, width], y [rows, width]): on each shard the sum of all shards' x."""

    def body(x: Any, y: Any) -> None:
        with T.serial(1), T.sblock("call"):
            T.reads()
            T.writes()
            emit_call(SUM, x, y)

    return kernel([Arg("x", ("rows", width)), Arg("y", ("rows", width))], body)


def emit_call(function: str, x: Any, made: Any) -> None:
    T.evaluate(T.call_packed(function, x, made))


def emit_first(size: int) -> Any:
    """The first place of this shard's part of a vocabulary or of columns; a part has `size`. The
    host computes it."""
    return T.Bind(T.call_packed(RANK) * size)


def places_of(pieces: tuple[int, ...]) -> list[tuple[int, int]]:
    """The first column of each piece, and its size."""
    return [(sum(pieces[:i]), size) for i, size in enumerate(pieces)]


def norm_args(pieces: tuple[int, ...], columns: int, dtypes: tuple[str, ...]) -> list[Arg]:
    """Of `norm_of_shards`."""
    given = [
        Arg(f"weight{i}", (size,), dtype)
        for i, (size, dtype) in enumerate(zip(pieces, dtypes, strict=True))
    ]
    x, squares = Arg("x", ("n", columns)), Arg("squares", ("n", len(pieces)))
    return [x, squares, *given, Arg("y", ("n", columns))]


def is_own(token: Any, first: Any, entries: int) -> Any:
    return tirx.all(token >= first, token < first + entries)

"""A number for each row of a step."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tvm import relax

from mlc_llm.compiler.nn.tensors import num_rows, tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder


def zeros(nn: Builder, like: relax.Expr) -> relax.Var:
    return _made(nn, "zeros", [like])


def sequence_ends(nn: Builder, positions: relax.Expr, row_sequence: relax.Expr) -> relax.Var:
    """The position of its sequence's last row in the batch."""
    return _made(nn, "sequence_ends", [positions, row_sequence])


def near_ends(nn: Builder, positions: relax.Expr, ends: relax.Expr, ahead: int) -> relax.Var:
    """The last position that it sees in a window of `ahead` on each side."""
    return _made(nn, "near_ends", [positions, ends], ahead)


def _made(nn: Builder, name: str, given: list[relax.Expr], *options: int) -> relax.Var:
    kernel = nn.kernel(name, options, partial(getattr(nn.on.positions, name), *options))
    return nn.call(kernel, given, tensor(num_rows(given[0]), dtype="int32"))

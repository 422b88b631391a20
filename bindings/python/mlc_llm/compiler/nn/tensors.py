"""Tensors of run-time rows, and rows that are computed in the form that their reader needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tvm import relax, tirx

from mlc_llm.compiler.kernels.common.function import Arg
from mlc_llm.compiler.kernels.cpu import activations

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder


def tensor(rows: Any, *rest: int, dtype: str = "float32") -> relax.TensorType:
    return relax.TensorType([rows, *rest], dtype)


def types_of(args: Sequence[Arg], **sizes: Any) -> list[relax.TensorType]:
    """The types of a kernel's arguments. `sizes`: those that are known when the kernel runs."""
    return [
        relax.TensorType([sizes.get(e, e) if isinstance(e, str) else e for e in a.shape], a.dtype)
        for a in args
    ]


def num_rows(x: relax.Expr) -> Any:
    """The run-time number of rows."""
    return x.ty.shape[0]


class Deferred:
    """A tensor that is computed when a form of it is needed: floats, or codes.

    So a norm or an activation before a linear layer writes the input of that layer directly. Each
    form is computed at most once.
    """

    def __init__(self, nn: Builder, kind: relax.TensorType, forms: Forms, each: int = 1) -> None:
        """`each`: a row has that many rows of codes side by side."""
        self.ty, self._nn, self._forms, self._each = kind, nn, forms, each
        self._made: dict[Any, Any] = {}

    @classmethod
    def of(cls, nn: Builder, x: relax.Expr, each: int = 1) -> Deferred:
        """For a tensor that already exists as floats: only codes are computed."""

        def forms(codes: activations.Codes | None):
            return "quantize", (codes, each), [x], lambda: activations.quantize(codes, each)

        deferred = cls(nn, x.ty, forms, each)
        deferred._made[None] = x
        return deferred

    def plain(self) -> relax.Var:
        """The floats."""
        if None not in self._made:
            self._made[None] = self._call(None, self.ty)
        return self._made[None]

    def quantized(self, codes: activations.Codes) -> relax.Expr:
        """The codes."""
        if codes not in self._made:
            arg = codes.arg_of(self._each)
            self._made[codes] = self._call(
                codes, tensor(num_rows(self), arg.shape[1], dtype=arg.dtype)
            )
        return self._made[codes]

    def _call(self, codes: activations.Codes | None, out: relax.TensorType) -> relax.Var:
        name, key, args, make = self._forms(codes)
        return self._nn.call(self._nn.kernel(name, key, make), args, out)


# The kernel of a form (codes, or None: floats): its name, its key, its arguments, and a function to
# make it.
Forms = Callable[["activations.Codes | None"], tuple[str, Any, list, Callable[[], tirx.PrimFunc]]]


def plain(x: relax.Expr | Deferred) -> relax.Expr:
    return x.plain() if isinstance(x, Deferred) else x


def quantized(nn: Builder, x: relax.Expr | Deferred, codes: activations.Codes) -> relax.Expr:
    return (x if isinstance(x, Deferred) else Deferred.of(nn, x)).quantized(codes)

"""Builds a kernel: from named tensor arguments to a TIR function.

    def body(x, y):
        emit_rows(x.shape[0], lambda row: ...)

    kernel([Arg("x", ("rows", 576)), Arg("y", ("rows", 576))], body)

A string in a shape is a size that is known when the kernel runs. The same string means the same
size. The kernel writes the last argument, or the arguments that the caller names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.tirx.script import builder as T

ARGUMENTS = "mlc.arguments"


def split_rows(buffer: Any, each: int) -> Any:
    """The buffer [rows, each * size] as [rows * each, size]."""
    if each == 1:
        return buffer
    rows, size = buffer.shape
    shape = (rows * each, int(size) // each)
    return T.decl_buffer(shape, str(buffer.dtype), data=buffer.data)


@dataclass(frozen=True)
class Arg:
    """A tensor argument."""

    name: str
    shape: tuple[int | str, ...]
    dtype: str = "float32"


def kernel(args: Sequence[Arg], body: Callable[..., None]) -> tirx.PrimFunc:
    """`body` gets one buffer for each argument, in order, and emits the kernel's statements.

    The attributes say that pointers do not alias, that no schedule should be applied, and the names
    of the arguments.
    """
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        names = [arg.name for arg in args]
        T.func_attr({"tirx.noalias": True, "tirx.is_scheduled": True, ARGUMENTS: names})
        sizes = {s: T.int64() for arg in args for s in arg.shape if isinstance(s, str)}
        handles = [T.arg(arg.name, T.handle()) for arg in args]
        buffers = [
            T.match_buffer(handle, [sizes.get(s, s) for s in arg.shape], arg.dtype)
            for handle, arg in zip(handles, args, strict=True)
        ]
        body(*buffers)
    return builder.get()


def named_kernel(args: Sequence[Arg], body: Callable[..., None]) -> tirx.PrimFunc:
    """The same with a `body` that gets its buffers by the arguments' names. So what a kernel has
    only sometimes is a parameter with the default None."""
    names = [arg.name for arg in args]
    return kernel(args, lambda *buffers: body(**dict(zip(names, buffers, strict=True))))

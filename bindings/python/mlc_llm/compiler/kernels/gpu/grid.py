"""Helpers for kernels that run as work-groups of work-items, on any GPU.

    with grid((rows, 4), 64) as ((row, part), item):
        sums = shared(64)
        ...
        barrier()

Between two barriers the order of execution is free. All work-items of a group must reach a barrier.
Helpers named `emit_*` add statements; the others return expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.common.values import NEVER, to_float

__all__ = [
    "NEVER",
    "barrier",
    "emit_choice",
    "emit_store",
    "emit_value",
    "grid",
    "registers",
    "scalar",
    "shared",
    "to_float",
]

_AXES = "xyz"


def emit_value(expression: Any) -> Any:
    """Computes the expression once and gives it a name. On CPUs such values are in memory until
    LLVM; here OpenCL would put that memory into another address space."""
    return T.Bind(expression)


@contextmanager
def grid(groups: Sequence[Any], items: int) -> Iterator[tuple[list[Any], Any]]:
    """One launch. Yields the indices of the group and of the work-item. With zero groups the host
    does not launch, because TVM's CUDA runtime would launch one."""
    with ExitStack() as stack:
        for extent in groups:
            if not isinstance(extent, int):
                stack.enter_context(T.If(extent > 0))
                stack.enter_context(T.Then())

        def bind(extent: Any, thread: str) -> Any:
            extent = extent if isinstance(extent, int) else T.Cast("int32", extent)
            return stack.enter_context(T.thread_binding(0, extent, thread=thread))

        places = [bind(n, f"blockIdx.{axis}") for n, axis in zip(groups, _AXES, strict=False)]
        item = bind(items, "threadIdx.x")
        stack.enter_context(T.sblock("group"))
        T.reads()
        T.writes()
        yield places, item


def emit_choice(condition: Any, yes: Callable[[], None], no: Callable[[], None]) -> None:
    """Chooses a launch on the host."""
    with T.If(condition):
        with T.Then():
            yes()
        with T.Else():
            no()


def shared(size: int, dtype: str = "float32") -> Any:
    """Memory of the work-group."""
    return T.sblock_alloc_buffer((size,), dtype, scope="shared")


def registers(size: int, dtype: str = "float32") -> Any:
    """Memory of the work-item; in registers if indices are constants."""
    return T.sblock_alloc_buffer((size,), dtype, scope="local")


def barrier() -> None:
    T.evaluate(T.tvm_storage_sync("shared"))


def scalar(value: float) -> Any:
    return T.float32(value)


def emit_store(buffer: Any, value: Any, indices: Sequence[Any]) -> None:
    """Rounds a float32 to the buffer's type. A value that is too large for a 16-bit float becomes
    infinite; that becomes an error when tokens are chosen."""
    dtype = str(buffer.dtype)
    T.buffer_store(buffer, value if dtype == "float32" else T.Cast(dtype, value), list(indices))


def emit_fill(buffer: Any, size: int, value: float) -> None:
    for i in range(size):
        T.buffer_store(buffer, scalar(value), [i])


def emit_spread(count: int, items: int, item: Any, body: Callable[[Any], None]) -> None:
    """Calls `body(i)` for i in [0, count), divided among the work-items."""
    if count % items == 0 and count // items == 1:
        body(item)
        return
    with T.serial(-(-count // items)) as step:
        index = emit_value(step * items + item)
        if count % items == 0:
            body(index)
            return
        with T.If(index < count), T.Then():
            body(index)


def emit_sums(own: Any, item: Any, items: int, count: int, until: int = 1) -> Any:
    """Adds up the `count` values `own` of all work-items. The sums are in the result, which is in
    shared memory, where `emit_group_sums` leaves them."""
    partial = shared(count * items)
    for i in range(count):
        T.buffer_store(partial, own[i], [item * count + i])
    emit_group_sums(partial, item, items, count, until)
    return partial


def emit_group_sums(partial: Any, item: Any, items: int, count: int, until: int = 1) -> None:
    """`partial` is shared(count * items), work-item by work-item. The sums are then in its first
    `count` values. With `until`, each work-item is added to one of the first `until`: to the one
    whose number differs by a multiple of `until`.

    The tree is always the same, so the bits of a row do not depend on other rows.
    """
    barrier()
    width = items // 2
    while width >= until:
        with T.If(item < width), T.Then():
            for i in range(count):
                other = partial[(item + width) * count + i]
                T.buffer_store(partial, partial[item * count + i] + other, [item * count + i])
        barrier()
        width //= 2

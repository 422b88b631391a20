"""Counters that the threads of a loop share.

    with counters(2) as (taken, done):
        with T.parallel(...):
            index = taken.emit_next()

TIR has no atomic operations for CPUs, so these are functions of LLVM, which become instructions in
their place. A loop's threads take its parts in ascending order, and a part that was begun is always
finished (`core/src/runtime/worker_pool.h`). So a thread may wait for what another one has taken,
and never for what nobody has begun.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tvm.tirx.script import builder as T

_APART = 32  # counters are in lines of their own, also where a line has 128 bytes
_NEXT, _READ = "mlc_counter_next", "mlc_counter_read"
_FUNCTIONS = f"""
define i32 @{_NEXT}(ptr %counter) {{
  %old = atomicrmw add ptr %counter, i32 1 acq_rel
  ret i32 %old
}}
define i32 @{_READ}(ptr %counter) {{
  %value = load atomic i32, ptr %counter acquire, align 4
  ret i32 %value
}}
"""


@dataclass(frozen=True)
class Counter:
    buffer: Any
    place: int

    def emit_next(self) -> Any:
        """Adds 1, and returns what it was. What this thread wrote before is seen by those that read
        the counter afterwards."""
        old = T.alloc_buffer((1,), "int32")
        T.buffer_store(old, self._call(_NEXT), [0])
        return old[0]

    def read(self) -> Any:
        return self._call(_READ)

    def _call(self, name: str) -> Any:
        return T.call_extern("int32", name, T.address_of(self.buffer[self.place]))


@contextmanager
def counters(count: int) -> Iterator[list[Counter]]:
    """That many, which begin at 0. The loop stands within."""
    buffer = T.alloc_buffer((count * _APART,), "int32")
    found = [Counter(buffer, i * _APART) for i in range(count)]
    for counter in found:
        T.buffer_store(buffer, T.int32(0), [counter.place])
    with T.attr(T.int32(0), "pragma_import_llvm", _FUNCTIONS):
        yield found

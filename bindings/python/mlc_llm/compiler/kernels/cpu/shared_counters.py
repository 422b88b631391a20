"""Counters that the threads of a loop share.

    with counters(2, unit) as (taken, done):
        with T.parallel(...):
            with T.While(taken.read() < count):
                index = taken.emit_next()  # and its work, if it is below `count`
                done.emit_next()
            done.emit_wait(count)

TIR has no atomic operations for CPUs, so these are functions of LLVM, which become instructions in
their place.

A thread may wait only after it has seen that all is taken, and one that has taken something must
finish it without waiting. So what is waited for is always in the hands of a thread that is at work,
however many threads there are and in whatever order they take the loop's parts. One thread alone
finds all of it done.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tvm.tirx.script import builder as T

from mlc_llm.compiler.kernels.cpu.integer_instructions import DotUnit

_APART = 32  # counters are in lines of their own, also where a line has 128 bytes
_NEXT, _READ, _PAUSE = "mlc_counter_next", "mlc_counter_read", "mlc_counter_pause"
# What the runtime's own loops do while they wait (`core/src/runtime/spin.h`). On ARM `yield` does
# nothing on most cores. An intrinsic of another processor would not compile.
_X86 = ("llvm.x86.sse2.pause", "", "")
_ARM = ("llvm.aarch64.isb", "i32", "i32 15")
_PAUSES: dict[DotUnit, tuple[str, str, str]] = {
    "avx512vnni": _X86, "avx512bw": _X86, "avxvnni": _X86, "avx2": _X86, "ssse3": _X86,
    "neoni8mm": _ARM, "neondot": _ARM, "neon": _ARM,
}  # fmt: skip
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


def _functions(unit: DotUnit) -> str:
    declared, call = "", ""  # no pause in WebAssembly, nor where the processor is not known
    if unit in _PAUSES:
        name, takes, given = _PAUSES[unit]
        declared, call = f"declare void @{name}({takes})", f"call void @{name}({given})"
    pause = f"define i32 @{_PAUSE}(ptr %counter) {{\n  {call}\n  ret i32 0\n}}\n"
    return f"{declared}\n{_FUNCTIONS}{pause}"


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

    def emit_wait(self, count) -> None:
        """Waits until the counter is `count`. The caller has no work left.

        It is as short as the rest of what others have taken, unless the system has given the core
        of such a thread to another one. Then this thread keeps its own core busy until that one
        runs again: up to a time slice of the system, some milliseconds, and longer where both need
        the same core. It cannot yield, as the pool does after 50 us: a model library has no call
        for that, and would need a further import. Nor does the pool see it as a stall, because it
        counts as time of this thread's work.
        """
        with T.While(self.read() < count):
            T.evaluate(self._call(_PAUSE))

    def _call(self, name: str) -> Any:
        return T.call_extern("int32", name, T.address_of(self.buffer[self.place]))


@contextmanager
def counters(count: int, unit: DotUnit) -> Iterator[list[Counter]]:
    """That many, which begin at 0. The loop stands within. `unit` says which processor it is."""
    buffer = T.alloc_buffer((count * _APART,), "int32")
    found = [Counter(buffer, i * _APART) for i in range(count)]
    for counter in found:
        T.buffer_store(buffer, T.int32(0), [counter.place])
    with T.attr(T.int32(0), "pragma_import_llvm", _functions(unit)):
        yield found

"""A device of a plugin through TVM's Python: kernels on it, and what it can do at most."""

from __future__ import annotations

import ctypes
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tvm
from tvm.tirx.script import builder as T

from mlc_llm import _core
from mlc_llm.compiler import lowering, targets
from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.kernels.gpu.grid import emit_fill, emit_value, grid, registers, scalar

_SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
_COPY_BYTES = 128 << 20
_CHAINS, _STEPS, _ITEMS, _GROUPS = 8, 64, 64, 32768
_LAUNCHES = 48  # so few that none has to wait for another
_RECORDED = 32  # at least so many launches in a graph
_AWAKE_S = 0.1  # of work before a measurement: an idle GPU has a sixth of its clock


class GpuDevice:
    """`name` is "opencl:0"; the plugin is opened when there is one."""

    def __init__(self, name: str) -> None:
        self.kind, _, index = name.partition(":")
        self.name = f"{self.kind}:{index or 0}"
        self.gpu = targets.resolve(self.kind)
        backend = str(self.gpu.describe()["kind"])  # vulkan runs on webgpu
        plugin = Path(_core.__file__).parent / f"libmlc_llm_{backend}{_SUFFIX}"
        if plugin.exists():
            ctypes.CDLL(str(plugin))
        self.tvm = tvm.device(backend, int(index or 0))
        if not self.tvm.exist:
            raise SystemExit(f"there is no device {self.name}: see `mlc_llm doctor`")
        listed = (d for d in json.loads(_core.list_devices()) if d["name"] == self.name)
        self.facts: dict[str, Any] = next(listed, {})
        self.waits: list[Callable[[], object]] = [self.tvm.sync]  # for all that was asked of it

    def compiled(self, functions: dict[str, Any]) -> Any:
        """The kernels, through the plugin's own loader, as a model library's are."""
        named = {n: f.with_attr("global_symbol", n) for n, f in functions.items()}
        module = tvm.IRModule(named)
        with self.gpu.code():
            built = tvm.compile(module, target=self.gpu.target(), tir_pipeline=lowering.GPU)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/kernels.so"
            built.export_library(path)
            return tvm.runtime.load_module(path)

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        return tvm.runtime.empty(shape, dtype, self.tvm)

    def put(self, array: Any) -> Any:
        return tvm.runtime.tensor(array, self.tvm)

    def seconds(
        self, calls: list[Callable[[], object]], budget_s: float, record: bool = True
    ) -> float:
        """Of one call: the least of some rounds over `calls`, each long enough to be measured.
        Where the device can record launches (CUDA graphs), it replays them: a kernel of a fast
        device takes less time than its launch from here. `record` is for calls that launch on
        the current stream."""
        for call in calls[:2]:
            call()
        self._wait()
        recorder = tvm.get_global_func(f"mlc.{self.kind}.record", allow_missing=True)
        if not record or recorder is None:
            return self._seconds(calls, budget_s)
        every = calls * -(-_RECORDED // len(calls))

        def launch_every() -> None:
            for call in every:
                call()

        replay = recorder(self.tvm.index, launch_every)
        replay()
        self._wait()
        return self._seconds([replay], budget_s) / len(every)

    def _seconds(self, calls: list[Callable[[], object]], budget_s: float) -> float:
        self._wake(calls[0])
        rounds, turns, best, end = 0, 1, float("inf"), time.perf_counter() + budget_s
        while rounds < 3 or time.perf_counter() < end:
            begin = time.perf_counter()
            for i in range(turns):
                calls[i % len(calls)]()
            self._wait()
            spent = time.perf_counter() - begin
            if spent < 0.02 and spent < budget_s / 4 and turns < 4096:  # the wait itself is in it
                turns *= 4
                continue
            best, rounds = min(best, spent / turns), rounds + 1
            if spent > budget_s:
                break
        return best

    def _wake(self, call: Callable[[], object]) -> None:
        end = time.perf_counter() + _AWAKE_S
        while not self.facts.get("is_processor") and time.perf_counter() < end:
            call()
            self._wait()

    def _wait(self) -> None:
        for wait in self.waits:
            wait()

    def launch_seconds(self) -> float:
        """Of the host, for a kernel that does next to nothing: handed over, not waited for."""

        def body(x, y) -> None:
            with grid((1,), 1) as ((_,), item):
                T.buffer_store(y, x[item], [item])

        function = kernel([Arg("x", (1,)), Arg("y", (1,))], body)
        entry = self.compiled({"launch": function})["launch"]
        pairs = [tuple(self.empty((1,), "float32") for _ in range(2)) for _ in range(8)]
        best = float("inf")
        for _ in range(50):
            self.tvm.sync()
            begin = time.perf_counter()
            for i in range(_LAUNCHES):
                entry(*pairs[i % len(pairs)])
            best = min(best, (time.perf_counter() - begin) / _LAUNCHES)
        return best

    def copy_bandwidth(self, budget_s: float) -> float:
        """Bytes read and written a second by the runtime's own copy."""
        size = min(
            _COPY_BYTES,
            self.facts.get("max_buffer_bytes") or _COPY_BYTES,
            (self.facts.get("memory_bytes") or 8 * _COPY_BYTES) // 8,
        )
        a, b = (self.empty((size // 4,), "float32") for _ in range(2))
        return 2 * size / self.seconds([lambda: a.copyto(b)], budget_s, record=False)

    def multiply_rate(self, budget_s: float) -> float:
        """Floating-point operations a second of multiply-adds that stay in registers (float32)."""
        groups = _GROUPS

        def body(x, y) -> None:
            with grid((groups,), _ITEMS) as ((group,), item):
                sums, place = registers(_CHAINS), group * _ITEMS + item
                emit_fill(sums, _CHAINS, 0.0)
                factor = emit_value(x[place])
                for step in range(_STEPS * _CHAINS):  # no loop: processors turn items into lanes
                    i = step % _CHAINS
                    T.buffer_store(sums, sums[i] * factor + scalar(1.0 + i), [i])
                total = sums[0]
                for i in range(1, _CHAINS):
                    total = total + sums[i]
                T.buffer_store(y, total, [place])

        size = groups * _ITEMS
        function = kernel([Arg("x", (size,)), Arg("y", (size,))], body)
        entry = self.compiled({"multiply": function})["multiply"]
        x, y = (self.empty((size,), "float32") for _ in range(2))
        return 2 * _CHAINS * _STEPS * size / self.seconds([lambda: entry(x, y)], budget_s)

"""Runs kernels on processors: this one, others under qemu, and WebAssembly in Deno.

    run(MACHINES["aarch64-dotprod"], cases, folder)

All kernels of a run are one library, and all calls one process (`kernel_runner.c`; in WebAssembly
`wasm_runner.ts`).
"""

from __future__ import annotations

import platform
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from kernel_cases import Array, Case

from mlc_llm.compiler import targets, vector_units
from mlc_llm.compiler.targets import PRESETS, Device
from mlc_llm.prepare import linker, wasm_linker

sys.path.append(str(Path(__file__).parents[4]))

from devtools.web_sdk import find_deno  # noqa: E402

_RUNNER = Path(__file__).with_name("kernel_runner.c")
_WASM_RUNNER = Path(__file__).with_name("wasm_runner.ts")
_TYPE_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4}


@dataclass(frozen=True)
class Machine:
    """A device, and where its code runs. `flags` of this processor (/proc/cpuinfo) are needed, or
    qemu, which plays `cpu`: one that has no more than what the device's code may use."""

    device: Device
    architecture: str = "x86_64"
    flags: tuple[str, ...] = ()
    cpu: str = ""

    @property
    def native(self) -> bool:
        return platform.machine() == self.architecture

    @property
    def compiler(self) -> str:
        return "gcc" if self.native else f"{self.architecture}-linux-gnu-gcc"

    @property
    def launcher(self) -> list[str]:
        if self.native:
            return []
        root = f"/usr/{self.architecture}-linux-gnu"
        return [f"qemu-{self.architecture}", "-cpu", self.cpu, "-L", root]

    def missing(self) -> str | None:
        """Why this machine cannot be had here."""
        if platform.system() != "Linux":
            return "needs Linux"
        lacking = set(self.flags) - _cpu_flags()
        if self.native and lacking:
            return f"this processor has no {', '.join(sorted(lacking))}"
        tools = [tool for tool in (self.compiler, *self.launcher[:1]) if shutil.which(tool) is None]
        return f"needs {', '.join(tools)}" if tools else None


@dataclass(frozen=True)
class WasmMachine(Machine):
    """WebAssembly, without the engine."""

    def missing(self) -> str | None:
        if find_deno() is None:
            return "needs deno: pip install deno"
        return None if wasm_linker.find() else "needs wasm-ld: pip install ziglang"


def _cpu_flags() -> set[str]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return {
        flag for line in lines if line.startswith(("flags", "Features")) for flag in line.split()
    }


def _portable() -> Device:
    """What no instruction set is assumed for, beyond the architecture's first."""
    vectors = replace(vector_units.SSE, dot="portable")
    return replace(PRESETS["x86-64-v2"], name="portable", mcpu="x86-64", vectors=vectors)


def _x86(name: str, *flags: str) -> Machine:
    return Machine(PRESETS[name], flags=flags)


def _arm(name: str, cpu: str, *flags: str) -> Machine:
    return Machine(PRESETS[name], architecture="aarch64", cpu=cpu, flags=flags)


MACHINES = {
    machine.device.name: machine
    for machine in (
        Machine(_portable()),
        _x86("x86-64-v2", "ssse3", "sse4_2"),
        _x86("x86-64-v3", "avx2", "fma", "f16c"),
        _x86("x86-64-v3-vnni", "avx2", "fma", "avx_vnni"),
        _x86("x86-64-v4", "avx512bw", "avx512vl"),
        _x86("x86-64-v4-vnni", "avx512bw", "avx512_vnni"),
        _arm("aarch64", "cortex-a57"),
        _arm("aarch64-dotprod", "neoverse-n1", "asimddp"),
        _arm("aarch64-i8mm", "max", "asimddp", "i8mm"),
        WasmMachine(targets.WASM, architecture="wasm32"),
    )
}


def run(machine: Machine, cases: Sequence[Case], folder: Path) -> None:
    """Fills what the calls write. The caller checks it."""
    library = build(machine, cases, folder)
    calls = [(case.name, call.arrays) for case in cases for call in case.calls]
    (folder / "calls").write_bytes(b"".join(_packed(name, arrays) for name, arrays in calls))
    files = [str(path) for path in (library, folder / "calls", folder / "results")]
    command = [*_command(machine, folder.parent), *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{machine.device.name}: {done.stderr}"
    data = (folder / "results").read_bytes()
    _unpack(data, (array for _, arrays in calls for array in arrays if array.flags.writeable))


def _command(machine: Machine, folder: Path) -> list[str]:
    if isinstance(machine, WasmMachine):
        return [str(find_deno()), "run", "-A", "--quiet", "--no-check", str(_WASM_RUNNER)]
    return [*machine.launcher, str(_runner(machine, folder))]


def build(machine: Machine, cases: Sequence[Case], folder: Path) -> Path:
    """A shared object of the cases' kernels, by their names; their code is beside it."""
    import tvm

    from mlc_llm.compiler import lowering

    kernels = {c.name: c.function.with_attr("global_symbol", c.name) for c in cases}
    target = machine.device.target()
    compiled = tvm.compile(tvm.IRModule(kernels), target=target, tir_pipeline=lowering.CPU)
    library, object_file = folder / "kernels.so", folder / "kernels.o"
    compiled.mod.write_to_file(str(object_file), "o")
    if isinstance(machine, WasmMachine):
        linker.link(wasm_linker.require(), library, [str(object_file)])
    else:
        _link(machine, [object_file, "-shared", "-lm"], library)
    return library


@cache
def _runner(machine: Machine, folder: Path) -> Path:
    from tvm_ffi import libinfo

    out = folder / f"runner-{machine.architecture}"
    folders = {libinfo.find_include_path(), libinfo.find_dlpack_include_path()}
    includes = [f"-I{path}" for path in sorted(folders)]
    _link(machine, [_RUNNER, "-O1", "-rdynamic", *includes, "-ldl"], out)
    return out


def _link(machine: Machine, arguments: Iterable[Any], out: Path) -> None:
    command = [machine.compiler, *map(str, arguments), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _packed(name: str, arrays: Sequence[Array]) -> bytes:
    out = [struct.pack("<I", len(name)), name.encode(), struct.pack("<I", len(arrays))]
    for array in arrays:
        kind = array.dtype.name.rstrip("0123456789")
        head = (_TYPE_CODES[kind], 8 * array.dtype.itemsize, 1, array.flags.writeable, array.ndim)
        out += [struct.pack("<5I", *head), struct.pack(f"<{array.ndim}q", *array.shape)]
        out.append(array.tobytes())
    return b"".join(out)


def _unpack(data: bytes, arrays: Iterable[Array]) -> None:
    begin = 0
    for array in arrays:
        found = np.frombuffer(data, array.dtype, array.size, begin)
        array[...] = found.reshape(array.shape)
        begin += array.nbytes
    assert begin == len(data)

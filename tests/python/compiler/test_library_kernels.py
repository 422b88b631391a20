"""Every kernel of a model's library against NumPy, on every backend here: one table.

    python tests/python/compiler/test_library_kernels.py [--seed 1]      # prints it

A library's kernels are taken from its own module: one that `library_kernel_rows.py` has no row for
fails. A cell is the worst error, of what it may be.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tvm")

sys.path.append(str(Path(__file__).parents[1] / "engine"))
sys.path.append(str(Path(__file__).parent / "support"))  # this file is a program, too

import cuda_driver  # noqa: E402
import cuda_emulated  # noqa: E402
import gpu_tools  # noqa: E402
import rocm_driver  # noqa: E402
import tvm  # noqa: E402
from library_kernel_rows import TABLE  # noqa: E402
from library_kernels import Array, Call, Model, family_of  # noqa: E402

from mlc_llm.compiler import lowering, nvrtc, targets  # noqa: E402


@dataclass(frozen=True)
class Column:
    """A backend, and the precision it computes with."""

    backend: str
    scheme: str = "q4f32_1"
    activation_bits: int = 8

    @property
    def is_emulated(self) -> bool:
        """CUDA or ROCm without such a GPU."""
        return not gpu_tools.HAS_GPU.get(self.backend, True)

    @property
    def name(self) -> str:
        kind = {"webgpu": "vulkan"}.get(self.backend, self.backend)
        kind += ", emulated" if self.is_emulated else ""
        bits = f", {self.activation_bits} bits" if self.backend == "cpu" else ""
        return f"{kind} {self.scheme}{bits}"


COLUMNS = [
    Column("cpu"),
    Column("cpu", activation_bits=32),
    Column("opencl"),
    Column("webgpu"),
    Column("webgpu", "q4f16_1"),
    Column("cuda"),
    Column("cuda", "q4f16_1"),
    Column("rocm"),
    Column("rocm", "q4f16_1"),
]
SHORT = (Column("opencl"), Column("webgpu", "q4f16_1"))  # what a run takes without --long
Errors = dict[str, float]  # of each kernel, the worst; above 1 is wrong
Run = Callable[[str, list[Array]], list[Array]]


def why_not(column: Column) -> str:
    """Empty when its kernels can run here."""
    if column.backend == "cpu":
        return ""
    if (column.backend == "cuda" or column.is_emulated) and not nvrtc.is_installed():
        return "CUDA's headers are not installed"
    if column.is_emulated:
        return ""
    if reason := gpu_tools.why_not(column.backend):
        return reason
    if "f16" in column.scheme and not gpu_tools.facts(column.backend)["f16"]:
        return "the device has no 16-bit floats"
    return ""


def errors_here(column: Column, seed: int) -> Errors:
    model = Model(column.backend, column.scheme, seed, column.activation_bits)
    run = runner(column.backend, model)
    found = {}
    for name, kernel in model.kernels().items():
        rng = np.random.default_rng(zlib.crc32(f"{name} {seed}".encode()))
        calls = TABLE[family_of(name)](kernel, rng)
        found[name] = max(error_of(run, name, call) for call in calls)
    return found


def runner(backend: str, model: Model) -> Run:
    """All kernels of the model, compiled together; a call gives back every argument."""
    named = {n: f.with_attr("global_symbol", n) for n, f in model.functions.items()}
    module, device = tvm.IRModule(named), model.spec.device
    if backend == "cpu":
        library = tvm.compile(module, target=device.target(), tir_pipeline=lowering.CPU)
    else:
        library = gpu_tools.library_of(module, device)
    device = tvm.device(backend, 0)

    def run(name: str, arrays: list[Array]) -> list[Array]:
        tensors = [tvm.runtime.tensor(np.ascontiguousarray(a), device) for a in arrays]
        library[name](*tensors)
        return [tensor.numpy() for tensor in tensors]

    return run


def error_of(run: Run, name: str, call: Call) -> float:
    found = dict(zip(call.arrays, run(name, list(call.arrays.values())), strict=True))
    return max(want.error(found[want.name]) for want in call.wants)


def errors_emulated(column: Column, seed: int) -> Errors:
    """In a process of its own, whose driver is the emulator."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {"LD_LIBRARY_PATH": folder, "MLC_JIT_POLICY": "OFF"}
        if column.backend == "cuda":
            cuda_driver.build(Path(folder))
        else:
            environment |= rocm_driver.build(Path(folder))
        child = [*("--child", column.backend, column.scheme), "--seed", str(seed)]
        done = subprocess.run(
            [sys.executable, __file__, *child],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=500,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def errors_of(column: Column, seed: int) -> Errors:
    return (errors_emulated if column.is_emulated else errors_here)(column, seed)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_every_kernel_is_numpys(column: Column, request: pytest.FixtureRequest) -> None:
    if reason := why_not(column):
        pytest.skip(reason)
    long = request.config.getoption("--long")
    if not long and column not in SHORT:
        pytest.skip("run with --long")
    for seed in range(3 if long else 1):
        found = errors_of(column, seed)
        assert {name: error for name, error in found.items() if not error <= 1} == {}


def test_the_table_has_a_row_for_every_kernel() -> None:
    """And no row that no backend needs."""
    seen = set()
    for column in COLUMNS[:3]:
        model = Model(column.backend, column.scheme, 0, column.activation_bits)
        seen |= {family_of(name) for name in model.functions}
    assert seen | {"quantize"} == set(TABLE)


def table(seed: int) -> str:
    """Kernels by columns."""
    columns, rows = {}, dict.fromkeys(TABLE)
    for column in COLUMNS:
        if reason := why_not(column):
            print(f"{column.name}: {reason}", file=sys.stderr)
            continue
        found = errors_of(column, seed)
        columns[column.name] = worst = {}
        for name, error in found.items():
            worst[family_of(name)] = max(error, worst.get(family_of(name), 0.0))
    head = "| kernel | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns)
    lines = [
        f"| {row} | "
        + " | ".join(f"{found[row]:.2f}" if row in found else "" for found in columns.values())
        + " |"
        for row in rows
    ]
    return "\n".join([head, *lines])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", nargs=2, metavar=("BACKEND", "SCHEME"), help="one, as JSON")
    args = parser.parse_args()
    if args.child:
        column = Column(*args.child)
        with tempfile.TemporaryDirectory() as scratch:
            if column.backend == "cuda":
                # Kernels find the emulator in it, which takes C++.
                ctypes.CDLL("libcudart.so.13", ctypes.RTLD_GLOBAL)
                targets.GPUS["cuda"] = replace(targets.GPUS["cuda"], ptx="")
                cuda_emulated.register_compiler(str(nvrtc.includes()[0]), Path(scratch))
            assert not (reason := gpu_tools.why_not(column.backend)), reason
            print(json.dumps(errors_here(column, args.seed)))
    else:
        print(table(args.seed))


if __name__ == "__main__":
    main()

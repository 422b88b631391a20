"""The devices for which models are compiled, as a table.

    device = resolve("auto")     # the machine this runs on
    device.target()              # tvm.target.Target

A device is a TVM target and the register tiles for its vectors. A name that MLC-LLM has but for
which there are no kernels here is refused, with a list of the names that work.
"""

from __future__ import annotations

import os
import platform
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from mlc_llm.compiler.vector_units import (
    AVX2,
    AVX512,
    AVX512_VNNI,
    AVX_VNNI,
    NEON,
    NEON_DOT,
    NEON_I8MM,
    SSE,
    VectorUnit,
)
from mlc_llm.errors import InvalidRequestError, UnsupportedError


@dataclass(frozen=True, kw_only=True)
class Device:
    """A CPU to compile for. The fields are those of TVM's `llvm` target."""

    name: str
    vectors: VectorUnit
    mcpu: str = ""
    mtriple: str = ""
    mattr: tuple[str, ...] = ()

    def describe(self) -> dict[str, Any]:
        """The library's `target` metadata, and TVM's target."""
        fields: dict[str, Any] = {"kind": "llvm"}
        if self.mcpu:
            fields["mcpu"] = self.mcpu
        if self.mtriple:
            fields["mtriple"] = self.mtriple
        if self.mattr:
            fields["mattr"] = list(self.mattr)
        return fields

    def target(self) -> Any:
        import tvm

        return tvm.target.Target(self.describe())

    def cpu_features(self) -> list[str]:
        """The features that a CPU needs to run the code, by LLVM's names."""
        from tvm.target import codegen

        names = (str(name) for name in codegen.llvm_get_cpu_features(self.target()))
        return sorted(name for name in names if "-" not in name)  # "fast-gather" is for tuning


@dataclass(frozen=True, kw_only=True)
class LinearSizes:
    """The tile sizes of a GPU's matrix products (`kernels/gpu/linear.py`)."""

    items: int = 64  # work-items that compute a few rows together
    outs: int = 4  # rows of W in such a work-group
    few_rows: int = 4  # rows of x that use one read of W
    vectors: bool = False  # reads of 16 bytes by a work-item, where the weights allow it
    few_items: int = 64  # `items` and `outs` for `few_rows` rows with such reads
    few_outs: int = 8
    few_rows_until: int = 16  # from this number on: tiles
    tile_side: int = 16  # work-items along each side of a tile
    tile: int = 4  # outputs of a work-item along each side of a tile


@dataclass(frozen=True, kw_only=True)
class TileLimits:
    """What a work-group of attention over a prompt may take (`kernels/gpu/attention_sizes.py`)."""

    floats: int = 4096  # of shared memory: 16 KB, which every device has
    vectors: bool = False  # reads of 16 bytes by a work-item


USUAL_TILES = TileLimits()


@dataclass(frozen=True, kw_only=True)
class LibraryGemm:
    """A vendor's matrix product, as functions of the device's plugin (`cublas.h`)."""

    is_there: str  # () -> int; called where the model runs
    function: str


@dataclass(frozen=True, kw_only=True)
class GPU:
    """A device whose kernels run as work-groups. `fields` are those of TVM's target, if it has no
    other one (`of_tvm`). `host` is the triple of the code around the kernels; "" means a CPU like
    this machine's."""

    name: str
    kind: str
    fields: tuple[tuple[str, Any], ...] = ()
    linear: LinearSizes = LinearSizes()
    tiles: TileLimits = USUAL_TILES
    host: str = ""
    ptx: str = ""  # NVIDIA's oldest architecture for these kernels
    of_tvm: tuple[tuple[str, Any], ...] = ()
    is_hip: bool = False  # the library has the kernels as AMD's C++
    gemm: LibraryGemm | None = None  # a product for many rows: --opt cublas_gemm
    graphs: bool = False  # its plugin can record launches: --opt cudagraph
    half_rows: bool = False  # float16 schemes keep keys, values and rows in float16
    bfloat16: bool = True  # it reads them; WebGPU's language has no 16 bits but float16
    largest_weight: int = 0  # the largest weight of one kernel, in bytes; 0: no limit

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, **dict(self.fields)}

    def kernel_target(self) -> dict[str, Any]:
        return dict(self.of_tvm) or self.describe()

    def target(self) -> Any:
        import tvm

        host = {"kind": "llvm", **({"mtriple": self.host} if self.host else {})}
        return tvm.target.Target(self.kernel_target(), host=host)

    def code(self) -> AbstractContextManager[None]:
        """The context in which the library's code is generated."""
        from mlc_llm.compiler import hip, nvrtc

        if self.is_hip:
            return hip.source()
        return nvrtc.ptx_for_source(self.ptx) if self.ptx else nullcontext()

    def cpu_features(self) -> list[str]:
        return []


_X86 = "x86_64-unknown-linux-gnu"
PRESETS: dict[str, Device] = {
    device.name: device
    for device in (
        Device(name="x86-64-v2", mcpu="x86-64-v2", mtriple=_X86, vectors=SSE),
        Device(name="x86-64-v3", mcpu="x86-64-v3", mtriple=_X86, vectors=AVX2),
        Device(name="x86-64-v4", mcpu="x86-64-v4", mtriple=_X86, vectors=AVX512),
        Device(
            name="x86-64-v4-vnni",
            mcpu="x86-64-v4",
            mattr=("+avx512vnni",),
            mtriple=_X86,
            vectors=AVX512_VNNI,
        ),
        Device(
            name="x86-64-v3-vnni",
            mcpu="x86-64-v3",
            mattr=("+avxvnni",),
            mtriple=_X86,
            vectors=AVX_VNNI,
        ),
        Device(name="aarch64", mtriple="aarch64-unknown-linux-gnu", vectors=NEON),
        Device(
            name="aarch64-dotprod",
            mtriple="aarch64-unknown-linux-gnu",
            mattr=("+dotprod",),
            vectors=NEON_DOT,
        ),
        Device(
            name="aarch64-i8mm",
            mtriple="aarch64-unknown-linux-gnu",
            mattr=("+dotprod", "+i8mm"),
            vectors=NEON_I8MM,
        ),
    )
}

# A browser's CPU: WebAssembly with vectors of 128 bits, as position-independent code.
WASM_TRIPLE = "wasm32-unknown-emscripten"
WASM = Device(
    name="wasm", mtriple=WASM_TRIPLE, mattr=("+simd128",), vectors=replace(SSE, dot="wasm")
)

# The largest binding that every WebGPU device has (maxStorageBufferBindingSize).
_WEBGPU_BINDING = 128 << 20

# Floats in the shared memory of usual GPUs: 32 KB, and drivers may keep some of it.
_LARGE_TILE = 8000

_DLPACK_ROCM = 10  # DLPack's type of device

# docs/gpu.md says which of these have run and which are only generated.
GPUS: dict[str, GPU] = {
    gpu.name: gpu
    for gpu in (
        GPU(
            name="opencl",
            kind="opencl",
            fields=(("max_num_threads", 256),),
            tiles=TileLimits(floats=_LARGE_TILE),
        ),
        GPU(
            name="opencl:adreno",
            kind="opencl",
            fields=(("device", "adreno"), ("max_num_threads", 512)),
        ),
        GPU(
            name="opencl:mali",
            kind="opencl",
            fields=(("device", "mali"), ("max_num_threads", 256)),
            linear=LinearSizes(items=32, tile_side=8),
        ),
        *(
            GPU(
                name=name,
                kind="webgpu",
                fields=(("max_num_threads", 256),),
                half_rows=True,
                bfloat16=False,
                largest_weight=_WEBGPU_BINDING,
            )
            for name in ("webgpu", "vulkan")
        ),
        GPU(
            name="metal",
            kind="metal",
            fields=(("max_threads_per_block", 256),),
            tiles=TileLimits(floats=_LARGE_TILE),
        ),
        GPU(
            name="metal:iphone",
            kind="metal",
            fields=(("max_threads_per_block", 256),),
            host="arm64-apple-ios16.0",
        ),
        GPU(
            name="cuda",
            kind="cuda",
            fields=(("arch", "sm_75"), ("max_threads_per_block", 1024)),
            linear=LinearSizes(items=128, vectors=True),
            tiles=TileLimits(floats=12288, vectors=True),  # 48 KB
            ptx="compute_75",
            gemm=LibraryGemm(is_there="mlc.cuda.has_gemm", function="mlc.cuda.gemm"),
            graphs=True,
        ),
        GPU(
            name="rocm",
            kind="rocm",
            fields=(("max_threads_per_block", 1024),),
            of_tvm=(("kind", "cuda"), ("arch", "sm_75"), ("target_device_type", _DLPACK_ROCM)),
            linear=LinearSizes(items=128, vectors=True),
            tiles=TileLimits(floats=12288, vectors=True),  # 48 of 64 KB
            is_hip=True,
            graphs=True,
        ),
    )
}

# The core for Windows is made by a compiler that calls the system so (devtools/wheel/windows.py).
WINDOWS_TRIPLE = "x86_64-w64-windows-gnu"

# A device together with its machine: MLC-LLM's names for phones, and the CPUs of Windows.
_MACHINES = {
    "iphone": ("metal:iphone", "arm64-apple-ios16.0"),
    "macabi": ("metal", "arm64-apple-ios16.0-macabi"),
    "android": ("opencl", "aarch64-linux-android"),
    "android:adreno": ("opencl:adreno", "aarch64-linux-android"),
    "android:mali": ("opencl:mali", "aarch64-linux-android"),
    "windows": ("x86-64-v3", WINDOWS_TRIPLE),
}

# Devices of MLC-LLM for which this version has no kernels.
NOT_YET = ("windows:vulkan",)


def resolve(device: str) -> Device | GPU:
    """`auto`, `cpu` and `cpu:0` mean this machine; a preset's name means that machine. All GPUs of
    a kind (`opencl:1`) use the same library."""
    kind, _, detail = device.partition(":")
    if device in ("auto", "cpu", "cpu:0"):
        return host()
    if device in PRESETS:
        return PRESETS[device]
    if device == WASM.name:
        return WASM
    if device in _MACHINES:
        name, triple = _MACHINES[device]
        if name in GPUS:
            return replace(GPUS[name], host=triple)
        return replace(PRESETS[name], name=device, mtriple=triple)
    if (name := kind if detail.isdecimal() else device) in GPUS:
        return GPUS[name]
    offered = ", ".join(["auto", "cpu", *PRESETS, WASM.name, *GPUS, *_MACHINES])
    if device in NOT_YET or kind in NOT_YET:
        raise UnsupportedError(
            f'device "{device}" is not built yet: see docs/status.md; available: {offered}',
            param="device",
        )
    raise InvalidRequestError(f'unknown device "{device}"; available: {offered}', param="device")


def resolve_all(devices: str) -> list[Device | GPU]:
    """`x86-64-v2,x86-64-v4`: the presets of one library for several CPUs."""
    names = devices.split(",")
    if len(names) > 1 and not set(names) <= set(PRESETS):
        unknown = next(name for name in names if name not in PRESETS)
        raise InvalidRequestError(
            f'a library for several CPUs takes presets: {", ".join(PRESETS)}; not "{unknown}"',
            param="device",
        )
    return [resolve(name) for name in dict.fromkeys(names)]


def gpu_kinds() -> list[str]:
    """The names of GPUs for `--device` where a model runs, such as "opencl"."""
    return list(dict.fromkeys(name.partition(":")[0] for name in GPUS))


def host() -> Device:
    """This machine's CPU, with LLVM's name."""
    import tvm
    from tvm.target import codegen

    cpu = codegen.llvm_get_system_cpu()
    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu})
    features = {str(name) for name in codegen.llvm_get_cpu_features(target)}
    usable = _usable_features()
    if usable and not {"avx2", "avx512f"} & features <= usable:
        return replace(PRESETS[_x86_level(usable)], name="cpu")
    return Device(name="cpu", mcpu=cpu, vectors=_vector_unit(platform.machine(), features))


def _usable_features() -> set[str]:
    """The features that the system lets programs use. A virtual machine may hide features of its
    CPU."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((set(line.split()) for line in file if line.startswith("flags")), set())
    except OSError:
        return set()


def _x86_level(usable: set[str]) -> str:
    if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= usable:
        return "x86-64-v4"
    return "x86-64-v3" if {"avx2", "fma", "f16c", "bmi2"} <= usable else "x86-64-v2"


def _vector_unit(machine: str, features: set[str]) -> VectorUnit:
    """`features` are LLVM's names."""
    if machine in ("aarch64", "arm64"):
        if "i8mm" in features:
            return NEON_I8MM
        return NEON_DOT if "dotprod" in features else NEON
    if "avx512bw" in features:
        return AVX512_VNNI if "avx512vnni" in features else AVX512
    if "avx2" in features:
        return AVX_VNNI if "avxvnni" in features else AVX2
    return SSE


def num_threads() -> int:
    """The cores that this process may use, and the threads of an engine's loops."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1

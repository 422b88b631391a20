"""The devices that models are compiled for, as a table.

    device = resolve("auto")     # the machine this runs on
    device.target()              # tvm.target.Target

A device is a TVM target and the register tiles that suit its vectors. Names that MLC-LLM knows and
that have no kernels here yet are refused with the list of those that have.
"""

from __future__ import annotations

import platform
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from mlc_llm.errors import InvalidRequestError, UnsupportedError


@dataclass(frozen=True, kw_only=True)
class VectorUnit:
    """What a processor's registers hold and which instruction multiplies bytes.

    `dot_tile` is a (rows of x, rows of W) tile of dot products of 16-float sums, `column_tile` one
    of (rows of x, vectors of outputs), `integer_tile` the rows of x against 16 outputs in whole
    numbers (`linear_integer.py` in `kernels/cpu`), `attention_sums` the vectors of 16 sums that
    attention keeps for one row, `attention_heads` the query heads of several rows that have one
    each (`paged_attention.py`). `dot` is a name of `integer.py`. `half_floats`: float16 is read and
    made by instructions.
    """

    dot_tile: tuple[int, int]
    column_tile: tuple[int, int]
    dot: str
    integer_tile: int = 4
    attention_sums: int = 4
    attention_heads: int = 6
    half_floats: bool = True

    @property
    def attention_sizes(self) -> dict[str, int]:
        """The keywords of `paged_attention`."""
        return {"registers": self.attention_sums, "heads": self.attention_heads}


AVX512 = VectorUnit(
    dot_tile=(4, 4),
    column_tile=(4, 2),
    dot="avx512bw",
    integer_tile=8,
    attention_sums=12,
    attention_heads=12,
)
AVX512_VNNI = replace(AVX512, dot="avx512vnni")
AVX2 = VectorUnit(dot_tile=(2, 2), column_tile=(4, 1), dot="avx2")
AVX_VNNI = replace(AVX2, dot="avxvnni")
NEON = VectorUnit(dot_tile=(2, 2), column_tile=(4, 1), dot="neon")
NEON_DOT = replace(NEON, dot="neondot")
NEON_I8MM = replace(NEON, dot="neoni8mm")
SSE = VectorUnit(  # all heads at a time: making floats of float16 costs it more than registers do
    dot_tile=(2, 1),
    column_tile=(2, 1),
    dot="ssse3",
    integer_tile=8,
    attention_heads=1 << 20,
    half_floats=False,
)


@dataclass(frozen=True, kw_only=True)
class Device:
    """A processor to compile for. Fields are those of TVM's `llvm` target."""

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
        """What a processor must have to run the code, by LLVM's names."""
        from tvm.target import codegen

        names = (str(name) for name in codegen.llvm_get_cpu_features(self.target()))
        return sorted(name for name in names if "-" not in name)  # "fast-gather" is for tuning


@dataclass(frozen=True, kw_only=True)
class LinearSizes:
    """How a GPU's matrix products are cut (`kernels/gpu/linear.py`)."""

    items: int = 64  # work-items that share a few rows
    outs: int = 4  # rows of W in a work-group of them
    few_rows: int = 4  # rows of x read with one look at W
    few_rows_until: int = 16  # from there on: tiles
    tile_side: int = 16  # work-items along each side of a tile
    tile: int = 4  # outputs of a work-item along each side


@dataclass(frozen=True, kw_only=True)
class LibraryGemm:
    """A vendor's matrix product: functions of the device's plugin (`cublas.h`)."""

    is_there: str  # () -> int, asked where the model runs
    function: str


@dataclass(frozen=True, kw_only=True)
class GPU:
    """A device whose kernels run as work-groups. `fields` are those of TVM's target; `host` is the
    triple of the code around the kernels, "" for any processor of this machine's kind."""

    name: str
    kind: str
    fields: tuple[tuple[str, Any], ...] = ()
    linear: LinearSizes = LinearSizes()
    host: str = ""
    ptx: str = ""  # NVIDIA's oldest architecture that the kernels run on
    gemm: LibraryGemm | None = None  # what many rows may go through: --opt cublas_gemm
    graphs: bool = False  # its plugin can record launches: --opt cudagraph
    half_rows: bool = False  # schemes named after float16 keep keys, values and rows in it
    largest_weight: int = 0  # bytes of a weight that a kernel takes whole; 0: of any size

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, **dict(self.fields)}

    def target(self) -> Any:
        import tvm

        host = {"kind": "llvm", **({"mtriple": self.host} if self.host else {})}
        return tvm.target.Target(self.describe(), host=host)

    def code(self) -> AbstractContextManager[None]:
        """Within which the library's code is generated."""
        from mlc_llm.compiler import nvrtc

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

# What every WebGPU device binds (maxStorageBufferBindingSize).
_WEBGPU_BINDING = 128 << 20

# What has run and what is generated: docs/gpu.md.
GPUS: dict[str, GPU] = {
    gpu.name: gpu
    for gpu in (
        GPU(name="opencl", kind="opencl", fields=(("max_num_threads", 256),)),
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
                largest_weight=_WEBGPU_BINDING,
            )
            for name in ("webgpu", "vulkan")
        ),
        GPU(name="metal", kind="metal", fields=(("max_threads_per_block", 256),)),
        GPU(
            name="metal:iphone",
            kind="metal",
            fields=(("max_threads_per_block", 256),),
            host="arm64-apple-ios",
        ),
        GPU(
            name="cuda",
            kind="cuda",
            fields=(("arch", "sm_75"), ("max_threads_per_block", 1024)),
            linear=LinearSizes(items=128),
            ptx="compute_75",
            gemm=LibraryGemm(is_there="mlc.cuda.has_gemm", function="mlc.cuda.gemm"),
            graphs=True,
        ),
    )
}

# MLC-LLM's names of a GPU and the machine around it.
_PHONES = {
    "iphone": ("metal:iphone", "arm64-apple-ios"),
    "macabi": ("metal", "arm64-apple-ios-macabi"),
    "android": ("opencl", "aarch64-linux-android"),
    "android:adreno": ("opencl:adreno", "aarch64-linux-android"),
    "android:mali": ("opencl:mali", "aarch64-linux-android"),
}

# Devices of MLC-LLM that this version has no kernels for.
NOT_YET = ("rocm", "windows:vulkan")


def resolve(device: str) -> Device | GPU:
    """`auto`, `cpu` and `cpu:0` are this machine; a preset's name is that machine. Of several GPUs
    of a kind (`opencl:1`) all take the same library."""
    kind, _, detail = device.partition(":")
    if device in ("auto", "cpu", "cpu:0"):
        return host()
    if device in PRESETS:
        return PRESETS[device]
    if device in _PHONES:
        name, triple = _PHONES[device]
        return replace(GPUS[name], host=triple)
    if (name := kind if detail.isdecimal() else device) in GPUS:
        return GPUS[name]
    offered = ", ".join(["auto", "cpu", *PRESETS, *GPUS, *_PHONES])
    if device in NOT_YET or kind in NOT_YET:
        raise UnsupportedError(
            f'device "{device}" is not built yet: see the status table in README.md; '
            f"available: {offered}",
            param="device",
        )
    raise InvalidRequestError(f'unknown device "{device}"; available: {offered}', param="device")


def resolve_all(devices: str) -> list[Device | GPU]:
    """`x86-64-v2,x86-64-v4`: the presets of one library that serves several processors."""
    names = devices.split(",")
    if len(names) > 1 and not set(names) <= set(PRESETS):
        unknown = next(name for name in names if name not in PRESETS)
        raise InvalidRequestError(
            f'several processors names presets: {", ".join(PRESETS)}; not "{unknown}"',
            param="device",
        )
    return [resolve(name) for name in dict.fromkeys(names)]


def host() -> Device:
    """This machine's processor, as LLVM names it."""
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
    """What the system lets programs use; a virtual machine may hide what its processor has."""
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

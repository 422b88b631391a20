"""Makes HIP C++ of the kernels for AMD's GPUs, with TVM's generator of CUDA C++.

A model library has the text. ROCm's run-time compiler compiles it where the model runs, for the GPU
there (core/src/runtime/device/rocm). So one library is for all of them, and nothing of AMD's is
needed here. Our kernels use no instructions of NVIDIA's and no groups of 32 threads.
"""

from __future__ import annotations

import ctypes
import platform
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

from mlc_llm import _core
from mlc_llm.compiler import nvrtc
from mlc_llm.compiler.tvm_globals import global_function
from mlc_llm.errors import UnsupportedError

_BUILD = "target.build.cuda"
_HEADER = "tirx.intrinsics.cuda.header_generator"
_LOAD = "ffi.Module.load_from_bytes.rocm"
_POINTER = 3, 64, 1  # DLPack's code, bits and lanes

# What TVM's text uses and HIP's compiler may not define: versions differ, so these are names of our
# own behind macros. A half is the compiler's own type.
_TYPES = {
    "half": "_Float16",
    "uint": "unsigned int",
    "uchar": "unsigned char",
    "ushort": "unsigned short",
    **{f"{sign}int{bits}_t": f"{'un' if sign else ''}signed {name}"
       for sign in ("", "u")
       for bits, name in ((8, "char"), (16, "short"), (32, "int"), (64, "long long"))},
}  # fmt: skip
_PREAMBLE = "".join(
    f"typedef {type} mlc_{name};\n#define {name} mlc_{name}\n" for name, type in _TYPES.items()
)
_PREAMBLE += "#define alignas(bytes) __attribute__((aligned(bytes)))\n"  # behind `__shared__`
_KNOWN_TAGS = {"cuda", "fp16", "int8"}


@contextmanager
def source() -> Iterator[None]:
    """Inside this context, TVM makes HIP C++ for the target of `targets.py`, which is CUDA's with
    another type of device."""
    _open_plugin()
    cuda = tvm_ffi.get_global_func(_BUILD)

    def build(module: tvm.IRModule, target: Any) -> Any:
        text = str(cuda(module, target).inspect_source())
        return tvm_ffi.get_global_func(_LOAD)(_table(module, text))

    with (
        global_function(_BUILD, build),
        global_function(_HEADER, _header),
        global_function(nvrtc.CREATE, None),
    ):
        yield


def _header(tags: Sequence[str]) -> str:
    if unknown := {str(tag) for tag in tags} - _KNOWN_TAGS:
        raise UnsupportedError(f"kernels for rocm have {', '.join(sorted(unknown))}")
    return _PREAMBLE


def _open_plugin() -> None:
    """It makes the module that is written into a library."""
    if tvm_ffi.get_global_func(_LOAD, allow_missing=True) is not None:
        return
    plugin = Path(_core.__file__).parent / "libmlc_llm_rocm.so"
    if not plugin.exists():
        system = platform.system()
        raise UnsupportedError(f"this build for {system} has no rocm backend", param="device")
    try:
        ctypes.CDLL(str(plugin))
    except OSError as error:
        message = f"the rocm backend cannot be opened: {error}"
        raise UnsupportedError(message, param="device") from error


def _table(module: tvm.IRModule, text: str) -> bytes:
    """The form in which TVM writes device modules (core/src/runtime/device/kernel_table.h)."""
    kernels = [function for _, function in module.functions_items()]
    entries = [_text(name) + _kernel(name, f) for f in kernels for name in [_name(f)]]
    return _text("hip") + _count(entries) + b"".join(entries) + _text(text)


def _name(kernel: tirx.PrimFunc) -> str:
    return str(kernel.attrs["global_symbol"])


def _kernel(name: str, kernel: tirx.PrimFunc) -> bytes:
    types = [struct.pack("<BBH", *_type(param)) for param in kernel.params]
    tags = [_text(str(tag)) for tag in kernel.attrs["tirx.kernel_launch_params"]]
    no_extras = _count([])
    return _text(name) + _count(types) + b"".join(types) + _count(tags) + b"".join(tags) + no_extras


def _type(param: tirx.Var) -> tuple[int, int, int]:
    if isinstance(param.ty, tvm.ir.PointerType):
        return _POINTER
    dtype = param.ty.dtype
    return dtype.type_code, dtype.bits, dtype.lanes


def _count(items: Sequence[bytes]) -> bytes:
    return struct.pack("<Q", len(items))


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()

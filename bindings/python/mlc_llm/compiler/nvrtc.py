"""Compiles CUDA C++ to PTX with NVIDIA's run-time compiler. It needs no GPU.

PTX for one architecture runs on all later ones: the driver compiles it when a model is loaded, and
keeps the result. NVRTC and its headers come from PyPI's `nvidia-cuda-*` or from a CUDA toolkit.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_size_t, c_void_p, create_string_buffer
from pathlib import Path
from typing import Any

from mlc_llm.compiler.tvm_globals import global_function
from mlc_llm.errors import InternalError, UnsupportedError

_LIBRARY = "libnvrtc.so.13"
_HINT = 'CUDA kernels are compiled with NVRTC 13: pip install "mlc-llm[cuda]"'
_POSTPROC = "tvm_callback_cuda_postproc"
CREATE = "ffi.Module.create.cuda"


def _toolkits() -> Iterator[Path]:
    """Folders that may contain `include` and `lib`."""
    try:
        spec = importlib.util.find_spec("nvidia.cu13")
    except ModuleNotFoundError:
        spec = None
    if spec is not None and spec.submodule_search_locations:
        yield from map(Path, spec.submodule_search_locations)
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if folder := os.environ.get(name):
            yield Path(folder)
    yield Path("/usr/local/cuda")


def _toolkit() -> tuple[ctypes.CDLL, list[Path]]:
    """The compiler, and the folders of its headers."""
    for folder in _toolkits():
        for lib in ("lib", "lib64"):
            if (folder / lib / _LIBRARY).is_file() and (folder / "include/cuda_fp16.h").is_file():
                for builtins in (folder / lib).glob("libnvrtc-builtins.so.13.*"):
                    ctypes.CDLL(str(builtins))  # some builds find it only if it is loaded already
                headers = [folder / "include", folder / "include" / "cccl"]
                return ctypes.CDLL(str(folder / lib / _LIBRARY)), headers
    raise UnsupportedError(_HINT, param="device")


def includes() -> list[Path]:
    """Folders of CUDA's headers."""
    return _toolkit()[1]


def is_installed() -> bool:
    try:
        _toolkit()
    except (UnsupportedError, OSError):
        return False
    return True


def compile_cuda(source: str, architecture: str, kind: str = "PTX") -> bytes:
    """`compute_75` gives PTX for this and all later architectures. `sm_90` and "CUBIN" give the
    machine code of one. Raises InternalError with the compiler's log when it refuses the source."""
    nvrtc, headers = _toolkit()
    program = c_void_p()
    _check(nvrtc, nvrtc.nvrtcCreateProgram(byref(program), source.encode(), b"k.cu", 0, None, None))
    try:
        options = [f"--gpu-architecture={architecture}", "--use_fast_math", "--disable-warnings"]
        options += [f"-I{folder}" for folder in headers]
        array = (c_char_p * len(options))(*(option.encode() for option in options))
        status = nvrtc.nvrtcCompileProgram(program, len(options), array)
        _check(nvrtc, status, lambda: _read(nvrtc, program, "ProgramLog").decode(errors="replace"))
        return _read(nvrtc, program, kind)
    finally:
        nvrtc.nvrtcDestroyProgram(byref(program))


def _check(nvrtc: ctypes.CDLL, status: int, log: Any = None) -> None:
    if status == 0:
        return
    nvrtc.nvrtcGetErrorString.restype = c_char_p
    name = nvrtc.nvrtcGetErrorString(status).decode()
    raise InternalError(f"NVRTC: {name}" + (f"\n{log()[:2000]}" if log else ""))


def _read(nvrtc: ctypes.CDLL, program: c_void_p, what: str) -> bytes:
    """One result of a program, without the zero byte at the end of a text."""
    size = c_size_t()
    _check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}Size")(program, byref(size)))
    buffer = create_string_buffer(size.value)
    _check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw if what == "CUBIN" else buffer.raw.rstrip(b"\0")


@contextmanager
def ptx_for_source(architecture: str) -> Iterator[None]:
    """Inside this context, TVM writes PTX into a library instead of CUDA C++. Our CUDA plugin,
    which loads the library, recognizes both (`cuda_plugin.cc`). If TVM's CUDA runtime is loaded, it
    would compile the PTX as C++, so its constructor is not there meanwhile."""

    def postprocess(source: str, _target: Any) -> str:
        return compile_cuda(source, architecture).decode()

    with global_function(_POSTPROC, postprocess), global_function(CREATE, None):
        yield

"""Libraries of small models are compiled without LLVM's optimizations, for CPUs in small tiles too.
They have the same layers and values, and are there in a third of the time, for GPUs in half.

    install()   # in the tests' own process; `sitecustomize.py` calls it in those that they start

A library of a model that is not small is compiled as users get it, with --long every library.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from typing import Any

COMPILER = "mlc_llm.compiler.compile"
SMALL = 256  # hidden_size: other code would run for longer than its optimization takes
# Kernels are written out tile by tile, so code for large tiles takes long. These still have several
# rows or vectors, and rows that are left over.
TILES: dict[str, Any] = {
    **{"dot_tile": (2, 1), "column_tile": (2, 1), "panel_tile": (2, 1), "integer_tile": 2},
    **{"attention_sums": 4, "attention_heads": 6},
}


def install() -> None:
    if "MLC_TEST_OPTIMIZED" in os.environ:
        return
    if COMPILER in sys.modules:
        _change(sys.modules[COMPILER])
    else:
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Changes the compiler's module once it is imported: most processes never do that."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != COMPILER:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        assert spec is not None and spec.loader is not None
        execute = spec.loader.exec_module

        def and_change(module: Any) -> None:
            execute(module)
            _change(module)

        spec.loader.exec_module = and_change  # type: ignore[method-assign]
        return spec


def _change(module: Any) -> None:
    build = module._build

    def quick_build(spec: Any, *arguments: Any) -> Any:
        from dataclasses import replace

        if spec.config.hidden_size <= SMALL:
            spec = replace(spec, device=unoptimized(spec.device))
        return build(spec, *arguments)

    module._build = quick_build


@cache
def _tell_system_libraries() -> None:
    """TVM takes a module with a startup function for a system library. Optimization removes that
    function if it is empty, as it is without a prefix; here it stays."""
    import tvm_ffi

    get_function = tvm_ffi.Module.get_function

    def told(module: Any, name: str, *arguments: Any, **options: Any) -> Any:
        if name == "__tvm_is_system_module":
            prefix = get_function(module, "__tvm_get_system_lib_prefix")()
            if prefix is None:
                return lambda: False
        return get_function(module, name, *arguments, **options)

    tvm_ffi.Module.get_function = told


def unoptimized(device: Any) -> Any:
    """The same device; LLVM does not optimize its code, for a GPU what launches its kernels. A CPU
    takes `TILES`."""
    from dataclasses import replace

    from mlc_llm.compiler import hosts, targets

    if "MLC_TEST_OPTIMIZED" in os.environ or hosts.is_wasm(device):
        return device
    _tell_system_libraries()
    if isinstance(device, targets.Device):
        device = replace(device, vectors=replace(device.vectors, **TILES))
    return _unoptimized(type(device))(**vars(device))


@cache
def _unoptimized(kind: Any) -> Any:
    """Device or GPU with another target."""
    from dataclasses import dataclass

    from mlc_llm.compiler.targets import GPU

    @dataclass(frozen=True, kw_only=True)
    class Unoptimized(kind):
        def target(self) -> Any:
            import tvm

            if not issubclass(kind, GPU):
                return tvm.target.Target({**self.describe(), "opt-level": 0})
            triple = {"mtriple": self.host} if self.host else {}
            host = {"kind": "llvm", **triple, "opt-level": 0}
            return tvm.target.Target(self.kernel_target(), host=host)

    return Unoptimized

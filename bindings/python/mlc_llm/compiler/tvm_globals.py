"""Functions that TVM finds by name, replaced for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tvm_ffi


@contextmanager
def global_function(name: str, function: Callable[..., Any] | None) -> Iterator[None]:
    """TVM finds this function, or none, under the name."""
    before = tvm_ffi.get_global_func(name, allow_missing=True)
    _set(name, function)
    try:
        yield
    finally:
        _set(name, before)


def _set(name: str, function: Callable[..., Any] | None) -> None:
    if function is not None:
        tvm_ffi.register_global_func(name, function, override=True)
    elif tvm_ffi.get_global_func(name, allow_missing=True) is not None:
        tvm_ffi.get_global_func("ffi.FunctionRemoveGlobal")(name)

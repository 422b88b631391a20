"""Calls the functions of a library in TVM's virtual machine, with arguments and results by name.

call = LibraryCalls(vm, metadata)
rows = call("embed", tokens=ids, params=params)["embeddings"]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tvm


class LibraryCalls:
    def __init__(self, vm: Any, metadata: Mapping[str, Any], prefix: str = "") -> None:
        """`prefix`: of the functions' names in the library."""
        self._vm, self._functions, self._prefix = vm, metadata["functions"], prefix

    def __call__(self, function: str, **arguments: Any) -> dict[str, Any]:
        """Arguments that the function does not take are left out. Lists of numbers are int32; what
        is not given is an empty one."""
        spec = self._functions[function]
        given = (arguments.get(taken["name"], ()) for taken in spec["inputs"])
        made = self._vm[self._prefix + function](*(_tensor(value) for value in given))
        return dict(zip(spec["results"], made, strict=True))


def _tensor(value: Any) -> Any:
    """Numbers as a tensor; tensors, and lists of them, as they are."""
    if isinstance(value, np.ndarray) and value.dtype == np.float32:
        return tvm.runtime.tensor(value)
    is_numbers = not isinstance(value, tvm.runtime.Tensor) and not (
        len(value) and isinstance(value[0], tvm.runtime.Tensor)
    )
    return tvm.runtime.tensor(np.asarray(value, np.int32)) if is_numbers else value

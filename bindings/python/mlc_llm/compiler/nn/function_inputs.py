"""The arguments of a library's functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tvm import relax, tirx

from mlc_llm.compiler.quantization import StoredParam


@dataclass(frozen=True)
class Input:
    """An argument of a function. A string in the shape is a run-time size."""

    shape: tuple[int | str, ...]
    dtype: str = "float32"


Inputs = Mapping[str, Input | list[Input]]


def argument(name: str, value: Input | list[Input], sizes: dict[str, tirx.Var]) -> relax.Var:
    if isinstance(value, Input):
        return relax.Var(name, tensor_type(value, sizes))
    return relax.Var(name, relax.TupleType([tensor_type(item, sizes) for item in value]))


def described(name: str, value: Input | list[Input]) -> dict[str, Any]:
    """An argument in the library's metadata; of a tuple only the name."""
    if not isinstance(value, Input):
        return {"name": name}
    return {"name": name, "shape": list(value.shape), "dtype": value.dtype}


def tensor_type(value: Input | StoredParam, sizes: dict[str, tirx.Var]) -> relax.TensorType:
    shape = [_size(size, sizes) for size in value.shape]
    return relax.TensorType(shape, value.dtype)


def _size(size: int | str, sizes: dict[str, tirx.Var]) -> Any:
    if isinstance(size, int):
        return size
    if size not in sizes:
        sizes[size] = tirx.Var(size, "int64")
    return sizes[size]

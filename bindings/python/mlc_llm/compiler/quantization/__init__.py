"""Quantization schemes: `get(name)`, the table `SCHEMES`, and the interface of a scheme."""

from mlc_llm.compiler.quantization.scheme import TOWER, Matrix, Scheme, WeightRows
from mlc_llm.compiler.quantization.schemes import (
    SCHEMES,
    get,
    with_searched_scales,
    with_tower,
)
from mlc_llm.compiler.quantization.stored import StoredParam, WeightUse

__all__ = [
    "SCHEMES",
    "TOWER",
    "Matrix",
    "Scheme",
    "StoredParam",
    "WeightRows",
    "WeightUse",
    "get",
    "with_searched_scales",
    "with_tower",
]

"""Quantization schemes: `get(name)`, the table `SCHEMES`, and what a scheme stores."""

from mlc_llm.compiler.quantization.schemes import SCHEMES, Scheme, StoredParam, WeightUse, get

__all__ = ["SCHEMES", "Scheme", "StoredParam", "WeightUse", "get"]

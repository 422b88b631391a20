"""Quantization schemes: `get(name)`, the table `SCHEMES`, and what a scheme stores."""

from mlc_llm.compiler.quantization.gguf_scheme import GGUFScheme
from mlc_llm.compiler.quantization.schemes import SCHEMES, AnyScheme, Scheme, get
from mlc_llm.compiler.quantization.stored import StoredParam, WeightUse

__all__ = ["SCHEMES", "AnyScheme", "GGUFScheme", "Scheme", "StoredParam", "WeightUse", "get"]

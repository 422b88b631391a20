"""The kernels of a random model's library, out of the library's own module, and calls of them.

    model = Model("vulkan", "q4f16_1", seed=1)
    for name, kernel in model.kernels().items():
        for call in ROWS_OF_THE_TABLE[family_of(name)](kernel, rng): ...

What each is to compute says `library_kernel_rows.py`, in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tvm

from mlc_llm.compiler import models, quantization
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.kernels.common.attention_shape import AttentionShape
from mlc_llm.compiler.kernels.common.function import ARGUMENTS
from mlc_llm.compiler.kernels.gpu.sampling_rows import Rows
from mlc_llm.compiler.library import build_module

Array = np.ndarray[Any, Any]
Rng = np.random.Generator
EPS = 1e-5
_HALF = 2.0**-11  # what rounding to a 16-bit float changes, of the value


@dataclass(frozen=True)
class Argument:
    name: str
    shape: tuple[int | str, ...]
    dtype: str


@dataclass(frozen=True)
class Want:
    """What an argument is to hold after a call: within `tolerance`, or with 0 the very same.

    `float_words`: of words of 32 bits, those that are floats, within that part of the value.
    """

    name: str
    value: Array
    tolerance: float = 0.0
    float_words: Sequence[int] = ()
    decode: Any = None  # turns what was found into what is compared

    def error(self, found: Array) -> float:
        """Of what it may be: up to 1 is well."""
        found = self.decode(found) if self.decode else found
        if self.float_words:
            words = list(self.float_words)
            others = [i for i in range(found.shape[-1]) if i not in words]
            if not np.array_equal(found[..., others], self.value[..., others]):
                return np.inf
            found, expected = (
                np.ascontiguousarray(a[..., words]).view(np.float32).astype(np.float64)
                for a in (found, self.value)
            )
            limit = self.tolerance * np.maximum(np.abs(expected), 1e-30)
        elif self.tolerance == 0:
            return 0.0 if np.array_equal(found, self.value, equal_nan=True) else np.inf
        else:
            expected, limit = self.value, self.tolerance
            if not np.array_equal(np.isnan(found), np.isnan(expected)):
                return np.inf
        return float(np.nan_to_num(np.abs(found - expected) / limit).max(initial=0.0))


@dataclass(frozen=True)
class Call:
    arrays: dict[str, Array]  # every argument, by name
    wants: list[Want] = field(default_factory=list)


class Kernel:
    """A kernel of a library: its arguments, and the model that it is of."""

    def __init__(self, function: Any, model: Model) -> None:
        self.model = model
        names = [str(name) for name in function.attrs[ARGUMENTS]]
        buffers = zip(names, function.params, strict=True)
        self.arguments = [_argument(name, buffer) for name, buffer in buffers]
        self._by_name = {argument.name: argument for argument in self.arguments}

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Argument:
        return self._by_name[name]

    def random(self, rng: Rng, name: str, *rows: int) -> Array:
        """With `rows` in place of the sizes that are known when the kernel runs."""
        return rng.standard_normal(self._shape(name, rows)).astype(self[name].dtype)

    def unwritten(self, name: str, *rows: int) -> Array:
        dtype = np.dtype(self[name].dtype)
        return np.full(self._shape(name, rows), np.nan if dtype.kind == "f" else 77, dtype)

    def want(self, name: str, value: Array, tolerance: float) -> Want:
        """With the rounding of the argument's type."""
        if self[name].dtype == "float16":
            tolerance += _HALF * float(np.nanmax(np.abs(value)))
        return Want(name, value, tolerance)

    def _shape(self, name: str, rows: Sequence[int]) -> list[int]:
        given = iter(rows)
        return [next(given) if isinstance(size, str) else size for size in self[name].shape]


def _argument(name: str, buffer: Any) -> Argument:
    shape = tuple(int(s) if isinstance(s, tvm.tirx.IntImm) else str(s) for s in buffer.shape)
    return Argument(name, shape, str(buffer.dtype))


class Model:
    """A random Llama of one layer; `activation_bits` are those of `--opt`."""

    def __init__(self, device: str, scheme: str, seed: int, activation_bits: int = 8) -> None:
        rng = np.random.default_rng(seed)
        kv_heads, sizes = int(rng.integers(1, 4)), [64 * int(n) for n in rng.integers(2, 4, 2)]
        if activation_bits == 32 or device != "cpu":  # whole numbers want whole groups
            sizes = [size - int(rng.integers(0, 32)) for size in sizes]
        config = {
            "model_type": "llama",
            "hidden_size": sizes[0],
            "intermediate_size": sizes[1],
            "num_hidden_layers": 1,
            "num_attention_heads": kv_heads * int(rng.integers(1, 5)),
            "num_key_value_heads": kv_heads,
            "head_dim": 16 * int(rng.integers(1, 5)),
            "vocab_size": 16 * int(rng.integers(100, 200)),
            "max_position_embeddings": 4096,
            "rms_norm_eps": EPS,
            "attention_bias": True,
            "sliding_window_size": int(rng.integers(20, 90)) if rng.random() < 0.5 else -1,
            "attention_sink_size": 3,
            "quantization": scheme,
        }
        self.spec = library_spec(config, device=device, opt=f"activation_bits={activation_bits}")
        self.config, self.scheme = self.spec.config, quantization.get(scheme)
        self.rows = Rows.of(self.config.vocab_size)
        module = build_module(self.spec, models.get("llama"))
        self.functions = {
            variable.name_hint: function
            for variable, function in module.functions.items()
            if isinstance(function, tvm.tirx.PrimFunc)
        }

    def kernels(self) -> dict[str, Kernel]:
        return {name: Kernel(function, self) for name, function in self.functions.items()}

    def attention(self, kernel: Kernel) -> AttentionShape:
        c = self.config
        return AttentionShape(
            heads=c.num_attention_heads,
            kv_heads=c.num_key_value_heads,
            dim=c.head_dim,
            sliding_window=c.sliding_window_size,
            sinks=c.attention_sink_size,
            page_dtype=kernel["pages"].dtype,
        )


def family_of(name: str) -> str:
    """Kernels of a kind are numbered."""
    return name.rstrip("0123456789")

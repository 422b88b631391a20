"""A model's kernels out of its library: which a step calls, with which tensors, and their times."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax, tirx

from gpu_parts.device import GpuDevice
from gpu_parts.library import LibraryGemm
from gpu_parts.models import chat_config
from mlc_llm.compiler import library, models
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.kernels.common.attention_shape import PAGE_SIZE
from mlc_llm.compiler.memory import bindings_of, made_by
from mlc_llm.compiler.step_shape import Step

_COLD_BYTES = 256 << 20  # of weights, so that a cache does not hold them from call to call
_MOST_COPIES = 64


@dataclass(frozen=True)
class Argument:
    """`shape` has sizes by name; `index` is the name of an array of numbers that must be right."""

    shape: tuple[int | str, ...]
    dtype: str
    index: str = ""

    def extents(self, step: Step) -> tuple[int, ...]:
        return tuple(step.sizes[s] if isinstance(s, str) else s for s in self.shape)

    def bytes(self, step: Step) -> int:
        return math.prod(self.extents(step)) * np.dtype(self.dtype).itemsize

    @property
    def is_weight(self) -> bool:
        return not self.index and all(isinstance(s, int) for s in self.shape)

    @property
    def is_pages(self) -> bool:
        return self.shape[0] == "num_pages"


@dataclass(frozen=True)
class Call:
    """Arguments from `made` on are what the kernel makes: its result, then what nobody reads."""

    kernel: str
    arguments: tuple[Argument, ...]
    made: int = -1

    @property
    def result(self) -> Argument:
        return self.arguments[self.made]

    @property
    def product(self) -> tuple[int, int] | None:
        """Of a matrix product: features in and out."""
        if self.kernel.rstrip("0123456789") != "linear":
            return None
        return int(self.arguments[0].shape[-1]), int(self.result.shape[-1])

    @property
    def label(self) -> str:
        if self.product is None:
            return self.kernel.rstrip("0123456789")
        return "linear {} -> {}".format(*self.product)

    def traffic(self, step: Step) -> int:
        """Bytes that must be read or written; pages as far as rows need them."""
        total = 0
        has_scratch = self.product or self.kernel.startswith("paged_attention")
        needed = self.arguments[: self.made + 1 or None] if has_scratch else self.arguments
        for argument in needed:
            if argument.is_pages:
                size = np.dtype(argument.dtype).itemsize
                slot = math.prod(argument.extents(step)[1:]) // PAGE_SIZE * size
                tokens = step.batch * (step.history + step.rows)
                is_append = self.kernel.startswith("rope")
                total += slot * (step.batch * step.rows if is_append else tokens)
            elif not (self.kernel.startswith("rope") and argument.is_weight):  # a few of its rows
                total += argument.bytes(step)
        return total

    def operations(self, step: Step) -> int:
        """Multiplications and additions of matrix products."""
        if self.product is not None:
            return 2 * self.arguments[0].extents(step)[0] * math.prod(self.product)
        if self.kernel.startswith("paged_attention"):
            return 4 * step.attended * math.prod(self.arguments[0].extents(step)[1:])
        return 0


class Kernels:
    """The kernels of a model, compiled for a device."""

    def __init__(self, device: GpuDevice, model: str, quantization: str, opt: str = "O2") -> None:
        self.device = device
        spec = library_spec(chat_config(model, quantization), device=device.kind, opt=opt)
        module = library.build_module(spec, models.get("llama"))
        names = {v.name_hint: v for v in module.get_global_vars()}
        self.decode = self.prefill = _calls_of(module[names["batch_prefill"]])
        used = {call.kernel for call in (*self.decode, *self.prefill)}
        self.library = device.compiled({name: module[names[name]] for name in sorted(used)})

    def times(
        self, calls: Counter[Call], step: Step, budget_s: float, library: LibraryGemm | None = None
    ) -> list[dict[str, Any]]:
        """A row for each kernel; one whose tensors do not fit has no seconds. `library_seconds`:
        of a library's product in its place."""
        rows = []
        for call, count in calls.items():
            try:
                seconds = self._seconds(call, step, budget_s)
                other = self._library_seconds(call, step, budget_s, library)
            except MemoryError:
                seconds = other = None
            rows.append(
                {
                    "kernel": call.label,
                    "count": count,
                    "seconds": seconds,
                    "library_seconds": other,
                    "bytes": call.traffic(step),
                    "operations": call.operations(step),
                }
            )
        return rows

    def _library_seconds(
        self, call: Call, step: Step, budget_s: float, library: LibraryGemm | None
    ) -> float | None:
        if library is None or call.product is None:
            return None
        return library.seconds(call.arguments[0].extents(step)[0], *call.product, budget_s)

    def _seconds(self, call: Call, step: Step, budget_s: float) -> float:
        entry = self.library[call.kernel]
        weights = sum(a.bytes(step) for a in call.arguments if a.is_weight)
        copies = max(1, min(_MOST_COPIES, _COLD_BYTES // weights if weights else 1))
        shared = {a: self._tensor(a, step) for a in call.arguments if not a.is_weight}
        sets = [
            [self._tensor(a, step) if a.is_weight else shared[a] for a in call.arguments]
            for _ in range(1 if self.device.facts.get("is_processor") else copies)
        ]
        # Two tensors of one shape, one of them written, must not be the same.
        if len(shared) < sum(not a.is_weight for a in call.arguments):
            for tensors in sets:
                tensors[call.made] = self._tensor(call.result, step)
        return self.device.seconds([lambda t=t: entry(*t) for t in sets], budget_s)

    def _tensor(self, argument: Argument, step: Step) -> Any:
        shape = argument.extents(step)
        if argument.index:
            return self.device.put(step.indices()[argument.index].astype(argument.dtype))
        if argument.dtype.startswith("float"):
            values = np.random.default_rng(0).random(4096, np.float32) - np.float32(0.5)
            return self.device.put(np.resize(values, shape).astype(argument.dtype))
        words = np.random.default_rng(0).integers(0, 2**8, 4096)
        return self.device.put(np.resize(words, shape).astype(argument.dtype))


# Sizes of which the measured steps have none: slots that branches need, rows of hidden states.
_NONE = {"c", "h"}


def _calls_of(function: Any) -> Counter[Call]:
    """The kernels that a function of the library calls, and how often each; without those that
    have nothing to do."""
    calls: Counter[Call] = Counter()
    for binding in bindings_of(function):
        value = binding.value
        if isinstance(value, relax.Call) and value.op.name.startswith("relax.call_tir"):
            inputs = [_argument(expression) for expression in value.args[1].fields]
            outputs = [_argument_of(ty) for ty in made_by(binding)]
            made = len(inputs) if outputs else -1
            if any(_NONE & {*argument.shape} for argument in (*inputs, *outputs)):
                continue
            calls[Call(value.args[0].name_hint, (*inputs, *outputs), made)] += 1
    return calls


def _argument(expression: Any) -> Argument:
    found = _argument_of(expression.ty)
    is_index = isinstance(expression, relax.Var) and found.dtype == "int32"
    return Argument(found.shape, found.dtype, expression.name if is_index else "")


def _argument_of(ty: Any) -> Argument:
    shape = tuple(int(s) if isinstance(s, tirx.IntImm) else s.name for s in ty.shape)
    return Argument(shape, str(ty.dtype))

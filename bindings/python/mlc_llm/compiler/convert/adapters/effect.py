"""How much of an adapter's effect is left when it is merged and then quantized.

A text is read by three models in float32: the base, the base with the adapter, and what the
quantized weights of the latter are worth. The adapter's effect is the divergence of the first two
(Kullback-Leibler, in nats a token); what quantization loses is the divergence of the last two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import tvm

from mlc_llm.compiler import models, quantization
from mlc_llm.compiler.calibrate import CHUNK, FloatModel, float_module, weights_of
from mlc_llm.compiler.convert.adapters.factors import Adapter, Array
from mlc_llm.compiler.convert.adapters.merge import Merge
from mlc_llm.compiler.convert.source import ModelSource
from mlc_llm.compiler.convert.weights import Change, SourceRows, count_elements
from mlc_llm.compiler.quantization import Scheme
from mlc_llm.compiler.spec import WeightSource

TEXT = (
    "Question: Which city is the capital of France, and what is it known for?\nAnswer: Paris. It "
    "has museums, old bridges and good bread.\n\ndef area(width, height):\n    return width * "
    'height\n\n{"name": "Ada Lovelace", "born": 1815, "field": "mathematics"}\n\nThe train was '
    "late, so we walked along the river and talked about the summer."
)
_PLAIN = "q0f32"


@dataclass(frozen=True)
class Effect:
    """Divergences from the base with the adapter in float32, in nats a token."""

    of_adapter: float  # of the base
    lost: float  # of the merged and quantized weights

    @property
    def is_little(self) -> bool:
        """Whether quantization changes the answers more than the adapter does."""
        return self.lost >= self.of_adapter


def effect(
    source: ModelSource,
    adapters: Sequence[tuple[Adapter, float]],
    ids: Sequence[int],
    *,
    scheme: str,
    model_type: str | None = None,
) -> Effect:
    """All weights of the model are in memory as float32, once at a time."""
    config = source.hf_config()
    name = model_type or models.model_type_of(config)
    change_of = Merge(adapters, models.get(name), models.config_from_hf(config, name)).of
    module = float_module(source, model_type)

    def read(values: Callable[[WeightSource], Array]) -> Array:
        weights = {w.name: tvm.runtime.tensor(values(w)) for w in weights_of(source, model_type)}
        return _log_probabilities(FloatModel(module, weights).read(list(ids)[:CHUNK]))

    def floats(weight: WeightSource, change: Change | None) -> Array:
        return _values(SourceRows(source, weight, change=change), weight, quantization.get(_PLAIN))

    quantized = quantization.get(scheme)
    wanted = read(lambda w: floats(w, change_of(w.name)))
    base = read(lambda w: floats(w, None))
    got = read(lambda w: _values(
        SourceRows(source, w, change=change_of(w.name)), w, quantized))  # fmt: skip
    return Effect(_divergence(wanted, base), _divergence(wanted, got))


def _values(rows: SourceRows, weight: WeightSource, scheme: Scheme) -> Array:
    """What the weight is worth in that scheme, as float32."""
    if weight.quantizable is None:
        ((_, chunks),) = scheme.convert(rows, use=None)
        return np.concatenate(list(chunks)).reshape(weight.shape).astype(np.float32)
    made, first = [], 0
    for matrix in scheme.stacked(weight.name, weight.shape, weight.quantizable):
        outputs = range(first, first + matrix.shape[0])
        arrays = [np.concatenate(list(c)) for c in matrix.convert(rows, outputs)]
        shaped = (a.reshape(p.shape) for a, p in zip(arrays, matrix.stored, strict=True))
        made.append(matrix.floats(list(shaped)))
        first = outputs.stop
    return np.concatenate(made).reshape(weight.shape).astype(np.float32)


def _log_probabilities(logits: Array) -> Array:
    values = logits.astype(np.float64)
    values -= values.max(-1, keepdims=True)
    return values - np.log(np.exp(values).sum(-1, keepdims=True))


def _divergence(of: Array, other: Array) -> float:
    return float((np.exp(of) * (of - other)).sum(-1).mean())


def fits_memory(source: ModelSource, model_type: str | None) -> bool:
    """Whether the model fits as float32, with as much again for what is being made."""
    from mlc_llm.prepare.suggested_models import available_bytes

    elements = count_elements(weights_of(source, model_type))
    return 2 * 4 * elements <= available_bytes()

"""Libraries of the tiny models with experts, and their converted weights."""

from __future__ import annotations

from functools import cache
from typing import Any

import quick_code
import tiny_experts
from tiny_families import Source, converted
from vm_runner import Runner

from mlc_llm.compiler import models
from mlc_llm.compiler.compile import library_spec


@cache
def module(model_type: str, scheme: str = "q0f32", device: str = "cpu") -> Any:
    chat = {**tiny_experts.config(model_type), "quantization": scheme, "prefill_chunk_size": 64}
    spec = library_spec(chat, device=device)
    return quick_code.build(spec, models.get(model_type))


def runner(model_type: str, scheme: str = "q0f32") -> Runner:
    c = tiny_experts.config(model_type)
    params = converted(Source(tiny_experts.weights(c)), c, scheme)
    return Runner(module(model_type, scheme), params, num_pages=16)

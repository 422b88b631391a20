"""The embedded model in a scheme, converted and compiled where it is not there yet."""

from __future__ import annotations

from pathlib import Path

import gguf

from cpu_parts import peer
from mlc_llm.prepare.model_source import ResolvedModel, resolve_model, resolve_source

PREFIX = "gguf_"


def source() -> Path:
    """The embedded model's GGUF file."""
    return resolve_source(None, progress=print)


def type_of(scheme: str) -> str:
    """`gguf_q4_0`: Q4_0."""
    return scheme.removeprefix(PREFIX).upper()


def file_of(kind: str) -> Path:
    """The model with weights of a GGUF type: the embedded file itself, or one made of it."""
    if kind in source().name:
        return source()
    return peer.requantized(source(), gguf.GGMLQuantizationType[kind])


def in_scheme(scheme: str) -> ResolvedModel:
    """`gguf_` schemes keep a file's types: the embedded one's, or those of the peer's. `SCHEME:q8`:
    with that precision of the KV cache."""
    scheme, _, kept = scheme.partition(":")
    model = None
    if scheme.startswith(PREFIX) and type_of(scheme) not in source().name:
        model = file_of(type_of(scheme))
    return resolve_model(model, quantization=scheme, kv_cache_dtype=kept or None)

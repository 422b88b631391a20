"""The embedded model in a scheme, converted and compiled where it is not there yet."""

from __future__ import annotations

from pathlib import Path

import gguf

from cpu_parts import peer
from mlc_llm.model_source import ResolvedModel, resolve_model

_PREFIX = "gguf_"


def source() -> Path:
    """The embedded model's GGUF file."""
    from mlc_llm import embedded_model
    from mlc_llm.jit_cache import home

    folder = home() / "model_weights" / "embedded"
    return Path(embedded_model.embedded_model_file(folder, may_download=True, log=print))


def in_scheme(scheme: str) -> ResolvedModel:
    """`gguf_` schemes keep a file's types: the embedded one's, or those of the peer's."""
    if scheme.startswith(_PREFIX):
        name = scheme.removeprefix(_PREFIX).upper()
        if name not in source().name:
            file = peer.requantized(source(), gguf.GGMLQuantizationType[name])
            return resolve_model(file, quantization=scheme)
    return resolve_model(None, quantization=scheme)

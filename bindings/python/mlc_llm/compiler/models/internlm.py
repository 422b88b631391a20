"""InternLM 1: Llama's block with biases around the attention.

`modeling_internlm.py` of its repositories. llama.cpp writes these files as "llama".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models.config import ConfigReader, DecoderConfig
from mlc_llm.compiler.models.declared import flag
from mlc_llm.compiler.models.family import ModelFamily
from mlc_llm.compiler.spec import DecoderSpec
from mlc_llm.errors import UnsupportedError

_ROTATIONS = {"origin": "default", "dynamic": "dynamic"}  # the types of `rotary`
_NAMES = {"qkv": "self_attn.wqkv_pack"}


@dataclass(frozen=True, kw_only=True)
class InternLMConfig(DecoderConfig):
    bias: bool = flag(default=True, gguf="blk.0.attn_q.bias")

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        config = {**read.config, **_rotation(read.mapping("rotary") or {})}
        return super().fields(ConfigReader(config, read.seen))


def _rotation(rotary: Mapping[str, Any]) -> dict[str, Any]:
    """InternLM 1's own field, as the fields of other families."""
    if not rotary:
        return {}
    for name, value in rotary.items():
        is_known = name in ("base", "scaling_factor") or (
            name == "type" and value in tuple(_ROTATIONS)
        )
        if not is_known:
            raise UnsupportedError(
                f"config: rotary.{name} {value!r:.60} is not supported; the types that are: "
                f"{', '.join(_ROTATIONS)}",
                param=f"rotary.{name}",
            )
    scaling = {"factor": rotary.get("scaling_factor", 1.0)}
    return {
        "rope_theta": _base(rotary),
        "rope_scaling": {"rope_type": _ROTATIONS[rotary.get("type", "dynamic")], **scaling},
    }


def _base(rotary: Mapping[str, Any]) -> float:
    return ConfigReader({"rotary.base": rotary.get("base")}).number("rotary.base", default=10000.0)


def decoder(c: InternLMConfig, names: Mapping[str, str] = _NAMES) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    layers = c.layers(lambda i: (c.attention(i, bias=c.bias), mlp))
    return c.decoder(layers, names=names)


FAMILY = ModelFamily(config_class=InternLMConfig, decoder=decoder)

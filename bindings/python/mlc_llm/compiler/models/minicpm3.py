"""MiniCPM 3: latent attention, whose rotated elements are two halves, and MiniCPM's three scales.

transformers' `models/minicpm3/modeling_minicpm3.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.models.latent import LatentConfig, gguf_latent
from mlc_llm.compiler.models.minicpm import MiniCPMConfig
from mlc_llm.compiler.models.phi3 import gguf_longrope
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, LayerSpec, TensorMap

_LATENT_EPS = 1e-6  # of the norms of latent vectors, whatever the config says of the others


@dataclass(frozen=True, kw_only=True)
class MiniCPM3Config(LatentConfig, MiniCPMConfig):
    default_eps = 1e-5


def decoder(c: MiniCPM3Config) -> DecoderSpec:
    attention = c.latent(eps=_LATENT_EPS, pairs=False)
    mlp = MLPSpec(width=c.intermediate_size)
    scale = c.scale_depth / c.num_hidden_layers**0.5
    layers = [LayerSpec((attention, mlp), norm=c.rms, residual_scale=scale)]
    logits = c.dim_model_base / c.hidden_size
    return c.decoder(layers * c.num_hidden_layers, embedding_scale=c.scale_emb, logit_scale=logits)


def tensors(c: MiniCPM3Config) -> TensorMap:
    return HUGGING_FACE.changed(**c.matrices("self_attn.kv_b_proj"))


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    """The scales are those that llama.cpp computes with: files do not have them."""
    scales = {"scale_emb": 12, "scale_depth": 1.4, "dim_model_base": 256}
    return {**gguf_latent(fields), **gguf_longrope(fields), **scales}


FAMILY = ModelFamily(
    config_class=MiniCPM3Config,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat(
        "minicpm3",
        "MiniCPM3ForCausalLM",
        _gguf_config,
        lambda c: GGUF.changed(**c.matrices("attn_kv_b")),
    ),
)

"""gpt-oss: attention with biases and learned sinks, a window on every other layer, and experts with
a limited activation. A row's weights are the softmax of the logits of its chosen experts.

transformers' `models/gpt_oss/modeling_gpt_oss.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import Scores
from mlc_llm.compiler.models.config import FULL, SLIDING, ConfigReader
from mlc_llm.compiler.models.config_reader import unsupported
from mlc_llm.compiler.models.declared import flag, integer
from mlc_llm.compiler.models.experts import SOFTMAX_OF_CHOSEN, MoEConfig, gguf_experts
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import GGUF, HUGGING_FACE, DecoderSpec, Source, TensorMap
from mlc_llm.compiler.spec.transforms import Grouped, Transposed

SWISH_LIMIT = 7.0  # of the kernels: kernels/common/values.py
GPT_OSS_NAMES = {"router": "mlp.router"}


_SLOPE = 1.702  # of the sigmoid
_SCALING = {  # of configs that leave it out
    "rope_type": "yarn",
    "factor": 32.0,
    "original_max_position_embeddings": 4096,
    "truncate": False,
}


@dataclass(frozen=True, kw_only=True)
class GptOssConfig(MoEConfig):
    head_dim: int = integer(default=64)
    attention_bias: bool = flag(default=True, gguf="blk.0.attn_q.bias")

    default_eps = 1e-5
    default_theta = 150000.0
    default_window = 128
    aliases = {
        "num_experts": ("num_local_experts",),
        "num_experts_per_tok": ("experts_per_token",),
    }

    @classmethod
    def layer_kinds(cls, read: ConfigReader, layers: int) -> Sequence[str]:
        return [FULL if i % 2 else SLIDING for i in range(layers)]

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        for name, only in (("swiglu_limit", SWISH_LIMIT), ("swiglu_alpha", _SLOPE)):
            if (given := read.number(name, default=only)) != only:
                raise unsupported(name, f"{given} is not supported; {only} is")
        says = any(name in read.config for name in ("rope_scaling", "rope_parameters"))
        scaling = {} if says else {"rope_scaling": _SCALING}
        return super().fields(read.having(scaling))


def decoder(c: GptOssConfig) -> DecoderSpec:
    router = c.router(scores="chosen", bias=True, normalize=False)
    mlp = c.experts(router, bias=True, activation="clipped_swish")
    sinks = Scores(sinks=True)
    layers = c.layers(lambda i: (c.attention(i, scores=sinks, bias=c.attention_bias), mlp))
    return c.decoder(layers, names=GPT_OSS_NAMES)


def tensors(c: GptOssConfig) -> TensorMap:
    """Experts are (in, out). The outputs of gate and up alternate."""
    pairs = [Grouped(c.moe_intermediate_size, (1, 1), i) for i in range(2)]
    up, down = "mlp.experts.gate_up_proj", "mlp.experts.down_proj"
    return HUGGING_FACE.renamed(router="mlp.router").changed(
        experts_gate_up=tuple(Source(up, (Transposed(), pair), is_whole=True) for pair in pairs),
        experts_gate_up_bias=tuple(Source(f"{up}_bias", (pair,), is_whole=True) for pair in pairs),
        experts_down=(Source(down, (Transposed(),), is_whole=True),),
        experts_down_bias=(Source(f"{down}_bias", is_whole=True),),
    )


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    """llama.cpp rounds the ends of yarn's ramp. The model does not, so neither do we."""
    scaling = {
        "rope_type": "yarn",
        "factor": fields.number("rope.scaling.factor", 1.0),
        "beta_fast": fields.number("rope.scaling.yarn_beta_fast", 32.0),
        "beta_slow": fields.number("rope.scaling.yarn_beta_slow", 1.0),
        "original_max_position_embeddings": fields.size("rope.scaling.original_context_length"),
        "truncate": False,
    }
    return {
        **gguf_experts(fields, gating=SOFTMAX_OF_CHOSEN),
        "rope_scaling": scaling,
    }


FAMILY = ModelFamily(
    config_class=GptOssConfig,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat(
        "gpt-oss",
        "GptOssForCausalLM",
        _gguf_config,
        lambda c: GGUF.renamed(mlp_norm="post_attention_norm"),
    ),
)

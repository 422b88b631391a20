"""The common parts of decoders with layer norms and an MLP without a gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec
from mlc_llm.compiler.models.config import ConfigReader, DecoderConfig
from mlc_llm.compiler.models.family import GGUFFields
from mlc_llm.compiler.spec import NormSpec


@dataclass(frozen=True, kw_only=True)
class GPTConfig(DecoderConfig):
    hidden_act: str = "gelu_tanh"
    aliases = {"rms_norm_eps": ("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon")}
    default_eps = 1e-5
    activations = {
        "gelu": "gelu",
        "gelu_tanh": "gelu_tanh",
        "gelu_new": "gelu_tanh",
        "gelu_fast": "gelu_tanh",
        "gelu_pytorch_tanh": "gelu_tanh",
    }

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        act = read.choice("hidden_act", of=cls.activations, default=cls.hidden_act)
        read.seen.update(("embedding_dropout", "residual_dropout"))  # only for training
        return {**super().fields(read), "hidden_act": act}

    def norm(self, *, bias: bool = True) -> NormSpec:
        return NormSpec(eps=self.rms_norm_eps, kind="layer", bias=bias)

    def mlp(self, *, bias: bool) -> MLPSpec:
        width, activation = self.intermediate_size, self.hidden_act
        return MLPSpec(width=width, activation=activation, bias=bias, gated=False)


@dataclass(frozen=True, kw_only=True)
class GPT2FieldsConfig(GPTConfig):
    """The names that GPT-2's config gives its fields. The MLP is four times as wide as a row if the
    config has no width."""

    aliases = {
        **GPTConfig.aliases,
        "hidden_size": ("n_embd",),
        "num_hidden_layers": ("n_layer",),
        "num_attention_heads": ("n_head",),
        "intermediate_size": ("n_inner",),
        "max_position_embeddings": ("n_positions", "n_ctx"),
        "hidden_act": ("activation_function",),
    }

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        config = dict(read.config)
        if config.get("intermediate_size") is None and isinstance(config.get("hidden_size"), int):
            config["intermediate_size"] = 4 * config["hidden_size"]
        return super().fields(ConfigReader(config, read.seen))


def rotated_part(fields: GGUFFields) -> float:
    """The fraction of a head that is rotated."""
    dim = fields.size("embedding_length") // fields.size("attention.head_count")
    return fields.size("rope.dimension_count", dim) / dim

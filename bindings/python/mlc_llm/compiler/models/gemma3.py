"""Gemma 3, text: Gemma 2 without softcaps. Queries and keys are normalized. Five layers with a
window, then one without; the two kinds have different rotations.

EmbeddingGemma is Gemma 3 whose rows see both ways, with linear layers behind the pooling.

transformers' `models/gemma3/modeling_gemma3.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mlc_llm.compiler.layers import Ahead, AttentionSpec, HeadNorms, MLPSpec
from mlc_llm.compiler.models import gemma2
from mlc_llm.compiler.models.config import FULL, SLIDING, ConfigReader, local_theta
from mlc_llm.compiler.models.config_reader import corrupt, unsupported
from mlc_llm.compiler.models.declared import flag, number
from mlc_llm.compiler.models.family import (
    GGUFFields,
    GGUFFormat,
    MLCFormat,
    ModelFamily,
    refuse_causal,
)
from mlc_llm.compiler.models.gemma import GemmaConfig
from mlc_llm.compiler.spec import (
    GGUF,
    HUGGING_FACE,
    DecoderSpec,
    DenseSpec,
    HeadSpec,
    RopeSpec,
    TensorMap,
)

_LARGE = 62  # layers of the 27B model, whose scale does not come from the head's size


@dataclass(frozen=True, kw_only=True)
class Gemma3Config(GemmaConfig):
    query_pre_attn_scalar: float = number(default=256.0)
    rope_local_base_freq: float = number(default=10000.0)  # theta of layers with a window
    # an encoder: half of a window is on each side of a row
    use_bidirectional_attention: bool = flag(default=False)
    dense_layers: tuple[int, ...]  # widths of the linear layers behind the pooling
    default_theta = 1e6
    default_window = 4096
    kinds_matter = True

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        base = ConfigReader(_with_one_rope(read.config), read.seen)
        if base.flag("use_bidirectional_attention", default=False):
            base.always("is_causal", False)
        return {**super().fields(base), "dense_layers": _dense_layers(base)}

    @classmethod
    def layer_kinds(cls, read: ConfigReader, layers: int) -> Sequence[str]:
        period = read.integer("sliding_window_pattern", "_sliding_window_pattern", default=6)
        return [SLIDING if (i + 1) % period else FULL for i in range(layers)]

    @classmethod
    def window_fields(cls, read: ConfigReader, layers: int) -> dict[str, Any]:
        """An encoder's window is always that of its kind of layers, even if all layers have it."""
        if not read.flag("use_bidirectional_attention", default=False):
            return super().window_fields(read, layers)
        if read.integer("sliding_window_size", default=-1, minimum=-1) > 0:
            raise unsupported(
                "sliding_window_size",
                "is not supported for encoders; sliding_window is the width of their windows",
            )
        found = super().window_fields(read, layers)
        if found["sliding_window_size"] > 0:
            found |= {"sliding_window": found["sliding_window_size"], "sliding_window_size": -1}
        if found["sliding_window"] == 1:
            raise unsupported(
                "sliding_window", "1 is not supported for encoders; it must be 2 at least"
            )
        return found

    def layer_attention(self, layer: int) -> AttentionSpec:
        scale = self.query_pre_attn_scalar**-0.5
        local = RopeSpec(dim=self.head_dim, theta=self.rope_local_base_freq)
        rope = local if self.is_sliding(layer) else self.rope
        own: dict[str, Any] = {"scale": scale, "rope": rope, "head_norms": HeadNorms(self.rms)}
        if self.use_bidirectional_attention:
            near = max(self.sliding_window, 0) // 2 if self.is_sliding(layer) else 0
            own |= {"ahead": Ahead(near=near), "window": None}
        return self.attention(layer, **own)

    @property
    def head(self) -> HeadSpec | None:
        if not self.dense_layers:
            return None
        return HeadSpec(layers=tuple(DenseSpec(width=w, bias=False) for w in self.dense_layers))

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "dense_layers": list(self.dense_layers)}


def _dense_layers(read: ConfigReader) -> tuple[int, ...]:
    read.seen.add("dense_layers")
    widths = read.config.get("dense_layers") or ()
    if not isinstance(widths, (list, tuple)) or not all(type(w) is int and w > 0 for w in widths):
        raise corrupt("dense_layers", "must be a list of sizes")
    if widths and not read.flag("use_bidirectional_attention", default=False):
        raise unsupported(
            "dense_layers", "is supported for encoders alone (use_bidirectional_attention)"
        )
    return tuple(widths)


def _with_one_rope(config: Mapping[str, Any]) -> dict[str, Any]:
    """transformers 5 has `rope_parameters` for each kind of layer. Converts them to the fields of
    earlier versions."""
    rope = config.get("rope_parameters")
    fields = dict(config)
    if not isinstance(rope, Mapping) or not isinstance(rope.get(FULL), Mapping):
        return fields
    if (local := local_theta(config)) is not None:
        fields["rope_local_base_freq"] = local
    return {**fields, "rope_parameters": rope[FULL], "rope_theta": rope[FULL].get("rope_theta")}


def decoder(c: Gemma3Config) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size, activation="gelu_tanh")
    layers = c.layers(lambda i: (c.layer_attention(i), mlp), places="sandwich")
    scale = c.hidden_size**0.5
    dense = {f"dense_{i}": f"dense_{i}.linear" for i in range(len(c.dense_layers))}
    names = {**gemma2.SANDWICH_NAMES, **dense}
    return c.decoder(layers, embedding_scale=scale, pooled_head=c.head, names=names)


def tensors(c: Gemma3Config) -> TensorMap:
    """The converter puts the folders of linear layers in order: `dense_0`, ..."""
    dense = {f"dense_{i}": f"dense_{i}.linear" for i in range(len(c.dense_layers))}
    table = gemma2.tensors(c)
    return replace(table, sources={**table.sources, **table.renamed(**dense).sources})


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    hidden, heads = fields.size("embedding_length"), fields.size("attention.head_count")
    dim = fields.size("attention.key_length", 256)
    return {
        "hidden_act": "gelu",
        "query_pre_attn_scalar": hidden / heads if fields.size("block_count") == _LARGE else dim,
        "rope_theta": fields.number("rope.freq_base", 1e6),
        "rope_local_base_freq": fields.number("rope.freq_base_swa", 10000.0),
        "sliding_window_pattern": fields.size("attention.sliding_window_pattern", 6),
    }


_MLC = TensorMap(HUGGING_FACE.layer, AttentionSpec.sources("qkv"))
FAMILY = ModelFamily(
    config_class=Gemma3Config,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("gemma3", "Gemma3ForCausalLM", _gguf_config),
    mlc=MLCFormat(lambda c: _MLC, prefix="language_model."),
)


def _gguf_embedding_config(fields: GGUFFields) -> dict[str, Any]:
    refuse_causal(fields, usual=False)
    dense = [name for name in ("dense_2.weight", "dense_3.weight") if fields.has_tensor(name)]
    for name in ("dense_2", "dense_3"):  # their sizes, which the tensors have too
        for end in ("feat_in", "feat_out"):
            if f"{name}_{end}" in fields:
                fields.size(f"{name}_{end}")
    return {
        **_gguf_config(fields),
        "use_bidirectional_attention": True,
        "dense_layers": [fields.rows(name) for name in dense],
    }


_GGUF_EMBEDDING = GGUF.renamed(dense_0="dense_2", dense_1="dense_3")
# EmbeddingGemma under llama.cpp's name; in a Hugging Face folder it is gemma3_text.
EMBEDDING = replace(
    FAMILY,
    gguf=GGUFFormat(
        "gemma-embedding", "Gemma3TextModel", _gguf_embedding_config, lambda c: _GGUF_EMBEDDING
    ),
    pooling="mean",
)

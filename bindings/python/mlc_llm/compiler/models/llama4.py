"""Llama 4, text: three layers whose rows see their own chunk of the text, then one without rotary
positions that sees everything. Some layers have experts, whose input a sigmoid multiplies, and an
MLP that every row goes through.

transformers' `models/llama4/modeling_llama4.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import AttentionSpec, Growth, HeadNorms, MLPSpec, MoESpec, Window
from mlc_llm.compiler.models.config import FULL, ConfigReader
from mlc_llm.compiler.models.declared import flag, integer, number
from mlc_llm.compiler.models.experts import SIGMOID, MoEConfig, gguf_experts
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, MLCFormat, ModelFamily
from mlc_llm.compiler.spec import (
    GGUF,
    HUGGING_FACE,
    DecoderSpec,
    NormSpec,
    Source,
    TensorMap,
)
from mlc_llm.compiler.spec.transforms import Transposed, Unpaired

CHUNKED = "chunked_attention"
_CHUNK = 8192  # of the published models
_WITHOUT_QK_NORM = 128  # experts of the model without norms of queries and keys
_NAMES = {
    "gate_up": "feed_forward.gate_up_proj",
    "down": "feed_forward.down_proj",
    "router": "feed_forward.router.router",
    "experts_gate_up": "feed_forward.experts.gate_up_proj",
    "experts_down": "feed_forward.experts.down_proj",
    "shared_gate_up": "feed_forward.shared_expert.gate_up_proj",
    "shared_down": "feed_forward.shared_expert.down_proj",
}


@dataclass(frozen=True, kw_only=True)
class Llama4Config(MoEConfig):
    """`intermediate_size` is that of an expert."""

    # of layers without experts
    intermediate_size_mlp: int = integer(default=lambda found: 2 * found["intermediate_size"])
    attention_chunk_size: int  # 0: no layer has chunks
    no_rope_layers: tuple[int, ...]  # for each layer 1 if it has rotary positions, else 0
    moe_layers: tuple[int, ...]  # the layers with experts
    use_qk_norm: bool = flag(default=True)
    attention_bias: bool = flag(default=False, gguf="blk.0.attn_q.bias")
    attn_temperature_tuning: bool
    floor_scale: int = integer(default=_CHUNK)
    attn_scale: float = number(default=0.1)

    default_eps = 1e-5
    default_theta = 500000.0
    kinds_matter = True
    aliases = {"num_experts": ("num_local_experts",)}

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        found = super().fields(read)
        layers = found["num_hidden_layers"]
        step = read.integer("interleave_moe_layer_step", default=1)
        tuned = read.config.get("attn_temperature_tuning", True)  # a flag, or 4 for true
        read.seen.add("attn_temperature_tuning")
        chunk = 0 if read.config.get("attention_chunk_size", _CHUNK) is None else _CHUNK
        return {
            **found,
            "attention_chunk_size": read.integer("attention_chunk_size", default=chunk, minimum=0),
            "no_rope_layers": cls._turning(read, layers),
            "moe_layers": read.layers("moe_layers", layers, range(step - 1, layers, step)),
            "attn_temperature_tuning": bool(tuned),
        }

    @classmethod
    def _turning(cls, read: ConfigReader, layers: int) -> tuple[int, ...]:
        period = read.integer("no_rope_layer_interval", default=4)
        given = read.words("no_rope_layers", layers, (0, 1))
        return given or tuple(int((i + 1) % period != 0) for i in range(layers))

    @classmethod
    def window_fields(cls, read: ConfigReader, layers: int) -> dict[str, Any]:
        read.seen.update(("sliding_window", "use_sliding_window"))  # transformers reads neither
        instead = "; attention_chunk_size is the size of its chunks"
        read.no_windows("sliding_window_size", instead=instead)
        kinds = read.words("layer_types", layers, (FULL, CHUNKED))
        usual = tuple(CHUNKED if turns else FULL for turns in cls._turning(read, layers))
        sinks = read.integer("attention_sink_size", default=0, minimum=0)
        return {"attention_sink_size": sinks, "layer_types": kinds or usual}

    def to_dict(self) -> dict[str, Any]:
        lists = {name: list(getattr(self, name)) for name in ("no_rope_layers", "moe_layers")}
        return {**super().to_dict(), **lists}

    def layer_attention(self, layer: int) -> AttentionSpec:
        turns, chunk = self.no_rope_layers[layer], self.attention_chunk_size
        grows = self.attn_temperature_tuning and not turns
        in_chunks = self.layer_types[layer] == CHUNKED and chunk > 0
        pinned = self.attention_sink_size
        norm = NormSpec(eps=self.rms_norm_eps, weight=False)
        return self.attention(
            layer,
            rope=self.rope if turns else None,
            bias=self.attention_bias,
            head_norms=HeadNorms(norm) if self.use_qk_norm and turns else None,
            window=Window(chunk, chunked=True, pinned=pinned) if in_chunks else None,
            growth=Growth(self.attn_scale, self.floor_scale, offset=1) if grows else None,
        )

    def mlp(self, layer: int) -> MLPSpec | MoESpec:
        if layer not in self.moe_layers:
            return MLPSpec(width=self.intermediate_size_mlp)
        router = self.router(scores="sigmoid", normalize=False, scales_input=True)
        return MoESpec(
            router=router, width=self.intermediate_size, shared_width=self.intermediate_size
        )


def decoder(c: Llama4Config) -> DecoderSpec:
    layers = c.layers(lambda i: (c.layer_attention(i), c.mlp(i)))
    return c.decoder(layers, names=_NAMES)


def tensors(c: Llama4Config) -> TensorMap:
    """Experts are (in, out). Queries and keys have rotary pairs."""
    pairs, moe = (Unpaired(c.head_dim),), "feed_forward"
    shared = f"{moe}.shared_expert"
    return HUGGING_FACE.renamed(
        gate_up=f"{moe}.gate_proj {moe}.up_proj",
        down=f"{moe}.down_proj",
        router=f"{moe}.router",
        shared_gate_up=f"{shared}.gate_proj {shared}.up_proj",
        shared_down=f"{shared}.down_proj",
    ).changed(
        qkv=(
            Source("self_attn.q_proj", pairs),
            Source("self_attn.k_proj", pairs),
            Source("self_attn.v_proj"),
        ),
        experts_gate_up=(Source(f"{moe}.experts.gate_up_proj", (Transposed(),), is_whole=True),),
        experts_down=(Source(f"{moe}.experts.down_proj", (Transposed(),), is_whole=True),),
    )


def _mlc_tensors(c: Llama4Config) -> TensorMap:
    table = tensors(c)
    roles = ("qkv", "experts_gate_up", "experts_down")
    return TensorMap(table.layer, {role: table.sources[role] for role in roles})


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    """llama.cpp has the sizes of chunks and of the growth of queries in its source."""
    found = gguf_experts(fields, gating=SIGMOID)
    return {
        **found,
        "intermediate_size": found.pop("moe_intermediate_size"),
        "intermediate_size_mlp": fields.size("feed_forward_length"),
        "interleave_moe_layer_step": fields.size("interleave_moe_layer_step"),
        "use_qk_norm": found["num_experts"] != _WITHOUT_QK_NORM,
    }


def _gguf_tensors(c: Llama4Config) -> TensorMap:
    pairs = (Unpaired(c.head_dim),)
    return GGUF.changed(qkv=(Source("attn_q", pairs), Source("attn_k", pairs), Source("attn_v")))


FAMILY = ModelFamily(
    config_class=Llama4Config,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("llama4", "Llama4ForCausalLM", _gguf_config, _gguf_tensors),
    mlc=MLCFormat(_mlc_tensors, plain=frozenset(("experts",)), router_is_linear=True),
)

"""Baichuan 1 and 2: Llama's block with q, k and v in one tensor. The 13B models have scores that
fall with the distance (ALiBi) in place of a rotation. Baichuan 2 divides each row of its head by
the row's length, which the converter does once.

`modeling_baichuan.py` of its repositories (transformers has no such family). llama.cpp divides
nothing, and its converter writes the head as it is (`BaichuanModel` in convert_hf_to_gguf.py). The
authors advise to divide before the conversion, so GGUF files of Baichuan 2 have either head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import MLPSpec, Scores
from mlc_llm.compiler.models import llama
from mlc_llm.compiler.models.config import ConfigReader, DecoderConfig
from mlc_llm.compiler.models.config_reader import unsupported
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, MLCFormat, ModelFamily
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec, Source, TensorMap
from mlc_llm.compiler.spec.transforms import Normalized

_NAMES = {"qkv": "self_attn.W_pack"}
_LAYERS_13B = 40  # by which llama.cpp knows the models with ALiBi
_VOCABULARY_2 = 125696  # of Baichuan 2
_SAMPLE = 16  # rows of a head that tell whether its rows were divided
_ROUNDED = 0.05  # how far quantization may take the length of a row from 1


@dataclass(frozen=True, kw_only=True)
class BaichuanConfig(DecoderConfig):
    alibi: bool
    normalized_head: bool

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        """Configs of 13B models have `model_max_length` alone, those of 7B models
        `max_position_embeddings`; those of Baichuan 2 have `z_loss_weight`."""
        config, length = dict(read.config), read.config.get("model_max_length")
        is_13b = config.get("max_position_embeddings") is None and length is not None
        if is_13b:
            config["max_position_embeddings"] = length
        second = "z_loss_weight" in config or config.get("vocab_size") == _VOCABULARY_2
        base = ConfigReader(config, read.seen)
        return {
            **super().fields(base),
            "alibi": base.flag("alibi", default=is_13b),
            "normalized_head": base.flag("normalized_head", default=second),
        }


def decoder(c: BaichuanConfig) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    place = {"rope": None, "scores": Scores(alibi=True)} if c.alibi else {}
    layers = c.layers(lambda i: (c.attention(i, **place), mlp))
    return c.decoder(layers, names=_NAMES)


def tensors(c: BaichuanConfig) -> TensorMap:
    head = (Normalized(),) if c.normalized_head else ()
    return HUGGING_FACE.changed(qkv=(Source("self_attn.W_pack"),), head=(Source("lm_head", head),))


def _mlc_tensors(c: BaichuanConfig) -> TensorMap:
    if c.normalized_head:
        raise unsupported(
            "vocab_size",
            "is that of Baichuan 2, whose head MLC-LLM's folders have before it is normalized: "
            "convert the model again from its Hugging Face folder",
        )
    return TensorMap("", {})


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    llama.gguf_config(fields)  # refuses a partial rotation
    return {
        "alibi": fields.size("block_count") == _LAYERS_13B,
        "normalized_head": fields.rows("token_embd.weight") == _VOCABULARY_2
        and not _has_unit_rows(fields),
    }


def _has_unit_rows(fields: GGUFFields) -> bool:
    """Whether the head of a file was divided before the conversion. The first rows, of tokens that
    training never saw, say nothing."""
    first = fields.rows("output.weight") // 2
    lengths = fields.row_lengths("output.weight", first, _SAMPLE)
    return all(abs(length - 1) < _ROUNDED for length in lengths)


def _gguf_tensors(c: BaichuanConfig) -> TensorMap:
    head = (Normalized(),) if c.normalized_head else ()
    return llama.gguf_tensors(c).changed(head=(Source("output", head),))


FAMILY = ModelFamily(
    config_class=BaichuanConfig,
    decoder=decoder,
    tensors=tensors,
    gguf=GGUFFormat("baichuan", "BaichuanForCausalLM", _gguf_config, _gguf_tensors),
    mlc=MLCFormat(_mlc_tensors),
)

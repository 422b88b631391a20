"""The `-MLC` folders that MLC-LLM's converter made: how their configs differ from ours, and what
families share of their tensors.

Our `model_config` has the field `weight_layout`; theirs has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlc_llm.compiler.models.config import DecoderConfig
from mlc_llm.compiler.models.config_reader import corrupt
from mlc_llm.compiler.models.text_part import TEXTS, text_part
from mlc_llm.compiler.spec import Source
from mlc_llm.compiler.spec.transforms import Rows, Unpaired

LAYOUT = "weight_layout"
OURS = {LAYOUT: "joined"}  # in the `model_config` of our converter's folders
_UNSET = ("context_window_size", "attention_sink_size")


def is_theirs(chat_config: Mapping[str, Any]) -> bool:
    """Whether MLC-LLM's converter made the folder of that mlc-chat-config.json."""
    inner = chat_config.get("model_config")
    return isinstance(inner, Mapping) and LAYOUT not in inner


def text_type(model_type: str) -> str:
    """The family of a `model_type`: that of its text if it also takes pictures."""
    return TEXTS[model_type][0] if model_type in TEXTS else model_type


def as_ours(model_type: str, config: Mapping[str, Any], sizes: Sequence[str]) -> dict[str, Any]:
    """The fields of a `model_config` of MLC-LLM as a family reads them. `sizes`: those of the whole
    model, also where `text_config` has others."""
    text = _text_config(model_type, config)
    found = {**text, **{name: config[name] for name in sizes if name in config}}
    if not found.get("rope_scaling"):  # 0 stands for none
        found.pop("rope_scaling", None)
    if "text_config" in config and found.get("sliding_window_size") == text.get("sliding_window"):
        found.pop("sliding_window_size", None)  # MLC-LLM gives the window of some layers to all
    if "rescale_every" in found:  # its converter divides weights that others leave whole
        found["rescaled_every"] = found.pop("rescale_every")
    if found.get("hidden_activation") == "gelu":  # a copy of Gemma's `hidden_act`
        found["hidden_act"] = found.pop("hidden_activation")
    return _without_unset(found)


def _text_config(model_type: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Models that take pictures have the fields of their text in `text_config`, where those that
    MLC-LLM does not know are in `kwargs`."""
    text = config.get("text_config")
    if text is None:
        return config
    if not isinstance(text, Mapping):
        raise corrupt("text_config", "must be an object")
    others = text.get("kwargs")
    fields = {**text, **(others if isinstance(others, Mapping) else {})}
    fields.pop("kwargs", None)
    whole = next((name for name in TEXTS if text_type(name) == text_type(model_type)), "")
    known = text_part({**config, "model_type": whole, "text_config": fields}) or fields
    return {**known, "vocab_size": config.get("vocab_size", known.get("vocab_size"))}


def _without_unset(config: dict[str, Any]) -> dict[str, Any]:
    """MLC-LLM writes -1 for a size that is not set. A model of which every layer has a window has
    no limit of the context there."""
    found = {name: v for name, v in config.items() if name not in _UNSET or v != -1}
    window = found.get("sliding_window_size", -1)
    if "context_window_size" not in found and "max_position_embeddings" not in found:
        found |= {"context_window_size": window} if window != -1 else {}
    return found


def unpaired_qkv(name: str, c: DecoderConfig, *, rotated: int = 0) -> tuple[Source, ...]:
    """Queries, keys and values of one tensor whose rotary rows are pairs."""
    dim = c.head_dim
    queries, keys = c.num_attention_heads * dim, c.num_key_value_heads * dim
    total, pairs = queries + 2 * keys, (Unpaired(dim, rotated),)
    return (
        Source(name, (Rows(0, queries, total), *pairs)),
        Source(name, (Rows(queries, queries + keys, total), *pairs)),
        Source(name, (Rows(queries + keys, total, total),)),
    )

"""The text model in a repository that also takes pictures: its config is `text_config`, and its
tensors are those of `language_model.`, which the converter's `as_in_files` finds. What its tower
needs, if that is a known one, is beside the text's fields (`towers`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlc_llm.compiler.models import towers
from mlc_llm.errors import CorruptFileError

# Gemma 3's published configs leave these out. (Facts: transformers' `configuration_gemma3.py`.)
_GEMMA_3 = {
    "vocab_size": 262208,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": True,
}
# So that a config without them is read as transformers reads it. (Facts: its
# `configuration_gemma4.py`, `configuration_llama4.py`, `configuration_qwen3_5_moe.py`.)
_GEMMA_4 = {
    "vocab_size": 262144,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 30,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": True,
    "sliding_window": 512,
}
_LLAMA_4 = {
    "vocab_size": 202048,
    "hidden_size": 5120,
    "intermediate_size": 8192,
    "intermediate_size_mlp": 16384,
    "num_hidden_layers": 48,
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-5,
    "num_experts_per_tok": 1,
    "num_local_experts": 16,
}
_QWEN_3_5_MOE = {
    "vocab_size": 248320,
    "hidden_size": 2048,
    "num_hidden_layers": 40,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-6,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512,
    "num_experts_per_tok": 8,
    "num_experts": 256,
}
_LLAMA = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
}
# Pixtral's published config leaves these out. (Facts: transformers' `configuration_mistral.py`.)
_MISTRAL = {
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-6,
}
# A repository's `model_type`: that of its text if `text_config` names none, and usual fields.
TEXTS: dict[str, tuple[str, dict[str, Any]]] = {
    "gemma3": ("gemma3_text", _GEMMA_3),
    "gemma4": ("gemma4_text", _GEMMA_4),
    "llama4": ("llama4_text", _LLAMA_4),
    "qwen3_5": ("qwen3_5_text", {}),
    "qwen3_5_moe": ("qwen3_5_moe_text", _QWEN_3_5_MOE),
    "mistral3": ("mistral", {}),
}
# Of those that MLC-LLM does not have, or has in folders of another kind.
_MORE: dict[str, tuple[str, dict[str, Any]]] = {
    "idefics3": ("llama", {"rms_norm_eps": 1e-5}),
    "smolvlm": ("llama", {"rms_norm_eps": 1e-5}),
    "llava": ("llama", _LLAMA),
    "llava_next": ("llama", _LLAMA),
    "qwen2_vl": ("qwen2", {}),
    "qwen2_5_vl": ("qwen2", {}),
    "qwen3_vl": ("qwen3", {}),
    "lfm2_vl": ("lfm2", {}),
    "phi3_v": ("phi3", {}),
    "minicpmv": ("qwen2", {}),
    "internvl": ("qwen2", {}),
    "internvl_chat": ("qwen2", {}),
    "pixtral": ("mistral", _MISTRAL),
}
# Names of texts whose model is another family's, from which they differ in their positions alone.
_SAME = {"qwen2_vl_text": "qwen2", "qwen2_5_vl_text": "qwen2", "qwen3_vl_text": "qwen3"}
# Older files have the text's fields beside vision_config.
_FLAT = ("qwen2_vl", "qwen2_5_vl", "phi3_v", "minicpmv")
_NOT_OF_TEXT = ("model_type", "vision_config", "img_processor", "embd_layer")
_TEXT_NAMES = {"internvl_chat": "llm_config"}  # in place of text_config
# Of a text's config: fields of parts that its model does not have.
_UNUSED = frozenset(("perceiver_config", "pixel_shuffle_factor", "use_resampler"))
# Fields of the whole repository that hold for its text too, if `text_config` has none or null.
_COMMON = (
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "quantization_config",
    "tie_word_embeddings",
    "torch_dtype",
)
# The head is the text model's own. In the others it belongs to the whole, and what the repository
# says of it counts, not what its text says.
_WITH_OWN_HEAD = ("llama4", "internvl_chat")
_TIED = "tie_word_embeddings"


def is_unsure_of_the_head(config: Mapping[str, Any]) -> bool:
    """Whether the repository and its text say different things about the head. Saved fine-tunes of
    Mistral do, and have a head; transformers then ties nothing."""
    text = config.get("text_config")
    if config.get("model_type") in _WITH_OWN_HEAD or not isinstance(text, Mapping):
        return False
    return (config.get(_TIED), text.get(_TIED)) in ((True, False), (False, True))


def text_part(config: Mapping[str, Any], has_head: bool | None = None) -> dict[str, Any] | None:
    """The config of the text model; None if the repository is no such one. `has_head`: whether the
    files hold a head, for a config that is unsure of it; None if there are no files."""
    whole = towers.kind_of(config)
    if whole not in TEXTS | _MORE:
        return None
    text_name = _TEXT_NAMES.get(whole, "text_config")
    text = config.get(text_name)
    if text is None and whole in _FLAT:
        text = {k: v for k, v in config.items() if k not in _NOT_OF_TEXT}
    if not isinstance(text, Mapping):
        raise CorruptFileError(f"config: {text_name} is missing", param=text_name)
    usual, fields = (TEXTS | _MORE)[whole]
    if _SAME.get(name := str(text.get("model_type", usual)), name) != usual:
        fields = {}
    common = {name: config[name] for name in _COMMON if config.get(name) is not None}
    known = {"model_type": usual, **fields, **common}
    own = {
        name: value
        for name, value in text.items()
        if name not in _UNUSED and (value is not None or name not in known)
    }
    if has_head is not None and is_unsure_of_the_head(config):
        own[_TIED] = not has_head
    elif whole not in _WITH_OWN_HEAD and _TIED in common:
        own[_TIED] = common[_TIED]
    model_type = str(own.get("model_type", usual))
    own["model_type"] = _SAME.get(model_type, model_type)
    tower = towers.kept_fields(config)
    return {**known, **own} | ({} if tower is None else {towers.TOWER_CONFIG: tower})

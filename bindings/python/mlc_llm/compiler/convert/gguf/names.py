"""Tensor names: GGUF's to Hugging Face's.

(Facts: ggml-org/llama.cpp, gguf-py/gguf/tensor_mapping.py.)
"""

from __future__ import annotations

import re

from mlc_llm.compiler.convert.gguf.file import GGUFFile

_TOP = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_BLOCK_NAME = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")
_TOP_NAME = re.compile(r"(\w+)\.(weight|bias)")


def hf_names(file: GGUFFile) -> dict[str, str]:
    """Hugging Face name -> GGUF name. A name without a counterpart stays as it is."""
    return {_hf_name(name): name for name in file.tensors()}


def _hf_name(name: str) -> str:
    if match := _BLOCK_NAME.fullmatch(name):
        layer, part, kind = match.groups()
        return f"model.layers.{layer}.{_BLOCK[part]}.{kind}" if part in _BLOCK else name
    if match := _TOP_NAME.fullmatch(name):
        part, kind = match.groups()
        return f"{_TOP[part]}.{kind}" if part in _TOP else name
    return name

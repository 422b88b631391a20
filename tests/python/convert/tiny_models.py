"""A two-layer Llama with random weights, written as a Hugging Face folder and as GGUF files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType
from gguf.quants import quantize
from safetensors.numpy import save_file

Array = np.ndarray[Any, Any]

HIDDEN, WIDE, LAYERS, HEADS, KV_HEADS, HEAD_DIM, VOCAB = 64, 96, 2, 4, 2, 16, 300
TEMPLATE = (
    "{% for m in messages %}"
    "{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_act": "silu",
    "hidden_size": HIDDEN,
    "intermediate_size": WIDE,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD_DIM,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "max_position_embeddings": 512,
    "vocab_size": VOCAB,
    "tie_word_embeddings": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
}

_BLOCK = {
    "self_attn.q_proj": ("attn_q", (HEADS * HEAD_DIM, HIDDEN)),
    "self_attn.k_proj": ("attn_k", (KV_HEADS * HEAD_DIM, HIDDEN)),
    "self_attn.v_proj": ("attn_v", (KV_HEADS * HEAD_DIM, HIDDEN)),
    "self_attn.o_proj": ("attn_output", (HIDDEN, HEADS * HEAD_DIM)),
    "mlp.gate_proj": ("ffn_gate", (WIDE, HIDDEN)),
    "mlp.up_proj": ("ffn_up", (WIDE, HIDDEN)),
    "mlp.down_proj": ("ffn_down", (HIDDEN, WIDE)),
    "input_layernorm": ("attn_norm", (HIDDEN,)),
    "post_attention_layernorm": ("ffn_norm", (HIDDEN,)),
}


def names(tied: bool = False) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Hugging Face name -> (GGUF name, shape)."""
    found: dict[str, tuple[str, tuple[int, ...]]] = {
        "model.embed_tokens.weight": ("token_embd.weight", (VOCAB, HIDDEN)),
        "model.norm.weight": ("output_norm.weight", (HIDDEN,)),
    }
    if not tied:
        found["lm_head.weight"] = ("output.weight", (VOCAB, HIDDEN))
    for layer in range(LAYERS):
        for theirs, (ours, shape) in _BLOCK.items():
            name = f"model.layers.{layer}.{theirs}.weight"
            found[name] = (f"blk.{layer}.{ours}.weight", shape)
    return found


def random_weights(seed: int = 0, tied: bool = False) -> dict[str, Array]:
    """The model's tensors under their Hugging Face names, float32."""
    rng = np.random.default_rng(seed)
    return {
        name: rng.standard_normal(shape, dtype=np.float32)
        for name, (_, shape) in names(tied).items()
    }


def tokenizer_json() -> bytes:
    """A byte-level tokenizer with one merge."""
    vocabulary = {token: index for index, token in enumerate(tokens())}
    added = [
        {"id": i, "content": t, "special": True, "single_word": False, "lstrip": False,
         "rstrip": False, "normalized": False}
        for i, t in enumerate(tokens()[:3])
    ]  # fmt: skip
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    model = {"type": "BPE", "vocab": vocabulary, "merges": ["t h"]}
    value = {"version": "1.0", "added_tokens": added, "model": model, "normalizer": None}
    return json.dumps(value | {"pre_tokenizer": byte_level, "decoder": byte_level}).encode()


def tokens() -> list[str]:
    """Three special tokens, GPT-2's letters for the 256 bytes, and one merge."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    extra = [byte for byte in range(256) if byte not in plain]
    letters = {byte: chr(byte) for byte in plain}
    letters |= {byte: chr(256 + index) for index, byte in enumerate(extra)}
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    return special + [letters[byte] for byte in range(256)] + ["th"]


def write_hf_folder(
    folder: Path, weights: dict[str, Array], *, shards: int = 1, **config: Any
) -> Path:
    """A Hugging Face folder; config entries override CONFIG."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG | config))
    (folder / "tokenizer.json").write_bytes(tokenizer_json())
    extras = {"chat_template": TEMPLATE, "bos_token": "<|im_start|>", "eos_token": "<|im_end|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(extras))
    if shards == 1:
        save_file(weights, folder / "model.safetensors")
        return folder
    weight_map = {}
    for shard in range(shards):
        name = f"model-{shard + 1:05d}-of-{shards:05d}.safetensors"
        part = dict(list(weights.items())[shard::shards])
        save_file(part, folder / name)
        weight_map |= dict.fromkeys(part, name)
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def interleave(weight: Array, heads: int) -> Array:
    """llama.cpp's row order for q and k: halves (x..., y...) -> pairs (x0, y0), (x1, y1)."""
    halves = weight.reshape(heads, 2, -1, *weight.shape[1:])
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(weight.shape)


def write_gguf(
    path: Path,
    weights: dict[str, Array],
    *,
    kind: GGMLQuantizationType = GGMLQuantizationType.F32,
    add_tokenizer: Any = None,
    add_metadata: Any = None,
) -> Path:
    """The same model as a GGUF file; matrices whose rows fit the block are stored as `kind`."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(512)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(WIDE)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    (add_tokenizer or add_byte_level_tokenizer)(writer)
    if add_metadata is not None:
        add_metadata(writer)
    table = names()
    for name, weight in weights.items():
        heads = HEADS if "q_proj" in name else KV_HEADS if "k_proj" in name else None
        stored = weight if heads is None else interleave(weight, heads)
        _add_tensor(writer, table[name][0], stored, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def add_byte_level_tokenizer(writer: gguf.GGUFWriter) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens())
    writer.add_token_types([3] * 3 + [1] * 257)
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)


def _add_tensor(
    writer: gguf.GGUFWriter, name: str, weight: Array, kind: GGMLQuantizationType
) -> None:
    block = gguf.GGML_QUANT_SIZES[kind][0]
    if weight.ndim == 1 or weight.shape[-1] % block:
        writer.add_tensor(name, weight)
    elif kind == GGMLQuantizationType.F16:
        writer.add_tensor(name, weight.astype(np.float16))
    else:
        writer.add_tensor(name, quantize(weight, kind), raw_dtype=kind)


def read_mlc_folder(folder: Path) -> dict[str, Array]:
    """The tensors of an -MLC folder; a reader that shares no code with the writer."""
    import ml_dtypes

    result = {}
    for shard in json.loads((folder / "tensor-cache.json").read_text())["records"]:
        data = (folder / shard["dataPath"]).read_bytes()
        assert len(data) == shard["nbytes"]
        for record in shard["records"]:
            begin, end = record["byteOffset"], record["byteOffset"] + record["nbytes"]
            kind = record["dtype"]
            small = kind == "bfloat16" or kind.startswith("float8")
            dtype = np.dtype(getattr(ml_dtypes, kind) if small else kind)
            array = np.frombuffer(data[begin:end], dtype).reshape(record["shape"])
            result[record["name"]] = array
    return result

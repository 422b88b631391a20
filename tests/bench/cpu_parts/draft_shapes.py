"""Random parts that draft for the shapes of `shapes.py`, as published folders have them, and the
models with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import safetensors.numpy

from cpu_parts.shapes import Shape, write
from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.compiler.convert import convert_model, open_source

KINDS = ("eagle", "medusa")
_TOKENS, _HEADS = 32000, 4  # of Eagle 3's published heads; of Medusa
_SCHEME = "q4f32_1"


# The model that is downloaded where none is named.
DEFAULT = Shape(hidden=576, wide=1536, layers=30, heads=9, kv_heads=3, dim=64, vocabulary=49152)


def model_with(
    kind: str, shape: Shape, file: Path, source: Path | None = None
) -> tuple[Path, Path]:
    """The folder and the library of a shape's model with Eagle 3's layer or Medusa's heads. It
    stays if it is there. `file`: of the shape; `source`: of a model of that shape."""
    folder = file.with_name(f"{file.stem}-{kind}")
    library = folder / "model.so"
    if not (folder / "mlc-chat-config.json").is_file():
        draft = _draft(kind, shape, file.with_name(f"{file.stem}-{kind}-draft"))
        opened = open_source(source or write(file, shape))
        convert_model(opened, folder, quantization=_SCHEME, draft=draft)
    compile_model(read_chat_config(folder), output=library, device="cpu")
    return folder, library


def _draft(kind: str, s: Shape, folder: Path) -> Path:
    count, rng = min(_TOKENS, s.vocabulary // 2), np.random.default_rng(7)
    sizes = _eagle(s, count) if kind == "eagle" else _medusa(s, count)
    tensors = {}
    for name, size in sizes.items():
        is_norm = len(size) == 1 and name.endswith("norm.weight")
        drawn = np.ones(size) if is_norm else rng.standard_normal(size, np.float32) / 64
        tensors[name] = drawn.astype(np.float16)
    tensors["d2t"] = np.zeros(count, np.int64)  # the first tokens
    folder.mkdir(parents=True, exist_ok=True)
    safetensors.numpy.save_file(tensors, folder / "model.safetensors")
    layers = [1, s.layers // 2, s.layers - 1]
    config = {
        "model_type": "llama",
        "hidden_size": s.hidden,
        "intermediate_size": s.wide,
        "num_hidden_layers": 1,
        "num_attention_heads": s.heads,
        "num_key_value_heads": s.kv_heads,
        "head_dim": s.dim,
        "vocab_size": s.vocabulary,
        "max_position_embeddings": 2048,
        "rope_theta": s.theta,
        "eagle_aux_hidden_state_layer_ids": layers,
    }
    medusa = {"medusa_num_heads": _HEADS, "medusa_num_layers": 1}
    (folder / "config.json").write_text(json.dumps(config if kind == "eagle" else medusa))
    return folder


def _eagle(s: Shape, tokens: int) -> dict[str, tuple[int, ...]]:
    h, q, kv = s.hidden, s.heads * s.dim, s.kv_heads * s.dim
    layer: dict[str, tuple[int, ...]] = {
        "self_attn.q_proj": (q, 2 * h),
        "self_attn.k_proj": (kv, 2 * h),
        "self_attn.v_proj": (kv, 2 * h),
        "self_attn.o_proj": (h, q),
        "mlp.gate_proj": (s.wide, h),
        "mlp.up_proj": (s.wide, h),
        "mlp.down_proj": (h, s.wide),
        "hidden_norm": (h,),
        "input_layernorm": (h,),
        "post_attention_layernorm": (h,),
    }
    outside = {"fc": (h, 3 * h), "norm": (h,), "lm_head": (tokens, h)}
    named = {f"midlayer.{name}": size for name, size in layer.items()} | outside
    return {f"{name}.weight": size for name, size in named.items()}


def _medusa(s: Shape, tokens: int) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for head in range(_HEADS):
        found[f"{head}.0.linear.weight"] = (s.hidden, s.hidden)
        found[f"{head}.0.linear.bias"] = (s.hidden,)
        found[f"{head}.1.weight"] = (tokens, s.hidden)
    return found

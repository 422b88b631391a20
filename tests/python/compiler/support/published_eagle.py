"""Files of Eagle's layers as they are published, with drawn weights, and what their authors' code
computes of them, in NumPy (SafeAILab/EAGLE, `model/cnets1.py` and `model/cnets.py`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from medusa_files import write_tensors

from mlc_llm.compiler.random_weights import draw

Array = np.ndarray[Any, Any]
HEADS, KV_HEADS, DIM, WIDE, EPS = 4, 2, 16, 48, 1e-5


def config(hidden: int, **more: Any) -> dict[str, Any]:
    """As in yuhuili/EAGLE3-LLaMA3.1-Instruct-8B, in small."""
    return {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": hidden,
        "head_dim": DIM,
        "intermediate_size": WIDE,
        "max_position_embeddings": 2048,
        "num_attention_heads": HEADS,
        "num_hidden_layers": 1,
        "num_key_value_heads": KV_HEADS,
        "rms_norm_eps": EPS,
        "tie_word_embeddings": False,
        "vocab_size": 128,
        **more,
    }


def layer(hidden: int, ins: int) -> dict[str, tuple[int, ...]]:
    return {
        "self_attn.q_proj.weight": (HEADS * DIM, ins),
        "self_attn.k_proj.weight": (KV_HEADS * DIM, ins),
        "self_attn.v_proj.weight": (KV_HEADS * DIM, ins),
        "self_attn.o_proj.weight": (hidden, HEADS * DIM),
        "mlp.gate_proj.weight": (WIDE, hidden),
        "mlp.up_proj.weight": (WIDE, hidden),
        "mlp.down_proj.weight": (hidden, WIDE),
        "post_attention_layernorm.weight": (hidden,),
    }


def first(hidden: int, *, bias: bool = True, vocab_size: int = 128) -> dict[str, Array]:
    """Of Eagle 1 and 2."""
    shapes = {f"layers.0.{name}": shape for name, shape in layer(hidden, hidden).items()}
    shapes |= {"fc.weight": (hidden, 2 * hidden), **({"fc.bias": (hidden,)} if bias else {})}
    return draw({**shapes, "embed_tokens.weight": (vocab_size, hidden)}, 5, 1)


def third(
    hidden: int, tokens: list[int] | None, *, rows: int = 128, place: str = "midlayer."
) -> dict[str, Array]:
    """Of Eagle 3, with rows for some tokens, or for all."""
    own = layer(hidden, 2 * hidden)
    own |= {"hidden_norm.weight": (hidden,), "input_layernorm.weight": (hidden,)}
    shapes = {f"{place}{name}": shape for name, shape in own.items()}
    count = rows if tokens is None else len(tokens)
    shapes |= {"fc.weight": (hidden, 3 * hidden), "norm.weight": (hidden,)}
    found = draw({**shapes, "lm_head.weight": (count, hidden)}, 6, 1)
    if tokens is not None:
        known = np.zeros(rows, np.uint8)
        known[tokens] = 1
        found |= {"d2t": np.array(tokens) - np.arange(count), "t2d": known}
    return found


def write(folder: Path, tensors: Mapping[str, Array], fields: Mapping[str, Any]) -> Path:
    write_tensors(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(json.dumps(fields))
    return folder


def run_first(
    t: Mapping[str, Array], head: Array, table: Array, ids: list[int], states: Array
) -> tuple[Array, Array]:
    """The layer's results, and the logits by the model's head."""
    x = np.concatenate([table[ids], states], axis=1) @ t["fc.weight"].T + t.get("fc.bias", 0.0)
    w = {name.removeprefix("layers.0."): value for name, value in t.items()}
    x = x + _attention(w, x)
    x = x + _mlp(w, _rms(x, w["post_attention_layernorm.weight"]))
    return x, x @ head.T


def run_third(
    t: Mapping[str, Array], place: str, table: Array, ids: list[int], states: Array, normed: bool
) -> tuple[Array, Array]:
    """The same, with a head of its own. `states`: (rows, hidden), by `t["fc.weight"]` of the
    model's. `normed`: norm_before_residual."""
    w = {name.removeprefix(place): value for name, value in t.items()}
    given = _rms(states, w["hidden_norm.weight"])
    both = np.concatenate([_rms(table[ids], w["input_layernorm.weight"]), given], axis=1)
    x = (given if normed else states) + _attention(w, both)
    x = x + _mlp(w, _rms(x, w["post_attention_layernorm.weight"]))
    return x, _rms(x, t["norm.weight"]) @ t["lm_head.weight"].T


def _rms(x: Array, weight: Array) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * weight


def _mlp(w: Mapping[str, Array], x: Array) -> Array:
    gate = x @ w["mlp.gate_proj.weight"].T
    made: Array = (gate / (1 + np.exp(-gate)) * (x @ w["mlp.up_proj.weight"].T)) @ w[
        "mlp.down_proj.weight"
    ].T
    return made


def _attention(w: Mapping[str, Array], x: Array) -> Array:
    n = len(x)
    q, k, v = (
        (x @ w[f"self_attn.{name}_proj.weight"].T).reshape(n, -1, DIM) for name in ("q", "k", "v")
    )
    angles = np.arange(n)[:, None] / 10000.0 ** (np.arange(0, DIM, 2) / DIM)
    cos, sin = (np.concatenate([f(angles)] * 2, axis=1)[:, None] for f in (np.cos, np.sin))
    q, k = (
        y * cos + np.concatenate([-y[..., DIM // 2 :], y[..., : DIM // 2]], axis=-1) * sin
        for y in (q, k)
    )
    k, v = (np.repeat(y, HEADS // KV_HEADS, axis=1) for y in (k, v))
    scores = np.einsum("nhd,mhd->hnm", q, k) / np.sqrt(DIM)
    scores = np.where(np.tril(np.ones((n, n), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    made = np.einsum("hnm,mhd->nhd", weights / weights.sum(-1, keepdims=True), v)
    return made.reshape(n, -1) @ w["self_attn.o_proj.weight"].T

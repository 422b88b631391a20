"""The toy family of `toy_family.py`: random weights, a compiled library, and NumPy's logits."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

import numpy as np
import quick_code
from toy_family import FAMILY, ToyConfig

from mlc_llm.compiler import quantization, targets
from mlc_llm.compiler.layers import DeltaRuleSpec, MLPSpec
from mlc_llm.compiler.library import LibrarySpec

Array = np.ndarray[Any, Any]
CONFIG = ToyConfig()


@cache
def weights(config: ToyConfig = CONFIG) -> dict[str, Array]:
    rng = np.random.RandomState(2)
    made = {
        weight.name: (rng.standard_normal(weight.shape) * 0.3 + ("norm" in weight.name)).astype(
            "f4"
        )
        for weight in FAMILY.weight_map(config)
    }
    for name, value in made.items():  # -exp(A_log): a state that decays
        made[name] = -np.exp(value) if name.endswith("linear_attn.A.weight") else value
    return made


def library_spec(config: ToyConfig = CONFIG) -> LibrarySpec:
    return LibrarySpec(
        model_type="toy",
        config=config,
        scheme=quantization.get("q0f32"),
        device=targets.resolve("cpu"),
        prefill_chunk_size=64,
        max_batch_size=4,
    )


@cache
def module(config: ToyConfig = CONFIG) -> Any:
    spec = library_spec(config)
    return quick_code.build(spec, FAMILY)


def expected(
    ids: list[int],
    config: ToyConfig = CONFIG,
    rows: dict[int, Array] | None = None,
    off: Collection[str] = (),
) -> Array:
    """float64 logits, by the textbook. `rows` take the place of tokens' embeddings; weights whose
    names end in one of `off` are left out."""
    w = {name: value.astype(np.float64) for name, value in weights(config).items()}
    x, kept = w["model.embed_tokens.weight"][ids] * 3.0, {}
    for place, row in (rows or {}).items():
        x[place] = row
    for i, layer in enumerate(config.layers):
        own = {n.removeprefix(f"model.layers.{i}."): v for n, v in w.items() if f"layers.{i}." in n}
        own = {n: v for n, v in own.items() if not n.endswith(tuple(off))}

        def half(x, part, before, after, own=own, layer=layer):
            made = part(_norm(x, own[before]) if layer.places != "post" else x)
            return x + (made if layer.places == "pre" else _norm(made, own[after]))

        mixer, mlp = layer.parts

        def mix(h, i=i, own=own, mixer=mixer):
            if isinstance(mixer, DeltaRuleSpec):
                return _delta(mixer, own, h)
            made, kept[i] = _attend(mixer, own, h, kept)
            return made

        x = half(x, mix, "input_layernorm.weight", "post_attention_layernorm.weight")
        x = half(
            x, lambda h, own=own, mlp=mlp: _mlp(mlp, own, h), "mlp_norm.weight",
            "post_feedforward_layernorm.weight",
        )  # fmt: skip
    logits = _norm(x, w["model.norm.weight"]) @ w["model.embed_tokens.weight"].T
    return 4 * np.tanh(logits * 0.5 / 4)


def _norm(x: Array, weight: Array) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight


def _mlp(mlp: MLPSpec, own: dict[str, Array], x: Array) -> Array:
    gate_up = x @ own["mlp.gate_up_proj.weight"].T + own.get("mlp.gate_up_proj.bias", 0.0)
    gate, up = np.split(gate_up, 2, axis=1)
    if mlp.activation == "silu":
        gate = _silu(gate)
    else:
        gate = gate / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
    return gate * up @ own["mlp.down_proj.weight"].T + own.get("mlp.down_proj.bias", 0.0)


def _silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


def _delta(r: Any, own: dict[str, Array], x: Array) -> Array:
    """transformers' `torch_recurrent_gated_delta_rule`, and what is around it."""
    made = x @ own["linear_attn.in_proj.weight"].T
    ends = np.cumsum([r.convolved, r.values, r.heads])
    qkv, z, beta, step = np.split(made, ends, axis=1)
    taps = own["linear_attn.conv1d.weight"]
    padded = np.concatenate([np.zeros((r.taps - 1, r.convolved)), qkv])
    qkv = _silu(sum(padded[j : j + len(x)] * taps[j] for j in range(r.taps)))
    q, k, v = np.split(qkv, [r.keys, 2 * r.keys], axis=1)
    shares = r.heads // r.key_heads
    q, k = (np.repeat(t.reshape(len(x), -1, r.key_dim), shares, axis=1) for t in (q, k))
    q, k = (t / np.sqrt((t * t).sum(-1, keepdims=True) + 1e-6) for t in (q, k))
    v = v.reshape(len(x), r.heads, r.value_dim)
    softplus = np.log1p(np.exp(step + own["linear_attn.dt_bias.weight"]))
    decay = np.exp(own["linear_attn.A.weight"] * softplus)
    beta = 1 / (1 + np.exp(-beta))
    state, y = np.zeros((r.heads, r.key_dim, r.value_dim)), np.zeros_like(v)
    for n in range(len(x)):
        state = state * decay[n][:, None, None]
        change = (v[n] - np.einsum("hk,hkv->hv", k[n], state)) * beta[n][:, None]
        state = state + np.einsum("hk,hv->hkv", k[n], change)
        y[n] = np.einsum("hk,hkv->hv", q[n] / np.sqrt(r.key_dim), state)
    y = _norm(y, own["linear_attn.norm.weight"]) * _silu(z.reshape(y.shape))
    return y.reshape(len(x), -1) @ own["linear_attn.out_proj.weight"].T


def _attend(a: Any, own: dict[str, Array], x: Array, kept: dict[int, Any]) -> tuple[Array, Any]:
    """And its keys and values."""
    n = len(x)
    heads = (x @ own["self_attn.qkv_proj.weight"].T).reshape(n, -1, a.dim)
    q, k, v = np.split(heads, [a.heads, a.heads + a.kv_heads], axis=1)
    if a.head_norms:
        q = _norm(q, own["self_attn.q_norm.weight"])
        k = _norm(k, own["self_attn.k_norm.weight"]) if k.size else k
    q, k = (_turned(t, n) if a.rope else t for t in (q, k))
    pair = kept[a.pages_of] if a.pages_of is not None else (k, v)
    k, v = (np.repeat(t, a.heads // a.kv_heads, axis=1) for t in pair)
    scores = np.einsum("nhd,mhd->hnm", q, k) * a.scale
    cap = a.scores.softcap
    scores = cap * np.tanh(scores / cap) if cap else scores
    row, column = np.indices((n, n))
    allowed = (column <= row) & ((a.look_back < 0) | (column > row - a.look_back))
    weights = np.exp(np.where(allowed, scores, -np.inf))
    sinks = (
        np.exp(own["self_attn.sinks.weight"]) if "self_attn.sinks.weight" in own else np.zeros(1)
    )
    weights /= weights.sum(-1, keepdims=True) + sinks[:, None, None]
    made = np.einsum("hnm,mhd->nhd", weights, v).reshape(n, -1)
    if a.gated:
        made = made / (1 + np.exp(-(x @ own["self_attn.gate_proj.weight"].T)))
    return made @ own["self_attn.o_proj.weight"].T, pair


def _turned(x: Array, n: int) -> Array:
    """The first eight elements of each head."""
    angles = np.arange(n)[:, None, None] * 100.0 ** (-np.arange(0, 8, 2) / 8)
    low, high, rest = x[..., :4], x[..., 4:8], x[..., 8:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([low * cos - high * sin, high * cos + low * sin, rest], axis=-1)

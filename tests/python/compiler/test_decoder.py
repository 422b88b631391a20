"""A toy family whose layers differ in everything that they may differ in, against NumPy.

Layer 0 sees a window, layer 1 has other heads and no positions, layer 2 norms behind its halves
alone and reads the pages of layer 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from vm_runner import Runner

from mlc_llm.compiler import pipeline, quantization, targets
from mlc_llm.compiler.library import LibrarySpec, build_module
from mlc_llm.compiler.models.family import ModelFamily
from mlc_llm.compiler.spec import (
    HUGGING_FACE,
    AttentionSpec,
    DecoderSpec,
    LayerSpec,
    MLPSpec,
    NormSpec,
    RopeSpec,
)

Array = np.ndarray[Any, Any]
HIDDEN, VOCABULARY, WIDE = 48, 300, 80
NORM, ROPE = NormSpec(eps=1e-5), RopeSpec(dim=8, theta=100.0)
IDS = [int(i) for i in np.random.RandomState(1).randint(0, VOCABULARY, 40)]

LAYERS = (
    LayerSpec(
        attention=AttentionSpec(heads=4, kv_heads=2, dim=16, scale=0.3, rope=ROPE, window=6),
        mlp=MLPSpec(width=WIDE),
        norm=NORM,
    ),
    LayerSpec(
        attention=AttentionSpec(
            heads=2, kv_heads=1, dim=32, scale=0.2, rope=None, qk_norm=NORM, softcap=2.0
        ),
        mlp=MLPSpec(width=32, activation="gelu_tanh", bias=True),
        norm=NORM,
        places="sandwich",
    ),
    LayerSpec(
        attention=AttentionSpec(
            heads=6, kv_heads=2, dim=16, scale=0.25, rope=ROPE, qk_norm=NORM, pages_of=0
        ),
        mlp=MLPSpec(width=WIDE),
        norm=NORM,
        places="post",
    ),
)
SPEC = DecoderSpec(
    vocab_size=VOCABULARY,
    hidden_size=HIDDEN,
    layers=LAYERS,
    norm=NORM,
    tied_head=True,
    embedding_scale=3.0,
    logit_scale=0.5,
    logit_softcap=4.0,
    # A sandwich has four norms: names that no two of them share.
    names={**DecoderSpec.__dataclass_fields__["names"].default_factory(), "mlp_norm": "mlp_norm"},
)


@dataclass(frozen=True)
class ToyConfig:
    hidden_size: int = HIDDEN
    num_hidden_layers: int = len(LAYERS)
    vocab_size: int = VOCABULARY
    context_window_size: int = 256
    sliding_window_size: int = -1
    attention_sink_size: int = 0


FAMILY = ModelFamily(ToyConfig, lambda c: SPEC, lambda c: HUGGING_FACE)


@cache
def toy() -> tuple[Any, dict[str, Array]]:
    spec = LibrarySpec(
        model_type="toy",
        config=ToyConfig(),
        scheme=quantization.get("q0f32"),
        device=targets.resolve("cpu"),
        prefill_chunk_size=64,
        max_batch_size=4,
    )
    rng = np.random.RandomState(2)
    weights = {
        weight.name: (rng.standard_normal(weight.shape) * 0.3 + ("norm" in weight.name)).astype(
            "f4"
        )
        for weight in FAMILY.weight_map(spec.config)
    }
    return pipeline.build(build_module(spec, FAMILY), spec.device), weights


def runner() -> Runner:
    return Runner(*toy(), num_pages=24)


def expected(ids: list[int]) -> Array:
    """float64 logits, by the textbook."""
    w = {name: value.astype(np.float64) for name, value in toy()[1].items()}
    x, kept = w["model.embed_tokens.weight"][ids] * SPEC.embedding_scale, {}
    for i, layer in enumerate(LAYERS):
        own = {n.removeprefix(f"model.layers.{i}."): v for n, v in w.items() if f"layers.{i}." in n}

        def half(x, part, before, after, own=own, layer=layer):
            made = part(_norm(x, own[before]) if layer.places != "post" else x)
            return x + (made if layer.places == "pre" else _norm(made, own[after]))

        x = half(
            x, lambda h, i=i, own=own: _attend(i, own, h, kept), "input_layernorm.weight",
            "post_attention_layernorm.weight",
        )  # fmt: skip
        x = half(
            x, lambda h, own=own, layer=layer: _mlp(layer.mlp, own, h), "mlp_norm.weight",
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
        gate = gate / (1 + np.exp(-gate))
    else:
        gate = gate / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
    return gate * up @ own["mlp.down_proj.weight"].T + own.get("mlp.down_proj.bias", 0.0)


def _attend(i: int, own: dict[str, Array], x: Array, kept: dict[int, Any]) -> Array:
    a, n = LAYERS[i].attention, len(x)
    heads = (x @ own["self_attn.qkv_proj.weight"].T).reshape(n, -1, a.dim)
    q, k, v = np.split(heads, [a.heads, a.heads + a.kv_heads], axis=1)
    if a.qk_norm:
        q = _norm(q, own["self_attn.q_norm.weight"])
        k = _norm(k, own["self_attn.k_norm.weight"]) if k.size else k
    q, k = (_turned(t, n) if a.rope else t for t in (q, k))
    kept[i] = kept[a.pages_of] if a.pages_of is not None else (k, v)
    k, v = (np.repeat(t, a.heads // a.kv_heads, axis=1) for t in kept[i])
    scores = np.einsum("nhd,mhd->hnm", q, k) * a.scale
    scores = a.softcap * np.tanh(scores / a.softcap) if a.softcap else scores
    row, column = np.indices((n, n))
    allowed = (column <= row) & ((a.window < 0) | (column > row - a.window))
    weights = np.exp(np.where(allowed, scores, -np.inf))
    weights /= weights.sum(-1, keepdims=True)
    made = np.einsum("hnm,mhd->nhd", weights, v).reshape(n, -1)
    return made @ own["self_attn.o_proj.weight"].T


def _turned(x: Array, n: int) -> Array:
    """The first eight elements of each head."""
    angles = np.arange(n)[:, None, None] * 100.0 ** (-np.arange(0, 8, 2) / 8)
    low, high, rest = x[..., :4], x[..., 4:8], x[..., 8:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([low * cos - high * sin, high * cos + low * sin, rest], axis=-1)


def test_layers_of_different_kinds_are_what_numpy_says():
    want = expected(IDS)
    got = runner().forward([("a", IDS)])
    assert np.abs(got - want).max() < 1e-5 * np.abs(want).max()


def test_only_layers_with_keys_of_their_own_have_pages():
    layers = runner().metadata["kv_cache"]["layers"]
    assert [layer["page_shape"] for layer in layers] == [[2, 2, 256], [2, 1, 512]]
    assert [layer["slot_runs"] for layer in layers] == [[[32, 1], [2, 16]], [[32, 1], [1, 32]]]
    assert [layer["sliding_window_size"] for layer in layers] == [6, -1]


def test_rows_are_the_same_in_any_company_and_behind_a_fork():
    whole = runner().forward([("a", IDS)])
    cut = runner()
    parts = [cut.forward([("b", IDS[:3]), ("a", IDS[:20])])[3:], cut.forward([("a", IDS[20:21])])]
    cut.fork("a", "c")  # in the middle of a page, in every layer
    cut.forward([("a", [1, 2])])
    parts.append(cut.forward([("c", IDS[21:]), ("b", [5])])[:-1])
    assert np.array_equal(np.concatenate(parts), whole)

"""A toy family whose layers differ in everything that they may differ in, in one short file.

Layer 0 sees a window, layer 1 is recurrent; layer 2 has other heads, no positions, a softcap, gelu
and four norms; layer 3 norms behind its halves alone and reads the pages of layer 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlc_llm.compiler.layers import (
    AttentionSpec,
    DeltaRuleSpec,
    HeadNorms,
    MLPSpec,
    Scores,
    Window,
)
from mlc_llm.compiler.models.family import ModelFamily
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec, LayerSpec, NormSpec, RopeSpec

NORM, ROPE = NormSpec(eps=1e-5), RopeSpec(dim=8, theta=100.0)
MLP = MLPSpec(width=80)
NEAR = AttentionSpec(heads=4, kv_heads=2, dim=16, scale=0.3, rope=ROPE, window=Window(6))
RULE = DeltaRuleSpec(heads=4, key_heads=2, key_dim=16, value_dim=32, taps=4, norm=NORM)
NORMED, CAPPED, SINKS = HeadNorms(NORM), Scores(softcap=2.0), Scores(sinks=True)
OTHER = AttentionSpec(
    heads=2, kv_heads=1, dim=32, scale=0.2, rope=None, head_norms=NORMED, scores=CAPPED, gated=True
)
READER = AttentionSpec(
    heads=6, kv_heads=2, dim=16, scale=0.25, rope=ROPE, head_norms=NORMED, pages_of=0, scores=SINKS
)
LAYERS = (
    LayerSpec((NEAR, MLP), norm=NORM),
    LayerSpec((RULE, MLP), norm=NORM),
    LayerSpec(
        (OTHER, MLPSpec(width=32, activation="gelu_tanh", bias=True)), norm=NORM, places="sandwich"
    ),
    LayerSpec((READER, MLP), norm=NORM, places="post"),
)


@dataclass(frozen=True)
class ToyConfig:
    hidden_size: int = 48
    layers: tuple[LayerSpec, ...] = LAYERS
    vocab_size: int = 300
    context_window_size: int = 256
    attention_sink_size: int = 0


def decoder(c: ToyConfig) -> DecoderSpec:
    return DecoderSpec(
        vocab_size=c.vocab_size,
        hidden_size=c.hidden_size,
        layers=c.layers,
        norm=NORM,
        tied_head=True,
        embedding_scale=3.0,
        logit_scale=0.5,
        logit_softcap=4.0,
        # A sandwich has four norms: names that no two of them share.
        names={"mlp_norm": "mlp_norm"},
    )


FAMILY = ModelFamily(ToyConfig, decoder, lambda c: HUGGING_FACE)

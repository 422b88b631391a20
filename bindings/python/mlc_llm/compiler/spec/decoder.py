"""The parts of a decoder, layer by layer. A family fills these in; `nn/decoder.py` builds them.

    layer = LayerSpec(
        (
            AttentionSpec(heads=9, kv_heads=3, dim=64, scale=64**-0.5, rope=rope),
            MLPSpec(width=1536),
        ),
        norm=NormSpec(eps=1e-5),
    )
    DecoderSpec(vocab_size=49152, hidden_size=576, layers=(layer,) * 30, norm=layer.norm)

Layers may differ in everything except the hidden size. A field's default is its value in Llama.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

from mlc_llm.compiler.spec.draft import DraftSpec
from mlc_llm.compiler.spec.part import LayerPart, TokenInputs

Activation = Literal[
    "silu", "gelu", "gelu_tanh", "quick_gelu", "relu", "relu2", "tanh", "clipped_swish"
]
Places = Literal["pre", "sandwich", "post", "after_add", "parallel", "parallel_two"]


@dataclass(frozen=True, kw_only=True)
class NormSpec:
    """x / rms(x) * weight. The kind "layer": (x - mean) / deviation * weight + bias. A family whose
    files store w for the weight 1 + w adds the 1 in its weight map."""

    eps: float
    kind: Literal["rms", "layer"] = "rms"
    bias: bool = False
    weight: bool = True  # False: the weight is 1, and files have none

    def __post_init__(self) -> None:
        assert self.kind == "layer" or not self.bias, self


@dataclass(frozen=True)
class Half:
    """A part that adds to the residual, and the roles of the norms before and behind it."""

    part: LayerPart
    before: str | None
    behind: str | None

    @property
    def norms(self) -> tuple[str, ...]:
        return tuple(role for role in (self.before, self.behind) if role)


@dataclass(frozen=True)
class LayerSpec:
    """Parts, one after another: usually a mixer of rows, then an MLP. Each adds to the residual.

    `places` is the position of the norms: "pre" x + f(norm(x)), "sandwich" x + norm(f(norm(x))),
    "post" x + norm(f(x)), "after_add" norm(x + f(x)), "parallel" x + attention(norm(x)) +
    mlp(norm(x)) with one norm, "parallel_two" the same with a norm for each. `residual_scale`
    multiplies the result of f before the addition, if no norm follows f.
    """

    parts: tuple[LayerPart, ...]
    _: KW_ONLY
    norm: NormSpec
    places: Places = "pre"
    residual_scale: float = 1.0
    attention_norm: bool = True  # False: the norm before the first part is left out

    def __post_init__(self) -> None:
        assert self.residual_scale == 1.0 or self.places == "pre", self
        assert self.norm.kind == "layer" or self.norm.weight, self
        assert len(self.halves) == 2 or self.places == "pre", self

    @property
    def halves(self) -> tuple[Half, ...]:
        """The parts that add to the residual."""
        before = self.places not in ("post", "after_add")
        behind = self.places in ("sandwich", "post", "after_add")
        made: list[Half] = []
        for part in self.parts:
            if part.norms is None:
                continue
            own = self.places != "parallel" if made else self.attention_norm
            wanted = (before and own and not part.has_own_norm, behind)
            roles = [r if w else None for r, w in zip(part.norms, wanted, strict=True)]
            made.append(Half(part, *roles))
        return tuple(made)


@dataclass(frozen=True, kw_only=True)
class DenseSpec:
    """norm(activation(linear layer)), with those parts that it has."""

    width: int
    bias: bool = True
    activation: Activation | None = None
    norm: NormSpec | None = None


@dataclass(frozen=True, kw_only=True)
class HeadSpec:
    """What follows the pooling of an encoder: layers, one after another, of a text's vector.
    `scores`: the last one gives one number, the score of two texts."""

    layers: tuple[DenseSpec, ...]
    scores: bool = False
    pooling: Literal["cls", "mean"] = "cls"  # of a reranker

    def __post_init__(self) -> None:
        assert not self.scores or self.width == 1, self

    @property
    def width(self) -> int:
        return self.layers[-1].width


@dataclass(frozen=True, kw_only=True)
class DecoderSpec:
    """A decoder. If no attention is causal, an encoder: it has no output head."""

    vocab_size: int
    hidden_size: int
    layers: tuple[LayerSpec, ...]
    norm: NormSpec | None  # after the last layer; None: that layer's own norm is the last one
    tied_head: bool = False
    head_bias: bool = False
    positions: int = 0  # number of learned position embeddings, added to the tokens'; 0: none
    token_types: int = 0  # number of learned types of text; a row's embedding is added
    embedding_norm: NormSpec | None = None  # of the sum of the embeddings
    embedding_scale: float = 1.0
    layer_inputs: TokenInputs | None = None  # what each layer gets of a token besides
    logit_scale: float = 1.0
    logit_softcap: float = 0.0  # scaled logits become cap * tanh(logit / cap); 0: no change
    pooled_head: HeadSpec | None = None  # of an encoder; its layers' roles are dense_0, ...
    names: Mapping[str, str] = field(default_factory=dict)  # of roles, where they are not usual
    draft: DraftSpec | None = None  # guesses further tokens

    def __post_init__(self) -> None:
        assert self.pooled_head is None or self.is_encoder, self.pooled_head
        assert len(self._sights) < 2, "all layers of an encoder see both directions"
        assert self.norm is not None or self.layers[-1].places == "after_add", self.layers[-1]

    @property
    def is_encoder(self) -> bool:
        """Whether rows see later rows too. Then the model writes no text and has no output head."""
        return "all" in self._sights

    def layer(self, index: int) -> LayerSpec:
        """A layer, or that of `draft` behind them."""
        if index < len(self.layers):
            return self.layers[index]
        assert self.draft is not None and index == len(self.layers), index
        assert self.draft.layer is not None, self.draft
        return self.draft.layer

    @property
    def _sights(self) -> set[str]:
        return {part.sees for layer in self.layers for part in layer.parts if part.sees}

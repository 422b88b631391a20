"""Eagle's layers: one layer of Llama's kind that guesses the token after the next one.

Eagle 1 and 2 (arXiv 2401.15077, 2406.16858) join the embedding of the next token and the model's
last hidden state by a linear layer. The layer has no norm before its attention, and the model's
head follows it.

Eagle 3 (arXiv 2503.01840) reads the residual of three layers, which a linear layer makes one state.
The attention reads the embedding and the state side by side, each after a norm. A norm and a head
of its own follow, which may know only some tokens. In both, the next guess is made of the layer's
result, before any norm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mlc_llm.compiler.drafts.tokens import check_tokens, tokens_of
from mlc_llm.compiler.layers import AttentionSpec
from mlc_llm.compiler.spec.decoder import DecoderSpec, LayerSpec, NormSpec
from mlc_llm.compiler.spec.draft import PREFIX, DraftSpec
from mlc_llm.compiler.spec.part import Mixer, Place
from mlc_llm.compiler.spec.tensors import TensorMap
from mlc_llm.compiler.spec.transforms import Array
from mlc_llm.compiler.spec.weights import Parameter, Tensor
from mlc_llm.errors import CorruptFileError, InvalidRequestError, UnsupportedError

if TYPE_CHECKING:
    from mlc_llm.compiler.models.family import ModelConfig
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference

FILES = "eagle."  # before the names of its tensors in a source
_FUSE = f"{PREFIX}fuse_states"


@dataclass(frozen=True)
class BesideEmbeddings(Mixer):
    """Attention over norm(embedding) and norm(x) side by side. `normed_residual`: what it adds to
    is norm(x) too."""

    attention: AttentionSpec
    norm: NormSpec
    normed_residual: bool = False

    tensors = {
        **AttentionSpec.tensors,
        "eagle_embedding_norm": Tensor("input_layernorm", norm=True),
        "eagle_state_norm": Tensor("hidden_norm", norm=True),
    }

    @property
    def sees(self) -> Literal["", "before", "all"]:
        return self.attention.sees

    @property
    def kept_heads(self) -> tuple[int, int] | None:
        return self.attention.kept_heads

    def parameters(self, at: Place) -> Iterator[Parameter]:
        yield from at.norm("eagle_embedding_norm", self.norm)
        yield from at.norm("eagle_state_norm", self.norm)
        yield from self.attention.parameters(at)

    def build(self, nn: Builder, at: Place) -> Any:
        from mlc_llm.compiler.nn.layer_inputs import side_by_side

        embedding_norm = nn.norm(at.name("eagle_embedding_norm"), at.hidden, self.norm)
        state_norm = nn.norm(at.name("eagle_state_norm"), at.hidden, self.norm)
        attention = self.attention.build(nn, at)

        def call(x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
            normed = state_norm(x)
            both = side_by_side(nn, embedding_norm(batch.inputs), normed, at.hidden)
            residual = nn.plain(normed) if self.normed_residual else residual
            return attention(both, batch, memory, residual=residual)

        return call

    def reference(self, at: Reference, x: Array) -> Array:
        assert at.inputs is not None
        normed = at.normed("eagle_state_norm", x, self.norm)
        embedded = at.normed("eagle_embedding_norm", at.inputs, self.norm)
        made = self.attention.reference(at, np.concatenate([embedded, normed], axis=1))
        return made + normed - x if self.normed_residual else made


@dataclass(frozen=True, kw_only=True)
class EagleSpec(DraftSpec):
    """`chosen_layers` () is Eagle 1 and 2. `tokens`: those that the rows of Eagle 3's head stand
    for; (): all of the vocabulary."""

    family: str  # of its layer
    config: Any  # of that family, with one layer
    chosen_layers: tuple[int, ...] = ()
    tokens: tuple[int, ...] = ()
    bias: bool = False  # of the first linear layer
    normed_residual: bool = False
    head_rows: int = 0  # of the model's head that Eagle 1 reads, the first ones; 0: all
    kind = "eagle"
    files = TensorMap(layer=f"{FILES}layer.", table="huggingface")
    tensors = {
        "eagle_fc": Tensor("eagle.fc"),
        "eagle_norm": Tensor("eagle.norm", norm=True),
        "eagle_head": Tensor("eagle.lm_head"),
    }

    @cached_property
    def layer(self) -> LayerSpec:  # type: ignore[override]
        from mlc_llm.compiler import models

        (usual,) = models.get(self.family).decoder(self.config).layers
        parts: list[Any] = list(usual.parts)
        attention, *others = parts
        if not attention.can_draft:
            raise UnsupportedError(
                f"the layers of model type {self.family} cannot draft: an Eagle layer has the "
                "attention of Llama's kind",
                param="model_type",
            )
        if not self.chosen_layers:
            return replace(usual, attention_norm=False)
        wide = replace(attention, ins=2 * self.config.hidden_size)
        first = BesideEmbeddings(wide, usual.norm, self.normed_residual)
        return replace(usual, parts=(first, *others), attention_norm=False)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> EagleSpec:
        """Of the field `draft` of an mlc-chat-config.json."""
        from mlc_llm.compiler import models

        config, layers = given.get("model_config"), given.get("chosen_layers", [])
        family = given.get("model_type")
        flags = [given.get(name, False) for name in ("bias", "normed_residual")]
        numbers = isinstance(layers, list) and all(type(n) is int and n >= 0 for n in layers)
        are_objects = isinstance(config, Mapping) and isinstance(family, str)
        if not are_objects or not numbers or {type(flag) for flag in flags} != {bool}:
            raise CorruptFileError(
                "config: draft must have a model_type, an object model_config, a list "
                "chosen_layers, and true or false in bias and normed_residual, if any",
                param="draft",
            )
        return cls(
            family=family,
            config=models.get(family).config_class.from_dict({**config, "num_hidden_layers": 1}),
            chosen_layers=tuple(layers),
            tokens=tokens_of(given),
            bias=flags[0],
            normed_residual=flags[1],
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "model_type": self.family,
            "model_config": self.config.to_dict(),
            "chosen_layers": list(self.chosen_layers),
            "bias": self.bias,
            "normed_residual": self.normed_residual,
            "tokens": list(self.tokens),
        }

    def check(self, config: ModelConfig) -> None:
        check_tokens(self.tokens, config.vocab_size)
        if self.config.hidden_size != config.hidden_size:
            raise InvalidRequestError(
                f"the draft's layer has hidden_size {self.config.hidden_size}, and the model "
                f"{config.hidden_size}: it was trained for another model",
                param="draft",
            )

    def with_head_of(self, rows: int) -> EagleSpec:
        return self if self.chosen_layers else replace(self, head_rows=rows)

    def parameters(self, spec: DecoderSpec) -> Iterator[Parameter]:
        at = Place(spec, self.tensors)
        ins = (len(self.chosen_layers) or 2) * at.hidden
        yield from at.linear("eagle_fc", (at.hidden,), ins, self.bias)
        if self.chosen_layers:
            yield from at.norm("eagle_norm", self.layer.norm)
            yield from at.linear("eagle_head", (self.rows(spec),), at.hidden, use="lm_head")

    def rows(self, spec: DecoderSpec) -> int:
        """Of its own head."""
        return len(self.tokens) or spec.vocab_size

    def build(self, nn: Builder, spec: DecoderSpec, most_rows: int) -> dict[str, Any]:
        from mlc_llm.compiler.nn.builder import Input
        from mlc_llm.compiler.nn.decoder import Layer, Vocabulary
        from mlc_llm.compiler.nn.draft_logits import DraftLogits
        from mlc_llm.compiler.nn.draft_steps import build_steps
        from mlc_llm.compiler.nn.layer_inputs import side_by_side
        from mlc_llm.compiler.nn.layer_states import chosen_rows

        words, spec = Vocabulary(nn, spec, self.head_rows), self.named(spec)
        at, hidden, count = Place(spec, self.tensors), spec.hidden_size, len(self.chosen_layers)
        layer = Layer(nn, spec, len(spec.layers), {})
        fc = nn.linear(at.name("eagle_fc"), hidden, (count or 2) * hidden, bias=self.bias)
        known = self.tokens or tuple(range(self.head_rows))
        spread = DraftLogits(nn, known, spec.vocab_size)
        if count:
            norm = nn.norm(at.name("eagle_norm"), hidden, self.layer.norm)
            head = nn.linear(at.name("eagle_head"), self.rows(spec), hidden)
            inputs = {"vectors": Input(("m", count * hidden))}
            with nn.function(_FUSE, inputs, bounds={"m": most_rows}) as f:
                f.results = {"states": fc(f["vectors"])}

        def step(embeddings: Any, states: Any, batch: Batch, memory: Memory) -> tuple[Any, Any]:
            x = states if count else fc(side_by_side(nn, embeddings, states, hidden))
            x = layer(x, replace(batch, inputs=embeddings), memory)
            if count:
                logits = head(norm(x, batch.logit_rows))
            else:
                logits = words.logits(chosen_rows(nn, x, hidden, batch.logit_rows))
            return spread([logits]), chosen_rows(nn, x, hidden, batch.hidden_rows)

        build_steps(nn, words.embed, hidden, most_rows, step)
        return {}

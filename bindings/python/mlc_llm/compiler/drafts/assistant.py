"""Gemma 4's assistant: a few small layers without keys and values of their own.

It joins the embedding of the next token and the model's last hidden state by a linear layer. Each
layer attends to the keys and values of the model's last layer of its kind, as the last computed
row does: all guesses of a step have the position of that row. A second linear layer makes the
state for the next guess. Its output layer is its own, of all tokens, or of those of the likeliest
clusters of tokens.

transformers' `models/gemma4_assistant`, mlx-vlm's `speculative/drafters/gemma4_assistant`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mlc_llm.compiler.drafts.tokens import check_tokens, tokens_of
from mlc_llm.compiler.spec.decoder import DecoderSpec, LayerSpec
from mlc_llm.compiler.spec.draft import DraftSpec
from mlc_llm.compiler.spec.part import Place
from mlc_llm.compiler.spec.tensors import TENSORS, TensorMap, parameters
from mlc_llm.compiler.spec.weights import Parameter, Tensor
from mlc_llm.errors import CorruptFileError, InvalidRequestError, UnsupportedError

if TYPE_CHECKING:
    from mlc_llm.compiler.models.family import ModelConfig
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory

FILES = "assistant."  # before the names of its tensors in a source
FAMILY = "gemma4_text"  # of its layers and of its target
_NAMES = {
    "layer": f"{FILES}model.layers.{{}}",
    **{role: f"{FILES}{TENSORS[role].ours}" for role in ("embedding", "norm")},
}
# Fields that keys and values of the target have in common with its queries.
_SHARED = (
    "vocab_size",
    "head_dim",
    "global_head_dim",
    "num_key_value_heads",
    "num_global_key_value_heads",
    "sliding_window",
)


@dataclass(frozen=True, kw_only=True)
class AssistantSpec(DraftSpec):
    """`clusters` 0: the output layer gives all logits. Otherwise `tokens` are those of all
    clusters, which have the same size, and the logits are those of the `chosen_clusters` that are
    the likeliest."""

    config: Any  # of its layers
    target_size: int  # of the target's hidden states
    clusters: int = 0
    chosen_clusters: int = 0
    tokens: tuple[int, ...] = ()
    kind = "mtp"
    reads_pages = True
    tensors = {
        "assistant_in": Tensor(f"{FILES}pre_projection"),
        "assistant_out": Tensor(f"{FILES}post_projection"),
        "assistant_clusters": Tensor(f"{FILES}masked_embedding.centroids"),
    }

    @property
    def files(self) -> TensorMap:  # type: ignore[override]
        from mlc_llm.compiler import models

        outside = {role: name for role, name in _NAMES.items() if role != "layer"}
        own = models.get(FAMILY).tensors(self.config)
        return own.changed(layer=f"{_NAMES['layer']}.").renamed(**outside)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> AssistantSpec:
        """Of the field `draft` of an mlc-chat-config.json."""
        from mlc_llm.compiler import models

        config = given.get("model_config")
        numbers = [given.get(name) for name in ("target_size", "clusters", "chosen_clusters")]
        are_sizes = all(type(n) is int and n >= 0 for n in numbers)
        if not isinstance(config, Mapping) or not are_sizes:
            raise CorruptFileError(
                "config: draft must have an object model_config, and numbers target_size, "
                "clusters and chosen_clusters",
                param="draft",
            )
        target_size, clusters, chosen = (int(n) for n in numbers if n is not None)
        return cls(
            config=models.get(FAMILY).config_class.from_dict(config),
            target_size=target_size,
            clusters=clusters,
            chosen_clusters=chosen,
            tokens=tokens_of(given),
        ).checked()

    def checked(self) -> AssistantSpec:
        """Refuses clusters that do not divide the tokens."""
        size = self.config.vocab_size
        are_tokens = sorted(self.tokens) == list(range(size)) and not size % max(self.clusters, 1)
        fit = are_tokens and 0 < self.chosen_clusters <= self.clusters
        if fit if self.clusters else not self.tokens:
            return self
        raise CorruptFileError(
            f"an assistant with {self.clusters} clusters, of which {self.chosen_clusters} are "
            f"read: they must divide the {size} tokens, and name each of them once",
            param="num_centroids",
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "model_config": self.config.to_dict(),
            "target_size": self.target_size,
            "clusters": self.clusters,
            "chosen_clusters": self.chosen_clusters,
            "tokens": list(self.tokens),
        }

    def check(self, config: ModelConfig) -> None:
        if not isinstance(config, type(self.config)):
            raise InvalidRequestError(
                "model_type: an assistant of Gemma 4 drafts for Gemma 4 alone, whose keys and "
                "values it reads",
                param="model_type",
            )
        check_tokens(self.tokens, config.vocab_size)
        own = {name: getattr(self.config, name) for name in _SHARED}
        pairs = {name: (value, getattr(config, name)) for name, value in own.items()}
        pairs["backbone_hidden_size"] = (self.target_size, config.hidden_size)
        for name, (ours, theirs) in pairs.items():
            if ours != theirs:
                raise InvalidRequestError(
                    f"the assistant's {name} is {ours}, and the model's {theirs}: it was trained "
                    "for another model",
                    param=name,
                )

    def named(self, spec: DecoderSpec) -> DecoderSpec:
        """Its layers as a decoder. They read the pages of layers of `spec`."""
        from mlc_llm.compiler import models

        own = models.get(FAMILY).decoder(self.config)
        layers = tuple(_reading(layer, spec) for layer in own.layers)
        names = {**own.names, **_NAMES}
        return replace(own, layers=layers, names=names, logit_softcap=0.0)

    def parameters(self, spec: DecoderSpec) -> Iterator[Parameter]:
        at = Place(spec, self.tensors)
        yield from at.linear("assistant_in", (at.hidden,), 2 * self.target_size)
        yield from at.linear("assistant_out", (self.target_size,), at.hidden)
        if self.clusters:
            yield from at.linear("assistant_clusters", (self.clusters,), at.hidden, use="router")
        yield from parameters(spec)

    def build(self, nn: Builder, spec: DecoderSpec, most_rows: int) -> dict[str, Any]:
        from mlc_llm.compiler.nn.decoder import Layer, Vocabulary
        from mlc_llm.compiler.nn.draft_logits import ClusterLogits
        from mlc_llm.compiler.nn.draft_steps import build_steps
        from mlc_llm.compiler.nn.layer_inputs import side_by_side

        nn.of(lambda: None, _refuse_gpu)()
        own, wide = self.named(spec), spec.hidden_size
        at, outside, hidden = Place(own, self.tensors), Place(own, TENSORS), own.hidden_size
        pages = {layer: number for number, layer in enumerate(_with_pages(spec))}
        layers = [Layer(nn, own, i, dict(pages)) for i in range(len(own.layers))]
        # A guess sees what the last computed row sees, and that is a position more than the next
        # row will see.
        for layer in own.layers:
            attention: Any = layer.parts[0]
            if attention.window is not None:
                nn.pages[pages[attention.pages_of]].widen(attention.look_back + 1)
        first = nn.linear(at.name("assistant_in"), hidden, 2 * wide)
        last = nn.linear(at.name("assistant_out"), wide, hidden)
        norm = nn.norm(outside.name("norm"), hidden, own.layers[-1].norm)
        words, head = Vocabulary(nn, spec), Vocabulary(nn, own)
        kept = ClusterLogits(nn, self.tokens, self.clusters, self.chosen_clusters)
        if self.clusters:
            scores = nn.linear(at.name("assistant_clusters"), self.clusters, hidden)

        def step(embeddings: Any, states: Any, batch: Batch, memory: Memory) -> tuple[Any, Any]:
            x = first(side_by_side(nn, embeddings, states, wide))
            for layer in layers:
                x = layer(x, batch, memory)
            normed = norm(x, batch.logit_rows)
            logits = head.logits(normed)
            logits = kept(scores(normed), logits) if self.clusters else logits
            return logits, last(norm(x, batch.hidden_rows))

        build_steps(nn, words.embed, wide, most_rows, step)
        return {}


def _refuse_gpu() -> None:
    raise UnsupportedError(
        "an assistant of Gemma 4 drafts on a CPU alone; compile the model for cpu, or convert it "
        "without --draft",
        param="draft",
    )


def _with_pages(spec: DecoderSpec) -> list[int]:
    """The layers with keys and values of their own."""
    parts: list[Any] = [layer.parts[0] for layer in spec.layers]
    return [i for i, attention in enumerate(parts) if attention.pages_of is None]


def _reading(layer: LayerSpec, spec: DecoderSpec) -> LayerSpec:
    """The layer with the pages of the last layer of `spec` that has pages and is of its kind."""
    parts: list[Any] = list(layer.parts)
    attention, *others = parts

    def is_alike(index: int) -> bool:
        theirs: Any = spec.layers[index].parts[0]
        return (theirs.window is None) == (attention.window is None)

    pages = max(filter(is_alike, _with_pages(spec)))
    return replace(layer, parts=(replace(attention, pages_of=pages), *others))

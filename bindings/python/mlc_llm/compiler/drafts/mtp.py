"""The layer for further tokens that some checkpoints have ("multi-token prediction").

It guesses the token after the next one. It reads norm(embedding of the next token) and norm(hidden
state) side by side, joined by a linear layer; a norm and the decoder's head follow it. Its pages
are its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mlc_llm.compiler.spec.decoder import DecoderSpec, LayerSpec, NormSpec
from mlc_llm.compiler.spec.draft import DraftSpec
from mlc_llm.compiler.spec.part import Place
from mlc_llm.compiler.spec.weights import Parameter, Tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder

_NORMS = ("mtp_embedding_norm", "mtp_hidden_norm", "mtp_norm")


@dataclass(frozen=True, kw_only=True)
class MTPSpec(DraftSpec):
    layer: LayerSpec
    norm: NormSpec  # of all three
    head_rows: int = 0  # of the model's head that it reads, the first ones; 0: all
    kind = "mtp"
    tensors = {
        "mtp_embedding_norm": Tensor("enorm", gguf="nextn.enorm", norm=True),
        "mtp_hidden_norm": Tensor("hnorm", gguf="nextn.hnorm", norm=True),
        "mtp_join": Tensor("eh_proj", gguf="nextn.eh_proj"),
        "mtp_norm": Tensor("shared_head.norm", gguf="nextn.shared_head_norm", norm=True),
    }

    def with_head_of(self, rows: int) -> MTPSpec:
        return replace(self, head_rows=rows)

    def parameters(self, spec: DecoderSpec) -> Iterator[Parameter]:
        at = Place(spec, self.tensors, len(spec.layers))
        for role in _NORMS:
            yield from at.norm(role, self.norm)
        yield from at.linear("mtp_join", (at.hidden,), 2 * at.hidden)

    def build(self, nn: Builder, spec: DecoderSpec, most_rows: int) -> dict[str, Any]:
        from mlc_llm.compiler.nn.decoder import Layer, Vocabulary
        from mlc_llm.compiler.nn.draft_logits import DraftLogits
        from mlc_llm.compiler.nn.draft_steps import build_steps
        from mlc_llm.compiler.nn.layer_inputs import side_by_side

        index, hidden = len(spec.layers), spec.hidden_size
        at, words = Place(spec, self.tensors, index), Vocabulary(nn, spec, self.head_rows)
        spread = DraftLogits(nn, tuple(range(self.head_rows)), spec.vocab_size)
        embedding_norm, hidden_norm, norm = (
            nn.norm(at.name(role), hidden, self.norm) for role in _NORMS
        )
        join, layer = nn.linear(at.name("mtp_join"), hidden, 2 * hidden), Layer(nn, spec, index, {})

        def step(embeddings: Any, states: Any, batch: Any, memory: Any) -> tuple[Any, Any]:
            pair = embedding_norm(embeddings), hidden_norm(states)
            x = layer(join(side_by_side(nn, *pair, hidden)), batch, memory)
            logits = spread([words.logits(norm(x, batch.logit_rows))])
            return logits, norm(x, batch.hidden_rows)

        build_steps(nn, words.embed, hidden, most_rows, step)
        return {}

"""The layer for further tokens that some checkpoints have ("multi-token prediction").

It guesses the token after the next one. It reads norm(embedding of the next token) and norm(hidden
state) side by side, joined by a linear layer; a norm and the decoder's head follow it. Its pages
are its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlc_llm.compiler.spec.decoder import DecoderSpec, LayerSpec, NormSpec
from mlc_llm.compiler.spec.draft import PREFIX, DraftSpec
from mlc_llm.compiler.spec.part import Place
from mlc_llm.compiler.spec.weights import Parameter, Tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder

_NORMS = ("mtp_embedding_norm", "mtp_hidden_norm", "mtp_norm")


@dataclass(frozen=True, kw_only=True)
class MTPSpec(DraftSpec):
    layer: LayerSpec
    norm: NormSpec  # of all three
    kind = "mtp"
    tensors = {
        "mtp_embedding_norm": Tensor("enorm", gguf="nextn.enorm", norm=True),
        "mtp_hidden_norm": Tensor("hnorm", gguf="nextn.hnorm", norm=True),
        "mtp_join": Tensor("eh_proj", gguf="nextn.eh_proj"),
        "mtp_norm": Tensor("shared_head.norm", gguf="nextn.shared_head_norm", norm=True),
    }

    def parameters(self, spec: DecoderSpec) -> Iterator[Parameter]:
        at = Place(spec, self.tensors, len(spec.layers))
        for role in _NORMS:
            yield from at.norm(role, self.norm)
        yield from at.linear("mtp_join", (at.hidden,), 2 * at.hidden)

    def build(self, nn: Builder, spec: DecoderSpec, most_rows: int) -> dict[str, Any]:
        from mlc_llm.compiler.nn.builder import Input, Memory
        from mlc_llm.compiler.nn.decoder import Layer, Vocabulary
        from mlc_llm.compiler.nn.layer_inputs import side_by_side

        index, hidden = len(spec.layers), spec.hidden_size
        at, words = Place(spec, self.tensors, index), Vocabulary(nn, spec)
        embedding_norm, hidden_norm, norm = (
            nn.norm(at.name(role), hidden, self.norm) for role in _NORMS
        )
        join, layer = nn.linear(at.name("mtp_join"), hidden, 2 * hidden), Layer(nn, spec, index, {})
        nn.needs("logits")
        nn.needs("hidden_states")
        bounds = dict.fromkeys(("n", "m", "h"), most_rows)
        with nn.function(f"{PREFIX}embed", {"tokens": Input(("n",), "int32")}, bounds=bounds) as f:
            f.results = {"embeddings": words.embed(f["tokens"])}
        rows = Input(("n", hidden))
        inputs = {"embeddings": rows, "target_states": rows}
        inputs |= nn.step_inputs(also=set(), without=set())
        with nn.function(f"{PREFIX}batch_prefill", inputs, bounds=bounds) as f:
            pair = embedding_norm(f["embeddings"]), hidden_norm(f["target_states"])
            joined = join(side_by_side(nn, *pair, hidden))
            x = layer(joined, f.batch, Memory(f.items("kv_pages"), []))
            f.results = {
                "logits": words.logits(norm(x, f.batch.logit_rows)),
                # from which the next guess is made
                "hidden_states": norm(x, f.batch.hidden_rows),
            }
        return {}

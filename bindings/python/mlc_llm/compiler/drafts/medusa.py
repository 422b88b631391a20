"""Medusa's heads (arXiv 2401.10774): head k guesses the token k + 2 places behind a hidden state.
It is blocks x + silu(W x + b), one after another, then an output layer without a bias.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlc_llm.compiler.drafts.tokens import check_tokens, tokens_of
from mlc_llm.compiler.spec.decoder import DecoderSpec
from mlc_llm.compiler.spec.draft import PREFIX, DraftSpec
from mlc_llm.compiler.spec.part import Place
from mlc_llm.compiler.spec.tensors import TensorMap
from mlc_llm.compiler.spec.weights import Parameter, Tensor
from mlc_llm.errors import CorruptFileError

if TYPE_CHECKING:
    from mlc_llm.compiler.models.family import ModelConfig
    from mlc_llm.compiler.nn.builder import Builder

MOST_HEADS = 16


@dataclass(frozen=True, kw_only=True)
class MedusaSpec(DraftSpec):
    """`tokens`: those that the rows of the output layers stand for; (): all of the vocabulary."""

    heads: int
    blocks: int
    tokens: tuple[int, ...] = ()
    kind = "medusa"
    files = TensorMap(layer="", table="huggingface")

    @property
    def tensors(self) -> Mapping[str, Tensor]:  # type: ignore[override]
        """MLC-LLM's names, which are also those of the published files."""
        named: dict[str, Tensor] = {}
        for head in range(self.heads):
            own = f"medusa_head.{head}"
            names = {_block(head, i): f"{own}.{i}.linear" for i in range(self.blocks)}
            names[f"head_{head}"] = f"{own}.{self.blocks}"
            named |= {role: Tensor(name) for role, name in names.items()}
        return named

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> MedusaSpec:
        """Of the field `draft` of an mlc-chat-config.json."""
        heads, blocks = given.get("heads"), given.get("blocks")
        if not all(type(n) is int and 0 < n <= MOST_HEADS for n in (heads, blocks)):
            raise CorruptFileError(
                f"config: draft must have heads and blocks from 1 to {MOST_HEADS}", param="draft"
            )
        return cls(heads=given["heads"], blocks=given["blocks"], tokens=tokens_of(given))

    def to_dict(self) -> dict[str, Any]:
        own = {"tokens": list(self.tokens)} if self.tokens else {}
        return {"kind": self.kind, "heads": self.heads, "blocks": self.blocks, **own}

    def check(self, config: ModelConfig) -> None:
        check_tokens(self.tokens, config.vocab_size)

    def parameters(self, spec: DecoderSpec) -> Iterator[Parameter]:
        at, rows = Place(spec, self.tensors), self.rows(spec)
        for head in range(self.heads):
            for i in range(self.blocks):
                yield from at.linear(_block(head, i), (at.hidden,), at.hidden, bias=True)
            yield from at.linear(f"head_{head}", (rows,), at.hidden, use="lm_head")

    def rows(self, spec: DecoderSpec) -> int:
        """Of an output layer."""
        return len(self.tokens) or spec.vocab_size

    def build(self, nn: Builder, spec: DecoderSpec, most_rows: int) -> dict[str, Any]:
        from mlc_llm.compiler.nn.builder import Input
        from mlc_llm.compiler.nn.draft_logits import DraftLogits

        at, hidden = Place(spec, self.tensors), spec.hidden_size
        activated, add = nn.activated(hidden, "silu"), nn.scaled_add(hidden, 1.0)
        every = [
            (
                [
                    nn.linear(at.name(_block(head, i)), hidden, hidden, bias=True)
                    for i in range(self.blocks)
                ],
                nn.linear(at.name(f"head_{head}"), self.rows(spec), hidden),
            )
            for head in range(self.heads)
        ]
        spread, bounds = DraftLogits(nn, self.tokens, spec.vocab_size), {"m": most_rows}
        inputs = {"vectors": Input(("m", hidden))}
        with nn.function(f"{PREFIX}get_logits", inputs, bounds=bounds) as f:
            made = []
            for blocks, output in every:
                x = f["vectors"]
                for block in blocks:
                    x = add.add(activated(block(x)), residual=x)
                made.append(output(x))
            f.results = {"logits": spread(made)}
        return {"heads": self.heads}


def _block(head: int, index: int) -> str:
    return f"head_{head}_block_{index}"

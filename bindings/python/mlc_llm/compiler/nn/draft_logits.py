"""The logits of a part that drafts, of some tokens, as those of the whole vocabulary."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from tvm import relax

from mlc_llm.compiler.kernels.cpu import draft_logits as on_cpu
from mlc_llm.compiler.kernels.gpu import draft_logits as on_gpu
from mlc_llm.compiler.nn.parts import Part
from mlc_llm.compiler.nn.tensors import num_rows, tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder


def first_outputs(nn: Builder, name: str, outs: int, ins: int) -> Any:
    """A linear layer of the first outputs of another one. `nn` is apart."""
    weight = f"{name}.weight"
    use, shape = nn.use_of(weight), (nn.parts_of(weight)[-1].outputs.stop, ins)
    assert use is not None, weight
    matrix = nn.scheme.stacked(weight, shape, use)[0].cut(range(outs))
    short = f"{name}[:{outs}]"
    nn.add_part(f"{short}.weight", Part(range(outs), nn.on.reader_of(matrix)))
    return nn.linear(short, outs, ins)


class ClusterLogits:
    """(scores of clusters, logits of all tokens) -> the logits. Tokens are impossible that are not
    of the `chosen` clusters with the largest scores. `tokens`: those of each cluster, one cluster
    after another."""

    def __init__(self, nn: Builder, tokens: tuple[int, ...], clusters: int, chosen: int) -> None:
        self.nn, self.key = nn, (clusters, chosen, len(tokens))
        self.cluster_of = np.zeros(len(tokens), np.int32)
        self.cluster_of[list(tokens)] = np.arange(len(tokens)) * clusters // max(len(tokens), 1)

    def __call__(self, scores: relax.Expr, logits: relax.Expr) -> relax.Var:
        nn = self.nn
        make = partial(on_cpu.keep_clusters, *self.key)
        kernel = nn.kernel("keep_clusters", self.key, make)
        args = [scores, logits, nn.constant(self.cluster_of)]
        return nn.call(kernel, args, tensor(num_rows(logits), self.key[-1]))


class DraftLogits:
    """Heads' logits (rows, len(tokens)), or of all tokens if `tokens` is empty -> (rows, heads *
    vocabulary). Tokens that no head has are impossible."""

    def __init__(self, nn: Builder, tokens: tuple[int, ...], vocab_size: int) -> None:
        self.nn, self.vocab_size, self.is_whole = nn, vocab_size, not tokens
        self.tokens = np.array(tokens or range(vocab_size), np.int32)
        self.places = np.full(vocab_size, -1, np.int32)  # of each token in a head's logits
        self.places[self.tokens] = np.arange(len(self.tokens))

    def __call__(self, heads: list[relax.Expr]) -> relax.Var:
        if self.is_whole and len(heads) == 1:
            return heads[0]
        nn = self.nn
        key = (len(heads), len(self.tokens), self.vocab_size)
        kernel = nn.kernel("spread", key, partial(nn.of(on_cpu, on_gpu).spread, *key))
        map_of = nn.constant(nn.of(self.tokens, self.places))
        out = tensor(num_rows(heads[0]), len(heads) * self.vocab_size)
        return nn.call(kernel, [*heads, map_of], out)

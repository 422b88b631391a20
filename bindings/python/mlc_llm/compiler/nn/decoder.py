"""Builds the decoder that a `spec.DecoderSpec` describes from the layers of a device.

The last kernel of each half adds to the residual: the kernel of its linear layer, or of the norm
after it. Tensors are Relax expressions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
from mlc_llm.compiler.nn.draft_logits import first_outputs
from mlc_llm.compiler.nn.layer_states import LayerStates
from mlc_llm.compiler.nn.row_numbers import sequence_ends, zeros
from mlc_llm.compiler.spec import DecoderSpec, HeadSpec
from mlc_llm.compiler.spec.part import Place
from mlc_llm.compiler.spec.tensors import LAYER_NORMS, TENSORS


class Decoder:
    """The whole model. The library's functions call it."""

    def __init__(self, nn: Builder, spec: DecoderSpec, hidden_layers: tuple[int, ...] = ()) -> None:
        """`hidden_layers`: after which layers the residual is a result too."""
        at, hidden = Place(spec, TENSORS), spec.hidden_size
        self.nn, self.hidden_layers = nn, hidden_layers
        self.words = Vocabulary(nn, spec)
        self.is_encoder, self.hidden_size = spec.is_encoder, hidden
        self.inputs = EmbeddingSum(nn, at)
        given = spec.layer_inputs
        self.layer_inputs = None if given is None else given.build(nn, Place(spec, given.tensors))
        self.sees_all = SequenceEnds(nn) if spec.is_encoder else None
        pages: dict[int, int] = {}
        self.layers = [Layer(nn, spec, index, pages) for index in range(len(spec.layers))]
        self.norm = None if spec.norm is None else nn.norm(at.name("norm"), hidden, spec.norm)
        nn.needs("hidden_states")
        if not spec.is_encoder:
            nn.needs("logits")
            if not nn.states:  # states do not branch
                nn.needs("token_trees")
        head = spec.pooled_head
        self.head = self.words.logits if head is None else PooledHead(nn, at, head)

    def embed(self, ids: Any) -> Any:
        """(rows) -> (rows, embedding_size)."""
        x = self.words.embed(ids)
        return x if self.layer_inputs is None else self.layer_inputs.join(x, ids)

    def with_inputs(self, rows: Any, like: Any) -> Any:
        """Rows of a tower as embeddings. `like`: a number for each row."""
        return rows if self.layer_inputs is None else self.layer_inputs.of_tower(rows, like)

    @property
    def embedding_size(self) -> int:
        """The hidden size, and what layers get of a token besides."""
        return self.hidden_size if self.layer_inputs is None else self.layer_inputs.width

    def results(self, x: Any, batch: Batch, memory: Memory) -> dict[str, Any]:
        """(rows of x, embedding_size) -> the logits and the hidden states (after the last norm, and
        of the chosen layers) of the rows for which the batch wants them. Writes `memory`."""
        named = {"logits": batch.logit_rows, "hidden_states": batch.hidden_rows}
        wanted = {name: rows for name, rows in named.items() if rows is not None}
        taken = LayerStates(self.nn, self.hidden_layers, self.hidden_size, batch.hidden_rows)
        states = self._states(x, batch, memory, list(wanted.values()), taken)
        found = dict(zip(wanted, states, strict=True))
        if taken.made is not None:
            found["layer_states"] = taken.made
        if "logits" in found:
            found["logits"] = self.logits(found["logits"])
        return found

    def _states(
        self, x: Any, batch: Batch, memory: Memory, wanted: list[Any], taken: LayerStates
    ) -> list[Any]:
        """The hidden states for each list of rows."""
        if self.layer_inputs is not None:
            x, batch = self.layer_inputs.split(x, batch)
        x = self.inputs(x, batch)
        batch = batch if self.sees_all is None else self.sees_all(batch)
        for index, layer in enumerate(self.layers[:-1]):
            x = layer(x, batch, memory)
            taken.take(index, x)
        if self.norm is None:
            return self.layers[-1](x, batch, memory, wanted)
        x = self.layers[-1](x, batch, memory)
        taken.take(len(self.layers) - 1, x)
        return [self.norm(x, rows) for rows in wanted]

    def logits(self, hidden_states: Any) -> Any:
        """(rows, hidden) -> float32 logits (rows, vocabulary). In an encoder with a head: the
        vectors of texts -> what its head makes of them."""
        return self.head(hidden_states)


class Vocabulary:
    """The embeddings of tokens, and the logits of all tokens."""

    def __init__(self, nn: Builder, spec: DecoderSpec, rows: int = 0) -> None:
        """`rows`: the logits are those of so many first tokens; 0: of all."""
        at, count, hidden = Place(spec, TENSORS), spec.vocab_size, spec.hidden_size
        name = at.name("embedding")
        table = nn.embedding(name, count, hidden, scale=spec.embedding_scale)
        self.embed, self.head = nn.shards.table(table, name, count), table.logits
        if not spec.tied_head and not spec.is_encoder:
            bias = spec.head_bias
            self.head = nn.linear(at.name("head"), count, hidden, bias=bias, adapts=False)
        if rows:
            whole = name if spec.tied_head else at.name("head")
            self.head = first_outputs(nn, whole, rows, hidden)
        changed = spec.logit_scale != 1.0 or spec.logit_softcap
        scales = {"scale": spec.logit_scale, "cap": spec.logit_softcap}
        made = rows or count
        self.change = nn.scale_and_cap(made, **scales) if changed else lambda logits: logits
        self.join = nn.shards.joined(name)

    def logits(self, hidden_states: Any) -> Any:
        return self.join(self.change(self.head(hidden_states)))


class PooledHead:
    """The layers behind the pooling of an encoder, one after another."""

    def __init__(self, nn: Builder, at: Place, head: HeadSpec) -> None:
        self.steps: list[Any] = []
        ins = at.hidden
        for index, dense in enumerate(head.layers):
            name, width = at.name(f"dense_{index}"), dense.width
            self.steps.append(nn.linear(name, width, ins, bias=dense.bias, adapts=False))
            if dense.activation is not None:
                self.steps.append(nn.activated(width, dense.activation))
            if dense.norm is not None:
                self.steps.append(nn.norm(at.name(f"dense_{index}_norm"), width, dense.norm))
            ins = width

    def __call__(self, x: Any) -> Any:
        for step in self.steps:
            x = step(x)
        return x


class EmbeddingSum:
    """norm(x + positions[position] + token_types[type]), with those parts that the model has."""

    def __init__(self, nn: Builder, at: Place) -> None:
        spec = at.spec

        def table(role: str, entries: int) -> Any:
            return nn.embedding(at.name(role), entries, at.hidden) if entries else None

        self.nn = nn
        self.positions = table("positions", spec.positions)
        self.types = table("token_types", spec.token_types)
        if spec.token_types > 1:
            nn.token_types = spec.token_types
            nn.needs("token_types")
        self.add = nn.scaled_add(at.hidden, 1.0)
        norm, name = spec.embedding_norm, at.name("embedding_norm")
        self.norm = None if norm is None else nn.norm(name, at.hidden, norm, is_exact=True)

    def __call__(self, x: Any, batch: Batch) -> Any:
        if self.positions is not None:
            x = self.add.add(self.positions(batch.positions), residual=x)
        if self.types is not None:
            types = batch.token_types
            types = zeros(self.nn, batch.positions) if types is None else types
            x = self.add.add(self.types(types), residual=x)
        return x if self.norm is None else self.norm(x)


class SequenceEnds:
    """Lets each row attend to all rows of its text: as far as the text's last row."""

    def __init__(self, nn: Builder) -> None:
        self.nn = nn

    def __call__(self, batch: Batch) -> Batch:
        ends = sequence_ends(self.nn, batch.positions, batch.row_sequence)
        return replace(batch, attended=ends)


class Layer:
    """The parts of a layer, with their norms."""

    def __init__(self, nn: Builder, spec: DecoderSpec, index: int, pages: dict[int, int]) -> None:
        """`pages`: of the layers before it; it adds its own."""
        own = spec.layer(index)
        around = Place(spec, LAYER_NORMS, index)

        def norm(role: str | None) -> Any:
            if role is None:
                return None
            is_exact = own.places == "after_add"
            return nn.norm(around.name(role), spec.hidden_size, own.norm, is_exact=is_exact)

        scale = own.residual_scale
        add = None if scale == 1.0 else nn.scaled_add(spec.hidden_size, scale)
        kind, halves = AfterAdd if own.places == "after_add" else Half, iter(own.halves)
        self.is_parallel = own.places in ("parallel", "parallel_two")
        self.steps: list[Any] = []
        for part in own.parts:
            made = nn.shards.summed(part.build(nn, Place(spec, part.tensors, index, pages)))
            if part.norms is not None:
                half = next(halves)
                made = kind(norm(half.before), made, norm(half.behind) or add)
            self.steps.append(made)

    def __call__(self, x: Any, batch: Batch, memory: Memory, rows: Any = None) -> Any:
        """`rows`: lists of rows, if its last norm is the last of the model. Then there is a result
        for each list."""
        if self.is_parallel:
            first, second = self.steps
            given = first.before(x)
            other = given if second.before is None else second.before(x)
            x = first.part(given, batch, memory, residual=x)
            return second.part(other, batch, memory, residual=x)
        for step in self.steps[:-1]:
            x = step(x, batch, memory)
        chosen = {} if rows is None else {"rows": rows}
        return self.steps[-1](x, batch, memory, **chosen)


class Half:
    """x + after(part(before(x))). `before` is a norm or None, `after` a norm, a scale or None."""

    def __init__(self, before: Any, part: Any, after: Any) -> None:
        self.before, self.part, self.after = before, part, after

    def __call__(self, x: Any, batch: Batch, memory: Memory) -> Any:
        given = x if self.before is None else self.before(x)
        if self.after is None:
            return self.part(given, batch, memory, residual=x)
        return self.after.add(self.part(given, batch, memory), residual=x)


class AfterAdd(Half):
    """after(x + part(x)). `rows`: lists of rows; then there is a result for each list."""

    def __call__(self, x: Any, batch: Batch, memory: Memory, rows: Any = None) -> Any:
        made = self.part(x, batch, memory, residual=x)
        return self.after(made) if rows is None else [self.after(made, each) for each in rows]

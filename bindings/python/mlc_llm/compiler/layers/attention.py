"""Self-attention of one layer over its key/value pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mlc_llm.compiler.layers.attention_reference import attended
from mlc_llm.compiler.spec.decoder import NormSpec
from mlc_llm.compiler.spec.part import Mixer, PictureRows, Place, no_shards
from mlc_llm.compiler.spec.rope import RopeSpec
from mlc_llm.compiler.spec.transforms import Array
from mlc_llm.compiler.spec.weights import Parameter, Source, Tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference

VECTOR = 16  # the kernels' vectors have so many numbers


@dataclass(frozen=True)
class HeadNorms:
    """The norms of queries and of keys."""

    norm: NormSpec
    all_heads: bool = False  # one norm for the queries of all heads, one for all keys
    shards: int = 1  # so many have the heads of one norm together
    rotated: bool = False  # the norms come after the rotation


@dataclass(frozen=True)
class Values:
    """Values that are not simply a third of the layer's input projection."""

    norm: NormSpec | None = None  # of each head's value, without a weight
    are_keys: bool = False  # they are the keys before their norm and their rotation


@dataclass(frozen=True)
class Window:
    """A row does not see all positions before it."""

    size: int  # positions that a row looks back, itself included
    chunked: bool = False  # the window begins at a multiple of its size: a row sees its own chunk
    pinned: int = 0  # first positions that every row still sees


@dataclass(frozen=True)
class Ahead:
    """A row sees later rows too: those of its whole text, so a step must have all of them (an
    encoder), or as far as the step says."""

    near: int = 0  # in an encoder: how many positions a row sees on each side; 0: all
    told: bool = False  # as far as the step says (`last_seen`)


@dataclass(frozen=True)
class Scores:
    """What happens to scores before the softmax."""

    alibi: bool = False  # they fall with the distance, for each head by its own slope
    sinks: bool = False  # each head has a learned score that only enlarges the softmax's sum
    softcap: float = 0.0  # they become cap * tanh(score / cap); 0: no change


@dataclass(frozen=True)
class Growth:
    """Queries are multiplied by 1 + factor * ln(1 + (position + offset) // length)."""

    factor: float
    length: int
    offset: int = 0


@dataclass(frozen=True, kw_only=True)
class AttentionSpec(Mixer):
    heads: int
    kv_heads: int
    dim: int  # of a head
    scale: float  # factor on scores
    rope: RopeSpec | None  # None: no rotary positions
    qkv_bias: bool = False
    output_bias: bool = False
    ins: int = 0  # of a row that it reads; 0: the hidden size
    gated: bool = False  # the result is multiplied by sigmoid(a linear layer of the same width)
    pages_of: int | None = None  # the earlier layer whose keys and values it reads; None: its own
    head_norms: HeadNorms | None = None
    values: Values = Values()
    window: Window | None = None
    ahead: Ahead | None = None
    scores: Scores = Scores()
    growth: Growth | None = None

    can_draft = True
    tensors = {
        "qkv": Tensor(
            "self_attn.qkv_proj",
            "self_attn.q_proj self_attn.k_proj self_attn.v_proj",
            "attn_q attn_k attn_v",
        ),
        "attention_gate": Tensor("self_attn.gate_proj"),
        "output": Tensor("self_attn.o_proj", gguf="attn_output"),
        "sinks": Tensor(
            "self_attn.sinks", Source("self_attn.sinks", is_whole=True), gguf="attn_sinks"
        ),
        "q_norm": Tensor("self_attn.q_norm", gguf="attn_q_norm", norm=True),
        "k_norm": Tensor("self_attn.k_norm", gguf="attn_k_norm", norm=True),
    }

    def __post_init__(self) -> None:
        plain = self.window is None and self.pages_of is None
        assert not self.is_encoder or plain, f"an encoder has no windows, no shared pages: {self}"
        norms = self.head_norms
        assert norms is None or not (norms.all_heads and norms.rotated), self
        assert self.ahead is None or not (self.ahead.told and self.ahead.near), self
        assert not (self.is_told and self.scores.alibi), self
        assert self.values.norm is None or not self.values.norm.weight, self

    @property
    def is_encoder(self) -> bool:
        return self.ahead is not None and not self.ahead.told

    def with_pictures(self, rows: PictureRows) -> AttentionSpec:
        sees = rows.see_each_other and not (rows.only_in_windows and self.window is None)
        ahead = Ahead(told=True) if sees else self.ahead
        rope = None if self.rope is None else self.rope.on(rows.axes)
        return replace(self, ahead=ahead, rope=rope)

    @property
    def is_told(self) -> bool:
        """Whether the step says how far rows see."""
        return self.ahead is not None and self.ahead.told

    @property
    def sees(self) -> Literal["before", "all"]:
        return "all" if self.is_encoder else "before"

    @property
    def look_back(self) -> int:
        """Positions that a row looks back, itself included; -1: all."""
        return self.window.size if self.window else -1

    @property
    def wide(self) -> int:
        """The elements of the queries of all heads."""
        return self.heads * self.dim

    @property
    def pieces(self) -> tuple[int, ...]:
        """The widths of the queries and, if it has pages of its own, of keys and values."""
        count = 0 if self.pages_of is not None else 1 if self.values.are_keys else 2
        return (self.wide, *[self.kv_heads * self.dim] * count)

    @property
    def kept_heads(self) -> tuple[int, int] | None:
        return (
            None if self.pages_of is not None else (self.kv_heads, -(-self.dim // VECTOR) * VECTOR)
        )

    @property
    def norm_sizes(self) -> dict[str, int]:
        """The learned norms, and how many elements each takes at a time."""
        if self.head_norms is None or not self.head_norms.norm.weight:
            return {}
        counts = {"q_norm": self.heads}
        if self.pages_of is None:
            counts["k_norm"] = self.kv_heads
        return {r: self.dim * (n if self.head_norms.all_heads else 1) for r, n in counts.items()}

    def sharded(self, count: int) -> AttentionSpec:
        if self.scores.alibi:
            raise no_shards("heads with ALiBi")
        heads, norms = self.share_of(self.heads, count, "heads"), self.head_norms
        if norms is not None and norms.all_heads:
            norms = replace(norms, shards=count)
        kv_heads = self.share_of(self.kv_heads, count, "kv_heads")
        return replace(self, heads=heads, kv_heads=kv_heads, head_norms=norms)

    def parameters(self, at: Place) -> Iterator[Parameter]:
        yield from at.linear("qkv", self.pieces, self.ins or at.hidden, self.qkv_bias)
        if self.gated:
            yield from at.linear("attention_gate", (self.wide,), at.hidden, self.qkv_bias)
        yield from at.linear("output", (at.hidden,), self.wide, self.output_bias)
        if self.scores.sinks:
            yield at.vector("sinks", self.heads)
        for role, size in self.norm_sizes.items():
            yield at.vector(role, size)

    def build(self, nn: Builder, at: Place) -> _Attention:
        return _Attention(self, nn, at)

    def reference(self, at: Reference, x: Array) -> Array:
        n = len(x)
        heads = at.linear("qkv", x, self.qkv_bias).reshape(n, -1, self.dim)
        q, k, v = np.split(heads, [self.heads, self.heads + self.kv_heads], axis=1)
        v = k if self.values.are_keys else v
        if self.values.norm is not None:
            v = at.normed("", v, self.values.norm)
        rotary = at.step.get("rotary", np.repeat(np.arange(n)[:, None], 3, axis=1))
        q, k = (self._positioned(at, f"{r}_norm", t, rotary) for r, t in (("q", q), ("k", k)))
        if grown := self.growth:
            steps = (np.arange(n)[:, None, None] + grown.offset) // grown.length
            q = q * (1 + grown.factor * np.log1p(steps))
        own = self.pages_of is None
        k, v = at.kept[at.index] = (k, v) if own else at.kept[self.pages_of]
        made = attended(self, at, q, k, v)
        if self.gated:
            made = made / (1 + np.exp(-at.linear("attention_gate", x, self.qkv_bias)))
        return at.linear("output", made, self.output_bias)

    def _positioned(self, at: Reference, role: str, x: Array, rotary: Array) -> Array:
        """Queries or keys (n, heads, dim), after their norm and their rotation."""
        if not x.size:
            return x
        if self.head_norms is None:
            return self._rotated(x, rotary)
        if self.head_norms.rotated:
            return at.normed(role, self._rotated(x, rotary), self.head_norms.norm)
        flat = x.reshape(len(x), -1) if self.head_norms.all_heads else x
        return self._rotated(at.normed(role, flat, self.head_norms.norm).reshape(x.shape), rotary)

    def _rotated(self, x: Array, rotary: Array) -> Array:
        if self.rope is None:
            return x
        half = self.rope.dim // 2
        places = rotary[:, self.rope.axes] if self.rope.axes else np.arange(len(x))[:, None]
        angles = places[:, None, :] * np.array(self.rope.frequencies)
        cos, sin = (f(angles) * self.rope.scaling.magnitude for f in (np.cos, np.sin))
        low, high, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
        return np.concatenate([low * cos - high * sin, high * cos + low * sin, rest], axis=-1)


class _Attention:
    """Rotates queries and keys, appends keys and values to its pages, and attends over them.

    Kernels need heads of a multiple of 16 elements. Other heads get zeros behind theirs, which add
    nothing to a score.
    """

    def __init__(self, a: AttentionSpec, nn: Builder, at: Place) -> None:
        from mlc_llm.compiler.kernels.cpu import attention as on_cpu
        from mlc_llm.compiler.kernels.cpu.paged_attention import paged_attention
        from mlc_llm.compiler.kernels.gpu import attention as on_gpu
        from mlc_llm.compiler.kernels.gpu.paged_attention import paged_attention as attend_on_gpu

        self.nn, self.spec, self.kernels = nn, a, nn.of(on_cpu, on_gpu)
        self.attention = nn.of(paged_attention, attend_on_gpu)
        self.dim = -(-a.dim // VECTOR) * VECTOR
        self.qkv = nn.linear(at.name("qkv"), sum(a.pieces), a.ins or at.hidden, bias=a.qkv_bias)
        if a.gated:
            self.gate = nn.linear(at.name("attention_gate"), a.wide, at.hidden, bias=a.qkv_bias)
            self.gated = nn.sigmoid_gate(a.wide)
        self.output = nn.linear(at.name("output"), at.hidden, a.wide, bias=a.output_bias)
        norms = {f"{at.name(role)}.weight": size for role, size in a.norm_sizes.items()}
        self.of_shards = None  # the norms over the heads of all shards
        if a.head_norms is not None and a.head_norms.shards > 1:
            assert norms and not a.values.are_keys, a
            self.of_shards, norms = nn.shards.norm(norms, a.head_norms.norm.eps), {}
        self.norms = list(norms)
        self.sinks = f"{at.name('sinks')}.weight" if a.scores.sinks else None
        shared = None if a.pages_of is None else at.pages[a.pages_of]
        if a.is_encoder:
            shared = at.pages.get(0)  # nothing reads them once the layer has attended
        self.shape = self._shape(has_pages=shared is None)
        assert at.index is not None
        self.pages = at.pages[at.index] = self._pages(shared)
        self._add_tables()
        for what, is_needed in (("rows_ahead", a.is_told), ("axes", self.shape.axes)):
            if is_needed:
                nn.needs(what)

    def _shape(self, *, has_pages: bool) -> Any:
        from mlc_llm.compiler.kernels.common.attention_shape import AttentionShape

        nn, a = self.nn, self.spec
        rotated = a.rope.dim if a.rope else a.dim
        near = a.ahead.near if a.ahead else 0
        norms = a.head_norms if self.of_shards is None else None
        return AttentionShape(
            heads=a.heads,
            kv_heads=a.kv_heads,
            dim=self.dim,
            sliding_window=2 * near + 1 if near else a.look_back,
            ahead=near,
            rows_ahead=a.is_told and a.window is not None,
            sinks=a.window.pinned if a.window else 0,
            page_dtype=nn.page_dtype,
            row_dtype=nn.row_dtype,
            rotated=0 if rotated == self.dim else rotated,
            axes=a.rope.axes if a.rope else (),
            qk_norm=norms.norm.eps if norms else None,
            norm_dtype=nn.stored(self.norms[0]).dtype if self.norms else None,
            value_norm=a.values.norm.eps if a.values.norm else None,
            values_are_keys=a.values.are_keys and has_pages,
            norms_all_heads=norms is not None and norms.all_heads,
            norms_rotated=norms is not None and norms.rotated,
            softcap=a.scores.softcap,
            learned_sinks=nn.stored(self.sinks).dtype if self.sinks else None,
            growth_length=a.growth.length if a.growth else 0,
            growth_from=a.growth.offset if a.growth else 0,
            chunked=a.window is not None and a.window.chunked,
            alibi=a.scores.alibi,
            appends=has_pages or a.is_encoder,
        )

    def _pages(self, shared: int | None) -> int:
        """The index of its pages; `shared`: that of an earlier layer's, if it has none itself."""
        from mlc_llm.compiler.nn.pages import Pages

        nn, window = self.nn, self.spec.look_back
        if shared is None:
            return nn.add_pages(Pages(self.shape, self.kernels, window))
        nn.pages[shared].widen(window)
        return shared

    def _add_tables(self) -> None:
        """The constants of its kernels."""
        from mlc_llm.compiler.kernels.common import attention_shape as tables

        nn, a = self.nn, self.spec
        rope = a.rope or RopeSpec(dim=a.dim, theta=1.0)
        frequencies = rope.frequencies if a.rope else [0.0] * (rope.dim // 2)
        self.table = nn.constant(tables.rope_table(frequencies, rope.scaling.magnitude))
        self.growth = [nn.constant(tables.growth_table(g.factor)) for g in (a.growth,) if g]
        self.slopes = [nn.constant(tables.alibi_slopes(a.heads))] if a.scores.alibi else []

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        a, batch = self.spec, self.nn.with_table(batch, self.pages)
        qkv = self.qkv(x)  # (rows, (heads + 2 kv_heads) * dim)
        qkv = qkv if self.of_shards is None else self.of_shards(qkv)
        q = self._append(self._resized(qkv, a.dim, self.dim), batch, memory.pages)
        attended = self._attend(q, batch, memory.pages)
        attended = self._resized(attended, self.dim, a.dim)  # (rows, heads * dim)
        if a.gated:
            attended = self.gated(attended, self.gate(x))
        return self.output(attended, residual)  # (rows, hidden)

    def _resized(self, x: Any, size: int, wanted: int) -> Any:
        """Zeros behind the elements of each head, or its first elements."""
        from mlc_llm.compiler.kernels.cpu.elementwise import resize_heads as on_cpu
        from mlc_llm.compiler.kernels.gpu.elementwise import resize_heads as on_gpu

        if size == wanted:
            return x
        nn, types = self.nn, self.nn.typed(dtype=self.nn.row_dtype)
        heads = self.shape.qkv_heads if size == self.spec.dim else self.spec.heads
        key = (heads, size, wanted)
        make = partial(nn.of(on_cpu, on_gpu), *key, **types)
        kernel = nn.kernel("resize_heads", (*key, *types.values()), make)
        return nn.call(kernel, [x], nn.rows(x, heads * wanted, dtype=nn.row_dtype))

    def _attend(self, q: Any, batch: Batch, pages: list[Any]) -> Any:
        from mlc_llm.compiler.nn.row_numbers import near_ends

        nn, shape = self.nn, self.shape
        options = nn.attention_sizes()
        make = partial(self.attention, shape, self.spec.scale, **options)
        kernel = nn.kernel("paged_attention", (shape, self.spec.scale), make)
        seen = batch.positions if batch.attended is None else batch.attended
        if self.spec.is_told:
            seen = batch.last_seen
        if shape.ahead:
            seen = near_ends(nn, batch.positions, batch.attended, shape.ahead)
        where = [seen, batch.row_sequence, batch.page_indptr, batch.page_indices]
        more = [nn.param(self.sinks)] if self.sinks else []
        more += [batch.positions] if shape.takes_own else []
        args = [q, *where, pages[self.pages], *self.slopes, *more]
        out = nn.rows(q, shape.heads * shape.dim, dtype=shape.row_dtype)
        return nn.call_with(kernel, args, out, nn.attention_scratch(shape))

    def _append(self, qkv: Any, batch: Batch, pages: list[Any]) -> Any:
        """Returns the rotated queries; writes keys and values into the pages."""
        nn, shape = self.nn, self.shape.of_append
        kernel = nn.kernel("rope_and_append", shape, partial(self.kernels.rope_and_append, shape))
        norms = [*self.growth, *(nn.param(name) for name in self.norms)]
        q = nn.rows(qkv, shape.heads, shape.dim, dtype=shape.row_dtype)
        places = [batch.positions, *([batch.rotary] if shape.axes else [])]
        if not shape.appends:
            return nn.call(kernel, [qkv, *places, self.table, *norms], q)
        own = nn.block.emit(pages[self.pages])
        args = [qkv, *places, batch.slots, self.table, *norms, own]
        both = nn.call_in_place(kernel, args, [len(args) - 1, -1], [own.ty, q])
        pages[self.pages] = nn.item(both, 0)
        if batch.copy_source is not None:
            own = nn.block.emit(pages[self.pages])
            pages[self.pages] = nn.pages[self.pages].copy_slots(nn, batch, own)
        return nn.item(both, 1)

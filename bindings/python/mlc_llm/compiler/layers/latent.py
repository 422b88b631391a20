"""Latent attention (MLA): the cache holds one short row for all heads of a position.

    LatentSpec(heads=16, plain=128, values=128, latent=512, queries=1536, scale=..., rope=rope,
               norm=NormSpec(eps=1e-6))

A position's row is `latent` numbers, normed, and a rotated key of `rope.dim` numbers. Head h has
two matrices that act on the row: `keys_up[h]` (latent, plain) and `values_up[h]` (values, latent).
Its query has `plain` numbers without a position, and `rope.dim` rotated ones:

    score = (keys_up[h] @ q_plain) . latent + q_rotated . key
    result = values_up[h] @ (sum of weight * latent)

So the matrices act on queries and results ("absorbed"), and keys and values are never computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mlc_llm.compiler.spec.decoder import NormSpec
from mlc_llm.compiler.spec.part import Mixer, Place
from mlc_llm.compiler.spec.rope import RopeSpec
from mlc_llm.compiler.spec.transforms import Array
from mlc_llm.compiler.spec.weights import Parameter, Tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder, Memory
    from mlc_llm.compiler.reference import Reference


@dataclass(frozen=True, kw_only=True)
class LatentSpec(Mixer):
    """Latent attention of one layer."""

    heads: int
    plain: int  # elements of a head's query that are not rotated
    values: int  # elements of a head's result
    latent: int  # elements of a position's latent vector
    queries: int = 0  # elements of the latent vector of queries; 0: one linear layer makes them
    scale: float  # factor on scores
    rope: RopeSpec
    norm: NormSpec  # of the latent vectors
    pairs: bool = True  # the rotated elements are pairs (0, 1), (2, 3), ...; False: two halves
    bias: bool = False  # of the linear layers from and to the hidden states
    window: int = -1  # positions that a row looks back, itself included; -1: all
    pinned: int = 0  # first positions that every row still sees with a window

    tensors = {
        "queries": Tensor("self_attn.q_proj", gguf="attn_q"),
        "queries_down": Tensor("self_attn.q_a_proj", gguf="attn_q_a"),
        "queries_norm": Tensor("self_attn.q_a_layernorm", gguf="attn_q_a_norm"),
        "queries_up": Tensor("self_attn.q_b_proj", gguf="attn_q_b"),
        "latent": Tensor("self_attn.kv_a_proj_with_mqa", gguf="attn_kv_a_mqa"),
        "latent_norm": Tensor("self_attn.kv_a_layernorm", gguf="attn_kv_a_norm"),
        "keys_up": Tensor("self_attn.w_uk", gguf="attn_k_b"),
        "values_up": Tensor("self_attn.w_uv", gguf="attn_v_b"),
        "output": Tensor("self_attn.o_proj", gguf="attn_output"),
    }

    @property
    def query(self) -> int:
        """The elements of a head's query."""
        return self.plain + self.rope.dim

    @property
    def row(self) -> int:
        """The elements of a position's row in the cache."""
        return self.latent + self.rope.dim

    @property
    def sees(self) -> Literal["before"]:
        return "before"

    def sharded(self, count: int) -> LatentSpec:
        """Each shard has the rows of all positions, since all heads read them."""
        return replace(self, heads=self.share_of(self.heads, count, "heads"))

    def parameters(self, at: Place) -> Iterator[Parameter]:
        q = self.heads * self.query
        if self.queries:
            yield from at.linear("queries_down", (self.queries,), at.hidden, self.bias)
            yield at.vector("queries_norm", self.queries)
            yield from at.linear("queries_up", (q,), self.queries)
        else:
            yield from at.linear("queries", (q,), at.hidden)
        yield from at.linear("latent", (self.row,), at.hidden, self.bias)
        yield at.vector("latent_norm", self.latent)
        yield at.plain("keys_up", self.heads, self.latent, self.plain)
        yield at.plain("values_up", self.heads, self.values, self.latent)
        yield from at.linear("output", (at.hidden,), self.heads * self.values, self.bias)

    def build(self, nn: Builder, at: Place) -> _LatentAttention:
        return _LatentAttention(self, nn, at)

    def reference(self, at: Reference, x: Array) -> Array:
        """Here each head has keys and values, which the kernels never compute."""
        n, up = len(x), [at.plain_weight(role) for role in ("keys_up", "values_up")]
        q = x
        if self.queries:
            q = at.normed("queries_norm", at.linear("queries_down", x, self.bias), self.norm)
        q = at.linear("queries_up" if self.queries else "queries", q).reshape(n, self.heads, -1)
        row = at.linear("latent", x, self.bias)
        latent = at.normed("latent_norm", row[:, : self.latent], self.norm)
        keys = np.einsum("mc,hcp->hmp", latent, up[0])
        values = np.einsum("mc,hvc->hmv", latent, up[1])
        scores = np.einsum("nhp,hmp->hnm", q[..., : self.plain], keys)
        turned = (
            self._rotated(q[..., self.plain :]),
            self._rotated(row[:, None, self.latent :])[:, 0],
        )
        scores = (scores + np.einsum("nhr,mr->hnm", *turned)) * self.scale
        rows, columns = np.indices((n, n))
        weights = np.exp(np.where(columns <= rows, scores, -np.inf))
        made = np.einsum("hnm,hmv->nhv", weights / weights.sum(-1, keepdims=True), values)
        return at.linear("output", made.reshape(n, -1), self.bias)

    def _rotated(self, x: Array) -> Array:
        angles = np.arange(len(x))[:, None] * np.array(self.rope.frequencies)
        turns = np.exp(1j * angles)[:, None] * self.rope.scaling.magnitude
        shape = (-1, 2) if self.pairs else (2, -1)
        parts = x.reshape(*x.shape[:-1], *shape)
        first, second = (parts[..., 0], parts[..., 1]) if self.pairs else np.moveaxis(parts, -2, 0)
        turned = (first + 1j * second) * turns
        return np.concatenate([turned.real, turned.imag], axis=-1)


class _LatentAttention:
    """Rows into the layer's pages, queries into the space of the latents, the softmax, and the
    results out of that space."""

    def __init__(self, a: LatentSpec, nn: Builder, at: Place) -> None:
        from mlc_llm.compiler.kernels.common.attention_shape import rope_table
        from mlc_llm.compiler.kernels.cpu import latent as on_cpu
        from mlc_llm.compiler.kernels.cpu.paged_attention import paged_attention
        from mlc_llm.compiler.kernels.gpu import latent as on_gpu
        from mlc_llm.compiler.nn.pages import Pages

        self.nn, self.spec, self.kernels = nn, a, nn.of(on_cpu, on_gpu)
        self.attention = nn.of(paged_attention, on_gpu.attention)
        if a.queries:
            self.down = nn.linear(at.name("queries_down"), a.queries, at.hidden, bias=a.bias)
            self.queries_norm = nn.norm(at.name("queries_norm"), a.queries, a.norm)
        role = "queries_up" if a.queries else "queries"
        self.queries = nn.linear(at.name(role), a.heads * a.query, a.queries or at.hidden)
        self.latent = nn.linear(at.name("latent"), a.row, at.hidden, bias=a.bias)
        names = f"{at.name('latent_norm')}.weight", at.name("keys_up"), at.name("values_up")
        self.norm, self.keys_up, self.values_up = map(nn.stored, names)
        self.shape = self._shape()
        self.pages = nn.add_pages(Pages(self.shape, self.kernels, a.window))
        self.table = nn.constant(rope_table(a.rope.frequencies, a.rope.scaling.magnitude))
        self.output = nn.linear(at.name("output"), at.hidden, a.heads * a.values, bias=a.bias)

    def _shape(self) -> Any:
        from mlc_llm.compiler.kernels.common.latent import LatentShape, groups_of

        a = self.spec
        return LatentShape(
            heads=a.heads,
            kv_heads=groups_of(a.heads),
            dim=a.latent,
            rotary=a.rope.dim,
            sliding_window=a.window,
            sinks=a.pinned,
            page_dtype=self.nn.page_dtype,
        )

    def __call__(self, x: Any, batch: Batch, memory: Memory, residual: Any = None) -> Any:
        batch = self.nn.with_table(batch, self.pages)
        given = self.queries_norm(self.down(x)) if self.spec.queries else x
        q, latent = self.queries(given), self.latent(x)
        self._append(latent, batch, memory.pages)
        attended = self._attend(self._absorbed(q, batch), batch, memory.pages)
        return self.output(self._values(attended), residual)

    def _append(self, x: Any, batch: Batch, pages: list[Any]) -> None:
        """Writes the rows (rows, latent + rotary) into the pages."""
        nn, shape, a = self.nn, self.shape.of_pages, self.spec
        key = (shape, a.norm.eps, self.norm.dtype, a.pairs)
        make = partial(self.kernels.append, *key[:3], pairs=a.pairs, **nn.typed(x_dtype=x))
        own = nn.block.emit(pages[self.pages])
        norm = nn.param(self.norm.name)
        args = [x, batch.positions, batch.slots, self.table, norm, own]
        own = nn.call_in_place(nn.kernel("latent_append", key, make), args, [5], [own.ty])
        if batch.copy_source is not None:
            own = nn.pages[self.pages].copy_slots(nn, batch, own)
        pages[self.pages] = own

    def _absorbed(self, q: Any, batch: Batch) -> Any:
        """(rows, heads * query) -> (rows, heads, latent + rotary)."""
        nn, shape, a = self.nn, self.shape, self.spec
        key = (shape.of_pages, shape.heads, a.plain, self.keys_up.dtype, a.pairs)
        options = nn.of(nn.dot_tile(), nn.typed(x_dtype=q))
        make = partial(self.kernels.queries, shape, *key[2:4], pairs=a.pairs, **options)
        args = [q, batch.positions, self.table, nn.param(self.keys_up.name)]
        out = nn.rows(q, shape.heads, shape.row)
        return nn.call(nn.kernel("latent_queries", key, make), args, out)

    def _attend(self, q: Any, batch: Batch, pages: list[Any]) -> Any:
        nn, shape, scale = self.nn, self.shape, self.spec.scale
        args = [q, batch.positions, batch.row_sequence]
        args += [batch.page_indptr, batch.page_indices, pages[self.pages]]
        make = partial(self.attention, shape, scale, **nn.attention_sizes())
        kernel = nn.kernel("latent_attention", (shape, scale), make)
        out = nn.rows(q, shape.heads * shape.dim)
        return nn.call_with(kernel, args, out, nn.attention_scratch(shape))

    def _values(self, found: Any) -> Any:
        """(rows, heads * latent) -> (rows, heads * values)."""
        nn, shape, a = self.nn, self.shape, self.spec
        key = (shape.of_pages, shape.heads, a.values, self.values_up.dtype)
        options = nn.of(nn.dot_tile(), {"y_dtype": nn.row_dtype})
        make = partial(self.kernels.values, shape, *key[2:], **options)
        args = [found, nn.param(self.values_up.name)]
        out = nn.rows(found, shape.heads * a.values, dtype=nn.row_dtype)
        return nn.call(nn.kernel("latent_values", key, make), args, out)

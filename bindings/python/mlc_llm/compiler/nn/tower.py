"""Builds the tower that a `spec.tower.TowerSpec` describes. What differs between devices is in
`interface.TowerLayers`.

Tensors are Relax expressions, and rows are float32. The last kernel of each half of a layer adds to
the residual.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from mlc_llm.compiler.kernels.common.attention_shape import rope_table
from mlc_llm.compiler.nn.builder import Builder, Function, Input
from mlc_llm.compiler.nn.function_inputs import Inputs
from mlc_llm.compiler.nn.layer_inputs import side_by_side
from mlc_llm.compiler.nn.tensors import num_rows, plain, tensor
from mlc_llm.compiler.spec.decoder import NormSpec
from mlc_llm.compiler.spec.tower import (
    Averaged,
    Dense,
    Joined,
    Learned,
    Normed,
    ProjectorPart,
    Resampled,
    Standardized,
    TowerSpec,
)
from mlc_llm.compiler.spec.tower_weights import (
    LEARNED,
    QUERIES,
    name_of,
    projector_name,
    resampler_name,
)

_PLACES = {
    "corners": "place_between",
    "resized": "place_resized",
    "buckets": "place_in_buckets",
}


class Tower:
    """The whole tower, from patches to rows of a prompt."""

    def __init__(self, nn: Builder, spec: TowerSpec) -> None:
        self.nn, self.spec, self.on = nn, spec, nn.on.tower(nn)

    def inputs(self) -> Inputs:
        """`view_indptr`: where the patches of each view begin, and the end. `first_patches`: the
        first patch of each row that is wanted, or its query, counted through all views; -1 - k: the
        k-th learned row. `patch_grids`: the grid of the patch's view. `window_indptr`: where the
        patches of each window begin, and the end."""
        inputs = {
            "patches": Input(("n", self.spec.patch_dim)),
            "patch_positions": Input(("n", 2), "int32"),
            "view_indptr": Input(("v",), "int32"),
            "first_patches": Input(("m",), "int32"),
        }
        if self.spec.table in _PLACES:
            inputs["patch_grids"] = Input(("n", 2), "int32")
        if self.spec.windows is not None:
            inputs["window_indptr"] = Input(("w",), "int32")
        return inputs

    def __call__(self, given: Function) -> Any:
        """`given`: has the inputs."""
        spec, taps = self.spec, {tap.layer: tap for tap in self.spec.taps}
        x = self.on.linear(name_of("patch"), given["patches"], bias=spec.patch_bias)
        if spec.positions:
            x = self._placed(x, given)
        if spec.pre_norm:
            x = self._norm(name_of("before"), x)
        behind = []
        for layer in range(spec.layers):
            x = self._layer(layer, x, given)
            if layer in taps:
                behind.append(self._projected(taps[layer].projector, x, given))
        if spec.last_norm:
            x = self._norm(name_of("norm"), x)
        rows = self._projected(spec.projector, x, given)
        for index, more in enumerate(behind):
            each = spec.out_width // (len(behind) + 1)
            rows = side_by_side(self.nn, rows, more, (index + 1) * each, each)
        return rows

    def _layer(self, layer: int, x: Any, given: Function) -> Any:
        spec = self.spec
        normed = self._norm(name_of("attention_norm", layer), x)
        is_windowed = spec.windows is not None and layer not in spec.windows.whole
        ends = given["window_indptr" if is_windowed else "view_indptr"]
        attended = self._attended(self._rotated(self._qkv(layer, normed), given), ends)
        x = self._added(layer, ("output", "attention_scale", "attention_behind"), attended, x)
        up = self._up(layer, self._norm(name_of("mlp_norm", layer), x))
        return self._added(layer, ("down", "mlp_scale", "mlp_behind"), up, x)

    def _added(self, layer: int, roles: tuple[str, str, str], x: Any, residual: Any) -> Any:
        """`roles`: of the linear layer, of the factors on its results, of the norm behind it."""
        spec, (linear, scale, norm) = self.spec, roles
        if spec.norms_behind:
            made = self._of_layer(layer, linear, x)
            behind = self.nn.norm(name_of(norm, layer), spec.width, spec.norm)
            return plain(behind.add(made, residual=residual))
        factors = name_of(scale, layer) if spec.layer_scales else None
        name = name_of(linear, layer)
        return self.on.linear(name, x, bias=spec.bias, scale=factors, residual=residual)

    def _of_layer(self, layer: int, role: str, x: Any, *, bias: bool | None = None) -> Any:
        """A linear layer, between its bounds."""
        spec, name = self.spec, name_of(role, layer)
        has_bias = spec.bias if bias is None else bias
        if not spec.clamped:
            return self.on.linear(name, x, bias=has_bias)
        made = self.on.linear(name, self._clamped(name, x, 0), bias=has_bias)
        return self._clamped(name, made, 2)

    def _clamped(self, name: str, x: Any, first: int) -> Any:
        nn, bounds = self.nn, f"{name}.bounds"
        width = int(x.ty.shape[1])
        kernel = self._kernel("clamp", width, first, nn.stored(bounds).dtype)
        return nn.call(kernel, [x, nn.param(bounds)], tensor(num_rows(x), width))

    def _qkv(self, layer: int, x: Any) -> Any:
        spec, width = self.spec, self.spec.width
        bias = spec.bias and spec.qkv_bias
        if spec.clamped:
            q, k, v = (self._of_layer(layer, role, x, bias=bias) for role in "qkv")
            qkv = side_by_side(self.nn, side_by_side(self.nn, q, k, width), v, 2 * width, width)
        else:
            qkv = self.on.linear(name_of("qkv", layer), x, bias=bias)
        if spec.query_norm is not None:
            own = ("normalize_patches", width, spec.query_norm.eps)
            qkv = self._queries_normed(layer, qkv, *own)
        if spec.head_norms is not None:
            own = ("normalize_heads", spec.heads, spec.head_dim, spec.head_norms.eps)
            qkv = self._queries_normed(layer, qkv, *own)
        return qkv

    def _queries_normed(self, layer: int, qkv: Any, name: str, *key: Any) -> Any:
        nn = self.nn
        names = [f"{name_of(role, layer)}.weight" for role in ("q_norm", "k_norm")]
        kernel = self._kernel(name, *key, nn.stored(names[0]).dtype)
        return nn.call_in_place(kernel, [*map(nn.param, names), qkv], [2], [qkv.ty])

    def _up(self, layer: int, x: Any) -> Any:
        spec = self.spec
        if not spec.gated:
            activation = spec.activation
            return self.on.linear(name_of("up", layer), x, bias=spec.bias, activation=activation)
        if spec.clamped:
            gate, more = (self._of_layer(layer, role, x) for role in ("gate", "up"))
            both = side_by_side(self.nn, gate, more, spec.ff)
        else:
            both = self.on.linear(name_of("gate_up", layer), x, bias=spec.bias)
        return plain(self.nn.gated(spec.ff, spec.activation)(both))

    def _projected(self, projector: Sequence[ProjectorPart], x: Any, given: Function) -> Any:
        """The rows of the projector that are wanted."""
        first = given["first_patches"]
        joins = any(isinstance(part, Joined | Averaged | Resampled) for part in projector)
        x = x if joins else self._blocks(Joined(), x, first)  # single patches
        for part, width in self.spec.widths(projector):
            if isinstance(part, Joined | Averaged):
                x = self._blocks(part, x, first)
                continue
            if isinstance(part, Resampled):
                x = self._resampled(part, width, x, given)
            elif isinstance(part, Learned):
                x = self._learned(len(part.stored), width, x, first)
            elif isinstance(part, Standardized):
                x = self._standardized(part, width, x)
            elif isinstance(part, Normed) and not part.norm.weight:
                x = self._unweighted(width, part.norm.eps, x)
            elif isinstance(part, Normed):
                x = self._norm(projector_name(part), x, part.norm)
            else:
                x = self._dense(part, x)
        return x

    def _standardized(self, part: Standardized, width: int, x: Any) -> Any:
        nn, names = self.nn, [f"{projector_name(part)}_{end}" for end in ("bias", "scale")]
        kernel = self._kernel("standardize", width, nn.stored(names[0]).dtype)
        return nn.call(kernel, [x, *map(nn.param, names)], tensor(num_rows(x), width))

    def _unweighted(self, width: int, eps: float, x: Any) -> Any:
        nn, kernel = self.nn, self._kernel("rms_norm", width, eps, "float32")
        ones = nn.constant(np.ones(width, "float32"))
        return nn.call(kernel, [x, ones], tensor(num_rows(x), width))

    def _learned(self, count: int, width: int, x: Any, first: Any) -> Any:
        nn = self.nn
        kernel = self._kernel("place_learned", width, count, nn.stored(LEARNED).dtype)
        return nn.call_in_place(kernel, [first, nn.param(LEARNED), x], [2], [x.ty])

    def _resampled(self, part: Resampled, width: int, x: Any, given: Function) -> Any:
        """`x`: of all patches. The rows are those of queries."""
        nn, wanted, dim = self.nn, given["first_patches"], width // part.heads
        pick = self._kernel("pick_queries", width, part.count, nn.stored(QUERIES).dtype)
        queries = nn.call(pick, [wanted, nn.param(QUERIES)], tensor(num_rows(wanted), width))
        queries = self._norm(resampler_name("query_norm"), queries, part.norm)
        frequencies = [10000.0 ** (-4 * i / width) for i in range(width // 4)]
        args = [x, given["patch_positions"], nn.constant(rope_table(frequencies))]
        placed = nn.call(self._kernel("add_waves", width), args, tensor(num_rows(x), width))
        of = {"q": queries, "k": placed, "v": x}
        q, k, v = (self.on.linear(resampler_name(role), of[role], bias=True) for role in "qkv")
        attend = self._kernel("attend_views", part.heads, dim, part.count)
        made = nn.call(attend, [q, k, v, wanted, given["view_indptr"]], queries.ty)
        return self.on.linear(resampler_name("output"), made, bias=True)

    def _dense(self, part: Dense, x: Any) -> Any:
        name = projector_name(part)
        return self.on.linear(name, x, bias=part.bias, activation=part.activation)

    def _blocks(self, part: Joined | Averaged, x: Any, first: Any) -> Any:
        nn, width, count = self.nn, self.spec.width, self.spec.block
        is_joined = isinstance(part, Joined)
        name = "join_patches" if is_joined else "average_patches"
        out = tensor(num_rows(first), width * count if is_joined else width)
        return nn.call(self._kernel(name, width, count), [x, first], out)

    def _norm(self, name: str, x: Any, norm: NormSpec | None = None) -> Any:
        width = int(x.ty.shape[1])
        return plain(self.nn.norm(name, width, norm or self.spec.norm, is_exact=True)(x))

    def _placed(self, x: Any, given: Function) -> Any:
        nn, spec, positions = self.nn, self.spec, given["patch_positions"]
        tables = [f"{name_of('positions')}.weight"]
        args = [x, positions]
        if spec.table == "axes":
            name, key = "place_by_axes", (spec.positions // 2,)
        elif spec.table == "exact":
            name, key = "place_patches", (spec.positions, spec.columns)
            tables += [name_of("class")] if spec.class_row else []
        else:
            name, key = _PLACES[spec.table], (spec.columns,)
            args.append(given["patch_grids"])
        kernel = self._kernel(name, spec.width, *key, *(nn.stored(one).dtype for one in tables))
        return nn.call(kernel, [*args, *map(nn.param, tables)], tensor(num_rows(x), spec.width))

    def _rotated(self, qkv: Any, given: Function) -> Any:
        nn, rope = self.nn, self.spec.rope
        if rope is None:
            return qkv
        kernel = self._kernel("rotate_patches", self.spec.heads, self.spec.head_dim, rope.axes)
        table = nn.constant(rope_table(list(rope.frequencies)))
        return nn.call_in_place(kernel, [given["patch_positions"], table, qkv], [2], [qkv.ty])

    def _attended(self, qkv: Any, views: Any) -> Any:
        heads, dim = self.spec.heads, self.spec.head_dim
        return self.on.attend(qkv, views, heads, dim, self.spec.attention_scale or dim**-0.5)

    def _kernel(self, name: str, *key: Any) -> Any:
        return self.nn.kernel(name, key, partial(getattr(self.on.kernels, name), *key))

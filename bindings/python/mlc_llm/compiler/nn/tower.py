"""Builds the tower that a `spec.tower.TowerSpec` describes, for CPUs.

Tensors are Relax expressions. The last kernel of each half of a layer adds to the residual.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from mlc_llm.compiler.kernels.common.attention_shape import rope_table
from mlc_llm.compiler.kernels.cpu import (
    elementwise,
    linear,
    patch_attention,
    patch_norms,
    patches,
    resampler,
    resized_table,
)
from mlc_llm.compiler.nn.builder import Builder, Function, Input
from mlc_llm.compiler.nn.function_inputs import Inputs
from mlc_llm.compiler.nn.layer_inputs import side_by_side
from mlc_llm.compiler.nn.tensors import num_rows, plain, tensor
from mlc_llm.compiler.spec.decoder import Activation, NormSpec
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
    "corners": patches.place_between,
    "resized": resized_table.place_resized,
    "buckets": patches.place_in_buckets,
}


class Tower:
    """The whole tower, from patches to rows of a prompt."""

    def __init__(self, nn: Builder, spec: TowerSpec) -> None:
        self.nn, self.spec = nn, spec

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
        x = self._linear(name_of("patch"), given["patches"], bias=spec.patch_bias)
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
        return self._linear(name, x, bias=spec.bias, scale=factors, residual=residual)

    def _of_layer(self, layer: int, role: str, x: Any, *, bias: bool | None = None) -> Any:
        """A linear layer, between its bounds."""
        spec, name = self.spec, name_of(role, layer)
        has_bias = spec.bias if bias is None else bias
        if not spec.clamped:
            return self._linear(name, x, bias=has_bias)
        made = self._linear(name, self._clamped(name, x, 0), bias=has_bias)
        return self._clamped(name, made, 2)

    def _clamped(self, name: str, x: Any, first: int) -> Any:
        nn, bounds = self.nn, f"{name}.bounds"
        width = int(x.ty.shape[1])
        key = (width, first, nn.stored(bounds).dtype)
        kernel = nn.kernel("clamp", key, partial(patch_norms.clamp, *key))
        return nn.call(kernel, [x, nn.param(bounds)], tensor(num_rows(x), width))

    def _qkv(self, layer: int, x: Any) -> Any:
        spec, width = self.spec, self.spec.width
        bias = spec.bias and spec.qkv_bias
        if spec.clamped:
            q, k, v = (self._of_layer(layer, role, x, bias=bias) for role in "qkv")
            qkv = side_by_side(self.nn, side_by_side(self.nn, q, k, width), v, 2 * width, width)
        else:
            qkv = self._linear(name_of("qkv", layer), x, bias=bias)
        if spec.query_norm is not None:
            qkv = self._queries_normed(layer, qkv, spec.query_norm)
        return qkv if spec.head_norms is None else self._heads_normed(layer, qkv, spec.head_norms)

    def _heads_normed(self, layer: int, qkv: Any, norm: NormSpec) -> Any:
        nn, spec = self.nn, self.spec
        names = [f"{name_of(role, layer)}.weight" for role in ("q_norm", "k_norm")]
        key = (spec.heads, spec.head_dim, norm.eps, nn.stored(names[0]).dtype)
        kernel = nn.kernel("normalize_heads", key, partial(patch_norms.normalize_heads, *key))
        return nn.call_in_place(kernel, [*map(nn.param, names), qkv], [2], [qkv.ty])

    def _queries_normed(self, layer: int, qkv: Any, norm: NormSpec) -> Any:
        nn, width = self.nn, self.spec.width
        names = [f"{name_of(role, layer)}.weight" for role in ("q_norm", "k_norm")]
        key = (width, norm.eps, nn.stored(names[0]).dtype)
        make = partial(patch_norms.normalize_patches, *key)
        kernel = nn.kernel("normalize_patches", key, make)
        return nn.call_in_place(kernel, [*map(nn.param, names), qkv], [2], [qkv.ty])

    def _up(self, layer: int, x: Any) -> Any:
        spec = self.spec
        if not spec.gated:
            activation = spec.activation
            return self._linear(name_of("up", layer), x, bias=spec.bias, activation=activation)
        if spec.clamped:
            gate, more = (self._of_layer(layer, role, x) for role in ("gate", "up"))
            both = side_by_side(self.nn, gate, more, spec.ff)
        else:
            both = self._linear(name_of("gate_up", layer), x, bias=spec.bias)
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
                x = plain(self.nn.norm(projector_name(part), width, part.norm)(x))
            else:
                x = self._dense(part, x)
        return x

    def _standardized(self, part: Standardized, width: int, x: Any) -> Any:
        nn, names = self.nn, [f"{projector_name(part)}_{end}" for end in ("bias", "scale")]
        key = (width, nn.stored(names[0]).dtype)
        kernel = nn.kernel("standardize", key, partial(patch_norms.standardize, *key))
        return nn.call(kernel, [x, *map(nn.param, names)], tensor(num_rows(x), width))

    def _unweighted(self, width: int, eps: float, x: Any) -> Any:
        nn, key = self.nn, (width, eps, "float32")
        kernel = nn.kernel("rms_norm_of_ones", key, partial(elementwise.rms_norm, *key))
        ones = nn.constant(np.ones(width, "float32"))
        return nn.call(kernel, [x, ones], tensor(num_rows(x), width))

    def _learned(self, count: int, width: int, x: Any, first: Any) -> Any:
        nn = self.nn
        key = (width, count, nn.stored(LEARNED).dtype)
        kernel = nn.kernel("place_learned", key, partial(patches.place_learned, *key))
        return nn.call_in_place(kernel, [first, nn.param(LEARNED), x], [2], [x.ty])

    def _resampled(self, part: Resampled, width: int, x: Any, given: Function) -> Any:
        """`x`: of all patches. The rows are those of queries."""
        nn, wanted, dim = self.nn, given["first_patches"], width // part.heads
        key = (width, part.count, nn.stored(QUERIES).dtype)
        pick = nn.kernel("pick_queries", key, partial(resampler.pick_queries, *key))
        queries = nn.call(pick, [wanted, nn.param(QUERIES)], tensor(num_rows(wanted), width))
        queries = plain(nn.norm(resampler_name("query_norm"), width, part.norm)(queries))
        waves = nn.kernel("add_waves", width, partial(resampler.add_waves, width))
        frequencies = [10000.0 ** (-4 * i / width) for i in range(width // 4)]
        args = [x, given["patch_positions"], nn.constant(rope_table(frequencies))]
        placed = nn.call(waves, args, tensor(num_rows(x), width))
        of = {"q": queries, "k": placed, "v": x}
        q, k, v = (self._linear(resampler_name(role), of[role]) for role in "qkv")
        sizes = (part.heads, dim, part.count)
        attend = nn.kernel("attend_views", sizes, partial(resampler.attend_views, *sizes))
        made = nn.call(attend, [q, k, v, wanted, given["view_indptr"]], queries.ty)
        return self._linear(resampler_name("output"), made)

    def _dense(self, part: Dense, x: Any) -> Any:
        name = projector_name(part)
        return self._linear(name, x, bias=part.bias, activation=part.activation)

    def _blocks(self, part: Joined | Averaged, x: Any, first: Any) -> Any:
        nn, width, count = self.nn, self.spec.width, self.spec.block
        is_joined = isinstance(part, Joined)
        make = patches.join_patches if is_joined else patches.average_patches
        kernel = nn.kernel(make.__name__, (width, count), partial(make, width, count))
        out = tensor(num_rows(first), width * count if is_joined else width)
        return nn.call(kernel, [x, first], out)

    def _norm(self, name: str, x: Any) -> Any:
        return plain(self.nn.norm(name, self.spec.width, self.spec.norm)(x))

    def _placed(self, x: Any, given: Function) -> Any:
        nn, spec, positions = self.nn, self.spec, given["patch_positions"]
        names = [f"{name_of('positions')}.weight"]
        if spec.table == "axes":
            key = (spec.width, spec.positions // 2, nn.stored(names[0]).dtype)
            kernel = nn.kernel("place_by_axes", key, partial(patches.place_by_axes, *key))
            args = [x, positions, nn.param(names[0])]
            return nn.call(kernel, args, tensor(num_rows(x), spec.width))
        if spec.table != "exact":
            place = _PLACES[spec.table]
            own = (spec.width, spec.columns, nn.stored(names[0]).dtype)
            kernel = nn.kernel(place.__name__, own, partial(place, *own))
            args = [x, positions, given["patch_grids"], nn.param(names[0])]
            return nn.call(kernel, args, tensor(num_rows(x), spec.width))
        names += [name_of("class")] if spec.class_row else []
        sizes = (spec.width, spec.positions, spec.columns)
        key = (*sizes, *(nn.stored(name).dtype for name in names))
        kernel = nn.kernel("place_patches", key, partial(patches.place_patches, *key))
        args = [x, positions, *(nn.param(name) for name in names)]
        return nn.call(kernel, args, tensor(num_rows(x), spec.width))

    def _rotated(self, qkv: Any, given: Function) -> Any:
        nn, rope = self.nn, self.spec.rope
        if rope is None:
            return qkv
        key = (self.spec.heads, self.spec.head_dim, rope.axes)
        kernel = nn.kernel("rotate_patches", key, partial(patches.rotate_patches, *key))
        table = nn.constant(rope_table(list(rope.frequencies)))
        return nn.call_in_place(kernel, [given["patch_positions"], table, qkv], [2], [qkv.ty])

    def _attended(self, qkv: Any, views: Any) -> Any:
        nn, heads, dim = self.nn, self.spec.heads, self.spec.head_dim
        tile = linear.Tile(*nn.device.vectors.panel_tile)
        scale = self.spec.attention_scale or dim**-0.5
        make = partial(patch_attention.patch_attention, heads, dim, scale, tile=tile)
        kernel = nn.kernel("patch_attention", (heads, dim, scale), make)
        return nn.call(kernel, [qkv, views], tensor(num_rows(qkv), heads * dim))

    def _linear(
        self,
        name: str,
        x: Any,
        *,
        bias: bool = True,
        residual: Any = None,
        activation: Activation | None = None,
        scale: str | None = None,
    ) -> Any:
        nn = self.nn
        (part,) = nn.parts_of(f"{name}.weight")
        added = nn.stored(f"{name}.bias") if bias else None
        options = {
            "bias": added.dtype if added else None,
            "residual": residual is not None,
            "activation": activation,
            "scale": nn.stored(scale).dtype if scale else None,
        }
        matrix = part.reader
        key = (matrix.shape, matrix.kind, *options.values())
        make = partial(matrix.linear, nn.device.vectors, **options)
        vectors = [nn.param(name) for name in (added and added.name, scale) if name]
        given = [x, *nn.params_of(matrix), *vectors, residual]
        out = tensor(num_rows(x), matrix.shape[0])
        kernel = nn.kernel("linear_panels", key, make)
        return nn.call(kernel, [one for one in given if one is not None], out)

"""Builds the tower that a `spec.tower.TowerSpec` describes, for CPUs.

Tensors are Relax expressions. The last kernel of each half of a layer adds to the residual.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from mlc_llm.compiler.kernels.cpu import linear, patch_attention, patches
from mlc_llm.compiler.nn.builder import Builder, Input
from mlc_llm.compiler.nn.function_inputs import Inputs
from mlc_llm.compiler.nn.tensors import num_rows, plain, tensor
from mlc_llm.compiler.spec.decoder import Activation
from mlc_llm.compiler.spec.tower import (
    Averaged,
    Dense,
    Joined,
    Normed,
    TowerSpec,
    name_of,
    projector_name,
)


class Tower:
    """The whole tower, from patches to rows of a prompt."""

    def __init__(self, nn: Builder, spec: TowerSpec) -> None:
        self.nn, self.spec = nn, spec

    def inputs(self) -> Inputs:
        """`view_indptr`: where the patches of each view begin, and the end. `first_patches`: the
        first patch of each row that is wanted."""
        return {
            "patches": Input(("n", self.spec.patch_dim)),
            "patch_positions": Input(("n", 2), "int32"),
            "view_indptr": Input(("v",), "int32"),
            "first_patches": Input(("m",), "int32"),
        }

    def __call__(self, x: Any, positions: Any, views: Any, first: Any) -> Any:
        spec = self.spec
        x = self._placed(self._linear(name_of("patch"), x, bias=spec.patch_bias), positions)
        if spec.pre_norm:
            x = self._norm(name_of("before"), x)
        for layer in range(spec.layers):
            x = self._layer(layer, x, views)
        if spec.last_norm:
            x = self._norm(name_of("norm"), x)
        return self._projected(x, first)

    def _layer(self, layer: int, x: Any, views: Any) -> Any:
        given = self._norm(name_of("attention_norm", layer), x)
        qkv = self._linear(name_of("qkv", layer), given)
        x = self._linear(name_of("output", layer), self._attended(qkv, views), residual=x)
        given = self._norm(name_of("mlp_norm", layer), x)
        up = self._linear(name_of("up", layer), given, activation=self.spec.activation)
        return self._linear(name_of("down", layer), up, residual=x)

    def _projected(self, x: Any, first: Any) -> Any:
        """The rows of the projector; each begins at one of the patches `first`."""
        is_chosen = False
        for part, width in self.spec.widths():
            if isinstance(part, Joined | Averaged):
                x, is_chosen = self._blocks(part, x, first), True
                continue
            if not is_chosen:  # no patches are joined: it takes single ones
                x, is_chosen = self._blocks(Joined(), x, first), True
            if isinstance(part, Normed):
                x = plain(self.nn.norm(projector_name(part), width, part.norm)(x))
            else:
                x = self._dense(part, x)
        return x

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

    def _placed(self, x: Any, positions: Any) -> Any:
        nn, spec = self.nn, self.spec
        names = [f"{name_of('positions')}.weight"]
        names += [name_of("class")] if spec.class_row else []
        sizes = (spec.width, spec.positions, spec.columns)
        key = (*sizes, *(nn.stored(name).dtype for name in names))
        kernel = nn.kernel("place_patches", key, partial(patches.place_patches, *key))
        given = [x, positions, *(nn.param(name) for name in names)]
        return nn.call(kernel, given, tensor(num_rows(x), spec.width))

    def _attended(self, qkv: Any, views: Any) -> Any:
        nn, heads, dim = self.nn, self.spec.heads, self.spec.head_dim
        tile = linear.Tile(*nn.device.vectors.panel_tile)
        make = partial(patch_attention.patch_attention, heads, dim, dim**-0.5, tile=tile)
        kernel = nn.kernel("patch_attention", (heads, dim), make)
        return nn.call(kernel, [qkv, views], tensor(num_rows(qkv), heads * dim))

    def _linear(
        self,
        name: str,
        x: Any,
        *,
        bias: bool = True,
        residual: Any = None,
        activation: Activation | None = None,
    ) -> Any:
        nn = self.nn
        (part,) = nn.parts_of(f"{name}.weight")
        added = nn.stored(f"{name}.bias") if bias else None
        options = {
            "bias": added.dtype if added else None,
            "residual": residual is not None,
            "activation": activation,
        }
        matrix = part.reader
        key = (matrix.shape, matrix.kind, *options.values())
        make = partial(matrix.linear, nn.device.vectors, **options)
        given = [x, *nn.params_of(matrix), *([nn.param(added.name)] if added else []), residual]
        out = tensor(num_rows(x), matrix.shape[0])
        kernel = nn.kernel("linear_panels", key, make)
        return nn.call(kernel, [one for one in given if one is not None], out)

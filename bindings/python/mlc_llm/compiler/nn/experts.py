"""The experts of a layer, on a CPU: the kernels between the router's logits and the result."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from tvm import relax

from mlc_llm.compiler.kernels.common.routing import RUN
from mlc_llm.compiler.kernels.common.values import LANES
from mlc_llm.compiler.kernels.cpu import experts, routing
from mlc_llm.compiler.nn.layers import Gated, num_rows, plain, quantized, tensor
from mlc_llm.compiler.spec import MoESpec

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder


class Experts:
    """The sum of the chosen experts' results, each times its weight (+ the residual)."""

    def __init__(
        self, nn: Builder, spec: MoESpec, hidden: int, name: Callable[[str], str]
    ) -> None:
        self.nn, self.spec, self.hidden = nn, spec, hidden
        self.correction = nn.stored(name("correction")) if spec.router.correction else None
        self.up = _Stack(nn, spec, name("experts_gate_up"), (2 * spec.width, hidden))
        self.down = _Stack(nn, spec, name("experts_down"), (hidden, spec.width))
        self.gated = Gated(nn, spec.width, spec.activation, spec.router.chosen)

    def __call__(
        self,
        x: Any,
        logits: relax.Expr,
        residual: relax.Expr | None = None,
        shared: tuple[Any, Any] | None = None,
    ) -> relax.Var:
        """`shared`: the shared expert's result, and the logit of its share."""
        choices, weights = self._choose(logits)
        runs, sources, places = self._sort(choices)
        up = self.up(self._gathered(x, sources), runs)  # (n, chosen * 2 width)
        down = self.down(self.gated(up), runs)  # (n, chosen * hidden)
        return self._combine(down, places, weights, residual, shared)

    def _choose(self, logits: relax.Expr) -> list[relax.Expr]:
        nn, router = self.nn, self.spec.router
        added = self.correction
        dtype = added.dtype if added else None
        key = (router, dtype)
        kernel = nn.kernel("choose_experts", key, partial(routing.choose, router, dtype))
        n, chosen = num_rows(logits), router.chosen
        out = [tensor(n, chosen, dtype="int32"), tensor(n, chosen)]
        made = nn.call(kernel, [logits, *([nn.param(added.name)] if added else [])], out)
        return nn.members_of(made, 2)

    def _sort(self, choices: relax.Expr) -> list[relax.Expr]:
        nn, (experts, chosen) = self.nn, (self.spec.router.experts, self.spec.router.chosen)
        kernel = nn.kernel(
            "sort_pairs", (experts, chosen), partial(routing.sort_pairs, experts, chosen)
        )
        pairs = tensor(num_rows(choices), chosen, dtype="int32")
        runs = tensor(experts + 1, RUN, dtype="int32")
        made = nn.call(kernel, [choices], [runs, pairs, pairs])
        return nn.members_of(made, 3)

    def _gathered(self, x: Any, sources: relax.Expr) -> _Gathered:
        return _Gathered(self.nn, x, sources, self.spec.router.chosen)

    def _combine(self, x, places, weights, residual, shared) -> relax.Var:
        nn, chosen = self.nn, self.spec.router.chosen
        options = {"shared": shared is not None, "residual": residual is not None}
        key = (self.hidden, chosen, *options.values())
        make = partial(experts.combine, self.hidden, chosen, **options)
        kernel = nn.kernel("combine_experts", key, make)
        extras = [*(shared or ()), *([residual] if residual is not None else [])]
        out = tensor(num_rows(x), self.hidden)
        return nn.call(kernel, [x, places, weights, *extras], out)


class _Gathered:
    """A row of x for each place, in the form that the experts' weights need."""

    def __init__(self, nn: Builder, x: Any, sources: relax.Expr, chosen: int) -> None:
        self.nn, self.x, self.sources, self.chosen = nn, x, sources, chosen
        self.ty = x.ty

    def plain(self) -> relax.Var:
        return self._call(plain(self.x), int(self.ty.shape[1]), "float32")

    def quantized(self, codes: Any) -> relax.Var:
        return self._call(quantized(self.nn, self.x, codes), codes.arg.shape[1], codes.arg.dtype)

    def _call(self, x: relax.Expr, size: int, dtype: str) -> relax.Var:
        key = (size, self.chosen, dtype)
        kernel = self.nn.kernel("gather_places", key, partial(experts.gather, *key))
        out = tensor(num_rows(x), self.chosen * size, dtype=dtype)
        return self.nn.call(kernel, [x, self.sources], out)


class _Stack:
    """The weights (experts, out, in) of one linear layer of each expert."""

    def __init__(self, nn: Builder, spec: MoESpec, name: str, shape: tuple[int, int]) -> None:
        (part,) = nn.parts_of(f"{name}.weight")
        self.nn, self.matrix = nn, part.reader
        self.bias = nn.stored(f"{name}.bias") if spec.bias else None
        router = spec.router
        self.sizes = experts.Stack(router.experts, router.chosen, *shape, self.matrix.stored)

    def __call__(self, x: Any, runs: relax.Expr) -> relax.Var:
        """`x` has a row for each place."""
        nn, matrix, unit = self.nn, self.matrix, self.nn.device.vectors
        codes = matrix.codes(nn.activation_bits)
        if self.sizes.outs % LANES:  # an expert is no whole number of strips
            codes = None
        rows = x.plain() if codes is None else x.quantized(codes)
        bias = self.bias.dtype if self.bias else None
        shape = (self.sizes.experts, self.sizes.chosen, self.sizes.outs, self.sizes.ins)
        kernel = nn.kernel(
            "experts",
            (shape, matrix.kind, codes, bias),
            partial(matrix.experts, self.sizes, codes, unit, bias),
        )
        added = [nn.param(self.bias.name)] if self.bias else []
        out = tensor(num_rows(rows), self.sizes.chosen * self.sizes.outs)
        return nn.call(kernel, [rows, runs, *nn.params_of(matrix), *added], out)

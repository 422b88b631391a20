"""The experts of a layer: the kernels between the router's logits and the result, on a CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

from tvm import relax

from mlc_llm.compiler.kernels.common.routing import RUN, Router, Stack
from mlc_llm.compiler.kernels.common.values import LANES
from mlc_llm.compiler.kernels.cpu import experts, routing
from mlc_llm.compiler.layers import MoESpec, RouterSpec
from mlc_llm.compiler.nn.tensors import num_rows, plain, quantized, tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder


class Experts:
    """The sum of the chosen experts' results, each times its weight (+ the residual)."""

    kernels: Any = experts  # the modules of the device
    routing: Any = routing
    tables = 3  # how many tensors `sort_pairs` makes: runs, sources, places, (owners)

    def __init__(self, nn: Builder, spec: MoESpec, hidden: int, name: Callable[[str], str]) -> None:
        self.nn, self.spec, self.hidden = nn, spec, hidden
        self.correction = nn.stored(name("correction")) if spec.router.correction else None
        self.scale = nn.stored(name("expert_scale")) if spec.router.scaled else None
        role, pieces = spec.first
        self.up = self.stack(name(role), (sum(pieces), hidden))
        self.down = self.stack(name("experts_down"), (hidden, spec.width))
        make = nn.gated if spec.gated else nn.activated
        self.activation = make(spec.width, spec.activation, spec.router.chosen)

    def stack(self, name: str, shape: tuple[int, int]) -> Any:
        return _Stack(self.nn, self.spec, name, shape)

    def __call__(
        self,
        x: Any,
        logits: relax.Expr,
        residual: relax.Expr | None = None,
        shared: tuple[Any, Any] | None = None,
    ) -> relax.Var:
        """`shared`: the shared expert's result, and the logit of its share."""
        choices, weights = self._choose(logits)
        runs, sources, places, *owners = self._sort(choices)
        up = self.up(self.gathered(x, sources), runs, *owners)  # (n, chosen * 2 width)
        if self.spec.router.scales_input:  # the same as to scale x, since this layer is linear
            up = self._scaled(up, places, weights)
        down = self.down(self.activation(up), runs, *owners)  # (n, chosen * hidden)
        return self._combine(down, places, weights, residual, shared)

    def _choose(self, logits: relax.Expr) -> list[relax.Expr]:
        nn, router = self.nn, _router(self.spec.router)
        learned = [self.correction, self.scale]
        dtypes = [param.dtype if param else None for param in learned]
        kernel = nn.kernel(
            "choose_experts", (router, *dtypes), partial(self.routing.choose, router, *dtypes)
        )
        n, chosen = num_rows(logits), router.chosen
        out = [tensor(n, chosen, dtype="int32"), tensor(n, chosen)]
        args = [logits, *(nn.param(param.name) for param in learned if param)]
        made = nn.call(kernel, args, out)
        return nn.members_of(made, 2)

    def _sort(self, choices: relax.Expr) -> list[relax.Expr]:
        nn, (count, chosen) = self.nn, (self.spec.router.experts, self.spec.router.chosen)
        make = partial(self.routing.sort_pairs, count, chosen)
        kernel = nn.kernel("sort_pairs", (count, chosen), make)
        pairs = tensor(num_rows(choices), chosen, dtype="int32")
        runs = tensor(count + 1, RUN, dtype="int32")
        made = nn.call(kernel, [choices], [runs, *[pairs] * (self.tables - 1)])
        return nn.members_of(made, self.tables)

    def gathered(self, x: Any, sources: relax.Expr) -> Any:
        return _Gathered(self, x, sources)

    def gather(self, x: relax.Expr, sources: relax.Expr) -> relax.Var:
        """A row of x for each place."""
        size, dtype, chosen = int(x.ty.shape[1]), str(x.ty.dtype), self.spec.router.chosen
        key = (size, chosen, dtype)
        kernel = self.nn.kernel("gather_places", key, partial(self.kernels.gather, *key))
        return self.nn.call(kernel, [x, sources], tensor(num_rows(x), chosen * size, dtype=dtype))

    def _scaled(self, x, places, weights) -> relax.Var:
        """The row of each place times the weight of its pair."""
        nn, (size, chosen) = self.nn, (2 * self.spec.width, self.spec.router.chosen)
        make = partial(self.kernels.scale_places, size, chosen, **self.types())
        kernel = nn.kernel("scale_places", (size, chosen), make)
        out = tensor(num_rows(x), chosen * size, dtype=nn.row_dtype)
        return nn.call(kernel, [x, places, weights], out)

    def types(self) -> dict[str, str]:
        """The type of rows, on devices that have several."""
        return {}

    def _combine(self, x, places, weights, residual, shared) -> relax.Var:
        nn, chosen = self.nn, self.spec.router.chosen
        options = {
            "shared": shared is not None, "residual": residual is not None, **self.types()
        }  # fmt: skip
        options |= {"weighted": False} if self.spec.router.scales_input else {}
        key = (self.hidden, chosen, *options.values())
        make = partial(self.kernels.combine, self.hidden, chosen, **options)
        kernel = nn.kernel("combine_experts", key, make)
        extras = [*(shared or ()), *([residual] if residual is not None else [])]
        dtype = "float32" if residual is not None else nn.row_dtype
        out = tensor(num_rows(x), self.hidden, dtype=dtype)
        return nn.call(kernel, [x, places, weights, *extras], out)


def _router(spec: RouterSpec) -> Router:
    return Router(**{field.name: getattr(spec, field.name) for field in fields(Router)})


class _Gathered:
    """A row of x for each place, in the form that the experts' weights need."""

    def __init__(self, layer: Experts, x: Any, sources: relax.Expr) -> None:
        self.layer, self.x, self.sources = layer, x, sources

    def plain(self) -> relax.Var:
        return self.layer.gather(plain(self.x), self.sources)

    def quantized(self, codes: Any) -> relax.Var:
        return self.layer.gather(quantized(self.layer.nn, self.x, codes), self.sources)


class _Stack:
    """The weights (experts, out, in) of one linear layer of each expert."""

    def __init__(self, nn: Builder, spec: MoESpec, name: str, shape: tuple[int, int]) -> None:
        (part,) = nn.parts_of(f"{name}.weight")
        self.nn, self.matrix = nn, part.reader
        self.bias = nn.stored(f"{name}.bias") if spec.bias else None
        router = spec.router
        self.sizes = Stack(router.experts, router.chosen, *shape, self.matrix.stored)

    @property
    def key(self) -> tuple[Any, ...]:
        """Distinguishes its kernel from those of other stacks."""
        s = self.sizes
        bias = self.bias.dtype if self.bias else None
        return (s.experts, s.chosen, s.outs, s.ins, self.matrix.kind, bias)

    def __call__(self, x: Any, runs: relax.Expr) -> relax.Var:
        """`x` has a row for each place."""
        nn, matrix, unit = self.nn, self.matrix, self.nn.device.vectors
        codes = nn.codes_of(matrix)
        if self.sizes.outs % LANES:  # an expert is no whole number of strips
            codes = None
        rows = x.plain() if codes is None else x.quantized(codes)
        make = partial(matrix.experts, self.sizes, codes, unit, self.key[-1])
        kernel = nn.kernel("experts", (*self.key, codes), make)
        return self.call(kernel, [rows, runs], "float32")

    def call(self, kernel: relax.GlobalVar, args: list, dtype: str) -> relax.Var:
        """`args`: those before the weights."""
        nn, sizes = self.nn, self.sizes
        added = [nn.param(self.bias.name)] if self.bias else []
        out = tensor(num_rows(args[0]), sizes.chosen * sizes.outs, dtype=dtype)
        return nn.call(kernel, [*args, *nn.params_of(self.matrix), *added], out)

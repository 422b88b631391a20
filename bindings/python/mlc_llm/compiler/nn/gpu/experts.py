"""The experts of `cpu/experts.py` with GPU kernels."""

from __future__ import annotations

from functools import partial
from typing import Any

from tvm import relax

from mlc_llm.compiler.kernels.gpu import experts, routing
from mlc_llm.compiler.nn.cpu import experts as on_cpu


class Experts(on_cpu.Experts):
    """The same with the GPU's kernels."""

    kernels = experts
    routing = routing
    tables = 4

    def stack(self, name: str, shape: tuple[int, int]) -> Any:
        return _Stack(self.nn, self.spec, name, shape)

    def gathered(self, x: relax.Expr, sources: relax.Expr) -> relax.Var:
        return self.gather(x, sources)

    def types(self) -> dict[str, str]:
        return {"dtype": self.nn.row_dtype}


class _Stack(on_cpu._Stack):
    def __call__(self, x: relax.Expr, runs: relax.Expr, *tables: relax.Expr) -> relax.Var:
        nn = self.nn
        options = {"bias": self.key[-1], "dtype": nn.row_dtype}
        make = partial(experts.linear, self.sizes, self.matrix, nn.device.linear, **options)
        kernel = nn.kernel("experts", (*self.key, nn.row_dtype), make)
        return self.call(kernel, [x, runs, *tables], nn.row_dtype)

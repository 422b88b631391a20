"""Matrix products of NVIDIA's cuBLAS, to compare with: through torch, or the way our own plugin
calls it. None where neither is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpu_parts.device import GpuDevice

_COLD_BYTES = 256 << 20  # of weights, so that a cache does not hold them from call to call
_MOST_COPIES = 64


class LibraryGemm:
    """y [rows, outs] = x [rows, ins] W^T in float16, sums and y as the library likes."""

    def __init__(
        self, device: GpuDevice, name: str, make: Callable[..., Any], record: bool
    ) -> None:
        self.device, self.name, self._make, self._record = device, name, make, record

    def seconds(self, rows: int, ins: int, outs: int, budget_s: float) -> float:
        copies = max(1, min(_MOST_COPIES, _COLD_BYTES // (2 * ins * outs)))
        return self.device.seconds(self._make(rows, ins, outs, copies), budget_s, self._record)

    def rate(self, size: int, budget_s: float) -> float:
        """Operations a second of a product of square matrices: what matrix units reach."""
        return 2 * size**3 / self.seconds(size, size, size, budget_s)


def library_gemm(device: GpuDevice) -> LibraryGemm | None:
    if device.kind != "cuda":
        return None
    return _through_torch(device) or _through_plugin(device)


def _through_torch(device: GpuDevice) -> LibraryGemm | None:
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    place = f"cuda:{device.tvm.index}"

    def make(rows: int, ins: int, outs: int, copies: int) -> list[Callable[[], object]]:
        options = {"dtype": torch.float16, "device": place}
        x = torch.rand(rows, ins, **options)
        y = torch.empty(rows, outs, **options)
        weights = [torch.rand(outs, ins, **options) for _ in range(copies)]
        torch.cuda.synchronize(place)
        return [lambda w=w: torch.mm(x, w.T, out=y) for w in weights]

    device.waits.append(lambda: torch.cuda.synchronize(place))
    return LibraryGemm(device, f"cuBLAS through torch {torch.__version__}", make, record=False)


def _through_plugin(device: GpuDevice) -> LibraryGemm | None:
    import tvm

    is_there = tvm.get_global_func("mlc.cuda.has_gemm", allow_missing=True)
    if is_there is None or not is_there():
        return None
    gemm = tvm.get_global_func("mlc.cuda.gemm")

    def make(rows: int, ins: int, outs: int, copies: int) -> list[Callable[[], object]]:
        def half(*shape: int) -> Any:
            return device.put(np.resize(np.linspace(0, 1, 4096, dtype=np.float16), shape))

        x, y = half(rows, ins), device.empty((rows, outs), "float32")
        weights = [half(outs, ins) for _ in range(copies)]
        return [lambda w=w: gemm(x, w, y, 0, outs, 0) for w in weights]

    return LibraryGemm(device, "cuBLAS", make, record=True)

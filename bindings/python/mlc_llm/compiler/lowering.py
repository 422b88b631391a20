"""The passes with which TVM lowers our kernels.

TVM's default pipeline has twice as many. Those that are left out for CPUs change nothing in the
machine code of our kernels, except two. One cuts buffers to the part that a kernel accesses. It
takes most of the compilation time, and it makes sizes dynamic, so that buffers cannot be on the
stack. The other one stores common parts of indices, which LLVM does too.

GPU kernels place their own barriers and shared memory. Three of TVM's default passes do not suit
them. One moves allocations to the place of their use, but OpenCL needs local memory at the top of a
kernel. One lets buffers share memory, but its liveness analysis does not know our barriers. One
inserts barriers where it expects a race, but it cannot do that inside a choice between two
launches. Our kernels state all three in `kernels/gpu/grid.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import tvm
from tvm import s_tir, tirx
from tvm.s_tir.pipeline import finalize_device_passes, finalize_host_passes
from tvm.tirx.compilation_pipeline import PIPELINE_MAP

CPU, GPU = "mlc_cpu", "mlc_gpu"  # names of pipelines with these passes
_CHANGED = "mlc_changed"
Passes = list[tvm.transform.Pass]


def cpu_passes() -> Passes:
    t, s = tirx.transform, s_tir.transform
    return [
        *(s.CanonicalizeLoop(), s.LowerInitBlock(), s.PlanAndUpdateBufferAllocationLocation()),
        *(s.ConvertBlocksToOpaque(), s.LowerMatchBuffer(), s.StmtSimplify(), s.LowerOpaqueBlock()),
        *(t.FlattenBuffer(), t.BF16ComputeLegalize(), t.NarrowDataType(32)),
        *(s.LoopPartition(), t.VectorizeLoop(True), t.StorageRewrite(), t.UnrollLoop()),
        *(t.StmtSimplify(), t.RemoveNoOp(), s.RewriteUnsafeSelect()),
        *(t.AnnotateEntryFunc(), t.SplitHostDevice(), t.MakePackedAPI(), t.BF16StorageLegalize()),
    ]


def gpu_passes() -> Passes:
    t, s = tirx.transform, s_tir.transform
    return [
        *(s.ConvertBlocksToOpaque(), s.LiftThreadBinding(), s.UnifyThreadBinding()),
        *(s.LowerMatchBuffer(), s.StmtSimplify(), s.LowerOpaqueBlock()),
        *(t.FlattenBuffer(), t.BF16ComputeLegalize(), t.NarrowDataType(32)),
        *(s.LoopPartition(), t.VectorizeLoop(True), t.UnrollLoop()),
        *(t.StmtSimplify(), t.RemoveNoOp(), s.RewriteUnsafeSelect()),
        *(t.VerifyMemory(), t.AnnotateEntryFunc(), t.SplitHostDevice()),
        *(t.MakePackedAPI(), t.BF16StorageLegalize()),
    ]


def pipeline(lower: Callable[[tvm.IRModule], tvm.IRModule]) -> str:
    """The name, for TVM, of a pipeline that lowers kernels so. It holds until the next call."""
    PIPELINE_MAP[_CHANGED] = lambda: _pipeline(lower)
    return _CHANGED


def _pipeline(lower: Callable[[tvm.IRModule], tvm.IRModule]) -> tuple:
    return lower, finalize_host_passes, finalize_device_passes


PIPELINE_MAP[CPU] = lambda: _pipeline(tvm.transform.Sequential(cpu_passes()))
PIPELINE_MAP[GPU] = lambda: _pipeline(tvm.transform.Sequential(gpu_passes()))

"""The passes with which TVM lowers GPU kernels that place their own barriers and shared memory.

Three of TVM's default passes do not suit them. One moves allocations to the place of their use, but
OpenCL needs local memory at the top of a kernel. One lets buffers share memory, but its liveness
analysis does not know our barriers. One inserts barriers where it expects a race, but it cannot do
that inside a choice between two launches. Our kernels state all three in `kernels/gpu/grid.py`.
This file has the other passes.
"""

from __future__ import annotations

import tvm
from tvm import s_tir, tirx
from tvm.s_tir.pipeline import finalize_device_passes, finalize_host_passes
from tvm.tirx.compilation_pipeline import PIPELINE_MAP

NAME = "mlc_gpu"


def _passes() -> list[tvm.transform.Pass]:
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


def _pipeline() -> tuple:
    @tvm.transform.module_pass(opt_level=0)
    def run(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        return tvm.transform.Sequential(_passes())(mod)

    return run, finalize_host_passes, finalize_device_passes


PIPELINE_MAP[NAME] = _pipeline

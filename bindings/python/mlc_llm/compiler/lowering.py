"""How TVM lowers GPU kernels that place their own barriers and shared memory.

TVM's default passes move allocations to where they are used (OpenCL wants local memory at the top
of a kernel), let buffers share memory by a liveness that knows no barriers of ours, and insert
barriers where they suspect a race (which they cannot do inside the choice between two launches).
Ours state all three, in `kernels/gpu/grid.py`; these are the passes that are left.
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

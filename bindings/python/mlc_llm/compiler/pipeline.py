"""From a model's Relax module to an executable, as named phases.

Kernels arrive scheduled, so nothing here schedules or fuses them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import tvm
from tvm import relax
from tvm.relax import transform as t

from mlc_llm.compiler import lowering
from mlc_llm.compiler.targets import GPU, Device

Phase = tuple[str, list[tvm.transform.Pass]]


def phases() -> list[Phase]:
    """Name and passes, in order."""
    return [
        ("graph", [t.LegalizeOps(), t.DeadCodeElimination(), t.CanonicalizeBindings()]),
        ("calls", [t.RewriteDataflowReshape(), t.ToNonDataflow(), t.RemovePurityChecking()]),
        ("memory", [t.CallTIRRewrite(), t.StaticPlanBlockMemory(), t.LowerAllocTensor()]),
        ("runtime", [t.KillAfterLastUse(), t.LowerRuntimeBuiltin(), t.ComputePrimValue()]),
        ("machine", [t.VMShapeLower(), t.AttachGlobalSymbol()]),
    ]


def context() -> tvm.transform.PassContext:
    """Under which the CPU's kernels are compiled. The pass that is left out cuts buffers to what a
    kernel accesses: it took most of a compilation, and made sizes dynamic, which keeps buffers off
    the stack."""
    return tvm.transform.PassContext(disabled_pass=["s_tir.CompactBufferAllocation"])


def build(
    module: tvm.IRModule,
    device: Device | GPU,
    *,
    debug_dump: Path | None = None,
    progress: Callable[[str], None] = lambda phase: None,
) -> tvm.runtime.Executable:
    """Runs the phases and compiles; `debug_dump` gets the module's text after each of them."""
    _dump(module, debug_dump, "0-model")

    @tvm.transform.module_pass(opt_level=0)
    def run_phases(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        for number, (name, passes) in enumerate(phases(), start=1):
            progress(name)
            mod = tvm.transform.Sequential(passes)(mod)
            _dump(mod, debug_dump, f"{number}-{name}")
        progress("code")
        return mod

    if isinstance(device, GPU):
        with device.code():
            return relax.build(
                module,
                target=device.target(),
                relax_pipeline=run_phases,
                tir_pipeline=lowering.NAME,
            )
    with context():
        return relax.build(module, target=device.target(), relax_pipeline=run_phases)


def _dump(module: tvm.IRModule, folder: Path | None, name: str) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text(module.script(), encoding="utf-8")

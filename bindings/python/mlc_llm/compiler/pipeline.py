"""Compiles a model's Relax module to an executable, in named phases whose passes can be changed.

The kernels are already scheduled, so no phase schedules or fuses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.relax import transform as t

from mlc_llm.compiler import lowering
from mlc_llm.compiler.pass_record import PassRecord
from mlc_llm.compiler.symbols import attach_symbols
from mlc_llm.compiler.targets import GPU, Device
from mlc_llm.errors import InvalidRequestError, MLCError
from mlc_llm.errors.nearest import did_you_mean

Pass = tvm.transform.Pass
MODEL, KERNELS = "model", "kernels"  # the first phase and the last one


class Pipeline:
    """The passes of each phase, in order. A file given as `--passes` changes it
    (docs/compiler-passes.md).

    `model` sees the functions and kernels as the model's definition makes them, before the core's
    list of kernel calls is made of them. `kernels` lowers the bodies of kernels. Those between make
    the functions that TVM's virtual machine runs.
    """

    def __init__(self, device: Device | GPU) -> None:
        lower = lowering.gpu_passes() if isinstance(device, GPU) else lowering.cpu_passes()
        self._phases: dict[str, list[Pass]] = {
            MODEL: [],
            "graph": [t.LegalizeOps(), t.DeadCodeElimination(), t.CanonicalizeBindings()],
            "calls": [t.RewriteDataflowReshape(), t.ToNonDataflow(), t.RemovePurityChecking()],
            "memory": [t.CallTIRRewrite(), t.StaticPlanBlockMemory(), t.LowerAllocTensor()],
            "runtime": [t.KillAfterLastUse(), t.LowerRuntimeBuiltin(), t.ComputePrimValue()],
            "machine": [t.VMShapeLower(), attach_symbols],
            KERNELS: lower,
        }
        self._refusal: MLCError | None = None  # of a pass: TVM makes another exception of it

    @property
    def phases(self) -> Mapping[str, list[str]]:
        """The names of the passes in each phase."""
        return {phase: [one.info.name for one in passes] for phase, passes in self._phases.items()}

    def add(
        self, phase: str, new: Pass, *, before: str | None = None, after: str | None = None
    ) -> None:
        """Adds a pass at the end of a phase, or beside one of its passes."""
        passes = self._passes(phase)
        if before is not None:
            passes.insert(self._place(phase, before), new)
        elif after is not None:
            passes.insert(self._place(phase, after) + 1, new)
        else:
            passes.append(new)

    def replace(self, phase: str, name: str, new: Pass) -> None:
        self._passes(phase)[self._place(phase, name)] = new

    def remove(self, phase: str, name: str) -> None:
        del self._passes(phase)[self._place(phase, name)]

    def replace_kernel(self, name: str, make: Callable[[tirx.PrimFunc], tirx.PrimFunc]) -> None:
        """Puts `make(kernel)` in the place of the kernel with this name. It takes the same
        arguments."""

        @tvm.transform.module_pass(opt_level=0, name=f"Replace_{name}")
        def run(module: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
            try:
                return _with_kernel(module, name, make)
            except MLCError as error:
                self._refusal = error
                raise

        self.add(MODEL, run)

    def run(self, phase: str, module: tvm.IRModule, record: PassRecord) -> tvm.IRModule:
        try:
            return record.run(phase, self._phases[phase], module)
        except Exception:
            if self._refusal is not None:
                raise self._refusal from None
            raise

    def _passes(self, phase: str) -> list[Pass]:
        if phase not in self._phases:
            raise _unknown("phase", phase, self._phases)
        return self._phases[phase]

    def _place(self, phase: str, name: str) -> int:
        names = self.phases[phase]
        if name not in names:
            raise _unknown(f"pass of the phase '{phase}'", name, names)
        return names.index(name)


def build(
    module: tvm.IRModule,
    device: Device | GPU,
    *,
    pipeline: Pipeline | None = None,
    record: PassRecord | None = None,
    progress: Callable[[str], None] = lambda phase: None,
) -> tvm.runtime.Executable:
    """Runs the phases after `model`, and compiles."""
    pipeline, record = pipeline or Pipeline(device), record or PassRecord()

    @tvm.transform.module_pass(opt_level=0)
    def run_phases(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        for phase in pipeline.phases:
            if phase not in (MODEL, KERNELS):
                progress(phase)
                mod = pipeline.run(phase, mod, record)
        progress("code")
        return mod

    gpu = device if isinstance(device, GPU) else None
    with gpu.code() if gpu else nullcontext():
        executable = relax.build(
            module,
            target=device.target(),
            relax_pipeline=run_phases,
            tir_pipeline=lowering.pipeline(lambda mod: pipeline.run(KERNELS, mod, record)),
        )
    record.finish(executable)
    return executable


def _with_kernel(
    module: tvm.IRModule, name: str, make: Callable[[tirx.PrimFunc], tirx.PrimFunc]
) -> tvm.IRModule:
    var = _kernel_named(module, name)
    old = module[var]
    new = make(old)
    _check_arguments(name, old, new)
    module = module.clone()
    module.update_func(var, new.with_attrs(dict(old.attrs)))
    return module


def _kernel_named(module: tvm.IRModule, name: str) -> tvm.ir.GlobalVar:
    kernels = {
        var.name_hint: var
        for var, function in module.functions_items()
        if isinstance(function, tirx.PrimFunc)
    }
    if name not in kernels:
        raise _unknown("kernel of this model", name, kernels)
    return kernels[name]


def _check_arguments(name: str, old: tirx.PrimFunc, new: tirx.PrimFunc) -> None:
    shapes = [[_buffer(param) for param in function.params] for function in (old, new)]
    if shapes[0] != shapes[1]:
        raise InvalidRequestError(
            f"the new kernel '{name}' takes {_listed(shapes[1])}; the old one {_listed(shapes[0])}",
            param="passes",
        )


def _buffer(param: Any) -> str:
    """The type and the number of dimensions of an argument."""
    try:
        return f"{param.dtype}[{len(param.shape)}]"
    except AttributeError:  # a number
        return str(param.dtype)


def _unknown(what: str, name: str, known: Iterable[str]) -> InvalidRequestError:
    words = did_you_mean(name, known, " ")
    return InvalidRequestError(
        f"there is no {what} '{name}';{words} there is: {_listed(known)}", param="passes"
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"

"""The inputs of a step: in the core, in the compiler and in a table of the documents."""

from __future__ import annotations

from codegen import ir
from codegen.languages import common

TEMPLATES = {
    "core/src/model/step_inputs.gen.h": "inputs.h.j2",
    "bindings/python/mlc_llm/compiler/step_inputs_gen.py": "inputs.py.j2",
    "docs/step-inputs.md": "inputs.md.j2",
}


def generate(protocol: ir.Protocol) -> dict[str, str]:
    """The files by their path in the repository, not yet formatted."""
    if not protocol.step_inputs:
        return {}
    values = {"stamp": common.stamp(protocol), "inputs": protocol.step_inputs}
    return {
        path: common.render(f"steps/{template}", **values) for path, template in TEMPLATES.items()
    }

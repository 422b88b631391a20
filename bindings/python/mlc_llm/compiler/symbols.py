"""Gives each function the name of its symbol, with the library's prefix for kernels.

TVM's pass renames kernels in their bodies too, where no name of a kernel is. It fails at bodies of
some CPU kernels, such as `linear_strips` ("Cannot treat type `ir.Call` as type `ir.Expr`"). So it
gets the kernels without their bodies.
"""

from __future__ import annotations

import tvm
from tvm import relax, tirx

_SYMBOL = "global_symbol"


@tvm.transform.module_pass(opt_level=0, name="AttachSymbols")
def attach_symbols(module: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
    kernels = {
        var.name_hint: function
        for var, function in module.functions_items()
        if isinstance(function, tirx.PrimFunc)
    }
    outline = module.clone()
    for var, function in module.functions_items():
        if var.name_hint in kernels:
            outline.update_func(var, function.with_body(tirx.Evaluate(0)))
    named = relax.transform.AttachGlobalSymbol()(outline)
    prefix = _prefix_of(module)
    for var, function in named.functions_items():
        if isinstance(function, tirx.PrimFunc):
            kernel = kernels[var.name_hint.removeprefix(prefix)]
            named.update_func(var, kernel.with_attr(_SYMBOL, function.attrs[_SYMBOL]))
    return named


def _prefix_of(module: tvm.IRModule) -> str:
    attributes = module.attrs
    has_prefix = attributes is not None and "system_lib_prefix" in attributes
    return str(attributes["system_lib_prefix"]) if has_prefix else ""

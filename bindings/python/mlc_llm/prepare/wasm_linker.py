"""The linker of model libraries for browsers: any `wasm-ld`, such as the one in the PyPI package
`ziglang`. Emscripten is not needed.

The result is a relocatable module: it imports the memory and the functions of the engine's own
module, which links it when it loads the model (bindings/web/runtime/library.ts).
"""

from __future__ import annotations

import os
import shlex

from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare.linker import Linker, lld

_FLAGS = (
    "-shared",
    "--experimental-pic",
    "--no-entry",
    "--allow-undefined",
    "--export-dynamic",
    "--export=__wasm_call_ctors",
    "--strip-all",
)


def find() -> Linker | None:
    """The first one that exists of: $WASM_LD, a `wasm-ld` on PATH, the one in `ziglang`."""
    named = os.environ.get("WASM_LD")
    command = tuple(shlex.split(named)) if named else lld("wasm-ld")
    return Linker(command, is_compiler=False, flags=_FLAGS) if command else None


def require() -> Linker:
    """The linker. Raises MLCError if there is none."""
    linker = find()
    if linker is None:
        raise error_of(
            reasons.LINKER_MISSING,
            "a library for browsers needs wasm-ld, and none is here: run `pip install ziglang`, "
            "install LLVM's lld, or name one in WASM_LD",
            param="device",
        )
    return linker

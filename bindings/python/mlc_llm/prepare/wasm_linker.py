"""The linker of model libraries for browsers: any `wasm-ld`, such as the one in the PyPI package
`ziglang`. Emscripten is not needed.

The result is a relocatable module: it imports the memory and the functions of the engine's own
module, which links it when it loads the model (bindings/web/runtime/library.ts).
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys

from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare.linker import Linker

_NAMES = ("wasm-ld", *(f"wasm-ld-{version}" for version in range(22, 13, -1)))
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
    if named := os.environ.get("WASM_LD"):
        return Linker(tuple(shlex.split(named)), is_compiler=False, flags=_FLAGS)
    for name in _NAMES:
        if path := shutil.which(name):
            return Linker((path,), is_compiler=False, flags=_FLAGS)
    if importlib.util.find_spec("ziglang") is not None:
        command = (sys.executable, "-m", "ziglang", "wasm-ld")
        return Linker(command, is_compiler=False, flags=_FLAGS)
    return None


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

"""The linker of model libraries for Windows: any `lld-link`, such as the one in the PyPI package
`ziglang`. MinGW is not needed.

link(require(), Path("model.dll"), objects)

A DLL names the library of each function that it calls. The `.def` files beside this one have the
names that a model library may call, a file for each library; what is in none of them is an error
of the linker. The core is linked with its own (core/CMakeLists.txt), and so shows these names.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare import linker
from mlc_llm.prepare.linker import Linker

# A library has no code that runs when it is opened. The same objects give the same bytes.
_FLAGS = ("-dll", "-noentry", "-nodefaultlib", "-noimplib", "-brepro")


@dataclass(frozen=True)
class _LldLink(Linker):
    def arguments(self, output: Path, objects: Sequence[str]) -> list[str]:
        return [*self.command, *self.flags, f"-out:{output}", *objects]


def find() -> Linker | None:
    """The first one that exists of: an `lld-link` on PATH, the one in `ziglang`."""
    command = linker.lld("lld-link")
    return _LldLink(command, is_compiler=False, flags=_FLAGS) if command else None


def require() -> Linker:
    """The linker. Raises MLCError if there is none."""
    found = find()
    if found is None:
        raise error_of(
            reasons.LINKER_MISSING,
            "a library for Windows needs lld-link, and none is here: run `pip install ziglang`, or "
            "install LLVM's lld",
            param="device",
        )
    return found


def link(found: Linker, output: Path, objects: Sequence[str]) -> None:
    """Makes the DLL. Raises MLCError with the linker's own message."""
    with tempfile.TemporaryDirectory() as scratch:
        libraries: list[str] = []
        for names in sorted(Path(__file__).parent.glob("*.def")):
            library = Path(scratch) / f"{names.stem}.lib"
            from_names = replace(found, flags=("-lib", "-machine:x64", f"-def:{names}"))
            linker.link(from_names, library, [])
            libraries.append(str(library))
        linker.link(found, output, [*objects, *libraries])

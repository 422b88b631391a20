"""`_core` for Windows' Python, made on Linux.

extension()     # build/wheel/windows/_core.cp311-win_amd64.pyd, for the Python that runs this

Python's headers are the same on every system but for pyconfig.h, of which Windows has one of its
own. CONFIG has what the other headers and pybind11 ask of it. A linker wants the names of Python's
DLL: they are those that this system's Python shows. `_core` calls some C++ of the core's lowest
layer, which the DLL does not show, so it has that layer itself.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from devtools.wheel.windows import HERE, IMPORTS, TARGET, environment
from devtools.zig import ROOT, objects_of, zig_program

VERSION = f"{sys.version_info.major}{sys.version_info.minor}"
NAME = f"_core.cp{VERSION}-win_amd64.pyd"
DLL = f"python{VERSION}.dll"
# x86-64 Windows: `long` has 32 bits. What the headers know by other means is left out.
CONFIG = {
    "MS_WINDOWS": "", "MS_WIN32": "", "MS_WIN64": "", "NT_THREADS": "", "WITH_THREAD": "1",
    "Py_ENABLE_SHARED": "1", "HAVE_DECLSPEC_DLL": "1", "HAVE_DYNAMIC_LOADING": "1",
    "SIZEOF_SHORT": "2", "SIZEOF_INT": "4", "SIZEOF_LONG": "4", "SIZEOF_LONG_LONG": "8",
    "SIZEOF_VOID_P": "8", "SIZEOF_SIZE_T": "8", "SIZEOF_TIME_T": "8", "SIZEOF_WCHAR_T": "2",
    "SIZEOF_PID_T": "SIZEOF_INT", "SIZEOF_FLOAT": "4", "SIZEOF_DOUBLE": "8",
    "ALIGNOF_LONG": "4", "ALIGNOF_SIZE_T": "8", "HAVE_SSIZE_T": "1",
    "HAVE_WCHAR_H": "1", "HAVE_STDINT_H": "1", "HAVE_STDDEF_H": "1", "HAVE_ERRNO_H": "1",
    "HAVE_SYS_TYPES_H": "1", "HAVE_SYS_STAT_H": "1", "DOUBLE_IS_LITTLE_ENDIAN_IEEE754": "1",
    "WITH_DOC_STRINGS": "1", "WITH_PYMALLOC": "1",
}  # fmt: skip


def headers() -> Path:
    """Python's headers, with a pyconfig.h for Windows."""
    folder = HERE / "python"
    shutil.copytree(sysconfig.get_paths()["include"], folder, dirs_exist_ok=True)
    lines = [f"#define {name} {value}".rstrip() for name, value in CONFIG.items()]
    text = "#ifndef Py_PYCONFIG_H\n#define Py_PYCONFIG_H\n" + "\n".join(lines) + "\n#endif\n"
    (folder / "pyconfig.h").write_text(text)
    return folder


def python_library() -> Path | None:
    """The shared library of the Python that runs this, if it has one."""
    variables = (sysconfig.get_config_var(name) for name in ("LIBDIR", "LDLIBRARY"))
    path = Path(*(str(value) for value in variables))
    return path if path.suffix == ".so" and path.is_file() else None


def library_of_names() -> Path:
    """The names of Python's DLL."""
    import lief

    library = python_library()
    if library is None:
        raise SystemExit("[dev] a Python with a shared library is needed: its names are read")
    python = lief.ELF.parse(str(library))
    lines = []
    for symbol in python.exported_symbols:
        if re.match(r"_?Py", str(symbol.name)):
            is_data = symbol.type == lief.ELF.Symbol.TYPE.OBJECT
            lines.append(f"    {symbol.name}{' DATA' if is_data else ''}")
    names, made = HERE / "python.def", HERE / f"lib{DLL}.a"
    names.write_text(f"LIBRARY {DLL}\nEXPORTS\n" + "\n".join(sorted(lines)) + "\n")
    command = [zig_program(), "dlltool", "-m", "i386:x86-64", "-D", DLL, "-d", names, "-l", made]
    subprocess.run([str(word) for word in command], check=True)
    return made


def extension() -> Path:
    """Links `_core` with the DLL that `windows.linked` made."""
    import pybind11

    include = [pybind11.get_include(), headers(), *(ROOT / "core" / n for n in ("include", "src"))]
    words = ["-std=c++17", "-O2", "-g0", "-fno-sanitize=all", "-DNOMINMAX", "-ffp-contract=off"]
    words += [f"-I{folder}" for folder in include]
    compiler = [str(zig_program()), "c++", "-target", TARGET]
    sources = sorted((ROOT / "bindings" / "python" / "src").glob("*.cc"))
    base = objects_of(HERE / "core", "mlc_base")
    path = HERE / NAME
    command = [*compiler, "-shared", "-s", *words, *sources, *base]
    command += [HERE / IMPORTS, library_of_names(), "-o", path]
    subprocess.run([str(word) for word in command], check=True, env=os.environ | environment())
    return path

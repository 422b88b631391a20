"""Static archives of a model library, for programs that cannot open shared objects (phones).

A `.tar` or `.a` contains object files. Their symbols begin with the library's prefix, so one
program can contain several models. Link the whole archive (`--whole-archive`, `-force_load`),
because nothing calls it by name, and load `system://PREFIX`. It has no trailer, because it becomes
a part of the program's own file.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlc_llm.errors import InvalidRequestError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.package.ar import write_ar
from mlc_llm.package.objects import read_object

SUFFIXES = (".tar", ".a")
# Functions that kernels call: TVM's for parallel loops and for barriers in them, and ours.
TVMS_LOOPS = "TVMBackendParallelLaunch"
TVMS_BARRIER = "TVMBackendParallelBarrier"
OUR_LOOPS = "mlc_backend_launch_loops"
_PREFIX = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def prefix_of(asked: str | None, *, model_type: str, quantization: str) -> str:
    """MLC-LLM's prefix. `auto`, the default, consists of the model's type and its quantization."""
    if asked in (None, "", "auto"):
        return re.sub(r"[^A-Za-z0-9_]", "_", f"{model_type}_{quantization}_")
    assert asked is not None
    if not _PREFIX.fullmatch(asked):
        raise InvalidRequestError(
            f'--system-lib-prefix "{asked}": letters, digits and _ only, as in a C name',
            param="system_lib_prefix",
        )
    return asked


def write(executable: Any, prefix: str, output: Path, folder: Path) -> bytes:
    """The archive's bytes; `folder` is for temporary files."""
    objects: dict[str, bytes] = {}

    def collect(_name: str, files: list[str], **_options: Any) -> None:
        for file in files:
            # The objects of all models are in one folder of the archiver, so their names must
            # differ too.
            name = Path(file).name.removeprefix(prefix)
            objects[f"{prefix}{name}"] = with_our_loops(Path(file).read_bytes())

    executable.export_library(str(folder / "objects.tar"), fcompile=collect)
    members = dict(sorted(objects.items()))
    return _tar(members) if output.suffix == ".tar" else write_ar(members)


def with_our_loops(data: bytes) -> bytes:
    """The object file with its parallel loops on the engine's threads (runtime/parallel.h). TVM's
    code generator names TVM's function, whose threads know neither the engine's settings nor each
    other's work. A kernel with barriers needs those, and keeps them."""
    undefined = read_object(data).undefined
    if TVMS_LOOPS not in undefined or TVMS_BARRIER in undefined:
        return data
    # Names of one length, so nothing moves. Apple's have an underscore before them.
    whole_name = re.compile(rb"(?<=\0)(_?)" + TVMS_LOOPS.encode() + rb"(?=\0)")
    changed = whole_name.sub(rb"\1" + OUR_LOOPS.encode(), data)
    if len(changed) != len(data) or OUR_LOOPS not in read_object(changed).undefined:
        raise error_of(
            reasons.LINK_FAILED, f"the object file does not name {TVMS_LOOPS} as expected"
        )
    return changed


def _tar(members: Mapping[str, bytes]) -> bytes:
    """The same objects give the same bytes."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    return file.getvalue()

"""Static archives of a model library, for programs that cannot open shared objects (phones).

A `.tar` or `.a` contains object files. Their symbols begin with the library's prefix, so one
program can contain several models. Link the whole archive (`--whole-archive`, `-force_load`),
because nothing calls it by name, and load `system://PREFIX`. It has no trailer, because it becomes
a part of the program's own file.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from mlc_llm.errors import InvalidRequestError, MLCError

SUFFIXES = (".tar", ".a")
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
    objects = folder / "objects"

    def collect(_name: str, files: list[str], **_options: Any) -> None:
        objects.mkdir()
        for file in files:
            # The objects of all models are in one folder of the archiver, so their names must
            # differ too.
            name = Path(file).name.removeprefix(prefix)
            shutil.copy(file, objects / f"{prefix}{name}")

    executable.export_library(str(folder / "objects.tar"), fcompile=collect)
    members = sorted(objects.iterdir())
    archive = folder / output.name
    (_write_tar if output.suffix == ".tar" else _write_ar)(archive, members)
    return archive.read_bytes()


def _write_tar(archive: Path, members: list[Path]) -> None:
    """The same objects give the same bytes."""

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.mtime = info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mode = 0o644
        return info

    with tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as tar:
        for member in members:
            tar.add(member, member.name, filter=plain)


def _write_ar(archive: Path, members: list[Path]) -> None:
    tool = shutil.which("llvm-ar") or shutil.which("ar")
    if tool is None:
        raise MLCError(
            "an .a needs llvm-ar or ar on PATH; a .tar needs neither", code="link_failed"
        )
    command = [tool, "rcsD", str(archive), *map(str, members)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise MLCError(f"{tool} failed: {made.stderr.strip()}", code="link_failed")

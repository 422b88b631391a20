"""Zip files that are the same, byte for byte, whenever they hold the same files.

write_zip(Path("mlcllm.aar"), {"AndroidManifest.xml": b"...", "jni/arm64-v8a/lib.so": b"..."})

An AAR, a jar and a zipped XCFramework are such files. Their hashes go into repositories and into
`Package.swift`, so a second build must have the same hash: names are sorted, and every entry has
the same date and rights.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

_DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can hold
_FILE_MODE = 0o100644 << 16


def write_zip(
    path: Path,
    entries: Mapping[str, bytes],
    first: tuple[str, ...] = (),
    stored: tuple[str, ...] = (),
) -> Path:
    """Replaces `path` when the whole file is written. `first`: names that come before the others,
    in this order. `stored`: the ends of names whose files are not compressed."""
    names = [name for name in first if name in entries]
    names += sorted(name for name in entries if name not in names)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in names:
            info = zipfile.ZipInfo(name, date_time=_DATE)
            is_stored = name.endswith(stored)
            info.compress_type = zipfile.ZIP_STORED if is_stored else zipfile.ZIP_DEFLATED
            info.external_attr = _FILE_MODE
            info.create_system = 3  # Unix, on every system
            archive.writestr(info, entries[name])
    os.replace(partial, path)
    return path


def zipped(entries: Mapping[str, bytes], scratch: Path, first: tuple[str, ...] = ()) -> bytes:
    """The bytes of such a file, such as `classes.jar` inside an AAR."""
    path = write_zip(scratch / "entries.zip", entries, first)
    content = path.read_bytes()
    path.unlink()
    return content


def files_below(folder: Path, prefix: str = "") -> dict[str, bytes]:
    """Every file below the folder, by its name in a zip file."""
    return {
        prefix + path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }

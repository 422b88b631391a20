"""Shared libraries for Android without Google's NDK: any LLVM linker links a model's objects.

link(Path("libsmollm2.so"), objects, abi="arm64-v8a")

The result needs `libmlc_llm.so`, `libm.so` and `libc.so`, which Android's loader then finds in the
app and in the phone. A linker wants files of these names; they are made here, and are empty.
"""

from __future__ import annotations

import os
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mlc_llm.errors import InvalidRequestError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare.linker import failure, lld

MACHINES = {"arm64-v8a": 183, "x86_64": 62}  # ELF's numbers
NEEDED = ("libmlc_llm.so", "libm.so", "libc.so")
PAGE_BYTES = 16384  # what Google Play asks for; smaller pages work too


def find_linker() -> tuple[str, ...] | None:
    """The command of LLVM's linker: the NDK's, one on the path, or that of `ziglang`."""
    for folder in _ndk_folders():
        if (folder / "ld.lld").exists():
            return (str(folder / "ld.lld"),)
    return lld("ld.lld")


def _ndk_folders() -> Iterator[Path]:
    ndk = os.environ.get("ANDROID_NDK") or os.environ.get("ANDROID_NDK_HOME")
    if ndk:
        yield from Path(ndk).glob("toolchains/llvm/prebuilt/*/bin")


def require_linker() -> tuple[str, ...]:
    """Raises MLCError if there is none."""
    command = find_linker()
    if command is None:
        raise error_of(
            reasons.LINKER_MISSING,
            "a library for Android needs LLVM's linker, and none is here: run `pip install "
            "ziglang`, or set ANDROID_NDK to the folder of an NDK",
            param="device",
        )
    return command


def link(output: Path, objects: Sequence[str | Path], *, abi: str) -> Path:
    """Links objects that were compiled for that ABI. Raises MLCError with the linker's message."""
    if abi not in MACHINES:
        raise InvalidRequestError(f"{abi}: not an ABI; one of {', '.join(MACHINES)}", param="abi")
    command = require_linker()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        empty = folder / "empty.o"
        empty.write_bytes(_empty_object(MACHINES[abi]))
        for name in NEEDED:
            _run(output, command, "-shared", f"--soname={name}", "-o", folder / name, empty)
        _run(
            output, command, "-shared", f"--soname={output.name}", "-o", output,
            "-z", f"max-page-size={PAGE_BYTES}", "-z", "now", "--hash-style=both", "--strip-all",
            *objects, "--no-as-needed", *(folder / name for name in NEEDED),
        )  # fmt: skip
    return output


def link_objects(output: Path, objects: Mapping[str, bytes], *, abi: str) -> Path:
    """Links the objects of a model's linked libraries, by their file names, and seals the result:
    they register themselves when it is opened."""
    from mlc_llm.compiler.seal import seal_file, sealed

    with tempfile.TemporaryDirectory() as scratch:
        files = [Path(scratch) / name for name in objects]
        for file, data in zip(files, objects.values(), strict=True):
            file.write_bytes(data)
        link(output, [*files, *seal_file(Path(scratch), files)], abi=abi)
    output.write_bytes(sealed(output.read_bytes()))
    return output


def _run(output: Path, command: Sequence[str], *arguments: str | Path) -> None:
    words = [*command, *(str(argument) for argument in arguments)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace")
    except OSError as error:
        reason = f"{command[0]}: {error.strerror or error}"
        raise error_of(reasons.LINK_FAILED, f"linking {output} failed: {reason}") from None
    if done.returncode != 0:
        raise failure(output, done.stderr or done.stdout)


def _empty_object(machine: int) -> bytes:
    """A relocatable ELF file without symbols: a header, an empty section and that of names."""
    names = b"\0.shstrtab\0"
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01", 1, machine, 1, 0, 0, 64, 0, 64, 0, 0, 64, 2, 1,
    )  # fmt: skip
    sections = bytes(64) + struct.pack("<IIQQQQIIQQ", 1, 3, 0, 0, 192, len(names), 0, 0, 1, 0)
    return header + sections + names

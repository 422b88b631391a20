"""The checksum inside a model library, which survives `strip` (core/src/runtime/library_seal.h).

The linker gets one more object file (`seal_file`), whose section `.mlc_seal` the linked library
then has. `sealed` writes the checksum into it. Only 64-bit little-endian ELF files have a seal.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"MLCSEAL1"
SECTION = b".mlc_seal"
_ELF64_LITTLE = b"\x7fELF\x02\x01"
_ALLOC, _PROGBITS, _STRTAB, _NOBITS = 2, 1, 3, 8
_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Section:
    """A section of an ELF file."""

    name: bytes
    offset: int
    size: int
    is_loaded: bool


def seal_object(like: bytes) -> bytes | None:
    """A relocatable object with an empty seal, for the machine of the object file `like`. None if
    that is no 64-bit little-endian ELF file."""
    if like[:6] != _ELF64_LITTLE:
        return None
    names = b"\0" + SECTION + b"\0.shstrtab\0.note.GNU-stack\0"
    content = MAGIC + bytes(16)
    body = content + names
    body += bytes(-len(body) % 8)
    table = 64 + len(body)
    machine, flags = (
        struct.unpack_from("<H", like, 0x12)[0],
        struct.unpack_from("<I", like, 0x30)[0],
    )
    relocatable, version, num_sections = 1, 1, 4
    header = like[:16] + struct.pack(
        "<HHIQQQIHHHHHH",
        *(relocatable, machine, version, 0, 0, table, flags, 64, 0, 0, 64, num_sections, 2),
    )
    first, stack = 64, names.index(b".note.GNU-stack")
    sections = [
        _section(0, 0, 0, 0, 0, 0),
        _section(1, _PROGBITS, _ALLOC, first, len(content), 8),
        _section(names.index(b".shstrtab"), _STRTAB, 0, first + len(content), len(names), 1),
        _section(stack, _PROGBITS, 0, first + len(content), 0, 1),
    ]
    return header + body + b"".join(sections)


def _section(name: int, kind: int, flags: int, offset: int, size: int, alignment: int) -> bytes:
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, 0, offset, size, 0, 0, alignment, 0)


def sections(data: bytes) -> list[Section] | None:
    """The sections of a 64-bit little-endian ELF file; None for other or damaged files."""
    if data[:6] != _ELF64_LITTLE or len(data) < 64:
        return None
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    if size != 64 or table + size * count > len(data) or names >= count:
        return None
    headers = [struct.unpack_from("<IIQQQQ", data, table + size * at) for at in range(count)]
    if any(kind != _NOBITS and at + n > len(data) for _, kind, _, _, at, n in headers):
        return None
    _, _, _, _, text_at, text_size = headers[names]
    text = data[text_at : text_at + text_size]
    return [
        Section(
            name=text[name:].partition(b"\0")[0],
            offset=offset,
            size=0 if kind == _NOBITS else length,
            is_loaded=bool(flags & _ALLOC) and kind != _NOBITS,
        )
        for name, kind, flags, _, offset, length in headers
    ]


def seal_file(folder: Path, objects: Sequence[str | Path]) -> list[str]:
    """An object file with the seal, in the folder, for the linker of the objects; none where the
    format has no seal."""
    seal = seal_object(Path(objects[0]).read_bytes())
    if seal is None:
        return []
    file = folder / "seal.o"
    file.write_bytes(seal)
    return [str(file)]


def sealed(data: bytes) -> bytes:
    """The linked library with its checksum; a library without the section stays as it is."""
    place = _place(data)
    if place is None:
        return data
    covered = _covered(data)
    seal = MAGIC + struct.pack("<QQ", len(covered), hash_words(covered))
    return data[:place] + seal + data[place + len(seal) :]


def seal_fits(data: bytes) -> bool | None:
    """Whether a library's seal fits its content; None if it has no seal."""
    place = _place(data)
    if place is None or data[place : place + 8] != MAGIC:
        return None
    covered = _covered(data)
    length, digest = struct.unpack_from("<QQ", data, place + 8)
    return bool(length == len(covered) and digest == hash_words(covered))


def hash_words(data: bytes) -> int:
    """`HashWords` of core/src/base/hash.cc."""
    state = 0xCBF29CE484222325 ^ len(data)
    padded = data + bytes(-len(data) % 8)
    for (word,) in struct.iter_unpack("<Q", padded):
        state = ((state ^ word) * 0x9E3779B97F4A7C15) & _MASK
        state ^= state >> 32
    return state


def _place(data: bytes) -> int | None:
    for section in sections(data) or ():
        if section.name == SECTION and section.is_loaded and section.size == 24:
            return section.offset
    return None


def _covered(data: bytes) -> bytes:
    return b"".join(
        data[section.offset : section.offset + section.size]
        for section in sections(data) or ()
        if section.is_loaded and section.name != SECTION
    )

"""The 24 bytes at the end of a model library, with which damage is detected
(docs/model-library.md)."""

from __future__ import annotations

import struct

MAGIC = b"MLCLIB01"


def trailer(data: bytes) -> bytes:
    """The bytes that follow a library's own bytes."""
    return MAGIC + struct.pack("<QQ", len(data), fnv1a(data))


def as_wasm_section(data: bytes) -> bytes:
    """A wasm module, and the beginning of a last section, whose content the trailer is. The format
    allows no bytes behind the last section."""
    name = b"mlc_trailer"
    size = 1 + len(name) + len(trailer(b""))
    assert size < 128  # each length below is one byte
    return data + bytes([0, size, len(name)]) + name


def fnv1a(data: bytes) -> int:
    """The 64-bit FNV-1a hash."""
    state = 0xCBF29CE484222325
    for byte in data:
        state = ((state ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return state

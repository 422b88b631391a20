"""The 24 bytes at the end of a model library by which a damaged one is told (ARCHITECTURE.md)."""

from __future__ import annotations

import struct

MAGIC = b"MLCLIB01"


def trailer(data: bytes) -> bytes:
    """What goes after a library's bytes."""
    return MAGIC + struct.pack("<QQ", len(data), fnv1a(data))


def fnv1a(data: bytes) -> int:
    """The 64-bit FNV-1a hash."""
    state = 0xCBF29CE484222325
    for byte in data:
        state = ((state ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return state

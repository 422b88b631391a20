"""The 24 bytes at the end of a model library, with which damage is detected
(docs/model-library.md)."""

from __future__ import annotations

import struct

MAGIC = b"MLCLIB01"


def trailer(data: bytes) -> bytes:
    """The bytes that follow a library's own bytes."""
    return MAGIC + struct.pack("<QQ", len(data), fnv1a(data))


def fnv1a(data: bytes) -> int:
    """The 64-bit FNV-1a hash."""
    state = 0xCBF29CE484222325
    for byte in data:
        state = ((state ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return state

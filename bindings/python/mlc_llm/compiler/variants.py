"""One model library for several CPUs. core/src/runtime/library_variants.h reads it."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass

MAGIC = b"MLCFAT01"
_ALIGNMENT = 4096


@dataclass(frozen=True)
class Variant:
    """A shared object, and the features that a CPU needs to run it."""

    device: str
    cpu_features: Sequence[str]
    data: bytes


def pack(variants: Sequence[Variant]) -> bytes:
    """The file without its trailer. The engine uses the first variant that its CPU can run."""
    # The index contains the offsets of the variants, and these depend on the length of the index.
    index, length = b"", -1
    while len(index) != length:
        length = len(index)
        index = json.dumps({"variants": _placed(variants, length)}).encode()
    out = MAGIC + struct.pack("<Q", len(index)) + index
    for variant in variants:
        out += bytes(-len(out) % _ALIGNMENT) + variant.data
    return out


def by_speed(variants: Sequence[Variant]) -> list[Variant]:
    """Sorts the variants: those that need more features come first."""
    return sorted(variants, key=lambda variant: len(variant.cpu_features), reverse=True)


def _placed(variants: Sequence[Variant], index_bytes: int) -> list[dict[str, object]]:
    entries: list[dict[str, object]] = []
    end = len(MAGIC) + 8 + index_bytes
    for variant in variants:
        offset = end + -end % _ALIGNMENT
        end = offset + len(variant.data)
        entries.append({
            "device": variant.device,
            "cpu_features": list(variant.cpu_features),
            "offset": offset,
            "size": len(variant.data),
        })  # fmt: skip
    return entries

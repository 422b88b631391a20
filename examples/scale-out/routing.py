"""Which replica answers a prompt: one whose prefix cache knows its beginning, unless it is busy.

A prompt is cut into blocks; the key of a block is a hash of the text up to its end, so that equal
keys mean equal beginnings. The table remembers which replica last took which beginning: a radix
tree, written as a map. The longest beginning that is known names a replica; it is taken if its load
is within the bound, else the less busy one of two drawn at random is. A beginning that nobody knows
goes to a replica by rendezvous hashing, so that several routers agree without speaking.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

BLOCK = 256  # characters: some sixty tokens, a few pages of the cache
MAX_BLOCKS = 64


def prompt_text(path: str, body: bytes) -> str:
    """What of a request the model reads first, as text; "" when there is nothing to go by."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(fields, dict):
        return ""
    if path.endswith("/chat/completions"):
        parts: Any = [fields.get("model"), fields.get("tools"), fields.get("messages")]
    elif path.endswith("/responses"):
        parts = [fields.get("model"), fields.get("instructions"), fields.get("input")]
    else:
        named = (fields.get(name) for name in ("prompt", "input", "prompt_tokens"))
        parts = [fields.get("model"), next(filter(None, named), None)]
    return json.dumps(parts, ensure_ascii=False)


def block_keys(text: str) -> list[int]:
    """A key for each beginning of the text that is a whole number of blocks, and for all of it."""
    keys = []
    digest = hashlib.blake2b(digest_size=8)
    for begin in range(0, min(len(text), BLOCK * MAX_BLOCKS), BLOCK):
        digest.update(text[begin : begin + BLOCK].encode("utf-8", "surrogatepass"))
        keys.append(int.from_bytes(digest.digest(), "big"))
    return keys


class PrefixTable:
    """Not thread-safe. `slack`: how many requests more than the mean a replica may have."""

    def __init__(self, *, slack: int = 4, capacity: int = 200_000, seed: int | None = None) -> None:
        self._slack = slack
        self._capacity = capacity
        self._owners: OrderedDict[int, str] = OrderedDict()
        self._random = random.Random(seed)

    def rank(self, keys: Sequence[int], loads: Mapping[str, int]) -> list[str]:
        """The replicas of `loads` (id to running requests), the best one first."""
        if not loads:
            return []
        bound = sum(loads.values()) / len(loads) + self._slack
        best = self._owner(keys, loads)
        if best is None and keys:
            best = max(loads, key=lambda replica: _rendezvous(keys[0], replica))
        if best is None or loads[best] > bound:
            drawn = self._random.sample(sorted(loads), min(2, len(loads)))
            best = min(drawn, key=lambda replica: loads[replica])
        others = sorted((r for r in loads if r != best), key=lambda replica: loads[replica])
        return [best, *others]

    def record(self, keys: Sequence[int], replica: str) -> None:
        """`replica` has taken a prompt with these keys."""
        for key in keys:
            self._owners[key] = replica
            self._owners.move_to_end(key)
        while len(self._owners) > self._capacity:
            self._owners.popitem(last=False)

    def forget(self, replica: str) -> None:
        """It is gone, and its cache with it."""
        for key in [key for key, owner in self._owners.items() if owner == replica]:
            del self._owners[key]

    def _owner(self, keys: Sequence[int], loads: Mapping[str, int]) -> str | None:
        """Who took the longest of these beginnings, if it is still there."""
        for key in reversed(keys):
            owner = self._owners.get(key)
            if owner in loads:
                return owner
        return None


def _rendezvous(key: int, replica: str) -> bytes:
    return hashlib.blake2b(f"{key} {replica}".encode(), digest_size=8).digest()

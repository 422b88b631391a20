"""The weights of a fixture, from its seed. Needs NumPy alone.

Each tensor has its own stream of `np.random.RandomState`, which NumPy keeps as it is. Values are
those of bfloat16, in float32. They are large (a deviation of 0.3), so that a mistake in a layer
shows in the logits.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
DEVIATION = np.float32(0.3)


def draw(shapes: Mapping[str, Sequence[int]], seed: int, norm_mean: float) -> dict[str, Array]:
    """The tensors by name. `norm_mean`: the mean of norms' weights: 1, or 0 if files store w for
    the weight 1 + w; less than 1 makes layers add less."""
    return {name: _tensor(name, shape, seed, norm_mean) for name, shape in shapes.items()}


def _tensor(name: str, shape: Sequence[int], seed: int, norm_mean: float) -> Array:
    rng = np.random.RandomState(zlib.crc32(f"{seed}/{name}".encode()))
    value = np.asarray(rng.standard_normal(tuple(shape)), np.float32) * DEVIATION
    if len(shape) == 1 and name.endswith("weight"):
        value = value + np.float32(norm_mean)
    value = np.asarray(value)  # of a number, NumPy makes no array
    if not shape and name.endswith(("_min", "_max")):  # bounds, with most numbers between them
        value = (abs(value) + np.float32(1.5)) * np.float32(-1 if name.endswith("_min") else 1)
        value = np.asarray(value, np.float32)
    return np.asarray(value.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def folded(shapes: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """The shapes with one entry for all layers that have the tensor: {name: [shape, layers]}. A
    name with a number sign is that of layers with another shape."""
    found: dict[str, Any] = {}
    for name, shape in shapes.items():
        match = re.search(r"\.(\d+)\.", name)
        key = name if match is None else f"{name[: match.start(1)]}*{name[match.end(1) :]}"
        while key in found and found[key][0] != list(shape):
            key += "#"
        entry = found.setdefault(key, [list(shape), []])
        entry[1] += [] if match is None else [int(match.group(1))]
    return found


def unfolded(entries: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The contrary of `folded`."""
    found = {}
    for key, (shape, layers) in entries.items():
        for layer in layers or [None]:
            found[key.rstrip("#").replace("*", str(layer), 1)] = tuple(shape)
    return found

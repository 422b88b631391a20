"""Which layers may have LoRA adapters at run time, and how their weights are cut."""

from __future__ import annotations

from collections.abc import Iterable

from mlc_llm.compiler.spec.weights import WeightSource

RANKS = 8  # of a group, which a row has or has not
VECTOR = 16  # inputs, or outputs, that lie together
Widths = tuple[int, ...]


def adapted_widths(weights: Iterable[WeightSource]) -> dict[str, Widths]:
    """The outputs of each part of the modules that may have an adapter. A part has factors of its
    own: a tensor of the files, or several whose borders are not those of vectors."""
    found = {}
    for weight in weights:
        is_matrix = weight.quantizable is not None and not weight.experts
        if is_matrix and not weight.shape[0] % VECTOR and not weight.shape[1] % VECTOR:
            name = weight.name.removesuffix(".weight")
            found[name] = _joined(part.shape[0] for part in weight.parts)
    return found


def _joined(widths: Iterable[int]) -> Widths:
    """Neighbours together until all are whole vectors."""
    found, rest = [], 0
    for width in widths:
        rest += width
        if rest % VECTOR == 0:
            found.append(rest)
            rest = 0
    return tuple(found)

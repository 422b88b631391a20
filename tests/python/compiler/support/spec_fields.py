"""The fields of a specification, as paths without numbers ("layers.parts.MLPSpec.width")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

Leaf = tuple[tuple[str, ...], Any, bool]  # the path with numbers, the value, whether it is usual


def _leaves(part: Any, path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    for own in fields(part):
        value, here = getattr(part, own.name), (*path, own.name)
        if own.name == "names":
            continue
        if isinstance(value, tuple) and value and is_dataclass(value[0]):
            for number, one in enumerate(value):
                kind = (type(one).__name__,) if own.name == "parts" else ()
                yield from _leaves(one, (*here, str(number), *kind))
        elif is_dataclass(value):
            if own.default is None:
                yield here, value, False
            yield from _leaves(value, here)
        else:
            yield here, value, _is_usual(own, value)


def _is_usual(own: Field[Any], value: Any) -> bool:
    """A field without a default has no usual value."""
    return own.default is MISSING or value == own.default


def _name(path: tuple[str, ...]) -> str:
    return ".".join(word for word in path if not word.isdigit())


def unusual(spec: Any) -> set[str]:
    """The fields that are not as in Llama."""
    return {_name(path) for path, _, is_usual in _leaves(spec) if not is_usual}


def changed(spec: Any, other: Any) -> set[str]:
    """The fields of `spec` that have another value in `other`, or are not there."""
    values = {path: value for path, value, _ in _leaves(other)}
    missing = object()
    return {_name(path) for path, v, _ in _leaves(spec) if values.get(path, missing) != v}

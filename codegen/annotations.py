"""Reads the annotations of the schema's fields: `Annotated[int, Ge(0)] | None`."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable
from typing import Annotated, Any, get_args, get_origin

import annotated_types
from pydantic.fields import FieldInfo

from codegen import ir


def without_annotated(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """`Annotated[T, ...]` as T and what is annotated, with pydantic's Field taken apart."""
    if get_origin(annotation) is not Annotated:
        return annotation, ()
    base, *metadata = get_args(annotation)
    flat = [x for m in metadata for x in (m.metadata if isinstance(m, FieldInfo) else [m])]
    return base, tuple(flat)


def without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) not in (typing.Union, types.UnionType):
        return annotation, False
    members = [m for m in get_args(annotation) if m is not type(None)]
    if len(members) == 1:
        return members[0], True
    return annotation, False


_LIMIT_KINDS: dict[type, str] = {
    annotated_types.Ge: "ge",
    annotated_types.Gt: "gt",
    annotated_types.Le: "le",
    annotated_types.Lt: "lt",
    annotated_types.MinLen: "min_length",
    annotated_types.MaxLen: "max_length",
}


def limits(metadata: Iterable[Any]) -> ir.Limits:
    found = {}
    for item in metadata:
        name = _LIMIT_KINDS.get(type(item))
        if name:
            found[name] = getattr(item, name)
    return ir.Limits(**found)

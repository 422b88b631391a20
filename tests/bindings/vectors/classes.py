"""What an error is in each language: what the cases of the kinds `error` and `fault` expect."""

from __future__ import annotations

from typing import Any

from codegen import ir
from codegen.languages import errors
from codegen.lower import lower_errors
from codegen.schema.errors import ERRORS

LANGUAGES = ("python", "swift", "kotlin", "typescript")
TABLE = lower_errors.lower(ERRORS)


def class_of(kind: ir.ErrorKind) -> dict[str, str]:
    """A kind's class in each language; in Swift its case."""
    return {language: errors.class_of(kind, language) for language in LANGUAGES}


def expected(name: str, message: str | None = None, param: str | None = None) -> dict[str, Any]:
    """The error of a reason: its members, its class, and its number in C."""
    reason = TABLE.find(name)
    error = {
        "message": reason.description if message is None else message,
        "type": reason.type,
        "param": param,
        "code": reason.name,
        "status": reason.status.word,
    }
    return {"error": error, "class": class_of(reason.kind), "number": reason.status.number}

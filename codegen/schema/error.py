"""The error object."""

from __future__ import annotations

from codegen.schema.base import Model, field, maybe
from codegen.schema.errors import ErrorStatus


class ErrorObject(Model):
    """What went wrong."""

    message: str = field(..., "What went wrong and what to do about it.")
    type: str = field(..., "The class of the error, such as `invalid_request_error`.")
    param: str | None = maybe(
        "The path of the field at fault, such as `messages[2].content`.", always=True
    )
    code: str | None = maybe(
        "A short machine-readable reason, such as `context_length_exceeded`.", always=True
    )
    status: ErrorStatus | None = maybe(
        "The class of the reason: what a program does that does not know the reason."
    )


class ErrorResponse(Model):
    """The answer to a request that failed."""

    error: ErrorObject = field(..., "What went wrong.")

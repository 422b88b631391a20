"""Compatibility names: errors."""

from __future__ import annotations

from pydantic import BaseModel

from mlc_llm.errors import InvalidRequestError


class BadRequestError(InvalidRequestError, ValueError):
    """A request that cannot be; also a `ValueError`, as MLC-LLM's is."""


class ErrorResponse(BaseModel):
    """The body of an error as MLC-LLM's server writes it."""

    object: str = "error"
    message: str
    code: int | None = None

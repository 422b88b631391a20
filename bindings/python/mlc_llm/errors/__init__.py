"""The errors: a class for each kind, and the reasons. docs/errors.md lists them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mlc_llm.errors import kinds_gen, reasons_gen
from mlc_llm.errors.base import MLCError as MLCError
from mlc_llm.errors.kinds_gen import *  # noqa: F403
from mlc_llm.errors.kinds_gen import InternalError
from mlc_llm.errors.reasons_gen import Reason


def error_of(reason: Reason, message: str, *, param: str | None = None) -> MLCError:
    """The error of a reason, in the class of its kind."""
    return kinds_gen.BY_NAME[reason.kind](message, param=param, code=reason)


def error_from_json(answer: Mapping[str, Mapping[str, str | None]]) -> MLCError:
    """The error for OpenAI's error object. It keeps the object's `type`, `code` and `status`."""
    fields = answer["error"]
    code, type_, status = fields.get("code"), fields.get("type"), fields.get("status")
    reason = reasons_gen.BY_WORD.get(code or "")
    cls = (
        kinds_gen.BY_NAME[reason.kind]
        if reason is not None
        else kinds_gen.BY_STATUS.get(status or "")
        or kinds_gen.BY_TYPE.get(type_ or "", InternalError)
    )
    error = cls(fields.get("message") or "", param=fields.get("param"))
    error.code, error.type, error.status = code, type_ or error.type, status
    return error


def error_from_core(error: Exception) -> MLCError:
    """The typed error for the core's exception, which has the error's JSON."""
    return error_from_json(json.loads(error.args[0]))

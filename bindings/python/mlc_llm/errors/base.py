"""The base of all errors."""

from __future__ import annotations

from typing import ClassVar

from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.errors.reasons_gen import Reason


class MLCError(Exception):
    """Base of every error that mlc_llm raises on purpose.

    `message` says what is wrong and what to do. `param` names the wrong field or file. `code` is
    the reason, `type` its class in OpenAI's API, and `status` its class in the core.
    """

    reason: ClassVar[Reason] = reasons.INTERNAL_ERROR

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        known = self.reason if code is None else reasons.BY_WORD.get(code, self.reason)
        self.message = message
        self.param = param
        self.code: str | None = known if code is None else code
        self.type: str = known.type
        self.status: str | None = known.status

    def to_dict(self) -> dict[str, dict[str, str | None]]:
        """The error as OpenAI's JSON object, with its status."""
        fields = {"message": self.message, "type": self.type, "param": self.param}
        return {"error": {**fields, "code": self.code, "status": self.status}}

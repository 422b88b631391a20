"""The error classes, as a small tree with OpenAI's error fields.

`message` says what is wrong and what to do. `param` names the wrong field or file. `code` is a
short stable word. `type` is the class of errors in REST answers and SDKs.
"""

from __future__ import annotations


class MLCError(Exception):
    """Base of every error that mlc_llm raises on purpose."""

    code: str | None = "internal_error"
    type: str = "server_error"

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        if code is not None:
            self.code = code

    def to_dict(self) -> dict[str, dict[str, str | None]]:
        """The error as OpenAI's JSON object."""
        fields = {"message": self.message, "type": self.type, "param": self.param}
        return {"error": {**fields, "code": self.code}}


class InvalidRequestError(MLCError):
    """The caller asked for something impossible."""

    code = "invalid_request"
    type = "invalid_request_error"


class NotFoundError(MLCError):
    """A model, file or repository does not exist."""

    code = "not_found"
    type = "not_found_error"


class CorruptFileError(MLCError):
    """A file is damaged or does not have its format."""

    code = "corrupt_file"
    type = "invalid_request_error"


class UnsupportedError(MLCError):
    """Valid input that this version does not support."""

    code = "unsupported"
    type = "invalid_request_error"


class ResourceError(MLCError):
    """Memory, disk space or another resource has run out."""

    code = "out_of_resources"


class DownloadError(MLCError):
    """A download failed, or its content is not what was announced."""

    code = "download_failed"


class InternalError(MLCError):
    """An error in mlc_llm itself."""


class CancelledError(MLCError):
    """The request was aborted, or its model was unloaded, before it ended."""

    code = "request_cancelled"


class UnavailableError(MLCError):
    """Not possible now: no model is loaded, or the engine is shutting down."""

    code = "unavailable"


class DeadlineExceededError(MLCError):
    """The answer was not complete within the request's `timeout_ms`."""

    code = "deadline_exceeded"


class UnfinishedAnswerError(MLCError):
    """A typed answer ended before its value was complete: give it more tokens."""

    code = "unfinished_answer"


class RateLimitError(ResourceError):
    """The queue is full; try again later."""

    code = "queue_full"
    type = "rate_limit_error"


# The core's status codes (mlc_llm.h, mlc_status_code).
_BY_STATUS: dict[int, type[MLCError]] = {
    1: InvalidRequestError,
    2: NotFoundError,
    3: CorruptFileError,
    4: UnsupportedError,
    5: ResourceError,
    6: CancelledError,
    7: UnavailableError,
    8: DeadlineExceededError,
    9: InternalError,
}

# The class for an error in JSON, by its `code`, or else by its `type`.
_BY_CODE: dict[str, type[MLCError]] = {
    "corrupt_file": CorruptFileError,
    "unsupported": UnsupportedError,
    "unsupported_parameter": UnsupportedError,
    "out_of_resources": ResourceError,
    "request_cancelled": CancelledError,
    "unavailable": UnavailableError,
    "queue_full": RateLimitError,
    "deadline_exceeded": DeadlineExceededError,
    "timeout": DeadlineExceededError,
    "device_lost": UnavailableError,
    "kv_cache_exhausted": ResourceError,
    "model_unloaded": UnavailableError,
    "model_not_loaded": UnavailableError,
    "unfinished_answer": UnfinishedAnswerError,
}
_BY_TYPE: dict[str, type[MLCError]] = {
    "invalid_request_error": InvalidRequestError,
    "not_found_error": NotFoundError,
    "rate_limit_error": RateLimitError,
    "server_error": InternalError,
}


def error_from_core(status: int, message: str, param: str, reason: str) -> MLCError:
    """The error for a status of the core. `param` and `reason` may be empty."""
    cls = _BY_CODE.get(reason) or _BY_STATUS.get(status, InternalError)
    return cls(message, param=param or None, code=reason or None)


def error_from_json(answer: dict[str, dict[str, str | None]]) -> MLCError:
    """The error for OpenAI's error object. It keeps the object's `type` and `code`."""
    fields = answer["error"]
    code, type_ = fields.get("code"), fields.get("type")
    cls = _BY_CODE.get(code or "") or _BY_TYPE.get(type_ or "", InternalError)
    error = cls(fields.get("message") or "", param=fields.get("param"))
    error.code, error.type = code, type_ or cls.type
    return error

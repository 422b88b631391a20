"""What can go wrong, as a small tree that carries OpenAI's error fields.

`message` says what is wrong and what to do, `param` names the field or file at fault, `code` is a
short stable word and `type` the family that REST answers and SDKs switch on.
"""

from __future__ import annotations


class MLCError(Exception):
    """Base of every error that mlc_llm raises on purpose."""

    code: str = "internal_error"
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
    """The caller asked for something that cannot be."""

    code = "invalid_request"
    type = "invalid_request_error"


class NotFoundError(MLCError):
    """A model, file or repository is not where it was said to be."""

    code = "not_found"
    type = "not_found_error"


class CorruptFileError(MLCError):
    """A file is damaged or is not of its format."""

    code = "corrupt_file"
    type = "invalid_request_error"


class UnsupportedError(MLCError):
    """Valid input that this version does not handle."""

    code = "unsupported"
    type = "invalid_request_error"


class ResourceError(MLCError):
    """Memory, disk space or another resource has run out."""

    code = "out_of_resources"


class DownloadError(MLCError):
    """A download failed, or what arrived is not what was announced."""

    code = "download_failed"


class InternalError(MLCError):
    """A mistake of ours."""

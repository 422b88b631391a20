# Generated from codegen/schema by `python -m codegen`. Do not edit.
# Schema hash: 5c6e83c1dd599df1
"""The kinds of errors, each a class."""

from __future__ import annotations

from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.errors.base import MLCError

__all__ = [
    "InvalidRequestError",
    "NotFoundError",
    "CorruptFileError",
    "UnsupportedError",
    "ResourceError",
    "RateLimitError",
    "StorageFullError",
    "CancelledError",
    "UnavailableError",
    "DeadlineExceededError",
    "DownloadError",
    "UnfinishedAnswerError",
    "InternalError",
]


class InvalidRequestError(MLCError):
    """The caller asked for something impossible."""

    reason = reasons.INVALID_REQUEST


class NotFoundError(MLCError):
    """A model, file or repository does not exist."""

    reason = reasons.NOT_FOUND


class CorruptFileError(MLCError):
    """A file is damaged or does not have its format."""

    reason = reasons.CORRUPT_FILE


class UnsupportedError(MLCError):
    """Valid input that this version does not support."""

    reason = reasons.UNSUPPORTED


class ResourceError(MLCError):
    """Memory, disk space or another resource has run out."""

    reason = reasons.OUT_OF_RESOURCES


class RateLimitError(ResourceError):
    """The queue is full; try again later."""

    reason = reasons.QUEUE_FULL


class StorageFullError(ResourceError):
    """The disk, or a browser's share for this site, is full."""

    reason = reasons.DISK_FULL


class CancelledError(MLCError):
    """The request was aborted, or its model was unloaded, before it ended."""

    reason = reasons.REQUEST_CANCELLED


class UnavailableError(MLCError):
    """Not possible now: no model is loaded, the device is lost, or the engine is shutting down."""

    reason = reasons.UNAVAILABLE


class DeadlineExceededError(MLCError):
    """The answer was not complete within its time limit."""

    reason = reasons.DEADLINE_EXCEEDED


class DownloadError(MLCError):
    """A download failed, or its content is not what was announced."""

    reason = reasons.DOWNLOAD_FAILED


class UnfinishedAnswerError(MLCError):
    """A typed answer ended before its value was complete: give it more tokens."""

    reason = reasons.UNFINISHED_ANSWER


class InternalError(MLCError):
    """A mistake of the engine or of this package."""

    reason = reasons.INTERNAL_ERROR


BY_NAME: dict[str, type[MLCError]] = {
    "InvalidRequestError": InvalidRequestError,
    "NotFoundError": NotFoundError,
    "CorruptFileError": CorruptFileError,
    "UnsupportedError": UnsupportedError,
    "ResourceError": ResourceError,
    "RateLimitError": RateLimitError,
    "StorageFullError": StorageFullError,
    "CancelledError": CancelledError,
    "UnavailableError": UnavailableError,
    "DeadlineExceededError": DeadlineExceededError,
    "DownloadError": DownloadError,
    "UnfinishedAnswerError": UnfinishedAnswerError,
    "InternalError": InternalError,
}
BY_STATUS: dict[str, type[MLCError]] = {
    "invalid_argument": InvalidRequestError,
    "not_found": NotFoundError,
    "corrupt": CorruptFileError,
    "unsupported": UnsupportedError,
    "resource_exhausted": ResourceError,
    "cancelled": CancelledError,
    "unavailable": UnavailableError,
    "deadline_exceeded": DeadlineExceededError,
    "internal": InternalError,
}
BY_TYPE: dict[str, type[MLCError]] = {
    "server_error": InternalError,
    "rate_limit_error": RateLimitError,
    "invalid_request_error": InvalidRequestError,
    "not_found_error": NotFoundError,
}

"""`timeout` of a `create`, in seconds, as OpenAI's: the protocol has `timeout_ms`."""

from __future__ import annotations

import math

from mlc_llm.errors import InvalidRequestError, MLCError

TIMEOUT_MS = "timeout_ms"
_MOST = (1 << 31) - 1  # what the protocol allows


class Timeout(int):
    """Milliseconds that the caller gave in seconds. An error names them as the caller did."""

    @classmethod
    def of(cls, seconds: object) -> Timeout:
        if not isinstance(seconds, float | int) or not 0 < seconds <= _MOST // 1000:
            message = (
                f"'timeout' must be a number of seconds above 0 and at most {_MOST // 1000}, "
                f"not {seconds!r}"
            )
            raise InvalidRequestError(message, param="timeout")
        return cls(math.ceil(seconds * 1000))


def named_as_given(error: MLCError, timeout: object) -> MLCError:
    """The error of a request with this limit: it has the name that the caller gave to it."""
    if isinstance(timeout, Timeout) and error.param == TIMEOUT_MS:
        error.message = error.message.replace(TIMEOUT_MS, "timeout")
        error.args, error.param = (error.message,), "timeout"
    return error

"""The memory for request bodies, which all connections share."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons

_SMALL = 1 << 16  # bytes of a body that count for nothing, so that small requests always pass
_PARSED = 1 << 20  # most bytes of larger bodies that are parsed at the same time


class BodyRoom:
    """The memory for bodies, of all connections together."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self._parsed = 0
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()

    def take(self, num_bytes: int) -> bool:
        """Whether there is room for so many bytes."""
        if num_bytes > self._left:
            return False
        self._left -= num_bytes
        return True

    def give_back(self, num_bytes: int) -> None:
        self._left += num_bytes

    def body(self, data: bytes) -> Body:
        """A body with these data. Raises MLCError if there is no room."""
        made = Body(self)
        made.replace(data)
        return made

    @contextlib.asynccontextmanager
    async def parsing(self, num_bytes: int) -> AsyncIterator[None]:
        """Waits until a body of that size may be parsed, first come, first served. The values of a
        body can take fifty times the memory of its text."""
        if num_bytes <= _SMALL:
            yield
            return
        async with self._turn:
            while self._parsed and self._parsed + num_bytes > _PARSED:
                self._freed.clear()
                await self._freed.wait()
            self._parsed += num_bytes
        try:
            yield
        finally:
            self._parsed -= num_bytes
            self._freed.set()


class Body:
    """A body that was read. Its room is free again when it was parsed, at the latest when the
    request ends."""

    def __init__(self, room: BodyRoom) -> None:
        self.data = b""
        self._room = room
        self._taken = 0

    async def read(self, receive: Receive, max_bytes: int) -> None:
        """Raises MLCError if the body is too large, or if there is no room for it."""
        parts, count, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
            count += len(parts[-1])
            if count > max_bytes:
                raise too_large(max_bytes)
            self._take(count)
        self.data = b"".join(parts)

    def _take(self, count: int) -> None:
        wanted = max(0, count - _SMALL) - self._taken
        if wanted > 0 and not self._room.take(wanted):
            raise error_of(
                reasons.SERVER_BUSY, "the server holds too many large requests; try again later"
            )
        self._taken += max(0, wanted)

    def parsing(self) -> contextlib.AbstractAsyncContextManager[None]:
        """While the body is parsed."""
        return self._room.parsing(len(self.data))

    def for_later(self, data: bytes) -> Body:
        """A body of the server's own that outlives the request: whoever asks for it releases it.
        Raises MLCError if there is no room."""
        return self._room.body(data)

    def replace(self, data: bytes) -> None:
        """Holds other data from now on. Raises MLCError if there is no room for them."""
        self._take(len(data))
        self.data = data

    def release(self) -> None:
        self._room.give_back(self._taken)
        self.data, self._taken = b"", 0


def too_large(max_bytes: int) -> MLCError:
    return error_of(reasons.BODY_TOO_LARGE, f"the request's body is larger than {max_bytes} bytes")

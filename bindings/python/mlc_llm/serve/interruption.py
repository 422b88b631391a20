"""Ends from outside what a task waits for, at the cost of a flag: no second task, which would delay
each request."""

from __future__ import annotations

import asyncio
import sys
from types import TracebackType


class Interruption:
    """A call interrupts the block, which then ends without an error. `happened` says so.

    with Interruption() as interrupt:
        timer = loop.call_later(seconds, interrupt)
        await answer
    """

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._over = False
        self.happened = False

    def __call__(self, _: object = None) -> None:
        """Called by the event loop's thread. Takes what callbacks are given."""
        if not self._over and not self.happened:
            self.happened = True
            self._task.cancel()

    def __enter__(self) -> Interruption:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        self._over = True
        if kind is not asyncio.CancelledError or not self.happened:
            return False
        if sys.version_info >= (3, 11):  # before it tasks do not count their cancellations
            self._task.uncancel()
        return True

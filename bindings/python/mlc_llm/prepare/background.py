"""Runs one function in a thread, at the same time as the caller's own work.

    children = Children()
    with InBackground[Path](children) as background:
        convert(take_config=lambda config: background.start(lambda: compile(config)))
        library = background.result()

When one of the two fails or is interrupted, the child processes of the other one are stopped. The
context raises the first error and leaves no thread behind.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

from mlc_llm.prepare.jit_child import Children, Stopped

Value = TypeVar("Value")


class InBackground(Generic[Value]):
    """One function at the same time as the caller. Both run child processes in `children`."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self._thread: threading.Thread | None = None
        self._value: Value | None = None
        self._error: BaseException | None = None

    def start(self, work: Callable[[], Value]) -> None:
        """Starts the function. A second call does nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
            self._thread.start()

    def result(self) -> Value | None:
        """Waits for the function and returns its value, or raises its error. None if nothing was
        started."""
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        return self._value

    def _run(self, work: Callable[[], Value]) -> None:
        try:
            self._value = work()
        except BaseException as error:
            self._error = error
            self._children.stop()

    def __enter__(self) -> InBackground[Value]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            return
        self._children.stop()
        if self._thread is not None:
            self._thread.join()
        if isinstance(error, Stopped) and self._error is not None:
            raise self._error from None

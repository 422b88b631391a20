"""Reports steps that take time: one progress line for a step of over two seconds.

with steps.step("Converting SmolLM2 to q4f32_1") as update:
    update(0.5)                      # half is done
steps.detail("Found device: cpu:0")  # shown with -v alone
steps.note("...")                    # shown unless -q
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TextIO

Update = Callable[[float], None]
Measure = Callable[[], float]

PATIENCE_SECONDS = 2.0
_REFRESH_SECONDS = 0.2


class Steps:
    """Reports nothing. Subclasses override these methods."""

    wants_details = False  # False: details need not be computed

    def detail(self, line: str) -> None:
        """A detail for users who want to know more: which device, which cached file, ..."""

    def note(self, line: str) -> None:
        """A message that a user should see although nothing failed."""

    def step(
        self, title: str, measure: Measure | None = None
    ) -> contextlib.AbstractContextManager[Update]:
        """A step that may take long. The context gives a function for the progress (0 .. 1).
        Alternatively `measure` returns the progress."""
        return contextlib.nullcontext(_ignore)


class LogSteps(Steps):
    """Gives details and notes to a function, line by line. Draws no bar."""

    wants_details = True

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log

    def detail(self, line: str) -> None:
        self._log(line)

    def note(self, line: str) -> None:
        self._log(line)


class TerminalSteps(Steps):
    """Writes to standard error: a bar on a terminal, one line elsewhere."""

    def __init__(
        self, *, verbose: bool = False, quiet: bool = False, patience: float = PATIENCE_SECONDS
    ) -> None:
        self.wants_details = verbose and not quiet
        self._quiet = quiet
        self._patience = patience

    def detail(self, line: str) -> None:
        if self.wants_details:
            print(line, file=sys.stderr, flush=True)

    def note(self, line: str) -> None:
        if not self._quiet:
            print(line, file=sys.stderr, flush=True)

    def step(
        self, title: str, measure: Measure | None = None
    ) -> contextlib.AbstractContextManager[Update]:
        if self._quiet:
            return contextlib.nullcontext(_ignore)
        return self._shown(_Running(title, measure))

    @contextlib.contextmanager
    def _shown(self, running: _Running) -> Generator[Update]:
        ended = threading.Event()
        thread = threading.Thread(target=self._show, args=(running, ended), daemon=True)
        thread.start()
        try:
            yield running.update
        finally:
            ended.set()
            thread.join()

    def _show(self, running: _Running, ended: threading.Event) -> None:
        if ended.wait(self._patience):
            return
        stream = sys.stderr
        if stream is None or not stream.isatty():
            self.note(f"{running.title} ...")
            return
        with _bar(stream) as bar:
            started = time.monotonic() - self._patience
            task = bar.add_task(running.title, total=None, seconds="")
            while not ended.wait(_REFRESH_SECONDS):
                done = running.fraction()
                seconds = f"{time.monotonic() - started:.0f} s"
                bar.update(task, total=1 if done > 0 else None, completed=done, seconds=seconds)


@dataclass
class _Running:
    """A running step."""

    title: str
    measure: Measure | None
    done: float = 0.0

    def update(self, fraction: float) -> None:
        self.done = fraction

    def fraction(self) -> float:
        if self.measure is not None:
            with contextlib.suppress(OSError):
                self.done = self.measure()
        return min(1.0, max(0.0, self.done))


def _bar(stream: TextIO) -> Any:
    """One line that disappears at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    return Progress(
        *columns, TextColumn("{task.fields[seconds]}"), console=Console(file=stream), transient=True
    )


def steps_of(listener: Steps | Callable[[str], None] | None) -> Steps:
    """Accepts steps, a function for lines, or None for the terminal."""
    if listener is None:
        return TerminalSteps()
    return listener if isinstance(listener, Steps) else LogSteps(listener)


def _ignore(_: float) -> None: ...

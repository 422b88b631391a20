"""Reports steps that take time: one progress line for a step of over two seconds.

with steps.step("Converting SmolLM2 to q4f32_1") as update:
    update(0.5)                      # half is done
steps.detail("Found device: cpu:0")  # shown with -v alone
steps.note("...")                    # shown unless -q

Steps of several threads may run at the same time. A terminal shows them in one line.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

Update = Callable[[float], None]
Measure = Callable[[], float]

PATIENCE_SECONDS = 2.0
_LOGGER = logging.getLogger("mlc_llm")
_LOGGER.addHandler(logging.NullHandler())  # silent unless the program wants the messages
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


class LoggerSteps(Steps):
    """Steps of a program that is not the command line: they go to the logger `mlc_llm`, and nothing
    to standard error. `logging.basicConfig(level="INFO")` shows them."""

    def __init__(self) -> None:
        self.wants_details = _LOGGER.isEnabledFor(logging.DEBUG)

    def detail(self, line: str) -> None:
        _LOGGER.debug("%s", line)

    def note(self, line: str) -> None:
        _LOGGER.info("%s", line)

    def step(
        self, title: str, measure: Measure | None = None
    ) -> contextlib.AbstractContextManager[Update]:
        _LOGGER.info("%s", title)
        return contextlib.nullcontext(_ignore)


class TerminalSteps(Steps):
    """Writes to standard error: a bar on a terminal, one line elsewhere."""

    def __init__(
        self, *, verbose: bool = False, quiet: bool = False, patience: float = PATIENCE_SECONDS
    ) -> None:
        self.wants_details = verbose and not quiet
        self._quiet = quiet
        self._patience = patience
        self._lock = threading.Lock()
        self._line: _Line | None = None

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
        line = self._begin(running)
        try:
            yield running.update
        finally:
            with self._lock:
                line.running.remove(running)
                if is_last := not line.running:
                    self._line = None
                    line.ended.set()
            if is_last:
                line.thread.join()

    def _begin(self, running: _Running) -> _Line:
        """Adds a step to the line. The first one starts it."""
        with self._lock:
            is_first = self._line is None
            self._line = line = self._line or _Line(self._show)
            line.running.append(running)
            if is_first:
                line.thread.start()
            return line

    def _show(self, line: _Line) -> None:
        if line.ended.wait(self._patience):
            return
        stream = sys.stderr
        if stream is None or not stream.isatty():
            self._tell(line)
            return
        with _bar(stream) as bar:
            task = bar.add_task("", total=None, seconds="")
            while not line.ended.wait(_REFRESH_SECONDS):
                if running := list(line.running):
                    done = min(one.fraction() for one in running)
                    bar.update(
                        task,
                        description=_titles(running),
                        total=1 if done > 0 else None,
                        completed=done,
                        seconds=f"{time.monotonic() - line.started:.0f} s",
                    )

    def _tell(self, line: _Line) -> None:
        """Writes the titles once, when a step has taken long."""
        told: list[_Running] = []
        while True:
            new = [one for one in list(line.running) if one not in told]
            if any(time.monotonic() - one.started >= self._patience for one in new):
                self.note(f"{_titles(new)} ...")
                told += new
            if line.ended.wait(_REFRESH_SECONDS):
                return


@dataclass(eq=False)
class _Running:
    """A running step."""

    title: str
    measure: Measure | None
    done: float = 0.0
    started: float = field(default_factory=time.monotonic)

    def update(self, fraction: float) -> None:
        self.done = fraction

    def fraction(self) -> float:
        if self.measure is not None:
            with contextlib.suppress(OSError):
                self.done = self.measure()
        return min(1.0, max(0.0, self.done))


class _Line:
    """The progress line of the steps that run now, and the thread that shows it."""

    def __init__(self, show: Callable[[_Line], None]) -> None:
        self.running: list[_Running] = []
        self.started = time.monotonic()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=show, args=(self,), daemon=True)


def _titles(running: Sequence[_Running]) -> str:
    """`Converting x to q4f32_1, compiling x for cpu`."""
    first, *others = (one.title for one in running)
    return ", ".join([first, *(title[:1].lower() + title[1:] for title in others)])


def _bar(stream: TextIO) -> Any:
    """One line that disappears at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    return Progress(
        *columns, TextColumn("{task.fields[seconds]}"), console=Console(file=stream), transient=True
    )


def steps_of(listener: Steps | Callable[[str], None] | None) -> Steps:
    """Accepts steps, a function for lines, or None for the logger."""
    if listener is None:
        return LoggerSteps()
    return listener if isinstance(listener, Steps) else LogSteps(listener)


def _ignore(_: float) -> None: ...

"""Loads the models of the command line while the server listens already."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare.progress import Measure, Steps, Update

Report = Callable[[float, str], bool]
# Loads one model. It reports its progress, and stops when a report returns False.
Load = Callable[[Report], object]

_FIRST_STAGE = "files"  # until the engine reports
_MAKING = 0.9  # the part of a load that downloading, converting and compiling take


class LoadingSteps(Steps):
    """Shows steps like `shown`, and remembers those that run: downloads, conversions, compiling."""

    def __init__(self, shown: Steps) -> None:
        self._shown = shown
        self.wants_details = shown.wants_details
        self._lock = threading.Lock()
        self._running: list[_RunningStep] = []

    def detail(self, line: str) -> None:
        self._shown.detail(line)

    def note(self, line: str) -> None:
        self._shown.note(line)

    @contextlib.contextmanager
    def step(self, title: str, measure: Measure | None = None) -> Iterator[Update]:
        step = _RunningStep(title, measure)
        with self._shown.step(title, measure) as show:

            def update(fraction: float) -> None:
                step.done = fraction
                show(fraction)

            with self._lock:
                self._running.append(step)
            try:
                yield update
            finally:
                with self._lock:
                    self._running.remove(step)

    def state(self) -> tuple[str, float] | None:
        """The titles of the running steps, and how much of the slowest one is done."""
        with self._lock:
            running = list(self._running)
        if not running:
            return None
        return ", ".join(step.title for step in running), min(step.fraction() for step in running)


@dataclass(eq=False)
class _RunningStep:
    title: str
    measure: Measure | None
    done: float = 0.0

    def fraction(self) -> float:
        if self.measure is not None:
            with contextlib.suppress(OSError):
                self.done = self.measure()
        return min(1.0, max(0.0, self.done))


class Loading:
    """The progress of loading the server's first models. One thread runs it; any thread may read
    it."""

    def __init__(
        self, jobs: Sequence[tuple[str, Load]] = (), steps: LoadingSteps | None = None
    ) -> None:
        self._jobs = list(jobs)
        self._steps = steps or LoadingSteps(Steps())
        self._made = 0.0  # the part of a model's load that its download and conversion took
        self._lock = threading.Lock()
        self._name = self._jobs[0][0] if jobs else ""
        self._fraction, self._stage = 0.0, _FIRST_STAGE
        self._done = 0
        self._cancelled = False

    @property
    def ended(self) -> bool:
        """Whether all models are loaded."""
        return self._done == len(self._jobs)

    def run(self) -> None:
        """Loads the models one after the other. Raises the first error."""
        for name, load in self._jobs:
            with self._lock:
                self._name, self._fraction, self._stage = name, 0.0, _FIRST_STAGE
                self._made = 0.0
            if self._cancelled:
                return
            load(self.report)
            self._done += 1

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    def cancel(self) -> None:
        """Ends the load at its next report."""
        self._cancelled = True

    def report(self, fraction: float, stage: str) -> bool:
        """Takes a progress report. Returns False to end the load."""
        with self._lock:
            self._fraction, self._stage = fraction, stage
        return not self._cancelled

    def progress(self) -> dict[str, Any]:
        """For `/ready`: the current model, what is done for it, and the fraction of all models.
        Downloading, converting and compiling count for most of a model's load."""
        making = self._steps.state()
        with self._lock:
            stage = self._stage
            if making is not None and stage == _FIRST_STAGE:
                stage, fraction = making
                self._made = max(self._made, _MAKING * fraction)
            own = self._made + (1 - self._made) * self._fraction
            total = (self._done + own) / max(1, len(self._jobs))
            return {
                "status": "loading", "model": self._name, "stage": stage,
                "progress": round(min(total, 1.0), 3),
            }  # fmt: skip

    def refusal(self) -> MLCError:
        state = self.progress()
        words = f"the model '{state['model']}' is being loaded ({state['progress']:.0%})"
        return error_of(reasons.MODEL_LOADING, f"{words}; try again later", param="model")

"""Loads the models of the command line while the server listens already."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons

Report = Callable[[float, str], bool]
# Loads one model. It reports its progress, and stops when a report returns False.
Load = Callable[[Report], object]


class Loading:
    """The progress of loading the server's first models. One thread runs it; any thread may read
    it."""

    def __init__(self, jobs: Sequence[tuple[str, Load]] = ()) -> None:
        self._jobs = list(jobs)
        self._lock = threading.Lock()
        self._name, self._fraction, self._stage = self._jobs[0][0] if jobs else "", 0.0, "files"
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
                self._name, self._fraction, self._stage = name, 0.0, "files"
            if self._cancelled:
                return
            load(self.report)
            self._done += 1

    def cancel(self) -> None:
        """Ends the load at its next report."""
        self._cancelled = True

    def report(self, fraction: float, stage: str) -> bool:
        """Takes a progress report. Returns False to end the load."""
        with self._lock:
            self._fraction, self._stage = fraction, stage
        return not self._cancelled

    def progress(self) -> dict[str, Any]:
        """For `/ready`: the current model, and the loaded fraction of all models."""
        with self._lock:
            total = (self._done + self._fraction) / max(1, len(self._jobs))
            return {
                "status": "loading", "model": self._name, "stage": self._stage,
                "progress": round(min(total, 1.0), 3),
            }  # fmt: skip

    def refusal(self) -> MLCError:
        state = self.progress()
        words = f"the model '{state['model']}' is being loaded ({state['progress']:.0%})"
        return error_of(reasons.MODEL_LOADING, f"{words}; try again later", param="model")

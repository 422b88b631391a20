"""Loading the models of the command line while the server listens already."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from mlc_llm.serve.errors import RequestError

Report = Callable[[float, str], bool]
# Loads one model. It reports how far it is, and stops when a report returns False.
Load = Callable[[Report], object]


class Loading:
    """How far the models are that a server begins with. Run on one thread, asked from any."""

    def __init__(self, jobs: Sequence[tuple[str, Load]] = ()) -> None:
        self._jobs = list(jobs)
        self._lock = threading.Lock()
        self._name, self._fraction, self._stage = self._jobs[0][0] if jobs else "", 0.0, "files"
        self._done = 0
        self._cancelled = False

    @property
    def ended(self) -> bool:
        """Whether every model is there."""
        return self._done == len(self._jobs)

    def run(self) -> None:
        """Loads one model after the other; raises what the first failing one raises."""
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
        """Takes what a load says of itself; False ends it."""
        with self._lock:
            self._fraction, self._stage = fraction, stage
        return not self._cancelled

    def progress(self) -> dict[str, Any]:
        """What `/ready` shows: the model at hand, and how much of all models is loaded."""
        with self._lock:
            total = (self._done + self._fraction) / max(1, len(self._jobs))
            return {
                "status": "loading", "model": self._name, "stage": self._stage,
                "progress": round(min(total, 1.0), 3),
            }  # fmt: skip

    def refusal(self) -> RequestError:
        state = self.progress()
        words = f"the model '{state['model']}' is being loaded ({state['progress']:.0%})"
        return RequestError(f"{words}; try again later", code="model_loading", param="model")

"""Runs a long command and shows one line: what it does, how much is done, and for how long.

On a terminal the line is rewritten every second. Elsewhere (a log, continuous integration) there is
a new line every five seconds. The command's output goes to a log. When the command fails, the end
of the log is shown.
"""

from __future__ import annotations

import collections
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devtools import machine

LOG_PERIOD_S = 5.0
TERMINAL_PERIOD_S = 1.0
_BAR_WIDTH = 20
_LAST_LINES = 40  # of the log, shown when the command fails
_NINJA = re.compile(r"\[(\d+)/(\d+)\] (.*)")
_CMAKE = re.compile(r"-- (Fetching .*)")
_PIP = re.compile(r"(Collecting|Downloading|Using cached|Building|Installing) (.*)")


@dataclass
class Step:
    """The command's current work: `done` of `total`, if it counts."""

    text: str = ""
    done: int = 0
    total: int = 0
    seen: set[str] = field(default_factory=set)

    def read(self, line: str) -> None:
        """Reads a line of ninja, CMake or pip. Ignores other lines."""
        if ninja := _NINJA.search(line):
            self.done, self.total = int(ninja[1]), int(ninja[2])
            self.text = _short(ninja[3])
        elif cmake := _CMAKE.search(line):
            self.text = cmake[1].lower()
        elif pip := _PIP.match(line.strip()):
            self.text = f"{pip[1].lower()} {_short(pip[2])}"
            if pip[1] == "Collecting":
                self.seen.add(pip[2].split()[0])
                self.done = len(self.seen)


def line_of(what: str, step: Step, seconds: float) -> str:
    """ "compiling [#####     ] 12/40  0:31  engine_0.cxx"."""
    parts = [what]
    if step.total:
        filled = _BAR_WIDTH * step.done // step.total
        parts.append(f"[{'#' * filled}{' ' * (_BAR_WIDTH - filled)}] {step.done}/{step.total}")
    elif step.done:
        parts.append(f"{step.done} packages")
    parts.append(f"{int(seconds) // 60}:{int(seconds) % 60:02d}")
    return "  ".join([*parts, step.text]).rstrip()


def run(
    what: str,
    command: Sequence[str],
    *,
    log: Path,
    environment: Mapping[str, str],
    folder: Path,
    show: Callable[[str], None] | None = None,
) -> int:
    """Runs the command to its end and returns its exit status. After an interrupt it waits for the
    command, which gets the interrupt too, so that a second start finds whole files."""
    show = show or _shower()
    log.parent.mkdir(parents=True, exist_ok=True)
    child = subprocess.Popen(
        command, cwd=folder, env=environment, text=True, errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_read, args=(child, lines), daemon=True).start()
    try:
        last = _follow(what, lines, log, show)
        status = child.wait()
    except KeyboardInterrupt:
        child.wait()
        raise
    if status != 0:
        print("\n".join(last), f"\n[dev] {what} failed; all of its output: {log}", file=sys.stderr)
        if words := machine.advice(last):
            print(f"[dev] {words}", file=sys.stderr)
    return status


def _read(child: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        lines.put(line.rstrip("\n"))
    lines.put(None)


def _follow(
    what: str, lines: queue.Queue[str | None], log: Path, show: Callable[[str], None]
) -> Sequence[str]:
    """Shows the step until the command's output ends. Returns the last lines of the output."""
    period = TERMINAL_PERIOD_S if sys.stderr.isatty() else LOG_PERIOD_S
    step, begin, shown = Step(), time.monotonic(), 0.0
    last: collections.deque[str] = collections.deque(maxlen=_LAST_LINES)
    with log.open("w", encoding="utf-8") as out:
        while True:
            now = time.monotonic()
            if now - shown >= period:
                show(line_of(what, step, now - begin))
                shown = now
            try:
                line = lines.get(timeout=max(0.05, shown + period - now))
            except queue.Empty:
                continue
            if line is None:
                break
            print(line, file=out, flush=True)
            last.append(line)
            step.read(line)
    show(line_of(what, Step("done", step.total, step.total), time.monotonic() - begin))
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return last


def _shower() -> Callable[[str], None]:
    if not sys.stderr.isatty():
        return lambda text: print(f"[dev] {text}", file=sys.stderr, flush=True)
    width = shutil.get_terminal_size().columns - 7

    def rewrite(text: str) -> None:
        print(f"\r\033[K[dev] {text[:width]}", end="", file=sys.stderr, flush=True)

    return rewrite


def _short(text: str) -> str:
    """The last part of a path that ends a line: "Building CXX object core/.../engine_0.cxx.o"."""
    return os.path.basename(text.strip().split(" (")[0]).removesuffix(".o")[:60]

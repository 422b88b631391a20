"""Progress: nothing for short steps, one line for long ones, none with -q; a bar on terminals."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from typing import Any

import pytest

from mlc_llm.prepare.progress import LoggerSteps, LogSteps, Steps, TerminalSteps, steps_of


class Told(TerminalSteps):
    """`told` is set when a step has got its line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.told = threading.Event()

    def note(self, line: str) -> None:
        super().note(line)
        if line.endswith(" ..."):
            self.told.set()


def convert(steps: Steps, told: threading.Event | None = None) -> None:
    with steps.step("Converting x") as update:
        update(0.5)
        assert told is None or told.wait(60)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"patience": 60.0}, "note\n"),
        ({"patience": 0.0}, "note\nConverting x ...\n"),
        ({"patience": 0.0, "quiet": True}, ""),
        ({"patience": 60.0, "verbose": True}, "detail\nnote\n"),
        ({"verbose": True, "quiet": True}, ""),
    ],
)
def test_what_is_shown(options: dict, shown: str, capsys: pytest.CaptureFixture) -> None:
    steps = Told(**options)
    steps.detail("detail")
    steps.note("note")
    convert(steps, steps.told if "..." in shown else None)
    assert capsys.readouterr().err == shown


def test_functions_take_lines_and_no_progress() -> None:
    lines: list[str] = []
    steps = steps_of(lines.append)
    assert isinstance(steps, LogSteps) and steps_of(steps) is steps
    steps.detail("detail")
    convert(steps)
    assert lines == ["detail"]
    assert isinstance(steps_of(None), LoggerSteps)


def test_a_step_that_fails_ends_its_line(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(ValueError), TerminalSteps(patience=60.0).step("x"):
        raise ValueError
    assert capsys.readouterr().err == ""


_PROGRAM = """
import threading
from mlc_llm.prepare.progress import TerminalSteps
asked = threading.Event()
def measure():
    asked.set()
    return 0.4
with TerminalSteps(patience=0.0).step("Converting x", measure):
    assert asked.wait(60)
print("done")
"""


def test_a_terminal_shows_a_bar_that_goes_away() -> None:
    master, slave = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(master)
    assert child.wait(timeout=60) == 0
    assert b"Converting x" in shown and b"40%" in shown
    assert shown.rstrip().endswith(b"done") and b"\x1b[2K" in shown

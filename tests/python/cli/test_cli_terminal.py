"""`mlc_llm chat` on a terminal: a real pseudo-terminal, the real line editor."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mlc_llm.cli import chat_terminal
from mlc_llm.prepare.model_source import ResolvedModel

CTRL_C, CTRL_D, ESC_ENTER = "\x03", "\x04", "\x1b\r"
_CONTROLS = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>78])|[\r\x07]")


class Terminal:
    """A program on a pseudo-terminal: what it shows, and keys for it."""

    def __init__(self, command: list[str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        self.child = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            close_fds=True,
            preexec_fn=lambda: self._own(slave),
            env={**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
        )
        os.close(slave)
        self._shown = b""
        self._seen = 0

    @staticmethod
    def _own(slave: int) -> None:
        """Makes it the child's controlling terminal, so that Ctrl-C becomes a signal."""
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def line(self, text: str) -> None:
        self.press(text + "\r")

    def ask(self, text: str, pattern: str) -> None:
        """A line, what must be shown for it, and the next prompt."""
        self.line(text)
        self.wait_for(pattern)
        self.wait_for(">>>")

    def wait_for(self, pattern: str, timeout: float = 120) -> str:
        """What is newly shown, up to the pattern."""
        deadline = time.monotonic() + timeout
        while True:
            text = _CONTROLS.sub("", self._shown.decode(errors="replace"))
            if found := re.compile(pattern).search(text, self._seen):
                shown = text[self._seen : found.end()]
                self._seen = found.end()
                return shown
            if time.monotonic() > deadline or not self._read():
                pytest.fail(f"no {pattern!r} in {text[self._seen :]!r}")

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], 0.2)
        if not ready:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the child has closed its side
            return False
        self._shown += data
        return bool(data)

    def ends(self, timeout: float = 120) -> int:
        deadline = time.monotonic() + timeout
        while self.child.poll() is None and time.monotonic() < deadline:
            self._read()
        return self.child.wait(timeout=1)

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        os.close(self._master)


@pytest.fixture
def terminal(default_model: ResolvedModel) -> Iterator[Terminal]:
    command = [sys.executable, "-m", "mlc_llm", "chat", str(default_model.folder)]
    command += ["--model-lib", str(default_model.model_lib), "--device", "cpu"]
    command += ["--set", "temperature=0;max_tokens=24", "--overrides", "context_window_size=1024"]
    opened = Terminal(command)
    assert "device" not in opened.wait_for(r"/exit ends the chat")
    opened.wait_for(">>>")
    yield opened
    opened.close()


def test_a_conversation(terminal: Terminal) -> None:
    terminal.ask("What is the capital of France?", "Paris")
    terminal.ask("word " * 1100, "Error: .*maximum context length")
    terminal.ask("/set temperature=hot", "Error: 'temperature' must be a number")
    terminal.ask("/set temperature=9", "Error: .*'temperature'.* <= 2")
    terminal.press("/set temp\t")
    terminal.wait_for("erature=")
    terminal.press("0;max_t\t")
    terminal.wait_for("okens=")
    terminal.ask("9", "Settings: temperature=0.0;max_tokens=9")
    terminal.press("/sy\t")
    terminal.wait_for("stem")
    terminal.ask(" Be brief.", "System message: Be brief.")
    terminal.ask("/nonsense", "Unknown command /nonsense")
    terminal.ask("/stats", r"prefill: [\d.]+ tok/s, decode: [\d.]+ tok/s")
    terminal.press(CTRL_D)
    assert terminal.ends() == 0


def test_ctrl_c_stops_the_answer_and_not_the_program(terminal: Terminal) -> None:
    terminal.ask("/set max_tokens=900", "Settings: .*max_tokens=900")
    terminal.line("Describe the history of Rome in detail.")
    terminal.wait_for(r"\n.*\w+ \w+ \w+")
    terminal.press(CTRL_C)
    terminal.wait_for(r"\[stopped\]")
    terminal.wait_for(">>>")
    terminal.press("half a line")
    terminal.wait_for("half a line")
    terminal.press(CTRL_C)  # at the prompt it clears the line
    terminal.wait_for(">>>")
    terminal.ask("/reset", "The chat is reset")
    terminal.ask("What is the capital of France?", "Paris")
    terminal.line("/exit")
    assert terminal.ends() == 0


def test_esc_enter_begins_a_new_line(terminal: Terminal) -> None:
    terminal.press("What is the capital" + ESC_ENTER + "of France?")
    terminal.wait_for("of France")
    terminal.ask("", "Paris")
    terminal.ask("/metrics", r"num_finished_requests: 1\b")  # both lines were one message
    terminal.press(CTRL_D)
    assert terminal.ends() == 0


def test_a_history_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, or a home that is removed during the chat, ends no line with an exception."""
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "home"))
    history = chat_terminal._history()
    history.append_string("kept")
    shutil.rmtree(tmp_path / "home")
    history.append_string("for this chat alone")
    assert history.get_strings() == ["kept", "for this chat alone"]


def test_an_error_of_the_system_without_a_file(capsys: pytest.CaptureFixture) -> None:
    def take(line: str) -> None:
        raise OSError(errno.ENOSPC, line)

    session: Any = SimpleNamespace(take=take)
    chat_terminal._take_safely(session, "No space left on device")
    assert capsys.readouterr().err == "Error: No space left on device\n"

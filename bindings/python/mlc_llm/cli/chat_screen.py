"""What a chat shows: answers in lines of whole words, thoughts dim, and no key of the user's."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

_FENCE = "```"


class WordWrap:
    """Breaks lines between words, where a terminal would break them in a word.

    Text is shown as it comes. A word that becomes too long for its line is taken back, and written
    again on the next line. Fenced code keeps its lines.
    """

    def __init__(self, width: Callable[[], int]) -> None:
        self._width = width
        self._column = 0
        self._line = ""  # without what was taken back
        self._word = 0  # columns of the word at the end of the line
        self._is_code = False

    def put(self, text: str) -> str:
        """What to write for the next piece of the text."""
        return "".join(map(self._next, text))

    def _next(self, char: str) -> str:
        if char == "\n":
            self._is_code ^= self._line.lstrip().startswith(_FENCE)
            self._begin_line("")
            return char
        size = _columns(char)
        most = self._width() - 1  # in its last column a terminal waits for the next character
        fits = self._column + size <= most
        if char in " \t":
            self._word = 0
            if not fits and not self._is_code:
                self._begin_line("")
                return "\n"
        elif fits or self._is_code or self._word + size > most:
            self._word += size  # the terminal breaks a word that is longer than a line
        else:
            return self._take_back(char, size)
        self._line += char
        self._column += size
        return char

    def _take_back(self, char: str, size: int) -> str:
        """Moves the word to the next line."""
        columns = self._word
        word = _last_word(self._line) + char
        self._begin_line(word)
        self._column = self._word = columns + size
        back = f"\x1b[{columns}D\x1b[K" if columns else ""
        return f"{back}\n{word}"

    def _begin_line(self, text: str) -> None:
        self._line = text
        self._column = self._word = sum(map(_columns, text))


def _last_word(line: str) -> str:
    return line.replace("\t", " ").rpartition(" ")[2]


def _columns(char: str) -> int:
    if char.isascii():
        return 1
    from prompt_toolkit.utils import get_cwidth

    return get_cwidth(char)


def is_terminal() -> bool:
    """Whether somebody looks at the answers."""
    return sys.stdout is not None and sys.stdout.isatty()


def _terminal_width() -> int:
    try:
        return max(os.get_terminal_size(sys.stdout.fileno()).columns, 10)
    except (OSError, ValueError):  # it is no terminal any more
        return 80


@dataclass
class Screen:
    """Standard output. Thoughts are shown on a terminal alone."""

    is_terminal: bool = field(default_factory=is_terminal)
    is_dim: bool = False
    _wrap: WordWrap = field(default_factory=lambda: WordWrap(_terminal_width))

    def answer(self, text: str) -> None:
        """Shows the next piece of the answer."""
        self.end_thoughts()
        self._print(text)

    def think(self, text: str) -> None:
        """Shows the next piece of the thoughts."""
        if not self.is_terminal:
            return
        if not self.is_dim:
            print("\x1b[2m", end="")
        self.is_dim = True
        self._print(text)

    def end_thoughts(self) -> None:
        """Closes the thoughts, if there are any."""
        if self.is_dim:
            print("\x1b[0m")
            self._print("\n")
        self.is_dim = False

    def _print(self, text: str) -> None:
        print(self._wrap.put(text) if self.is_terminal else text, end="", flush=True)


@contextlib.contextmanager
def keys_not_shown() -> Generator[None]:
    """The terminal shows no key that is pressed meanwhile: the next prompt gets it."""
    try:
        import termios

        keyboard = sys.stdin.fileno()
        before = termios.tcgetattr(keyboard)
    except (ImportError, OSError, ValueError, AttributeError, termios.error):
        yield  # there is no terminal
        return
    quiet = [*before]
    quiet[3] &= ~(termios.ECHO | termios.ECHONL)
    termios.tcsetattr(keyboard, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSANOW, before)

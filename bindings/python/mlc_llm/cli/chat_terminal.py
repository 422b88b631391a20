"""The chat on a terminal: prompt_toolkit gives line editing, history and Tab completion."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings

from mlc_llm.cli import describe
from mlc_llm.cli.chat_screen import keys_not_shown
from mlc_llm.cli.chat_session import ChatSession
from mlc_llm.cli.chat_words import ALIASES, COMMANDS, opens_quotes
from mlc_llm.cli.settings import CHAT_SETTINGS
from mlc_llm.errors import MLCError
from mlc_llm.prepare.jit_cache import home

_HISTORY = "chat_history"
_MOST_HISTORY = 1 << 20  # bytes


def interact(session: ChatSession) -> None:
    """Reads lines until the end: Enter sends, Esc+Enter starts a new line. On an empty line, Ctrl-C
    leaves the chat when it is pressed twice."""
    keys = KeyBindings()
    keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
    keys.add("enter")(_send)
    reader: PromptSession[str] = PromptSession(
        key_bindings=keys,
        multiline=True,
        completer=_Completer(),
        complete_while_typing=False,
        history=_history(),
    )
    session.greet()
    is_warned = False
    while not session.done:
        try:
            line = reader.prompt(">>> ")
        except KeyboardInterrupt:
            if reader.default_buffer.text:
                continue  # it clears the line
            if is_warned:
                return
            print("Ctrl-C again, or /exit, ends the chat.")
            is_warned = True
            continue
        except EOFError:
            return
        is_warned = False
        with keys_not_shown():
            _take_safely(session, line)


def suggest_once() -> None:
    """In the first chat on this machine: names a larger model that fits."""
    from mlc_llm.cli.list import megabytes
    from mlc_llm.prepare import suggested_models

    if (home() / _HISTORY).exists() or (model := suggested_models.best_fit()) is None:
        return
    size = megabytes(model.parameter_bytes)
    print(f"A larger model answers better ({size}): {model.command}")
    print("Others, and what fits this machine: mlc_llm list --suggested")


def _send(event: Any) -> None:
    """Sends the text, or begins a new line in a message between quotes."""
    buffer = event.current_buffer
    if opens_quotes(buffer.text):
        buffer.insert_text("\n")
    else:
        buffer.validate_and_handle()


def _history() -> History:
    """The lines of earlier chats: a file that only its owner can read."""
    path = home() / _HISTORY
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        _shorten(path)
    except OSError:
        return InMemoryHistory()
    return _Lines(path)


class _Lines(FileHistory):
    """A line that cannot be written, as on a full disk, is kept for this chat alone."""

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):
            super().store_string(string)


def _shorten(path: Path) -> None:
    """Keeps the newer half of a file that has become large."""
    text = path.read_bytes()
    if len(text) > _MOST_HISTORY:
        begin = text.find(b"\n# ", len(text) // 2)  # an entry begins with its date
        path.write_bytes(text[begin:] if begin >= 0 else b"")


def _take_safely(session: ChatSession, line: str) -> None:
    """Prints an error, and continues the conversation. After Ctrl-C the session has already printed
    it."""
    try:
        session.take(line)
    except MLCError as error:
        print(f"Error: {error.message}", file=sys.stderr)
    except OSError as error:
        print(f"Error: {describe(error)}", file=sys.stderr)
    except KeyboardInterrupt:
        pass


class _Completer(Completer):
    """Commands, the names of settings, and files."""

    def __init__(self) -> None:
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        command, space, rest = text.partition(" ")
        if not space and command.startswith("/"):
            return _beginning(command, [*COMMANDS, *ALIASES])
        if command == "/set":
            name = rest.rpartition(";")[2].lstrip()
            return _beginning(name, [f"{setting}=" for setting in CHAT_SETTINGS])
        if command == "/show":
            return _beginning(rest, ["info", "parameters", "system"])
        if command in ("/save", "/load", "/image"):
            return self._paths.get_completions(Document(rest), event)
        return ()


def _beginning(start: str, words: Iterable[str]) -> list[Completion]:
    return [Completion(word, -len(start)) for word in words if word.startswith(start)]

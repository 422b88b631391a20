"""The chat on a terminal: prompt_toolkit gives line editing, history and Tab completion."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.key_binding import KeyBindings

from mlc_llm.cli.chat_session import COMMANDS, ChatSession
from mlc_llm.cli.settings import CHAT_SETTINGS
from mlc_llm.errors import MLCError


def interact(session: ChatSession) -> None:
    """Reads lines until the end: Enter sends, Esc+Enter starts a new line."""
    keys = KeyBindings()
    keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
    keys.add("enter")(_send)
    reader: PromptSession[str] = PromptSession(
        key_bindings=keys, multiline=True, completer=_Completer(), complete_while_typing=False
    )
    session.greet()
    while not session.done:
        try:
            line = reader.prompt(">>> ")
        except KeyboardInterrupt:
            continue  # at the prompt, Ctrl-C clears the line
        except EOFError:
            return
        _take_safely(session, line)


def _send(event: Any) -> None:
    event.current_buffer.validate_and_handle()


def _take_safely(session: ChatSession, line: str) -> None:
    """Prints an error, and continues the conversation. After Ctrl-C the session has already printed
    it."""
    try:
        session.take(line)
    except MLCError as error:
        print(f"Error: {error.message}", file=sys.stderr)
    except OSError as error:
        print(f"Error: {error.filename}: {error.strerror}", file=sys.stderr)
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
            return _beginning(command, COMMANDS)
        if command == "/set":
            name = rest.rpartition(";")[2].lstrip()
            return _beginning(name, [f"{setting}=" for setting in CHAT_SETTINGS])
        if command in ("/save", "/load"):
            return self._paths.get_completions(Document(rest), event)
        return ()


def _beginning(start: str, words: Iterable[str]) -> list[Completion]:
    return [Completion(word, -len(start)) for word in words if word.startswith(start)]

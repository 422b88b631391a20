"""`mlc_llm chat`: a conversation with a model in the terminal, or through a pipe."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mlc_llm.cli.settings import format_settings, parse_generation_settings, parse_overrides
from mlc_llm.errors import MLCError

HELP = """You can use the following special commands:
  /help               print the special commands
  /exit               quit the cli
  /stats              print out stats of last request (token/sec)
  /metrics            print out full engine metrics
  /reset              restart a fresh chat
  /set [overrides]    override settings in the generation config. For example,
                      `/set temperature=0.5;top_p=0.8;seed=23;max_tokens=100;stop=str1,str2`
                      Note: Separate stop words in the `stop` option with commas (,).
  Multi-line input: Use escape+enter to start a new line.
"""


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser("chat", help="chat with a model", description=__doc__)
    parser.add_argument(
        "model",
        nargs="?",
        help="HF://org/repo, a model folder, or a .gguf file (default: the embedded model)",
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, ... (default: %(default)s)")
    parser.add_argument("--model-lib", help="a compiled model library (default: found or compiled)")
    parser.add_argument("--quantization", help="for a model that is not prepared yet")
    parser.add_argument(
        "--overrides", default="", help='engine settings, "context_window_size=2048;..."'
    )
    parser.add_argument("--prompt", help="answer this and exit")
    parser.add_argument("--system", help="a system message for the conversation")
    parser.add_argument("--set", default="", help="generation settings, as /set takes them")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Runs the command; raises MLCError."""
    settings = parse_generation_settings(args.set)
    from mlc_llm.engine import MLCEngine

    engine = MLCEngine(
        args.model,
        model_lib=args.model_lib,
        device=args.device,
        mode="interactive",
        quantization=args.quantization,
        engine_config=parse_overrides(args.overrides),
        log=lambda line: print(line, file=sys.stderr),
    )
    with engine:
        session = ChatSession(engine, system=args.system, settings=settings)
        if args.prompt is not None:
            session.answer(args.prompt)
        elif sys.stdin is not None and sys.stdin.isatty():
            _interact(session)
        else:
            _read_pipe(session, sys.stdin or ())


class ChatSession:
    """A conversation: its history, its settings, and the commands that act on them."""

    def __init__(self, engine: Any, *, system: str | None, settings: dict[str, Any]) -> None:
        self._engine = engine
        self._system = system
        self._settings = settings
        self._history: list[dict[str, str]] = []
        self.done = False
        self._commands: dict[str, Callable[[str], None]] = {
            "/help": lambda _: print(HELP, end=""),
            "/exit": lambda _: self._exit(),
            "/stats": lambda _: print(self._stats()),
            "/metrics": lambda _: self._print_metrics(),
            "/reset": lambda _: self._reset(),
            "/set": self._set,
        }

    def take(self, line: str) -> None:
        """A line of the user's: a command, or something to answer."""
        word, _, rest = line.strip().partition(" ")
        if word in self._commands:
            self._commands[word](rest.strip())
        elif word.startswith("/") and word[1:].isalpha():
            print(f"Unknown command {word}.", HELP, sep="\n", end="")
        elif line.strip():
            self.answer(line)

    def answer(self, prompt: str) -> None:
        """Streams the answer to standard output. Ctrl-C ends it; what came stays in the history."""
        messages = [*self._history, {"role": "user", "content": prompt}]
        system = [{"role": "system", "content": self._system}] if self._system else []
        text = ""
        try:
            with self._engine.chat.completions.create(
                messages=system + messages, stream=True, **self._settings
            ) as stream:
                for piece in _pieces(stream):
                    text += piece
                    print(piece, end="", flush=True)
        except KeyboardInterrupt:
            self._end_turn(messages, text, mark=" [stopped]")
            raise
        except MLCError:
            if text:
                print(flush=True)
            raise
        self._end_turn(messages, text)

    def _end_turn(self, messages: list[dict[str, str]], text: str, *, mark: str = "") -> None:
        print(mark, flush=True)
        if text:
            self._history = [*messages, {"role": "assistant", "content": text}]

    def _exit(self) -> None:
        self.done = True

    def _stats(self) -> str:
        last = self._engine.metrics().get("last_finished_request")
        if last is None:
            return "No request has finished yet."
        return (
            f"prefill: {last['prefill_tokens_per_s']:.1f} tok/s, "
            f"decode: {last['decode_tokens_per_s']:.1f} tok/s"
        )

    def _print_metrics(self) -> None:
        for name, value in self._engine.metrics().items():
            print(f"{name}: {value}")

    def _reset(self) -> None:
        self._history = []
        self._engine.reset()
        print("The chat is reset.")

    def _set(self, text: str) -> None:
        self._settings = {**self._settings, **parse_generation_settings(text)}
        print("Settings:", format_settings(self._settings) or "the model's own")


def _pieces(stream: Any) -> Iterator[str]:
    for chunk in stream:
        for choice in chunk.choices:
            if choice.delta.content:
                yield choice.delta.content


def _take_safely(session: ChatSession, line: str) -> None:
    """A request that fails is said; one that Ctrl-C stops has said it. The conversation goes on."""
    try:
        session.take(line)
    except MLCError as error:
        print(f"Error: {error.message}", file=sys.stderr)
    except KeyboardInterrupt:
        pass


def _interact(session: ChatSession) -> None:
    """Reads lines with editing and history: Enter sends, Esc+Enter starts a new line."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()
    keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
    keys.add("enter")(lambda event: event.current_buffer.validate_and_handle())
    reader: PromptSession[str] = PromptSession(key_bindings=keys, multiline=True)
    print(HELP, end="")
    while not session.done:
        try:
            line = reader.prompt(">>> ")
        except KeyboardInterrupt:
            continue  # at the prompt it clears the line
        except EOFError:
            return
        _take_safely(session, line)


def _read_pipe(session: ChatSession, lines: Iterable[str]) -> None:
    """Each line is a turn. A turn that fails ends the command with its error."""
    for line in lines:
        session.take(line.rstrip("\r\n"))
        if session.done:
            return

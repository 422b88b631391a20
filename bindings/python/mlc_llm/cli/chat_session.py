"""A conversation: its history, its settings, and the commands that act on them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlc_llm import _core
from mlc_llm.cli.chat_adapters import ChatAdapters
from mlc_llm.cli.chat_pictures import (
    PICTURES,
    NextPictures,
    as_asked,
    dropped,
    paths_in,
    with_pictures,
)
from mlc_llm.cli.chat_screen import Screen
from mlc_llm.cli.chat_words import command_of, help_text, quoted, settings_of, unknown
from mlc_llm.cli.settings import ChatSettings, format_settings, settings_table
from mlc_llm.errors import CorruptFileError, InvalidRequestError, MLCError
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare.progress import Steps
from mlc_llm.sdk.core_engine import raise_if_error

if TYPE_CHECKING:
    from mlc_llm.sdk.mcp_servers import MCPTools

Message = dict[str, Any]

_FORMAT = "mlc_llm chat"
# As the engine's own for a request without one (kDefaultMaxTokens in generation_fields.h).
DEFAULT_MAX_TOKENS = 4096
_ADVICE = (
    "/reset starts anew; `/set when_full=drop` drops the oldest turns whenever the context is full"
)


@dataclass
class _Answer:
    """The result of a turn."""

    text: str = ""
    thoughts: str = ""
    is_cut: bool = False  # by max_tokens, or by the end of the context
    num_tokens: int = 0


class ChatSession:
    """`engine`: a `CoreEngine`, or an object with its `stream`, `call`, `abort`, `reset`, `plan`
    and `metrics`. `max_tokens` limits an answer for which the settings have no limit. `steps` shows
    that a long prompt is read. `tools` may be called by the model. `adapters` are loaded."""

    def __init__(
        self,
        engine: Any,
        *,
        system: str | None,
        settings: ChatSettings,
        quiet: bool = False,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        steps: Steps | None = None,
        tools: MCPTools | None = None,
        adapters: ChatAdapters | None = None,
    ) -> None:
        self._engine = engine
        self._system = system or None
        self._settings = settings
        self._quiet = quiet
        self._max_tokens = max_tokens
        self._steps = steps or Steps()
        self._tools = tools
        self._adapters = adapters or ChatAdapters()
        self._history: list[Message] = []
        self._pictures = NextPictures(engine)
        self.done = False
        self._handlers: dict[str, Callable[[str], None]] = {
            "/help": lambda _: print(help_text(), end=""),
            "/exit": lambda _: self._exit(),
            "/stats": lambda _: print(self._stats()),
            "/metrics": lambda _: self._print_metrics(),
            "/reset": lambda _: self._reset(),
            "/system": self._set_system,
            "/image": lambda text: self.add_pictures(paths_in(text)),
            "/lora": lambda text: print(self._adapters.choose(text)),
            "/set": self._set,
            "/show": self._show,
            "/save": self._save,
            "/load": self._load,
        }

    @property
    def title(self) -> str:
        """The model, its quantization, and its device."""
        model = self._engine.model
        return f"{model.name} ({model.quantization}, {self._engine.device})"

    def greet(self) -> None:
        """Prints the first lines that a user sees."""
        self._say(f"{self.title}. /help shows the commands, /exit ends the chat.")

    def take(self, line: str) -> None:
        """Takes a line of the user: a command, pictures that were dropped, or text to answer."""
        text = quoted(line)
        if text is None and (paths := dropped(line)):
            return self.add_pictures(paths)
        command = command_of(line) if text is None else None
        if command is None:
            if (message := line if text is None else text).strip():
                self.answer(message)
        elif (handler := self._handlers.get(command[0])) is not None:
            handler(command[1])
        else:
            print(unknown(command[0]))

    def add_pictures(self, paths: list[Path]) -> None:
        """They go with the next message."""
        for text in self._pictures.add(paths):
            self._note(text)

    def answer(self, prompt: str) -> None:
        """Streams the answer to standard output. Ctrl-C ends it; the text so far stays in the
        history."""
        messages = [*self._history, with_pictures(prompt, self._pictures.take())]
        answer, screen = _Answer(), Screen()
        try:
            messages = self._stream(messages, answer, screen)
        except KeyboardInterrupt:
            screen.end_thoughts()
            self._end_turn(messages, answer, mark=" [stopped]")
            raise
        except MLCError:
            screen.end_thoughts()
            if answer.text:
                print(flush=True)
            raise
        screen.end_thoughts()
        self._end_turn(messages, answer)

    def _stream(self, messages: list[Message], answer: _Answer, screen: Screen) -> list[Message]:
        """Answers the messages, if necessary without the oldest turns. Returns the messages that it
        answered."""
        while True:
            try:
                for chunk in self._chunks(messages):
                    _take_chunk(chunk, answer, screen)
                return messages
            except MLCError as error:
                if error.code != reasons.CONTEXT_LENGTH_EXCEEDED or len(messages) < 3:
                    raise
                if self._settings.when_full != "drop":
                    raise type(error)(
                        f"{error.message} {_ADVICE}.", param=error.param, code=error.code
                    ) from None
                messages = messages[2:]
                self._note("[the context is full: the oldest turn was dropped]")

    def _chunks(self, messages: list[Message]) -> Iterator[dict[str, Any]]:
        return self._plain_chunks(messages) if self._tools is None else self._tool_chunks(messages)

    def _tool_chunks(self, messages: list[Message]) -> Iterator[dict[str, Any]]:
        """The chunks of all answers, up to the one without calls. Calls and results are notes."""
        from mlc_llm.cli.mcp import approve_on, shown
        from mlc_llm.sdk.engine import ChunkStream
        from mlc_llm.sdk.tool_loop import ToolLoop, loop_events
        from mlc_llm.sdk.tools_gen import MAX_TOOL_CALLS
        from mlc_llm.types_gen import ChatCompletionChunk

        assert self._tools is not None

        def ask(request: dict[str, Any]) -> ChunkStream[ChatCompletionChunk]:
            request = {**request, "stream": True}
            return ChunkStream(self._engine, "chat.completions", ChatCompletionChunk, request)

        loop = ToolLoop(self._tools.tools, self._request(messages), MAX_TOOL_CALLS)
        for event in loop_events(ask, loop, approve_on(self._tools)):
            if event.type == "chunk":
                yield json.loads(event.chunk.model_dump_json(exclude_none=True))
            elif event.type == "call":
                function = event.call.function
                self._note(f"[{function.name}({shown(function.arguments)})]")
            elif event.type == "result":
                self._note(f"[{event.result.outcome}: {shown(event.result.content)}]")

    def _plain_chunks(self, messages: list[Message]) -> Iterator[dict[str, Any]]:
        request = self._request(messages) | {"stream": True}
        request["stream_options"] = {"include_usage": True}
        request_id, events = self._engine.stream("chat.completions", request)
        try:
            with self._steps.step("Reading the prompt", self._progress(request)):
                kind, text = events.next()
            while kind == _core.EVENT_CHUNK:
                yield json.loads(text)
                kind, text = events.next()
            raise_if_error(kind, text)
        finally:
            self._engine.abort(request_id)

    def _progress(self, request: dict[str, Any]) -> Callable[[], float]:
        """How much of the prompt is computed. Its length is found when this is asked for, because
        that takes time itself."""
        before = self._num_read()
        length: list[int] = []

        def fraction() -> float:
            if not length:
                prompt = {"messages": request["messages"]}
                tokens = json.loads(self._engine.call("input_tokens", prompt))
                length.append(max(1, tokens["input_tokens"]))
            return (self._num_read() - before) / length[0]

        return fraction

    def _num_read(self) -> int:
        """The tokens of all prompts that the engine has computed."""
        return int(self._engine.metrics().get("prefill_tokens_sum") or 0)

    def _request(self, messages: list[Message]) -> dict[str, Any]:
        system = [{"role": "system", "content": self._system}] if self._system else []
        limits = {"max_tokens": self._max_tokens}
        asked = [as_asked(message) for message in messages]
        chosen = {**limits, **self._settings.generation, **self._adapters.field()}
        return {"messages": system + asked, **chosen}

    def _end_turn(self, messages: list[Message], answer: _Answer, *, mark: str = "") -> None:
        print(mark, flush=True)
        if answer.text:
            self._history = [*messages, {"role": "assistant", "content": answer.text}]
        limit = self._settings.generation.get("max_tokens", self._max_tokens)
        if answer.is_cut and answer.num_tokens < limit:
            self._note(f"[the context is full: {_ADVICE}]")
        elif answer.is_cut and "max_tokens" not in self._settings.generation:
            self._note(f"[cut after {limit} tokens: `/set max_tokens=N` allows more]")

    def _note(self, text: str) -> None:
        if not self._quiet:
            print(text, file=sys.stderr, flush=True)

    def _say(self, text: str) -> None:
        """Prints the result of a command."""
        if not self._quiet:
            print(text)

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
        self._pictures.take()
        self._engine.reset()
        self._say("The chat is reset.")

    def _set_system(self, text: str) -> None:
        self._system = text or None
        self._say(f"System message: {text or 'none'}")

    def _set(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        if word == "system":
            self._set_system(rest.strip().strip('"'))
        elif changes := settings_of(text):
            self._use(self._settings.changed(changes))
            self._say(f"Settings: {format_settings(self._settings) or 'those of the model'}")
        else:
            limits = {"max_tokens": self._max_tokens}
            print(settings_table(self._settings, self._engine.model.config, limits), end="")

    def _show(self, what: str) -> None:
        if what in ("", "info"):
            model = self._engine.model
            print(f"Model: {model.name} ({model.config.get('model_type', 'unknown')})")
            print(f"Quantization: {model.quantization}, device: {self._engine.device}")
            print(f"Context: {model.config.get('context_window_size', 'unknown')} tokens")
            print(f"Conversation: {_turns(self._history)}")
        elif what == "parameters":
            self._set("")
        elif what == "system":
            print(f"System message: {self._system or 'none'}")
        else:
            raise InvalidRequestError(
                f"/show {what}: must be info, parameters or system; `mlc_llm show MODEL` shows a "
                "model's config and chat template",
                param="show",
            )

    def _use(self, settings: ChatSettings) -> None:
        """Uses the settings. Refuses settings that a request would refuse."""
        messages = [{"role": "user", "content": "x"}]
        self._engine.call("render", {"messages": messages, **settings.generation})
        self._settings = settings

    def _save(self, path: str) -> None:
        saved = {
            "format": _FORMAT,
            "version": 1,
            "model": self._engine.model.name,
            "system": self._system,
            "settings": format_settings(self._settings),
            "messages": self._history,
        }
        target = _file(path, "/save")
        text = json.dumps(saved, indent=1, ensure_ascii=False)
        target.write_bytes(text.encode(errors="backslashreplace"))  # a surrogate as JSON has it
        self._say(f"Saved {_turns(self._history)} to {target}.")

    def _load(self, path: str) -> None:
        saved = _read_chat(_file(path, "/load"))
        self._use(ChatSettings().changed(saved["settings"]))
        self._system, self._history = saved["system"], saved["messages"]
        self._say(f"Loaded {_turns(self._history)} with {saved['model']}.")


def _take_chunk(chunk: dict[str, Any], answer: _Answer, screen: Screen) -> None:
    """Shows a chunk and adds it to the answer."""
    for choice in chunk.get("choices", ()):
        delta = choice.get("delta", {})
        if thought := delta.get("reasoning_content"):
            answer.thoughts += thought
            screen.think(thought)
        if text := delta.get("content"):
            answer.text += text
            screen.answer(text)
        answer.is_cut = answer.is_cut or choice.get("finish_reason") == "length"
    if usage := chunk.get("usage"):
        answer.num_tokens = usage.get("completion_tokens", 0)


def _turns(history: list[Message]) -> str:
    count = len(history) // 2
    return f"{count} turn" if count == 1 else f"{count} turns"


def _file(path: str, command: str) -> Path:
    if not path or "\0" in path:
        raise InvalidRequestError(f"{command} needs a file: {command} talk.json", param="path")
    return Path(os.path.expanduser(path))


def _read_chat(path: Path) -> dict[str, Any]:
    """Reads a saved conversation. Raises CorruptFileError for anything else."""
    saved: dict[str, Any] = {}
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        roles = [message["role"] for message in saved["messages"]]
        texts = [message["content"] for message in saved["messages"]]
        texts += [picture for one in saved["messages"] for picture in one.get(PICTURES, [])]
        system, settings = saved["system"], saved["settings"]
        is_right = saved["format"] == _FORMAT and roles == ["user", "assistant"] * (len(roles) // 2)
        is_right &= all(isinstance(text, str) for text in [*texts, settings, system or ""])
        saved["model"] = str(saved.get("model"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        is_right = False
    if not is_right:
        raise CorruptFileError(f"{path}: no conversation that /save wrote", param="path")
    return saved

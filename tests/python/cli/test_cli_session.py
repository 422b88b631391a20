"""A chat's conversation and settings, over an engine that answers from a script."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mlc_llm import _core
from mlc_llm.cli.chat_session import ChatSession
from mlc_llm.cli.chat_words import whole_messages
from mlc_llm.cli.settings import ChatSettings, format_settings, parse_chat_settings
from mlc_llm.errors import CorruptFileError, InvalidRequestError
from mlc_llm.prepare.progress import Steps

CHUNK, DONE = _core.EVENT_CHUNK, _core.EVENT_DONE


class ScriptedEngine:
    """Echoes the last message; refuses conversations of more than `room` messages."""

    model = SimpleNamespace(
        name="scripted",
        quantization="q0f32",
        config={"model_type": "tiny", "context_window_size": 64, "top_p": 0.9},
    )
    device = "fake"

    def __init__(self, room: int = 99, deltas: list[dict] | None = None, finish: str = "stop"):
        self.requests: list[dict[str, Any]] = []
        self._room, self._deltas, self._finish = room, deltas, finish

    def stream(self, route: str, request: dict[str, Any]) -> tuple[int, Any]:
        assert route == "chat.completions" and request["stream"]
        if len(request["messages"]) > self._room:
            raise InvalidRequestError("too long.", code="context_length_exceeded")
        self.requests.append(request)
        deltas = self._deltas or [{"content": f"<{request['messages'][-1]['content']}>"}]
        choices = [{"delta": delta, "finish_reason": None} for delta in deltas]
        choices[-1]["finish_reason"] = self._finish
        events = [(CHUNK, json.dumps({"choices": [choice]})) for choice in choices]
        events.append((CHUNK, json.dumps({"choices": [], "usage": {"completion_tokens": 3}})))
        events.append((DONE, ""))
        return 1, SimpleNamespace(next=iter(events).__next__)

    def call(self, route: str, request: dict[str, Any]) -> bytes:
        if route == "input_tokens":
            return b'{"input_tokens": 8}'
        assert route == "render"
        if request.get("temperature", 0) > 2:
            raise InvalidRequestError("'temperature' must be <= 2", param="temperature")
        return b'{"prompt": "text"}'

    def metrics(self) -> dict[str, Any]:
        return {"prefill_tokens_sum": 4 * len(self.requests)}

    def abort(self, request_id: int) -> None: ...

    def reset(self) -> None: ...

    def texts(self) -> list[str]:
        """Of the last request."""
        return [message["content"] for message in self.requests[-1]["messages"]]


def session(engine: ScriptedEngine, settings: str = "", **options: Any) -> ChatSession:
    chosen = {"system": None, "settings": parse_chat_settings(settings)} | options
    return ChatSession(engine, **chosen)


def test_settings_are_set_checked_and_taken_back(capsys: pytest.CaptureFixture) -> None:
    engine = ScriptedEngine()
    chat = session(engine, "temperature=1;top_p=0.5")
    chat.take("/set temperature=0.5; stop=a,b")
    with pytest.raises(InvalidRequestError, match="<= 2"):
        chat.take("/set temperature=3;seed=1")
    chat.take("/set top_p=;stop=")
    assert capsys.readouterr().out.splitlines() == [
        "Settings: temperature=0.5;top_p=0.5;stop=a,b",
        "Settings: temperature=0.5",
    ]
    chat.take("x")
    sent = engine.requests[-1]
    assert sent["temperature"] == 0.5 and not {"top_p", "stop", "seed"} & set(sent)


def test_set_shows_all_values_and_where_they_are_from(capsys: pytest.CaptureFixture) -> None:
    chat = session(ScriptedEngine(), "temperature=0.5", max_tokens=99)
    for words in ("/set", "/set parameter", "/show parameters"):
        chat.take(words)
        shown = capsys.readouterr().out.splitlines()
        rows = {row[0]: row[1:] for row in map(str.split, shown[1:])}
        assert rows["temperature"] == ["0.5", "set", "here"]
        assert rows["top_p"] == ["0.9", "the", "model's"]
        assert rows["min_p"] == ["0.0"] and rows["max_tokens"] == ["99"]
        assert rows["when_full"] == ["say"] and rows["stop"] == ["none"]


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ("temperature 0.5", {"temperature": 0.5}),
        ("parameter temperature 0.5", {"temperature": 0.5}),
        ("parameter num_predict 7", {"max_tokens": 7}),
        ("parameter repeat_penalty 1.2", {"repetition_penalty": 1.2}),
        ("parameter temperature=0.5; seed=1", {"temperature": 0.5, "seed": 1}),
        ("stop a b,c", {"stop": ["a b", "c"]}),
    ],
)
def test_other_words_for_settings(words: str, settings: dict[str, Any]) -> None:
    engine = ScriptedEngine()
    chat = session(engine)
    chat.take(f"/set {words}")
    chat.take("x")
    assert settings.items() <= engine.requests[-1].items()


def test_other_words_for_commands(capsys: pytest.CaptureFixture) -> None:
    engine = ScriptedEngine()
    chat = session(engine)
    chat.take('/set system "Be kind."')
    chat.take("a")
    chat.take("/clear")
    chat.take("b")
    assert engine.texts() == ["Be kind.", "b"]
    capsys.readouterr()
    chat.take("/?")
    assert "print the special commands" in capsys.readouterr().out
    chat.take("/show info")
    shown = capsys.readouterr().out
    assert "scripted (tiny)" in shown and "q0f32" in shown and "64 tokens" in shown
    chat.take("/show system")
    assert capsys.readouterr().out == "System message: Be kind.\n"
    with pytest.raises(InvalidRequestError, match="info, parameters or system"):
        chat.take("/show licence")
    with pytest.raises(InvalidRequestError, match="--overrides context_window_size=4096"):
        chat.take("/set parameter num_ctx 4096")
    assert not chat.done
    chat.take("/bye")
    assert chat.done


@pytest.mark.parametrize("line", ["/nonsense", " /exti", "/usr/bin/env", "/123", "/", "/ü x"])
def test_a_word_that_is_no_command_is_never_sent(line: str, capsys: pytest.CaptureFixture) -> None:
    engine = ScriptedEngine()
    session(engine).take(line)
    assert not engine.requests
    told = capsys.readouterr().out
    assert told.startswith(f"Unknown command {line.split()[0]}. /help") and '"""' in told


def test_what_stands_between_quotes_is_one_message() -> None:
    lines = ["a", '"""b', "/exit", 'c"""', '"""/d"""', '"""e', "f"]
    engine = ScriptedEngine()
    chat = session(engine)
    for message in whole_messages(lines):
        chat.take(message)
    assert engine.texts()[0::2] == ["a", "b\n/exit\nc", "/d", "e\nf"]
    assert list(whole_messages([])) == [] and list(whole_messages(['""""""'])) == ['""""""']
    chat.take('""""""')
    assert len(engine.requests) == 4  # nothing to answer


class WatchedSteps(Steps):
    """Keeps the progress at the beginning and at the end of each step."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, float, float]] = []

    @contextlib.contextmanager
    def step(self, title: str, measure: Any = None) -> Iterator[Any]:
        before = measure()
        yield lambda _: None
        self.seen.append((title, before, measure()))


def test_reading_a_prompt_is_a_step_with_its_progress() -> None:
    steps = WatchedSteps()
    engine = ScriptedEngine()
    stream = engine.stream

    def later(route: str, request: dict[str, Any]) -> tuple[int, Any]:
        identity, events = stream(route, request)
        engine.requests.pop()  # nothing of the prompt is computed yet

        def following() -> Any:
            if engine.requests[-1:] != [request]:
                engine.requests.append(request)
            return events.next()

        return identity, SimpleNamespace(next=following)

    engine.stream = later  # type: ignore[method-assign]
    session(engine, steps=steps).take("x")
    assert steps.seen == [("Reading the prompt", 0.0, 0.5)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense", "no setting"),
        ("when_full=explode", "'say' or 'drop'"),
        ("max_tokens=x", "must be an integer"),
        ("temperature=inf", "must be a number"),
    ],
)
def test_settings_that_cannot_be(text: str, words: str) -> None:
    with pytest.raises(InvalidRequestError, match=words):
        parse_chat_settings(text)


def test_settings_are_written_as_they_are_read() -> None:
    settings = parse_chat_settings("temperature=0.5;stop=a,b;when_full=drop")
    assert parse_chat_settings(format_settings(settings)) == settings
    assert settings.changed("when_full=;stop=;temperature=") == ChatSettings()


def test_the_system_message_comes_and_goes(capsys: pytest.CaptureFixture) -> None:
    engine = ScriptedEngine()
    chat = session(engine, system="Be kind.")
    chat.take("a")
    assert engine.texts() == ["Be kind.", "a"]
    chat.take("/system Be brief.")
    chat.take("b")
    assert engine.texts() == ["Be brief.", "a", "<a>", "b"]
    chat.take("/system")
    chat.take("c")
    assert engine.texts() == ["a", "<a>", "b", "<b>", "c"]
    assert "System message: none" in capsys.readouterr().out


def test_a_conversation_is_saved_and_loaded(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = tmp_path / "talk.json"
    first = session(ScriptedEngine(), "seed=7", system="Be kind.")
    first.take("a ü")
    first.take(f"/save {file}")
    engine = ScriptedEngine()
    second = session(engine, "temperature=1")
    second.take(f"/load {file}")
    second.take("b")
    assert engine.texts() == ["Be kind.", "a ü", "<a ü>", "b"]
    assert engine.requests[-1]["seed"] == 7 and "temperature" not in engine.requests[-1]
    assert f"Saved 1 turn to {file}." in capsys.readouterr().out


def test_bytes_that_are_not_utf8_are_saved_and_loaded(tmp_path: Path) -> None:
    """As the name of a picture, or a system message, may have them."""
    first = session(ScriptedEngine(), system="caf\udce9 ü")
    first.take(f"/save {tmp_path / 'talk.json'}")
    engine = ScriptedEngine()
    second = session(engine)
    second.take(f"/load {tmp_path / 'talk.json'}")
    second.take("a")
    assert engine.texts() == ["caf\udce9 ü", "a"]


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"format": "mlc_llm chat"}', "turn", "role"])
def test_a_file_that_is_no_conversation(damage: str, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    chat = session(ScriptedEngine())
    chat.take("a")
    chat.take(f"/save {file}")
    saved = json.loads(file.read_text())
    if damage == "turn":
        saved["messages"].pop()
    if damage == "role":
        saved["messages"][0]["role"] = "robot"
    file.write_text(json.dumps(saved) if damage in ("turn", "role") else damage)
    with pytest.raises(CorruptFileError, match="talk.json"):
        chat.take(f"/load {file}")
    for path in ("", " a\0b"):  # NUL ends no chat
        with pytest.raises(InvalidRequestError, match="/save needs a file"):
            chat.take(f"/save{path}")


def test_a_full_context_suggests_what_to_do() -> None:
    engine = ScriptedEngine(room=3)
    chat = session(engine)
    chat.take("a")
    chat.take("b")
    with pytest.raises(InvalidRequestError, match="/reset.*when_full=drop"):
        chat.take("c")
    chat.take("/set when_full=drop")
    chat.take("c")
    assert engine.texts() == ["b", "<b>", "c"]


def test_one_message_that_is_too_long_is_refused_as_it_is() -> None:
    chat = session(ScriptedEngine(room=0), "when_full=drop")
    with pytest.raises(InvalidRequestError, match="^too long.$"):
        chat.take("a")


@pytest.mark.parametrize(
    ("settings", "told"), [("", True), ("max_tokens=3", False), ("max_tokens=4", True)]
)
def test_an_answer_that_the_context_cuts(
    settings: str, told: bool, capsys: pytest.CaptureFixture
) -> None:
    """Not one that max_tokens cuts: that was asked for."""
    session(ScriptedEngine(finish="length"), settings).take("a")
    assert ("context is full" in capsys.readouterr().err) == told


@pytest.mark.parametrize(("settings", "limit"), [("", 3), ("max_tokens=9", 9)])
def test_a_limit_holds_where_the_settings_have_none(
    settings: str, limit: int, capsys: pytest.CaptureFixture
) -> None:
    engine = ScriptedEngine(finish="length")
    session(engine, settings, max_tokens=3).take("a")
    assert engine.requests[-1]["max_tokens"] == limit
    told = capsys.readouterr().err
    assert ("cut after 3 tokens" in told) == (settings == "")
    assert ("context is full" in told) == (settings != "")


THOUGHTS = [{"reasoning_content": "hm"}, {"reasoning_content": "m"}, {"content": "Yes."}]


def test_thoughts_are_dim_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    engine = ScriptedEngine(deltas=THOUGHTS)
    chat = session(engine)
    chat.take("a")
    assert capsys.readouterr().out == "Yes.\n"  # a pipe gets the answer alone
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    chat.take("b")
    assert capsys.readouterr().out == "\x1b[2mhmm\x1b[0m\n\nYes.\n"
    assert engine.texts() == ["a", "Yes.", "b"]  # thoughts are no part of the history


def test_quiet_says_the_answer_alone(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    chat = session(ScriptedEngine(finish="length"), quiet=True)
    for line in ("/system Be brief.", "/set seed=1", "a", f"/save {tmp_path / 'x'}", "/reset"):
        chat.take(line)
    chat.greet()
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("<a>\n", "")

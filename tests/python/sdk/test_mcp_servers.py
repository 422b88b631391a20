"""MCP servers, as programs of the official package: their tools in the loop, and in the chat."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mlc_llm import _core
from mlc_llm.cli.chat_session import ChatSession
from mlc_llm.cli.mcp import approve_on, mcp_tools, read_mcp_servers, shown
from mlc_llm.cli.settings import ChatSettings
from mlc_llm.errors import InvalidRequestError, UnavailableError
from mlc_llm.sdk.mcp_servers import MCPServer, MCPTools, allowed
from mlc_llm.serve.settings_file import read_settings

PROGRAM = """
import os, sys, time
from mcp.server import MCPServer

server = MCPServer("calculator")

@server.tool()
def add(a: int, b: int) -> int:
    "Adds two numbers."
    return a + b

@server.tool()
def fail() -> str:
    raise ValueError("not today")

@server.tool()
def long() -> str:
    return "x" * 100_000

@server.tool()
def slow() -> str:
    time.sleep(60)

@server.tool()
def leave() -> str:
    os._exit(3)

@server.tool()
def secret() -> str:
    return os.environ["SECRET"]

server.run()
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    path = tmp_path_factory.mktemp("mcp") / "calculator.py"
    path.write_text(PROGRAM)
    return sys.executable, str(path)


@pytest.fixture(scope="module")
def tools(program: tuple[str, ...]) -> Iterator[MCPTools]:
    server = MCPServer(
        name="calculator", command=program, allow=("*",), timeout=120, max_result_chars=1000,
        environment={"SECRET": "swordfish"},
    )  # fmt: skip
    with MCPTools([server]) as tools:
        yield tools


def call(tools: MCPTools, name: str, arguments: str = "{}") -> str:
    tool = next(tool for tool in tools.tools if tool.name == name)
    return str(tool.function(**tool.arguments(arguments)))


def test_tools_are_described_and_called(tools: MCPTools) -> None:
    add = next(tool for tool in tools.tools if tool.name == "add").definition()["function"]
    assert add["description"] == "Adds two numbers." and "strict" not in add
    assert set(add["parameters"]["properties"]) == {"a", "b"}  # type: ignore[arg-type]
    assert call(tools, "add", '{"a": 2, "b": 3}') == "5"
    assert call(tools, "secret") == "swordfish"


def test_results_have_a_limit_and_errors_are_raised(tools: MCPTools) -> None:
    assert len(call(tools, "long")) < 1100 and "cut off" in call(tools, "long")
    with pytest.raises(RuntimeError, match="fail"):
        call(tools, "fail")
    with pytest.raises(ValueError):
        call(tools, "add", "[1, 2]")


def test_only_allowed_tools_are_offered() -> None:
    there = [SimpleNamespace(name=name) for name in ("add", "fail")]

    def names(*allow: str) -> list[str]:
        server = MCPServer(name="c", command=("x",), allow=allow)
        return [tool.name for tool in allowed(server, there)]

    assert names("add") == ["add"] and names("*") == ["add", "fail"] and names() == []
    with pytest.raises(InvalidRequestError, match="mcp.c: there is no tool 'ad'; there is: add"):
        names("ad")


def test_what_cannot_be_reached_says_so() -> None:
    silent = (sys.executable, "-c", "import time; time.sleep(60)")
    for server, words in (
        (MCPServer(name="c", command=("/no/such/program",), allow=("*",)), "mcp.c: "),
        (MCPServer(name="c", command=(sys.executable, "-c", ""), allow=("*",)), "mcp.c: "),
        (MCPServer(name="c", command=silent, allow=("*",), timeout=0.5), "no answer within 0.5 s"),
        (MCPServer(name="c", url="http://127.0.0.1:9/mcp", allow=("*",)), "mcp.c: "),
    ):
        with pytest.raises(UnavailableError, match=words):
            MCPTools([server])


def test_a_slow_call_and_a_server_that_leaves(program: tuple[str, ...]) -> None:
    with MCPTools([MCPServer(name="c", command=program, allow=("*",), timeout=120)]) as tools:
        with pytest.raises(Exception):  # noqa: B017  the connection's own error
            call(tools, "leave")
        with pytest.raises(Exception):  # noqa: B017
            call(tools, "add", '{"a": 2, "b": 3}')


# The settings file and the chat


def settings(folder: Path, text: str) -> str:
    path = folder / "models.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[mcp.c]\nallow = ['*']", "line 1: mcp.c.command: give either a command or a url"),
        ("[mcp.c]\ncommand = ['x']\nurl = 'y'\nallow = ['*']", "mcp.c.command: give either"),
        ("[mcp.c]\ncommand = ['x']", "mcp.c.allow: name the tools"),
        ("[mcp.c]\ncommand = ['x']\nallow = ['*']\ntimeout = 0", "timeout: must be at least 0.1"),
        ("[mcp.c]\ncommand = ['x']\nallow = ['*']\ntimout = 1", "did you mean 'timeout'"),
        ("[mcp.c]\ncommand = ['x']\nallow = ['*']\n[mcp.c.environment]\nA = 1", "texts"),
        ("[mcp]\nc = 1", "must be a table"),
    ],
)
def test_faults_of_the_file_name_their_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        list(read_mcp_servers(read_settings(settings(tmp_path, text))))
    assert words in str(refused.value)


class CallingEngine:
    """Calls `add`, and then tells the result."""

    model = SimpleNamespace(name="scripted", quantization="q0f32", config={})
    device = "fake"

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    def stream(self, route: str, request: dict[str, Any], name: object = None) -> tuple[int, Any]:
        self.requests.append(request)
        last = request["messages"][-1]
        function = {"name": "add", "arguments": '{"a": 2, "b": 40}'}
        delta: dict[str, Any] = {"content": f"It is {last['content']}."}
        if last["role"] != "tool":
            delta = {"tool_calls": [{"index": 0, "id": "c", "function": function}]}
        head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        choice = {"index": 0, "delta": delta, "finish_reason": "stop"}
        events = [(_core.EVENT_CHUNK, json.dumps({**head, "choices": [choice]}))]
        events.append((_core.EVENT_DONE, ""))
        return 1, SimpleNamespace(next=iter(events).__next__)

    def abort(self, request_id: int) -> None: ...

    def forget(self, name: object, request_id: int) -> None: ...


def test_the_chat_calls_them(
    program: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through a pipe nobody can be asked, so a call that needs it is not made."""
    text = f"[mcp.c]\ncommand = {list(program)!r}\nallow = ['add']\nask = false"
    with mcp_tools(settings(tmp_path, text)) as tools:
        assert tools is not None
        for asks in (False, True):
            tools._asks["add"] = asks
            engine = CallingEngine()
            session = ChatSession(engine, system=None, settings=ChatSettings(), tools=tools)
            session.answer("2 + 40?")
            out, err = capsys.readouterr()
            offered = engine.requests[0]["tools"]
            assert [tool["function"]["name"] for tool in offered] == ["add"]
            assert "[add(" in err and ("[denied: " in err) is asks
            assert ("It is 42." in out) is not asks


def test_the_user_is_asked(tools: MCPTools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    said: list[str] = []
    function = SimpleNamespace(name="add", arguments='{"a": 1}')
    for answer, expected in (("y", True), ("YES ", True), ("", False), ("n", False)):

        def ask(words: str, answer: str = answer) -> str:
            said.append(words)
            return answer

        made: Any = SimpleNamespace(function=function)
        assert approve_on(tools, ask)(made) is expected
    assert said[0] == 'Call add({"a": 1})? [y/N] '


def test_a_result_cannot_steer_the_terminal() -> None:
    assert shown("\x1b[2Ka\n\u202eb é") == "\\x1b[2Ka \\u202eb é"


def test_a_file_without_servers_offers_nothing(tmp_path: Path) -> None:
    with mcp_tools(None) as none, mcp_tools(settings(tmp_path, "[defaults]\n")) as no_servers:
        assert none is None and no_servers is None

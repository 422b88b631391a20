"""Responses whose calls of MCP tools the server makes, with the official packages on both sides."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import openai
import pytest

from mlc_llm.serve.responses_request import to_chat
from mlc_llm.serve.schemas import all_schemas, reference

from .conftest import running_server

PROGRAM = """
import os
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # its log is not the server's
from pathlib import Path
from typing import Literal
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("coins")
starts = Path(__file__).with_suffix(".starts")  # a process per line
with starts.open("a") as file:
    print(os.getpid(), file=file)
start = len(starts.read_text().splitlines())  # no PID: it would change what the fake model says

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def flip(side: Literal["heads"]) -> str:
    "Flips a coin."
    return f"Start {start} shows {side}"

@server.tool()
def fail(why: Literal["rain"]) -> str:
    raise ValueError("no coin")

@server.tool()
def leave(now: Literal["yes"]) -> str:
    os._exit(3)

server.run()
"""
SETTINGS = """
[mcp.coins]
command = {command}
allow = ["*"]
ask = false

[mcp.same]
command = {command}
allow = ["flip"]
ask = false

[mcp.asks]
command = {command}
allow = ["flip"]

[mcp.silent]
command = ["sleep", "600"]
allow = ["*"]
ask = false
timeout = 600

[mcp.gone]
command = ["/no/such/program"]
allow = ["*"]
ask = false
"""
FLIP: dict[str, Any] = {
    "type": "mcp",
    "server_label": "coins",
    "allowed_tools": ["flip"],
    "require_approval": "never",
}
ASKED: dict[str, Any] = {
    "model": "fake-model",
    "input": "Flip a coin.",
    "tools": [FLIP],
    "tool_choice": {"type": "function", "name": "flip"},  # so the fake model calls it once
    "max_output_tokens": 400,
    "temperature": 0,
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[openai.OpenAI]:
    folder = tmp_path_factory.mktemp("mcp")
    (folder / "coins.py").write_text(PROGRAM)
    command = json.dumps([sys.executable, str(folder / "coins.py")])
    (folder / "models.toml").write_text(SETTINGS.format(command=command))
    with running_server("--settings", str(folder / "models.toml")) as url:
        yield openai.OpenAI(base_url=f"{url}/v1", api_key="-", max_retries=0)


def calling(name: str) -> dict[str, Any]:
    """The same with another tool."""
    choice = {"type": "function", "name": name}
    return {**ASKED, "tools": [{**FLIP, "allowed_tools": [name]}], "tool_choice": choice}


def check(schema: str, value: object) -> None:
    components = {"components": {"schemas": all_schemas()}}
    jsonschema_rs.validate({**reference(schema), **components}, value)


def kinds(response: Any) -> list[str]:
    return [item.type for item in response.output]


def call_of(response: Any) -> Any:
    """The only call."""
    (call,) = (item for item in response.output if item.type == "mcp_call")
    return call


def test_the_server_calls_and_the_model_goes_on(client: openai.OpenAI) -> None:
    response = client.responses.create(**ASKED)
    assert kinds(response) == ["mcp_list_tools", "mcp_call", "message"]
    listed, call, _ = response.output
    assert [tool.name for tool in listed.tools] == ["flip"]
    assert listed.tools[0].input_schema["required"] == ["side"]
    assert (call.server_label, call.name) == ("coins", "flip")
    assert json.loads(call.arguments) == {"side": "heads"}
    assert call.output.endswith(" shows heads") and call.error is None
    assert response.usage.input_tokens > 2 * len("Flip a coin.")  # of both turns
    check("Response", response.to_dict())


def test_a_stream_tells_the_same(client: openai.OpenAI) -> None:
    events = list(client.responses.create(**ASKED, stream=True))
    for event in events:
        check("ResponseStreamEvent", event.to_dict())
    told = [event.type for event in events]
    assert told[:7] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.mcp_list_tools.in_progress",
        "response.mcp_list_tools.completed",
        "response.output_item.done",
        "response.output_item.added",
    ]
    of_call = [kind for kind in told if "mcp_call" in kind and not kind.endswith("delta")]
    assert of_call == [
        "response.mcp_call.in_progress",
        "response.mcp_call_arguments.done",
        "response.mcp_call.completed",
    ]
    assert told[-1] == "response.completed"
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert kinds(events[-1].response) == ["mcp_list_tools", "mcp_call", "message"]


def test_a_call_that_fails_is_told_to_the_model(client: openai.OpenAI) -> None:
    call = call_of(client.responses.create(**calling("fail")))
    assert call.status == "failed" and call.output is None
    assert "Error executing tool" in call.error.content[0]["text"]


def test_a_connection_that_ended_is_made_again(client: openai.OpenAI) -> None:
    before = client.responses.create(**ASKED).output[1].output
    assert client.responses.create(**ASKED).output[1].output == before  # the same process
    left = client.responses.create(**calling("leave"))
    assert call_of(left).status == "failed"
    after = client.responses.create(**ASKED).output[1].output
    assert after.endswith(" shows heads") and after != before


def test_another_response_follows(client: openai.OpenAI) -> None:
    first = client.responses.create(**ASKED)
    asked = {**ASKED, "input": "Thanks."}
    del asked["tools"], asked["tool_choice"]
    second = client.responses.create(**asked, previous_response_id=first.id)
    assert kinds(second) == ["message"]
    items = [item.to_dict() for item in first.output]
    again = client.responses.create(**{**asked, "input": [*items, _user("Thanks.")]})
    assert kinds(again) == ["message"]


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _error(text: str) -> dict[str, Any]:
    return {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": text}]}


def test_calls_are_messages_of_later_requests() -> None:
    call = {
        **{"type": "mcp_call", "id": "mcp_1", "server_label": "c", "name": "flip"},
        **{"arguments": "{}", "output": "heads", "error": None},
    }
    failed = {**call, "id": "mcp_2", "output": None, "error": _error("rain")}
    items = [_user("x"), {"type": "mcp_list_tools", "tools": []}, call, failed]
    messages = to_chat({"input": items})["messages"]
    assert [message["role"] for message in messages] == [
        *("user", "assistant", "tool", "assistant", "tool")
    ]
    assert messages[2]["content"] == "heads" and messages[4]["content"] == "rain"
    assert messages[3]["tool_calls"][0]["id"] == messages[4]["tool_call_id"] == "mcp_2"


def test_in_the_background(client: openai.OpenAI) -> None:
    response = client.responses.create(**ASKED, background=True)
    deadline = time.monotonic() + 60
    while response.status in ("queued", "in_progress"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
        response = client.responses.retrieve(response.id)
    assert response.status == "completed"
    assert kinds(response) == ["mcp_list_tools", "mcp_call", "message"]


def test_a_function_of_the_client_is_its_own_to_call(client: openai.OpenAI) -> None:
    function = {"type": "function", "name": "mine", "parameters": {"type": "object"}}
    choice = {"type": "function", "name": "mine"}
    asked = {**ASKED, "tools": [FLIP, function], "tool_choice": choice}
    response = client.responses.create(**asked)
    assert kinds(response) == ["mcp_list_tools", "function_call"]
    assert response.output[1].name == "mine"


@pytest.mark.parametrize(
    ("change", "param", "words"),
    [
        (
            {"server_label": "no"},
            "tools[0].server_label",
            "there is: coins, same, asks, silent, gone",
        ),
        ({"server_label": "asks"}, "tools[0].server_label", "ask = false"),
        ({"allowed_tools": ["no"]}, "tools[0].allowed_tools", "offers no tool 'no'"),
        ({"allowed_tools": {"tool_names": ["no"]}}, "tools[0].allowed_tools", "no tool 'no'"),
        ({"allowed_tools": {"tool_names": 3}}, "tools[0].allowed_tools.tool_names", "array"),
        ({"allowed_tools": {"readOnly": True}}, "tools[0].allowed_tools.readOnly", "Unrecognized"),
        ({"require_approval": "always"}, "tools[0].require_approval", "never"),
    ],
)
def test_faults_name_their_field(
    client: openai.OpenAI, change: dict[str, Any], param: str, words: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=words) as refused:
        client.responses.create(**{**ASKED, "tools": [{**FLIP, **change}]})
    assert refused.value.param == param


READ_ONLY = {"tool_names": ["flip", "fail"], "read_only": True}
OF_COINS = {"type": "mcp", "server_label": "coins"}


@pytest.mark.parametrize(
    ("allowed", "choice"),
    [
        (READ_ONLY, OF_COINS),  # the only one
        (["flip", "fail"], {**OF_COINS, "name": "flip"}),
        ({}, {**OF_COINS, "name": "flip"}),
    ],
)
def test_a_server_may_be_chosen(client: openai.OpenAI, allowed: Any, choice: dict) -> None:
    tools = [{**FLIP, "allowed_tools": allowed}]
    response = client.responses.create(**{**ASKED, "tools": tools, "tool_choice": choice})
    assert kinds(response)[:2] == ["mcp_list_tools", "mcp_call"]  # the last text may be empty
    assert call_of(response).name == "flip"
    names = {tool.name for tool in response.output[0].tools}
    expected = {"flip"} if allowed is READ_ONLY else set(allowed) or {"flip", "fail", "leave"}
    assert names == expected
    assert response.tool_choice.to_dict() == choice
    check("Response", response.to_dict())


def test_of_several_tools_one_of_the_server_is_called(client: openai.OpenAI) -> None:
    asked = {**ASKED, "tools": [{**FLIP, "allowed_tools": ["flip", "fail"]}]}
    one = {"tool_choice": OF_COINS, "parallel_tool_calls": False}  # so that the calls have an end
    assert kinds(client.responses.create(**{**asked, **one}))[1] == "mcp_call"


@pytest.mark.parametrize(
    ("choice", "param", "words"),
    [
        ({"server_label": "same"}, "tool_choice.server_label", "no tool of a server 'same'"),
        ({"name": "fail"}, "tool_choice.name", "offers no tool 'fail'"),
        ({"name": ""}, "tool_choice.name", "offers no tool ''"),
    ],
)
def test_a_choice_that_cannot_be(
    client: openai.OpenAI, choice: dict[str, str], param: str, words: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=words) as refused:
        client.responses.create(**{**ASKED, "tool_choice": {**OF_COINS, **choice}})
    assert refused.value.param == param


def test_a_choice_among_other_tools_needs_a_name(client: openai.OpenAI) -> None:
    mine = {"type": "function", "name": "mine", "parameters": {"type": "object", "properties": {}}}
    tools = [{**FLIP, "allowed_tools": ["flip", "fail"]}, mine]
    with pytest.raises(openai.BadRequestError, match="name one of the tools") as refused:
        client.responses.create(**{**ASKED, "tools": tools, "tool_choice": OF_COINS})
    assert refused.value.param == "tool_choice.name"


def test_other_faults(client: openai.OpenAI) -> None:
    same = {"type": "mcp", "server_label": "same"}
    with pytest.raises(openai.BadRequestError, match="two tools with the name 'flip'"):
        client.responses.create(**{**ASKED, "tools": [FLIP, same]})
    parts = [FLIP, {**FLIP, "allowed_tools": ["fail"]}]
    with pytest.raises(openai.BadRequestError, match="coins is there twice") as twice:
        client.responses.create(**{**ASKED, "tools": parts})
    assert twice.value.param == "tools[1].server_label"
    gone = {"type": "mcp", "server_label": "gone"}
    for _ in range(2):
        with pytest.raises(openai.InternalServerError, match="mcp.gone") as refused:
            client.responses.create(**{**ASKED, "tools": [gone]})
        assert refused.value.status_code == 503


def test_programs_end_with_the_server(tmp_path: Path) -> None:
    """Also while one of them is being connected."""
    (tmp_path / "coins.py").write_text(PROGRAM)
    command = json.dumps([sys.executable, str(tmp_path / "coins.py")])
    (tmp_path / "models.toml").write_text(SETTINGS.format(command=command))
    began = time.monotonic()
    with running_server("--settings", str(tmp_path / "models.toml")) as url:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="-", max_retries=0)
        silent = {"type": "mcp", "server_label": "silent"}
        with pytest.raises(openai.APITimeoutError):
            client.responses.create(**{**ASKED, "tools": [silent]}, timeout=1)
        assert call_of(client.responses.create(**ASKED)).status == "completed"
        process = int((tmp_path / "coins.starts").read_text())
        os.kill(process, 0)
    assert time.monotonic() - began < 300  # of the 600 s that connecting may take
    deadline = time.monotonic() + 20
    while Path(f"/proc/{process}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)

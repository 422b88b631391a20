"""Anthropic's Messages API through the official client, and its translation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
import jsonschema_rs
import pytest

from mlc_llm.serve.anthropic_answer import AnthropicAnswerFormat
from mlc_llm.serve.anthropic_request import to_chat
from mlc_llm.serve.schemas import all_schemas, reference

from .conftest import KEY, PATIENCE, running_server

if TYPE_CHECKING:
    import anthropic  # takes a second, which every process would spend

BODY: dict[str, Any] = {
    "model": "fake-model",
    "messages": [{"role": "user", "content": "Hello"}],
    "max_tokens": 400,
}
# the newest client has no parameters for sampling, but older ones send them
OPTIONS: dict[str, Any] = {**BODY, "extra_body": {"temperature": 0}}


@pytest.fixture(scope="module")
def claude(url: str) -> anthropic.Anthropic:
    import anthropic

    return anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)


def test_a_whole_message(claude: anthropic.Anthropic) -> None:
    message = claude.messages.create(**OPTIONS, system="Be brief.")
    assert message.type == "message" and message.role == "assistant"
    assert message._request_id and message._request_id.startswith("req_")
    assert message.stop_reason == "end_turn" and message.content[0].text
    usage = message.usage
    assert usage.input_tokens + usage.cache_read_input_tokens > 0 and usage.output_tokens > 0
    cut = claude.messages.create(**{**OPTIONS, "max_tokens": 3})
    assert cut.stop_reason == "max_tokens" and cut.usage.output_tokens == 3


def test_a_stream_tells_the_same(claude: anthropic.Anthropic) -> None:
    whole = claude.messages.create(**OPTIONS)
    with claude.messages.stream(**OPTIONS) as stream:
        kinds = [event.type for event in stream if event.type != "text"]
        final = stream.get_final_message()
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert set(kinds[2:-3]) == {"content_block_delta"}
    assert final.content[0].text == whole.content[0].text
    assert final.usage.output_tokens == whole.usage.output_tokens
    prompt = [m.usage.input_tokens + m.usage.cache_read_input_tokens for m in (whole, final)]
    assert prompt[0] == prompt[1] and final.stop_reason == "end_turn"


def test_a_prompt_that_was_sent_before_is_cached(claude: anthropic.Anthropic) -> None:
    long = [{"role": "user", "content": "one two three " * 200}]
    for expected in (False, True):
        usage = claude.messages.create(**{**OPTIONS, "messages": long, "max_tokens": 1}).usage
        assert (usage.cache_read_input_tokens > usage.input_tokens) is expected
        assert usage.cache_creation_input_tokens == 0


def test_the_stop_sequence_is_named(claude: anthropic.Anthropic) -> None:
    text = claude.messages.create(**OPTIONS).content[0].text
    stop = text[10:14]
    for stream in (False, True):
        asked = {**OPTIONS, "stop_sequences": ["@@@", stop]}
        if stream:
            with claude.messages.stream(**asked) as events:
                message = events.get_final_message()
        else:
            message = claude.messages.create(**asked)
        assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", stop)
        assert message.content[0].text == text[: text.index(stop)]


def test_tokens_are_counted(claude: anthropic.Anthropic) -> None:
    asked = {name: OPTIONS[name] for name in ("model", "messages")}
    count = claude.messages.count_tokens(**asked).input_tokens
    usage = claude.messages.create(**OPTIONS).usage
    assert count == usage.input_tokens + usage.cache_read_input_tokens
    longer = claude.messages.count_tokens(**asked, system="Be brief.", tools=[TOOL])
    assert longer.input_tokens > count
    beyond = [{"role": "user", "content": "word " * 20_000}]  # the context
    assert claude.messages.count_tokens(**{**asked, "messages": beyond}).input_tokens > 20_000


TOOL = {
    "name": "weather",
    "description": "Says how the weather is.",
    "input_schema": {
        "type": "object",
        "properties": {"place": {"type": "string", "maxLength": 8}},
        "required": ["place"],
    },
}


def test_a_tool_is_called_and_its_result_is_read(claude: anthropic.Anthropic) -> None:
    asked = {**OPTIONS, "tools": [TOOL], "tool_choice": {"type": "tool", "name": "weather"}}
    message = claude.messages.create(**asked)
    with claude.messages.stream(**asked) as stream:
        streamed = stream.get_final_message()
    call = message.content[-1]
    assert message.stop_reason == streamed.stop_reason == "tool_use"
    assert call.type == "tool_use" and set(call.input) == {"place"}
    assert streamed.content[-1].input == call.input and streamed.content[-1].name == "weather"
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "Rain."}
    turns = [
        *OPTIONS["messages"],
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": [result, {"type": "text", "text": "So?"}]},
    ]
    assert claude.messages.create(**{**OPTIONS, "messages": turns, "tools": [TOOL]}).content


def test_async_client(url: str) -> None:
    import asyncio

    import anthropic

    async def ask() -> str:
        async with anthropic.AsyncAnthropic(base_url=url, api_key=KEY) as client:
            async with client.messages.stream(**OPTIONS) as stream:
                return "".join([text async for text in stream.text_stream])

    assert asyncio.run(ask())


def claude_code() -> dict[str, Any]:
    """A request as Claude Code sends it: its parts are those that were seen on the wire."""
    mark = {"type": "ephemeral", "ttl": "1h"}
    reminder = "<system-reminder>\nToday is a day.\n</system-reminder>"
    thought = {"type": "thinking", "thinking": "I must look.", "signature": "EqQBCkYIBxgC"}
    call = {"type": "tool_use", "id": "toolu_01", "name": "Tool_3", "input": {"path": "/a.py"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "toolu_01",
        "content": [{"type": "text", "text": "line of a file\n" * 60}],
        "is_error": False,
        "cache_control": mark,
    }
    tools = [
        {
            "name": f"Tool_{index}",
            "description": "Reads a file. " * 6,
            "input_schema": {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": {"path": {"type": "string"}, "limit": {"type": "number"}},
                "required": ["path"],
                "additionalProperties": False,
            },
        }
        for index in range(10)
    ]
    return {
        "model": "claude-sonnet-4-5-20250929",
        "max_tokens": 40,
        "system": [
            {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=7f3a;"},
            {"type": "text", "text": "You are an agent.", "cache_control": mark},
            {"type": "text", "text": "Follow the rules. " * 30, "cache_control": mark},
        ],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": reminder},
                    {"type": "text", "text": "What is in a.py?", "cache_control": mark},
                ],
            },
            {"role": "assistant", "content": [thought, {"type": "text", "text": "I look."}, call]},
            {"role": "user", "content": [result, {"type": "text", "text": reminder}]},
        ],
        "tools": tools,
        "metadata": {"user_id": "user_1_account__session_2"},
        "thinking": {"type": "enabled", "budget_tokens": 31999},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "stream": True,
    }


@pytest.fixture(scope="module")
def any_name() -> Iterator[httpx.Client]:
    """A server that takes the names of models that Claude Code sends."""
    with running_server("--any-model-name") as url:
        headers = {"anthropic-version": "2023-06-01", "anthropic-beta": "claude-code-20250219"}
        with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE) as http:
            yield http


def test_a_request_of_claude_code(any_name: httpx.Client) -> None:
    answers = []
    for cch in ("7f3a", "0000"):  # its account's line, which differs each time
        body = json.dumps(claude_code()).replace("7f3a", cch)
        answer = any_name.post("/v1/messages?beta=true", content=body)
        assert answer.status_code == 200, answer.text
        events = events_of(answer.content)
        for event in events:
            check_event(event)
        assert events[0]["type"] == "message_start" and events[-1]["type"] == "message_stop"
        answers.append(events[-2]["usage"])
    assert answers[1]["cache_read_input_tokens"] > 0.9 * answers[0]["input_tokens"]
    asked = {n: v for n, v in claude_code().items() if n not in ("stream", "max_tokens")}
    count = any_name.post("/v1/messages/count_tokens?beta=true", json=asked).json()
    usage = answers[0]
    assert count == {"input_tokens": usage["input_tokens"] + usage["cache_read_input_tokens"]}


@pytest.mark.parametrize(
    ("status", "kind", "message", "fields"),
    [
        (400, "invalid_request_error", "'max_tokens'", {"max_tokens": None}),
        (400, "invalid_request_error", "'messages'", {"messages": []}),
        (400, "invalid_request_error", "'messages[0].role'",
         {"messages": [{"role": "tool", "content": "x"}]}),
        (400, "invalid_request_error", "'messages[0].content[0].type'",
         {"messages": [{"role": "user", "content": [{"type": "document"}]}]}),
        (400, "invalid_request_error", "tool_use_id",
         {"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}),
        (400, "invalid_request_error", "'tools[0].type'",
         {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
        (400, "invalid_request_error", "'tool_choice.name'", {"tool_choice": {"type": "tool"}}),
        (400, "invalid_request_error", "budget_tokens", {"thinking": {"type": "enabled"}}),
        (400, "invalid_request_error", "mcp_servers", {"mcp_servers": [{"name": "x"}]}),
        (400, "invalid_request_error", "no vision tower", {"messages": [{"role": "user",
            "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                         "data": "AA=="}}]}]}),
        (400, "invalid_request_error", "context", {"messages": [
            {"role": "user", "content": "word " * 20_000}]}),
        (400, "invalid_request_error", "'stop_sequences[0]'", {"stop_sequences": [""]}),
        (400, "invalid_request_error", "'thread'", {"thread": {"type": "create"}}),
        (400, "invalid_request_error", "prefill", {"messages": [
            {"role": "user", "content": "x"}, {"role": "assistant", "content": "{"}]}),
        (404, "not_found_error", "gpt-9", {"model": "gpt-9"}),
    ],
)  # fmt: skip
def test_faults_are_anthropics_errors(
    http: httpx.Client, status: int, kind: str, message: str, fields: dict[str, Any]
) -> None:
    for stream in (False, True):
        answer = http.post("/v1/messages", json={**BODY, **fields, "stream": stream})
        body = answer.json()
        assert (answer.status_code, set(body), body["type"]) == (status, {"type", "error"}, "error")
        assert set(body["error"]) - {"details"} == {"type", "message"}
        assert body["error"]["type"] == kind
        assert ("details" in body["error"]) == ("thread" in fields)
        assert message in body["error"]["message"]


def test_bodies_that_are_none(http: httpx.Client) -> None:
    for body in (b"", b"{", b"[]", b"\0", b"[" * 100_000, b'{"messages": "\xff"}'):
        for path in ("/v1/messages", "/v1/messages/count_tokens"):
            answer = http.post(path, content=body)
            assert answer.status_code == 400 and answer.json()["type"] == "error", body[:20]


def test_the_key_and_the_refusals_before_the_route(url: str) -> None:
    import anthropic

    wrong = anthropic.Anthropic(base_url=url, api_key="sk-wrong", max_retries=0)
    with pytest.raises(anthropic.AuthenticationError) as refused:
        wrong.messages.create(**OPTIONS)
    assert refused.value.body["error"]["type"] == "authentication_error"  # type: ignore[index]
    key = {"x-api-key": KEY}
    for headers, status, kind in (
        ({"Origin": "http://evil.test"}, 403, "permission_error"),
        ({"Host": "evil.example"}, 403, "permission_error"),
        ({"Content-Type": "text/html"}, 400, "invalid_request_error"),
    ):
        answer = httpx.post(f"{url}/v1/messages", json=BODY, headers={**key, **headers})
        assert (answer.status_code, answer.json()["error"]["type"]) == (status, kind)
    large = httpx.post(f"{url}/v1/messages", content=b"x" * 1_000_001, headers=key)
    assert (large.status_code, large.json()["error"]["type"]) == (413, "request_too_large")
    unknown = httpx.post(f"{url}/v1/messages/batches", json={}, headers=key)
    assert (unknown.status_code, unknown.json()["error"]["type"]) == (404, "not_found_error")


# The translation


def test_everything_is_said_in_the_chats_words() -> None:
    chat = to_chat(claude_code())
    system, user, turn, result, after = chat["messages"]
    assert system["content"].startswith("You are an agent.\n\nFollow the rules.")
    assert user["content"].endswith("</system-reminder>\nWhat is in a.py?")
    assert turn["reasoning_content"] == "I must look." and turn["content"] == "I look."
    function = {"name": "Tool_3", "arguments": '{"path": "/a.py"}'}
    assert turn["tool_calls"] == [{"id": "toolu_01", "type": "function", "function": function}]
    assert (result["role"], result["tool_call_id"]) == ("tool", "toolu_01")
    assert after["role"] == "user" and len(chat["tools"]) == 10
    assert chat["reasoning_budget"] == 31999 and chat["reasoning_effort"] == "medium"
    assert chat["max_completion_tokens"] == 40 and chat["stream_options"]["include_usage"]


def events_of(*parts: bytes) -> list[dict[str, Any]]:
    lines = b"".join(parts).decode().split("\n")
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


def check_event(event: dict[str, Any]) -> None:
    components = {"components": {"schemas": all_schemas()}}
    jsonschema_rs.validate({**reference("AnthropicStreamEvent"), **components}, event)


def chunk(finish: str | None = None, **delta: Any) -> str:
    return json.dumps({"choices": [{"delta": delta, "finish_reason": finish}]})


def test_thoughts_text_and_calls_are_blocks_in_their_order() -> None:
    answer_format = AnthropicAnswerFormat({}, "m")
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a"'}}
    more = {"index": 0, "function": {"arguments": ": 1}"}}
    other = {"index": 1, "id": "d", "function": {"name": "g", "arguments": ""}}
    events = events_of(
        answer_format.begin(),
        answer_format.chunk(chunk(role="assistant", reasoning_content="Hm")),
        answer_format.chunk(chunk(reasoning_content="m.")),
        answer_format.keep_alive,
        answer_format.chunk(chunk(content="Yes.")),
        answer_format.chunk(chunk(tool_calls=[call])),
        answer_format.chunk(chunk(tool_calls=[more])),
        answer_format.chunk(chunk(tool_calls=[other])),
        answer_format.chunk(chunk("tool_calls", content="")),
        answer_format.done(),
    )
    for event in events:
        check_event(event)
    starts = [e for e in events if e["type"] == "content_block_start"]
    assert [e["content_block"]["type"] for e in starts] == ["thinking", "text"] + ["tool_use"] * 2
    stops = [e["index"] for e in events if e["type"] == "content_block_stop"]
    assert [e["index"] for e in starts] == stops == [0, 1, 2, 3]
    deltas = [e["delta"] for e in events if e["type"] == "content_block_delta"]
    assert "".join(d.get("partial_json", "") for d in deltas) == '{"a": 1}'
    assert {"type": "signature_delta", "signature": ""} in deltas
    assert events[-2]["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}


def test_arguments_that_were_cut_off_are_told() -> None:
    function = {"name": "f", "arguments": '{"a'}
    message = {"content": None, "tool_calls": [{"id": "c", "function": function}]}
    answer = {"choices": [{"message": message, "finish_reason": "length"}], "usage": None}
    whole = json.loads(AnthropicAnswerFormat({}, "m").whole(json.dumps(answer)))
    assert whole["content"][0]["input"] == {"INVALID_JSON": '{"a'}
    assert whole["stop_reason"] == "max_tokens"


def test_a_failed_stream_says_so_and_ends() -> None:
    answer_format = AnthropicAnswerFormat({}, "m")
    error = {"message": "gone", "type": "server_error", "param": None, "code": "model_unloaded"}
    events = events_of(
        answer_format.begin(),
        answer_format.chunk(chunk(content="Ye")),
        answer_format.error(json.dumps({"error": error})),
    )
    check_event(events[-1])
    assert events[-1]["error"] == {"type": "overloaded_error", "message": "gone"}

"""The Responses API through the official client, and its translation."""

from __future__ import annotations

import json
from typing import Any

import httpx
import jsonschema_rs
import openai
import pytest

from mlc_llm.errors import MLCError
from mlc_llm.sdk.sampling_gen import SAMPLING_FIELDS, SAMPLING_NUMBERS
from mlc_llm.serve.responses import ResponsesAnswerFormat
from mlc_llm.serve.responses_request import param_of, to_chat
from mlc_llm.serve.responses_routes import _CREATE as RESPONSES
from mlc_llm.serve.schemas import all_schemas, reference

MODEL = "fake-model"
OPTIONS = {"model": MODEL, "input": "Hello", "max_output_tokens": 400, "temperature": 0}


def test_a_whole_response(client: openai.OpenAI) -> None:
    response = client.responses.create(**OPTIONS, instructions="Be brief.")
    assert response.status == "completed" and response.output[0].role == "assistant"
    assert response.output_text and response.instructions == "Be brief."
    usage = response.usage
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens


def test_a_stream_tells_the_same(client: openai.OpenAI) -> None:
    whole = client.responses.create(**OPTIONS)
    events = list(client.responses.create(**OPTIONS, stream=True))
    kinds = [event.type for event in events]
    assert kinds[:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert kinds[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == whole.output_text == events[-1].response.output_text
    assert events[-1].response.usage.output_tokens == whole.usage.output_tokens


def test_the_clients_stream_helper(client: openai.OpenAI) -> None:
    with client.responses.stream(**OPTIONS) as stream:
        text = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
        assert stream.get_final_response().output_text == text


def test_a_cut_response_is_incomplete(client: openai.OpenAI) -> None:
    response = client.responses.create(**{**OPTIONS, "max_output_tokens": 3})
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"


def test_faults_are_openais_errors(client: openai.OpenAI, http: httpx.Client) -> None:
    with pytest.raises(openai.BadRequestError) as state:
        client.responses.create(**OPTIONS, previous_response_id="resp_1")
    assert state.value.param == "previous_response_id"
    with pytest.raises(openai.BadRequestError):
        client.responses.create(**{**OPTIONS, "temperature": 9})
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model="gpt-9", input="x")
    for body in (b"{", b"[]", b"{}", b'{"input": []}', b'{"input": [3]}', b"[" * 100_000):
        answer = http.post("/v1/responses", content=body)
        assert answer.status_code == 400, body[:20]
        assert answer.json()["error"]["type"] == "invalid_request_error"


def test_everything_is_said_in_the_chats_words() -> None:
    chat = to_chat(
        {
            "instructions": "I",
            "input": [
                {"role": "developer", "content": "D"},
                {"role": "user", "content": [{"type": "input_text", "text": "U"}]},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "42"},
            ],
            "text": {"format": {"type": "json_schema", "name": "n", "schema": {}, "strict": True}},
            "tools": [{"type": "function", "name": "f", "parameters": {}}],
            "tool_choice": {"type": "function", "name": "f"},
            "reasoning": {"effort": "low"},
            "stream": True,
        }
    )
    function = {"name": "f", "arguments": "{}"}
    assert chat["messages"] == [
        {"role": "system", "content": "I"},
        {"role": "developer", "content": "D"},
        {"role": "user", "content": [{"type": "text", "text": "U"}]},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "42"},
    ]
    assert chat["response_format"]["json_schema"] == {"name": "n", "schema": {}, "strict": True}
    assert chat["tools"] == [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    assert chat["tool_choice"] == {"type": "function", "function": {"name": "f"}}
    assert chat["reasoning_effort"] == "low" and chat["stream_options"] == {"include_usage": True}
    with pytest.raises(MLCError) as error:
        RESPONSES.parse(b'{"input": "x", "tools": [{"type": "web_search"}]}')
    assert error.value.param == "tools[0].type"


def test_function_calls_become_output_items() -> None:
    answer_format = ResponsesAnswerFormat({}, "m")
    answer_format.begin()
    piece = (
        '{"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": '
        '{"name": "f", "arguments": "{\\"a\\""}}]}}]}'
    )
    answer_format.chunk(piece)
    answer_format.chunk(
        '{"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]},'
        ' "finish_reason": "tool_calls"}]}'
    )
    end = answer_format.done().decode()
    assert '"name": "f"' in end and '"call_id": "c"' in end
    assert '{\\"a\\": 1}' in end and "response.completed" in end


def events_of(*parts: bytes) -> list[dict[str, Any]]:
    lines = b"".join(parts).decode().split("\n")
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


def check_event(event: dict[str, Any]) -> None:
    components = {"components": {"schemas": all_schemas()}}
    jsonschema_rs.validate({**reference("ResponseStreamEvent"), **components}, event)


def chunk(finish: str | None = None, **delta: Any) -> str:
    return json.dumps({"choices": [{"delta": delta, "finish_reason": finish}]})


def test_thoughts_text_and_calls_are_items_in_their_order() -> None:
    answer_format = ResponsesAnswerFormat({}, "m")
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}
    events = events_of(
        answer_format.begin(),
        answer_format.chunk(chunk(role="assistant", reasoning_content="Hm")),
        answer_format.chunk(chunk(reasoning_content="m.")),
        answer_format.chunk(chunk(content="Yes.")),
        answer_format.chunk(chunk(tool_calls=[call])),
        answer_format.chunk(chunk(tool_calls=[{**call, "index": 1, "id": "d"}])),
        answer_format.chunk(chunk("tool_calls")),
        answer_format.done(),
    )
    for event in events:
        check_event(event)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    opened = [e for e in events if e["type"] == "response.output_item.added"]
    assert [e["item"]["type"] for e in opened] == [
        "reasoning", "message", "function_call", "function_call",
    ]  # fmt: skip
    assert [e["output_index"] for e in opened] == [0, 1, 2, 3]
    thought, said, *calls = events[-1]["response"]["output"]
    assert thought["content"] == [{"type": "reasoning_text", "text": "Hmm."}]
    assert said["content"][0]["text"] == "Yes." and [c["call_id"] for c in calls] == ["c", "d"]
    done = [e["type"] for e in events].index("response.reasoning_text.done")
    assert events[done + 2]["type"] == "response.output_item.done"


def test_a_failed_stream_says_so_and_ends() -> None:
    answer_format = ResponsesAnswerFormat({}, "m")
    error = {"message": "gone", "type": "server_error", "param": None, "code": "model_unloaded"}
    events = events_of(
        answer_format.begin(),
        answer_format.chunk(chunk(content="Ye")),
        answer_format.error(json.dumps({"error": error})),
    )
    for event in events:
        check_event(event)
    last = events[-1]
    assert last["type"] == "response.failed" and last["response"]["error"]["message"] == "gone"
    assert last["response"]["output"][0]["status"] == "incomplete"


def test_turns_are_put_together() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    chat = to_chat(
        {
            "input": [
                {"role": "user", "content": "C"},
                {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Cut sh"}]},
                {"role": "user", "content": "U"},
                {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hmm."}]},
                {"role": "assistant", "content": "Wait."},
                call,
                {**call, "call_id": "d"},
                {"type": "function_call_output", "call_id": "c", "output": "1"},
                {"type": "function_call_output", "call_id": "d", "output": "2"},
            ]
        }
    )
    cut, user, turn, *results = chat["messages"]
    assert cut["content"] == "C" and "reasoning_content" not in user
    assert turn["reasoning_content"] == "Hmm." and turn["content"] == "Wait."
    assert [c["id"] for c in turn["tool_calls"]] == ["c", "d"]
    assert [r["tool_call_id"] for r in results] == ["c", "d"]


@pytest.mark.parametrize(
    ("chat", "response"),
    [
        ("messages[3].content", "input"),
        ("max_completion_tokens", "max_output_tokens"),
        ("response_format.json_schema.schema", "text.format.schema"),
        ("response_format", "text.format"),
        ("tools[0].function.parameters", "tools[0].parameters"),
        ("temperature", "temperature"),
        (None, None),
    ],
)
def test_faults_have_the_responses_names(chat: str | None, response: str | None) -> None:
    assert param_of(chat) == response


def test_every_sampling_field_is_handed_on() -> None:
    given = {
        **{name: 1 for name in SAMPLING_NUMBERS},
        **{"logit_bias": {"3": 2}, "seed": 7, "dry_sequence_breakers": ["x"]},
    }
    assert given.keys() == set(SAMPLING_FIELDS)
    asked = RESPONSES.parse(json.dumps({"input": "Hi", **given}).encode())
    chat = to_chat(asked)
    assert {name: chat[name] for name in given} == given
    with pytest.raises(MLCError) as refused:
        RESPONSES.parse(b'{"input": "Hi", "min_p": 2}')
    assert refused.value.param == "min_p"

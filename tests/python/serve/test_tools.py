"""Tools through the server and the official `openai` package: the same calls whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import openai
import pydantic
import pytest

from mlc_llm.prepare.model_source import ResolvedModel

from .conftest import started_server


class SwitchLight(pydantic.BaseModel):
    """Switches a lamp."""

    room: Literal["bath", "kitchen"]
    on: bool


class SetHeating(pydantic.BaseModel):
    """Sets the heating of a room."""

    room: Literal["bath", "kitchen"]
    level: Literal[1, 2, 3]


TOOLS = [openai.pydantic_function_tool(model) for model in (SwitchLight, SetHeating)]
MODELS = {model.__name__: model for model in (SwitchLight, SetHeating)}
MESSAGES: Any = [{"role": "user", "content": "It is dark in the kitchen. Switch on the light."}]
OPTIONS: dict[str, Any] = {
    "model": "fake-model",
    "messages": MESSAGES,
    "tools": TOOLS,
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "max_tokens": 400,
    "seed": 1,
}


def streamed_calls(stream: Iterator[Any]) -> tuple[list[dict[str, str]], str]:
    """The calls that the deltas of a stream make up, and why it ended."""
    calls: list[dict[str, str]] = []
    reason = ""
    for chunk in stream:
        choice = chunk.choices[0]
        assert not choice.delta.content
        reason = choice.finish_reason or reason
        for delta in choice.delta.tool_calls or []:
            if delta.id:
                assert delta.index == len(calls) and delta.type == "function"
                assert delta.function.arguments == "" and delta.id.startswith("call_")
                calls.append({"name": delta.function.name, "arguments": ""})
            else:
                assert delta.index == len(calls) - 1 and delta.function.name is None
            calls[-1]["arguments"] += delta.function.arguments
    return calls, reason


def check_calls(client: openai.OpenAI, options: dict[str, Any]) -> None:
    """A required call: valid, and the same whole, streamed, parsed and through the helper."""
    whole = client.chat.completions.create(**options).choices[0]
    assert whole.finish_reason == "tool_calls" and whole.message.content is None
    assert whole.message.tool_calls is not None
    expected = [
        {"name": call.function.name, "arguments": call.function.arguments}
        for call in whole.message.tool_calls
    ]
    assert len(expected) == 1 and len(whole.message.tool_calls[0].id) == 29
    arguments = MODELS[expected[0]["name"]].model_validate_json(expected[0]["arguments"])

    calls, reason = streamed_calls(client.chat.completions.create(**options, stream=True))
    assert calls == expected and reason == "tool_calls"

    parsed = client.chat.completions.parse(**options).choices[0].message.tool_calls
    assert parsed is not None and parsed[0].function.parsed_arguments == arguments

    with client.chat.completions.stream(**options) as stream:
        events = list(stream)
    deltas = [e for e in events if e.type == "tool_calls.function.arguments.delta"]
    done = [e for e in events if e.type == "tool_calls.function.arguments.done"]
    assert len(deltas) > 3, "arguments come as they are generated"
    assert "".join(e.arguments_delta for e in deltas) == expected[0]["arguments"]
    assert [e.parsed_arguments for e in done] == [arguments]


@pytest.mark.parametrize("seed", range(4))
def test_required_calls_of_the_fake_model(client: openai.OpenAI, seed: int) -> None:
    check_calls(client, OPTIONS | {"seed": seed})


def test_a_named_function(client: openai.OpenAI) -> None:
    for name, model in MODELS.items():
        choice = {"type": "function", "function": {"name": name}}
        message = client.chat.completions.create(**OPTIONS | {"tool_choice": choice}).choices[0]
        calls = message.message.tool_calls
        assert calls is not None and [call.function.name for call in calls] == [name]
        model.model_validate_json(calls[0].function.arguments)


def test_several_choices_have_calls_of_their_own(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(**OPTIONS | {"n": 3, "temperature": 1.2})
    ids = [call.id for choice in answer.choices for call in choice.message.tool_calls or []]
    assert len(ids) == 3 and len(set(ids)) == 3


def test_strict_tools_in_free_text(client: openai.OpenAI) -> None:
    """The fake model says no marker: an answer of words, whole and streamed."""
    options = OPTIONS | {"tool_choice": "auto", "max_tokens": 40}
    whole = client.chat.completions.create(**options).choices[0].message
    assert whole.content and whole.tool_calls is None
    pieces = [
        chunk.choices[0].delta.content or ""
        for chunk in client.chat.completions.create(**options, stream=True)
    ]
    assert "".join(pieces) == whole.content


def test_a_conversation_goes_on_after_a_call(client: openai.OpenAI) -> None:
    call = client.chat.completions.create(**OPTIONS).choices[0].message
    assert call.tool_calls is not None
    result = {"role": "tool", "tool_call_id": call.tool_calls[0].id, "content": "done"}
    history = [*MESSAGES, call.model_dump(exclude_none=True), result]
    answer = client.chat.completions.create(
        **OPTIONS | {"messages": history, "tool_choice": "none", "max_tokens": 10}
    )
    assert answer.choices[0].message.content
    with pytest.raises(openai.BadRequestError) as error:
        client.chat.completions.create(
            **OPTIONS | {"messages": [*MESSAGES, {**result, "tool_call_id": "call_other"}]}
        )
    assert error.value.param == "messages[1].tool_call_id"


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"tools": None}, "tool_choice"),
        ({"tools": [TOOLS[0], TOOLS[0]]}, "tools[1].function.name"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name"),
        (
            {"tool_choice": {"type": "function", "function": {"name": "other"}}},
            "tool_choice.function.name",
        ),
        ({"tools": [TOOLS[0]] * 129}, "tools"),
    ],
)
def test_what_is_wrong_is_named(client: openai.OpenAI, change: dict[str, Any], param: str) -> None:
    with pytest.raises(openai.BadRequestError) as error:
        client.chat.completions.create(**OPTIONS | change)
    assert error.value.param == param


@pytest.fixture(scope="module")
def real(default_model: ResolvedModel) -> Iterator[openai.OpenAI]:
    folder, library = str(default_model.folder), str(default_model.model_lib)
    with started_server(folder, "--model-lib", library) as server:
        yield openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
        assert server.stop() == 0, server.errors


def test_the_default_model_calls_a_tool(real: openai.OpenAI) -> None:
    """Small, and without a template for tools: the grammar makes its calls valid."""
    model = real.models.list().data[0].id
    check_calls(real, OPTIONS | {"model": model, "temperature": 0})
    several = real.chat.completions.create(
        **OPTIONS
        | {"model": model, "temperature": 1.5, "parallel_tool_calls": True, "max_tokens": 200}
    ).choices[0]
    calls = several.message.tool_calls or []
    assert several.message.content is None and calls
    whole = calls[:-1] if several.finish_reason == "length" else calls
    for call in whole:
        MODELS[call.function.name].model_validate(json.loads(call.function.arguments))

"""The generated Python types: used as the `openai` package's are."""

from __future__ import annotations

import asyncio
import json
from typing import Any, get_type_hints

import pytest

from mlc_llm import types_gen
from mlc_llm.sdk import completions_gen

CHUNK = {
    "id": "c1",
    "object": "chat.completion.chunk",
    "created": 5,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "delta": {
                "role": "assistant",
                "content": "é",
                "tool_calls": [{"index": 0, "id": "1", "function": {"arguments": "{"}}],
            },
            "logprobs": None,
            "finish_reason": None,
        }
    ],
}


class Recorder(completions_gen.ChatCompletions):
    """Keeps the last request."""

    def __init__(self) -> None:
        pass

    def _create(self, request: dict[str, Any], stream: bool) -> Any:
        self.request, self.stream = request, stream
        return "answer"


class AsyncRecorder(completions_gen.AsyncChatCompletions):
    def __init__(self) -> None:
        pass

    async def _create(self, request: dict[str, Any], stream: bool) -> Any:
        self.request, self.stream = request, stream
        return "answer"


MESSAGES: list[types_gen.ChatCompletionMessageParam] = [{"role": "user", "content": "Hi"}]


def test_attributes_all_the_way_down() -> None:
    chunk = types_gen.ChatCompletionChunk.model_validate_json(json.dumps(CHUNK))
    delta = chunk.choices[0].delta
    assert (delta.role, delta.content, chunk.choices[0].finish_reason) == ("assistant", "é", None)
    assert delta.tool_calls is not None
    assert delta.tool_calls[0].function is not None
    assert delta.tool_calls[0].function.arguments == "{"
    assert chunk.usage is None
    assert chunk.model_dump(exclude_unset=True) == CHUNK


def test_what_a_newer_engine_adds_is_kept() -> None:
    choice = {"index": 0, "delta": {"mood": "merry"}, "finish_reason": "tired"}
    chunk = types_gen.ChatCompletionChunk.model_validate({**CHUNK, "choices": [choice]})
    assert chunk.choices[0].finish_reason == "tired"
    assert chunk.choices[0].delta.model_extra == {"mood": "merry"}
    assert chunk.model_dump(exclude_unset=True)["choices"] == [choice]


def test_absent_is_not_sent_and_none_is() -> None:
    recorder = Recorder()
    answer: object = recorder.create(messages=MESSAGES, temperature=None, n=2)
    assert answer == "answer"
    assert recorder.request == {
        "messages": MESSAGES,
        "temperature": None,
        "n": 2,
        "stream": False,
    }


@pytest.mark.parametrize("stream", [True, False, None])
def test_stream_reaches_create_and_body(stream: bool | None) -> None:
    recorder = Recorder()
    recorder.create(messages=MESSAGES, stream=stream)
    assert recorder.stream is bool(stream)
    assert recorder.request["stream"] is bool(stream)


def test_async_create() -> None:
    recorder = AsyncRecorder()
    answer: object = asyncio.run(recorder.create(messages=MESSAGES, seed=1, stream=True))
    assert answer == "answer"
    assert recorder.stream is True
    assert recorder.request == {"messages": MESSAGES, "seed": 1, "stream": True}


def test_extra_body_adds_and_wins() -> None:
    recorder = Recorder()
    recorder.create(messages=MESSAGES, n=2, extra_body={"n": 3, "new": [1]})
    assert recorder.request == {"messages": MESSAGES, "n": 3, "new": [1], "stream": False}


def test_a_misspelt_or_missing_parameter_is_a_type_error() -> None:
    call: Any = Recorder().create
    with pytest.raises(TypeError, match="unexpected keyword argument 'temprature'"):
        call(messages=MESSAGES, temprature=1)
    with pytest.raises(TypeError, match="missing required keyword argument 'messages'"):
        call(n=1)


def test_engine_config_refuses_a_misspelt_option() -> None:
    config = types_gen.EngineConfig(mode="server", max_num_sequence=4)
    assert config.model_dump(exclude_none=True) == {"mode": "server", "max_num_sequence": 4}
    with pytest.raises(ValueError, match=r"max_num_seq.*did you mean 'max_num_sequence'\?"):
        types_gen.EngineConfig.model_validate({"max_num_seq": 4})


@pytest.mark.parametrize("name", types_gen.__all__)
def test_every_annotation_resolves(name: str) -> None:
    value = getattr(types_gen, name)
    if isinstance(value, type):
        assert get_type_hints(value) is not None
        assert value.__doc__

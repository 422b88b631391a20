"""Requests written with the typed parameters, as a user writes them (vectors, kind `build`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlc_llm import picture
from mlc_llm.types_gen import (
    ChatCompletionContentPartTextParam,
    ChatCompletionMessageParam,
    ChatCompletionRequestParam,
    ChatCompletionToolParam,
    DetokenizeRequestParam,
)

HI: ChatCompletionMessageParam = {"role": "user", "content": "Hi"}


def one_user_message() -> ChatCompletionRequestParam:
    return {"messages": [{"role": "user", "content": "Hi"}]}


def sampling() -> ChatCompletionRequestParam:
    return {
        "messages": [HI],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 5,
        "seed": 7,
        "n": 2,
        "stop": ["a", "b"],
        "frequency_penalty": -1,
        "logit_bias": {17: 2.5},
        "logprobs": True,
        "top_logprobs": 3,
    }


def stream_options() -> ChatCompletionRequestParam:
    return {"messages": [HI], "stream": True, "stream_options": {"include_usage": True}}


def text_and_image() -> ChatCompletionRequestParam:
    return {
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {
                        "type": "image_url",
                        "image_url": {"url": "data:image/png;base64,AA==", "detail": "high"},
                    },
                ],
            }
        ]
    }


def picture_of_bytes() -> ChatCompletionRequestParam:
    seen = picture("data:;base64,AA==", detail="original")
    text: ChatCompletionContentPartTextParam = {"type": "text", "text": "What is this?"}
    return {"messages": [{"role": "user", "content": [seen, text]}]}


def tool_conversation() -> ChatCompletionRequestParam:
    return {
        "messages": [
            {"role": "user", "name": "Zo\u00eb", "content": "How warm is it in \u6771\u4eac?"},
            {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": "call_0",
                        "type": "function",
                        "function": {"name": "warmth", "arguments": '{"city": "\u6771\u4eac"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_0", "content": "21.5"},
        ]
    }


def tools() -> ChatCompletionRequestParam:
    tool: ChatCompletionToolParam = {
        "type": "function",
        "function": {
            "name": "f",
            "description": "d",
            "parameters": {"type": "object"},
            "strict": True,
        },
    }
    return {
        "messages": [HI],
        "tools": [tool],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "parallel_tool_calls": False,
    }


def tool_choice_word() -> ChatCompletionRequestParam:
    return {"messages": [HI], "tool_choice": "required"}


def json_schema() -> ChatCompletionRequestParam:
    return {
        "messages": [HI],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "s", "schema": {"type": "object"}, "strict": True},
        },
    }


def json_object() -> ChatCompletionRequestParam:
    return {"messages": [HI], "response_format": {"type": "json_object"}}


def stop_text() -> ChatCompletionRequestParam:
    return {"messages": [HI], "stop": "end"}


def debug() -> ChatCompletionRequestParam:
    return {"messages": [HI], "debug_config": {"ignore_eos": True}}


def detokenize() -> DetokenizeRequestParam:
    return {"tokens": [1, 2], "skip_special_tokens": False}


BUILDERS: dict[str, Callable[[], Mapping[str, Any]]] = {
    f"build_{function.__name__}": function
    for function in (
        one_user_message,
        sampling,
        stream_options,
        text_and_image,
        picture_of_bytes,
        tool_conversation,
        tools,
        tool_choice_word,
        json_schema,
        json_object,
        stop_text,
        debug,
        detokenize,
    )
}

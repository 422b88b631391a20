"""How a request of Anthropic's Messages API is said in the words of a chat."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mlc_llm.errors import MLCError
from mlc_llm.serve.anthropic_answer import MESSAGES
from mlc_llm.serve.anthropic_request import to_chat


@pytest.mark.parametrize(
    ("asked", "chat"),
    [
        ({"tool_choice": {"type": "any"}}, {"tool_choice": "required"}),
        ({"tool_choice": {"type": "none"}}, {"tool_choice": "none"}),
        ({"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
         {"tool_choice": "auto", "parallel_tool_calls": False}),
        ({"thinking": {"type": "disabled"}}, {"reasoning_effort": "none"}),
        ({"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}},
         {"reasoning_effort": "xhigh"}),
        ({"thinking": {"type": "between_tools"}}, {"reasoning_effort": "medium"}),
        ({"stop_sequences": ["a"], "top_k": 3, "seed": 4}, {"stop": ["a"], "top_k": 3, "seed": 4}),
    ],
)  # fmt: skip
def test_options(asked: dict[str, Any], chat: dict[str, Any]) -> None:
    whole = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1, **asked}
    made = to_chat(MESSAGES.parse(json.dumps(whole).encode()))
    del made["messages"], made["max_completion_tokens"]
    assert made == chat


@pytest.mark.parametrize("given", ["text", "block"])
def test_a_label_of_accounts_takes_no_instructions_with_it(given: str) -> None:
    """The label may stand before the system prompt in the same text."""
    text = "x-anthropic-billing-header: cc_version=2.1; cch=7f3a;\n\nYou are an agent."
    system = text if given == "text" else [{"type": "text", "text": text}]
    said = [{"role": "user", "content": "Hi"}]
    made = to_chat({"system": system, "messages": said, "max_tokens": 1})
    assert made["messages"][0] == {"role": "system", "content": "You are an agent."}


def test_a_system_message_in_the_middle() -> None:
    said = [{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]
    assert to_chat({"messages": said, "max_tokens": 1})["messages"] == said


def test_pictures_are_parts() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "AA=="}
    blocks = [{"type": "text", "text": "?"}, {"type": "image", "source": source}]
    chat = to_chat({"messages": [{"role": "user", "content": blocks}], "max_tokens": 1})
    url = {"url": "data:image/png;base64,AA=="}
    assert chat["messages"][0]["content"][1] == {"type": "image_url", "image_url": url}


def test_the_schema_is_checked() -> None:
    with pytest.raises(MLCError) as refused:
        MESSAGES.parse(b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": 0}')
    assert refused.value.param == "max_tokens"

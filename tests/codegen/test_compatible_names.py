"""MLC-LLM's names: each is in the table of docs/coming-from-mlc-llm.md, and a program uses it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from codegen import ir
from codegen.lower import lower
from codegen.schema import PROTOCOL

ROOT = Path(__file__).resolve().parents[2]
BINDINGS = ROOT / "bindings"
PROGRAMS = {
    "swift": BINDINGS / "swift/Tests/MLCSwiftTests/MLCLLMAppTests.swift",
    "kotlin": BINDINGS / "kotlin/core/src/test/kotlin/ai/mlc/mlcllm/compat/MlcLlmAppTest.kt",
}
PYTHON = ROOT / "tests/python/test_mlc_llm_names.py"
TABLE = ROOT / "docs/coming-from-mlc-llm.md"
COMPATIBLE = lower(PROTOCOL).compatible
# What the apps call beside the types, and the words that a program uses it by.
MEMBERS = {
    "swift": (
        "reload(modelPath:", "reset()", "unload()", "asText()", "asTextLabel()", "lobprobs",
        "num_prefill_tokens", "for await res in await", "Float", "[[String: String]]",
        "[String: String]", "delta.content!", "stream_options: StreamOptions(include_usage: true)",
    ),
    "kotlin": (
        "import ai.mlc.mlcllm.OpenAIProtocol.*", "engine.reload(", "engine.reset()",
        "engine.unload()", "asText()", "isText()", "isParts()", "asTextLabel()", "lobprobs",
        "num_prefill_tokens", "ReceiveChannel<ChatCompletionStreamResponse>", "Choice",
        "ChatCompletionMessageContent(text = ", "mapOf(\"type\" to \"text\"",
    ),
}  # fmt: skip
PYTHON_NAMES = (
    "mlc_llm.serve", "mlc_llm.serve.config", "AsyncMLCEngine", "MLCEngine", "EngineConfig",
    "max_total_sequence_length", "request_id=", "engine.abort(", "openai_api_protocol",
    "generation_config", "debug_protocol", "conversation_protocol", "error_protocol",
    "enable_tracing=",
)  # fmt: skip


def words(path: Path) -> set[str]:
    return set(re.findall(r"\w+", path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_program_uses_every_type_and_member(language: str) -> None:
    text = PROGRAMS[language].read_text(encoding="utf-8")
    types = {item.declaration.names.name for item in COMPATIBLE}
    assert types - words(PROGRAMS[language]) == set()
    assert [member for member in MEMBERS[language] if member not in text] == []


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_program_gives_every_argument(language: str) -> None:
    (request,) = [i.declaration for i in COMPATIBLE if i.stands_for == "ChatCompletionRequest"]
    assert isinstance(request, ir.Struct)
    assert {field.name for field in request.fields} - words(PROGRAMS[language]) == set()


def test_a_program_in_python_uses_every_name() -> None:
    text = PYTHON.read_text(encoding="utf-8")
    assert [name for name in PYTHON_NAMES if name not in text] == []


def test_the_table_has_every_name() -> None:
    names = {n for item in COMPATIBLE for n in (item.declaration.names.name, *item.others)}
    assert names - words(TABLE) == set()
    for path in (*PROGRAMS.values(), PYTHON):
        assert path.name in TABLE.read_text(encoding="utf-8")


def test_each_stands_for_a_type_of_the_protocol() -> None:
    known = {declaration.names.name for declaration in lower(PROTOCOL).declarations}
    assert {item.stands_for for item in COMPATIBLE} <= known

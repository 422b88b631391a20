"""docs/helpers.md: Python's examples run; those of the other languages are parts of their tests."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from mlc_llm import MLCEngine
from mlc_llm.tools import ToolRunEvent

ROOT = Path(__file__).resolve().parents[2]
DOCS = (ROOT / "docs" / "helpers.md").read_text(encoding="utf-8")
FAKE = ROOT / "tests" / "fixtures" / "fake-model"
TESTS = {
    "swift": "bindings/swift/Tests/MLCSwiftTests/SnippetTests.swift",
    "kotlin": "bindings/kotlin/core/src/test/kotlin/ai/mlc/mlcllm/docs/HelperSnippetTest.kt",
}


def examples(language: str) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", DOCS, re.DOTALL)
    assert len(found) == 3
    return found


@pytest.mark.parametrize("language", TESTS)
def test_examples_are_parts_of_tests(language: str) -> None:
    lines = (ROOT / TESTS[language]).read_text(encoding="utf-8").splitlines()
    for example in examples(language):
        for part in example.strip().split("\n\n"):
            part_lines = part.splitlines()
            starts = [i for i, line in enumerate(lines) if line.strip() == part_lines[0].strip()]
            texts = [textwrap.dedent("\n".join(lines[i : i + len(part_lines)])) for i in starts]
            assert part in texts, f"{TESTS[language]} has no\n{part}"


def test_python_examples_run() -> None:
    messages = [{"role": "user", "content": "Light?"}]
    with MLCEngine(FAKE, device="fake") as engine:
        names: dict[str, Any] = {"BaseModel": BaseModel, "Literal": Literal, "messages": messages}
        names["completions"] = engine.chat.completions
        for example in examples("python"):
            exec(compile(example, "docs/helpers.md", "exec", dont_inherit=True), names)
    assert names["light"].room in ("bath", "kitchen")
    assert names["run"].messages[0] == messages[0]
    kinds = {kind.type for kind in ToolRunEvent.__args__}  # type: ignore[attr-defined]
    assert kinds == set(re.findall(r"^\| `(\w+)` \|", DOCS, re.MULTILINE))

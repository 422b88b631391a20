"""The pages' Kotlin programs compile: all of them in one run of the compiler."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import snippets

sys.path.append(str(snippets.ROOT / "bindings" / "kotlin"))

import build  # noqa: E402

# Pages whose programs another test runs.
ELSEWHERE = {"docs/helpers.md"}
HEADER = """@file:Suppress("UNUSED_VARIABLE")

package snippets

import ai.mlc.mlcllm.*
import kotlinx.serialization.Serializable

@Serializable data class Country(val name: String)

@Serializable data class Light(val room: String, val on: Boolean)

val switchLight = Tool("switch_light", "Switches a light.") { light: Light -> light.room }
"""


def function_of(snippet: snippets.Snippet, number: int) -> str:
    """A block as the body of a function; imports stand above."""
    body = snippet.text.replace("import ai.mlc.mlcllm.*\n", "")
    return f"\nsuspend fun snippet{number}() {{  // {snippet.place}\n{body}}}\n"


def test_the_programs_compile(tmp_path: Path) -> None:
    programs = [s for s in snippets.to_run("kotlin") if s.page not in ELSEWHERE]
    assert len(programs) >= 3
    file = tmp_path / "Snippets.kt"
    bodies = "".join(function_of(program, i) for i, program in enumerate(programs))
    file.write_text(HEADER + bodies, encoding="utf-8")
    try:
        with build.exclusive():
            path = [build.core_classes(), *build.libraries()]
            build.kotlinc([file], tmp_path / "classes", path)
    except build.UnavailableError as error:
        pytest.skip(str(error))

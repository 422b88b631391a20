"""README's picture of a chat (devtools/chat_picture.py)."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
from devtools import chat_picture


def texts(svg: str) -> list[str]:
    return [str(node.text) for node in ElementTree.fromstring(svg).findall(".//{*}text")]


def test_a_drawing_has_every_word_and_fits() -> None:
    long = "word " * 40
    svg = chat_picture.drawing([("a < b & c?", "Yes.\n\nNo."), ("And?", long)])
    lines = texts(svg)
    assert lines[:5] == [
        f"$ {chat_picture.COMMAND}",
        ">>> a < b & c?",
        "Yes.",
        " ",
        "No.",
    ]
    assert all(len(line) <= chat_picture.COLUMNS for line in lines)
    assert " ".join(lines[6:]).split() == long.split()


def test_the_picture_is_of_these_questions_and_asks_nobody() -> None:
    svg = chat_picture.PICTURE.read_text(encoding="utf-8")
    asked = [line for line in texts(svg) if line.startswith(">>> ")]
    assert asked == [f">>> {question}" for question in chat_picture.QUESTIONS]
    hosts = re.findall(r"\w+://([^/\s\"]+)", svg)
    assert hosts == ["www.w3.org"]  # the name of SVG itself, which nobody fetches
    assert "prefers-color-scheme: dark" in svg
    assert "docs/chat.svg" in (chat_picture.ROOT / "README.md").read_text(encoding="utf-8")


def test_the_picture_is_what_the_model_says(pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--long"):
        pytest.skip("asks the default model; run with --long")
    svg = chat_picture.PICTURE.read_text(encoding="utf-8")
    assert svg == chat_picture.drawing(chat_picture.chat())

"""Lines of whole words, on a terminal that is a list of lines."""

from __future__ import annotations

import re

import pytest

from mlc_llm.cli.chat_screen import WordWrap

_PIECES = re.compile(r"\x1b\[(\d+)D\x1b\[K|.|\n", re.DOTALL)


def shown(text: str, width: int, size: int = 1) -> list[str]:
    """What a terminal has after the text came in pieces of a size. A character has one column."""
    wrap, lines = WordWrap(lambda: width), [""]
    for begin in range(0, len(text), size):
        for piece in _PIECES.finditer(wrap.put(text[begin : begin + size])):
            if piece[1]:
                lines[-1] = lines[-1][: -int(piece[1])]
            elif piece[0] == "\n":
                lines.append("")
            else:
                lines[-1] += piece[0]
    return lines


@pytest.mark.parametrize("size", [1, 3, 99])
@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a word", ["a word"]),
        ("one two three", ["one two", "three"]),  # 9 columns
        ("one two th", ["one two", "th"]),
        ("one two  three", ["one two", "three"]),
        ("12345678 x", ["12345678", "x"]),
        ("12345678 ", ["12345678 "]),
        ("a 123456789012 b", ["a ", "123456789012", "b"]),
        ("one\ntwo three four", ["one", "two three", "four"]),
        ("```\none two three four\n```\none two three", 
         ["```", "one two three four", "```", "one two", "three"]),
    ],
)  # fmt: skip
def test_lines_are_broken_between_words(text: str, lines: list[str], size: int) -> None:
    assert [line.rstrip() for line in shown(text, 10, size)] == [line.rstrip() for line in lines]


def test_wide_characters_count_twice() -> None:
    wrap = WordWrap(lambda: 10)
    assert wrap.put("ab 日本語") == "ab 日本語"  # nine columns
    assert wrap.put("字") == "\x1b[6D\x1b[K\n日本語字"

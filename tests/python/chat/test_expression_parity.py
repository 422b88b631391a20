"""Small expressions and snippets: the same text as jinja2, or an error on both sides."""

from __future__ import annotations

import json
import pathlib

import pytest
from jinja_reference import check

FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures" / "jinja"
CONTEXT = json.loads((FIXTURES / "context.json").read_text("utf-8"))
EXPRESSIONS = (FIXTURES / "expressions.txt").read_text("utf-8").splitlines()
SNIPPETS = json.loads((FIXTURES / "snippets.json").read_text("utf-8"))

# Beyond 64 bits Python goes on where we stop with an error.
OURS_ALONE = {
    "12345678901234567890",
    "9223372036854775807 + 1",
    "9223372036854775807 * 2",
    "2 ** 63",
    "-9223372036854775808",
    "1e300 | int is number",
}


@pytest.mark.filterwarnings("ignore:invalid escape sequence")
@pytest.mark.parametrize("index", range(len(EXPRESSIONS)))
def test_expression(index: int) -> None:
    if EXPRESSIONS[index] in OURS_ALONE:
        pytest.skip("Python's integers have no bound")
    check("[{{ " + EXPRESSIONS[index] + " }}]", CONTEXT)


@pytest.mark.parametrize("index", range(len(SNIPPETS)))
def test_snippet(index: int) -> None:
    check(SNIPPETS[index], CONTEXT)

"""The routes that `mlc_llm.h` lists are those of the core."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import small_schema
from codegen import c_header
from codegen.lower import lower

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / c_header.PATH


def part(header: str, name: str) -> str:
    return header[header.index(c_header.begin(name)) : header.index(c_header.end(name))]


def listed(header: str, name: str = "routes") -> list[str]:
    return re.findall(r'^ \*   "([\w.]+)":', part(header, name), re.MULTILINE)


def test_the_header_lists_the_routes_of_the_core() -> None:
    core = (ROOT / "core/src/chat/protocol/protocol.gen.h").read_text(encoding="utf-8")
    table = re.search(r"kRoutes\[\] = \{(.*?)\};", core, re.DOTALL)
    assert table
    routes = re.findall(r'"([\w.]+)"', table[1])
    assert "embeddings" in routes and "trace" in routes
    assert listed(HEADER.read_text(encoding="utf-8")) == routes


def test_the_header_has_the_statuses_and_the_reasons_of_the_core() -> None:
    header = HEADER.read_text(encoding="utf-8")
    core = (ROOT / "core/src/base/reason.gen.h").read_text(encoding="utf-8")
    assert listed(header, "errors") == re.findall(r'Reason::k\w+\("(\w+)"', core)
    numbers = [int(n) for n in re.findall(r"MLC_\w+ = (\d+),", part(header, "errors"))]
    assert numbers == list(range(10))
    assert "MLC_CORRUPT = 3," in header and "kCorrupt = 3," in core


def test_only_the_lists_are_replaced() -> None:
    header = HEADER.read_text(encoding="utf-8")
    other = c_header.with_lists(header, lower(small_schema.PROTOCOL))
    assert listed(other) == ["small.talk", "terms", "ask", "look"]
    assert listed(other, "errors") == ["wrong_request", "internal_error"]
    for text in ("routes", "errors"):
        header, other = (whole.replace(part(whole, text), "") for whole in (header, other))
    assert other == header


@pytest.mark.parametrize("name", ["errors", "routes"])
def test_a_header_without_a_place_for_a_list_is_refused(name: str) -> None:
    header = HEADER.read_text(encoding="utf-8").replace(c_header.end(name), "")
    with pytest.raises(ValueError, match=f"comments around the list of {name}"):
        c_header.with_lists(header, lower(small_schema.PROTOCOL))

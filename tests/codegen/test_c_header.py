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


def listed(header: str) -> list[str]:
    begin, end = header.index(c_header.BEGIN), header.index(c_header.END)
    return re.findall(r'^ \*   "([\w.]+)":', header[begin:end], re.MULTILINE)


def test_the_header_lists_the_routes_of_the_core() -> None:
    core = (ROOT / "core/src/chat/protocol/protocol.gen.h").read_text(encoding="utf-8")
    table = re.search(r"kRoutes\[\] = \{(.*?)\};", core, re.DOTALL)
    assert table
    routes = re.findall(r'"([\w.]+)"', table[1])
    assert "embeddings" in routes and "trace" in routes
    assert listed(HEADER.read_text(encoding="utf-8")) == routes


def test_only_the_list_is_replaced() -> None:
    header = HEADER.read_text(encoding="utf-8")
    other = c_header.with_routes(header, lower(small_schema.PROTOCOL))
    assert listed(other) == ["small.talk", "terms", "ask", "look"]
    assert other.partition(c_header.BEGIN)[0] == header.partition(c_header.BEGIN)[0]
    assert other.partition(c_header.END)[2] == header.partition(c_header.END)[2]


def test_a_header_without_a_place_for_the_list_is_refused() -> None:
    with pytest.raises(ValueError, match="comments around the list of routes"):
        c_header.with_routes("#include <stdint.h>\n", lower(small_schema.PROTOCOL))

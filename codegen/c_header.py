"""The list of routes in the C header, which is written by hand but for that.

It stands between two comments of `core/include/mlc_llm.h`, where C programmers look for it.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from codegen import ir
from codegen.languages import common

PATH = "core/include/mlc_llm.h"
BEGIN = (
    f"/* ---- Routes: generated from codegen/schema by `{common.COMMAND}`; do not edit. ---- */\n"
)
END = "/* ---- End of routes. ---- */\n"


def with_routes(header: str, protocol: ir.Protocol) -> str:
    """The header with the protocol's routes in place of those that it lists."""
    before, begin, rest = header.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PATH}: the comments around the list of routes are missing")
    return before + begin + _list(protocol) + end + after


def generate(protocol: ir.Protocol, root: Path) -> dict[str, str]:
    """The header as it is below `root`, with the protocol's routes; nothing where there is none."""
    path = root / PATH
    if not path.exists():
        return {}
    return {PATH: with_routes(path.read_text(encoding="utf-8"), protocol)}


def _list(protocol: ir.Protocol) -> str:
    """A route a line: what it takes, what it gives, and what it gives when it streams."""
    lines = [
        "/* What mlc_engine_submit takes as `route`, and the types (codegen/schema) of its JSON:"
    ]
    for route in common.all_routes(protocol):
        text = f'"{route.name}": {_types(route)}'
        lines += textwrap.wrap(text, 100, initial_indent=" *   ", subsequent_indent=" *     ")
    return "\n".join(lines) + "\n */\n"


def _types(route: ir.Route | ir.Call | ir.PlainRoute) -> str:
    if isinstance(route, ir.PlainRoute):
        return f"{{}}. {route.description}"
    if isinstance(route, ir.Route) and route.chunk:
        return f"{route.request} -> {route.response}; streams {route.chunk}"
    return f"{route.request} -> {route.response}"

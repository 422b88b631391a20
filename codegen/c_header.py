"""The lists in the C header, which is written by hand but for them.

They stand between comments of `core/include/mlc_llm.h`, where C programmers look for them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

from codegen import ir
from codegen.languages import common, errors

PATH = "core/include/mlc_llm.h"


def generate(protocol: ir.Protocol, root: Path) -> dict[str, str]:
    """The header as it is below `root`, with the protocol's lists; nothing where there is none."""
    path = root / PATH
    if not path.exists():
        return {}
    return {PATH: with_lists(path.read_text(encoding="utf-8"), protocol)}


def with_lists(header: str, protocol: ir.Protocol) -> str:
    """The header with the protocol's lists in place of those that it has."""
    for name, text_of in LISTS.items():
        text = text_of(protocol)
        if text:
            header = _replaced(header, name, text)
    return header


def begin(name: str) -> str:
    return (
        f"/* ---- {name.capitalize()}: generated from codegen/schema by `{common.COMMAND}`; do not "
        "edit. ---- */\n"
    )


def end(name: str) -> str:
    return f"/* ---- End of {name}. ---- */\n"


def _replaced(header: str, name: str, text: str) -> str:
    before, opening, rest = header.partition(begin(name))
    _, closing, after = rest.partition(end(name))
    if not opening or not closing:
        raise ValueError(f"{PATH}: the comments around the list of {name} are missing")
    return before + opening + text + closing + after


def _comment(head: str, items: list[str]) -> str:
    lines = [f"/* {head}"]
    for item in items:
        lines += textwrap.wrap(item, 100, initial_indent=" *   ", subsequent_indent=" *     ")
    return "\n".join(lines) + "\n */\n"


def _routes(protocol: ir.Protocol) -> str:
    """A route a line: what it takes, what it gives, and what it gives when it streams."""
    head = "What mlc_engine_submit takes as `route`, and the types (codegen/schema) of its JSON:"
    routes = common.all_routes(protocol)
    return _comment(head, [f'"{route.name}": {_types(route)}' for route in routes])


def _types(route: ir.Route | ir.Call | ir.PlainRoute) -> str:
    if isinstance(route, ir.PlainRoute):
        return f"{{}}. {route.description}"
    if isinstance(route, ir.Route) and route.chunk:
        return f"{route.request} -> {route.response}; streams {route.chunk}"
    return f"{route.request} -> {route.response}"


def _errors(protocol: ir.Protocol) -> str:
    """The numbers of the statuses, and the words of the core's reasons."""
    if protocol.errors is None:
        return ""
    statuses = [
        f"  /* {status.description} */\n  {errors.c_constant(status)} = {status.number},"
        for status in protocol.errors.statuses
    ]
    enum = "\n".join(["typedef enum {", "  MLC_OK = 0,", *statuses, "} mlc_status_code;"])
    head = "The words of an error's `code`. docs/errors.md says what to do about each."
    reasons = [
        f'"{reason.name}": {errors.c_constant(reason.status)}. {reason.description}'
        for reason in protocol.errors.reasons
        if reason.source == "core"
    ]
    return f"{enum}\n\n{_comment(head, reasons)}"


LISTS: dict[str, Callable[[ir.Protocol], str]] = {"errors": _errors, "routes": _routes}

"""The MCP tools of a response: those that the request allows, and the one that it asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.serve.inference import done_or_left
from mlc_llm.serve.state import mcp_of
from mlc_llm.serve.translated import Asked
from mlc_llm.tools import Tool


async def mcp_tools(request: Request, asked: Asked) -> dict[str, list[Tool]]:
    """The tools of the MCP servers that a request names. Raises MLCError where two tools have the
    same name."""
    found: dict[str, list[Tool]] = {}
    taken = {tool["name"] for tool in asked.get("tools") or () if tool["type"] == "function"}
    for place, tool in enumerate(asked.get("tools") or ()):
        if tool["type"] != "mcp":
            continue
        server, param = tool["server_label"], f"tools[{place}].server_label"
        if server in found:
            words = f"mcp.{server[:100]} is there twice; name its tools in one 'allowed_tools'"
            raise _fault(param, words)
        connected = asyncio.ensure_future(mcp_of(request).tools(server, param))
        await done_or_left(request, connected)
        found[server] = _allowed(connected.result().tools, tool, f"tools[{place}].allowed_tools")
        for one in found[server]:
            if one.name in taken:
                raise _fault(param, f"there are two tools with the name '{one.name}'")
            taken.add(one.name)
    return {server: tools for server, tools in found.items() if tools}


def _allowed(tools: Sequence[Tool], asked: Asked, param: str) -> list[Tool]:
    """Those that `allowed_tools` leaves: names, or a filter."""
    given = asked.get("allowed_tools")
    wanted: Mapping[str, Any] = given if isinstance(given, Mapping) else {"tool_names": given}
    names, read_only = wanted.get("tool_names"), wanted.get("read_only")
    for name in names or ():
        if all(one.name != name for one in tools):
            server = asked["server_label"]
            raise _fault(param, f"mcp.{server} offers no tool '{name[:100]}'")
    return [
        one
        for one in tools
        if (names is None or one.name in names)
        and (read_only is None or one.read_only == read_only)
    ]


def with_tool_choice(asked: Asked, mcp: Mapping[str, Sequence[Tool]]) -> Asked:
    """The request, in which a `tool_choice` of an MCP server is that of a function."""
    choice = asked.get("tool_choice")
    if not isinstance(choice, Mapping) or choice["type"] != "mcp":
        return asked
    tools, name = mcp.get(choice["server_label"], ()), choice.get("name")
    if not tools:
        server = choice["server_label"][:100]
        raise _fault("tool_choice.server_label", f"'tools' has no tool of a server '{server}'")
    if name is None and len(tools) == 1:
        name = tools[0].name
    if name is None:
        if len(mcp) > 1 or any(tool["type"] == "function" for tool in asked["tools"]):
            raise _fault("tool_choice.name", "name one of the tools, as 'tools' has others too")
        return {**asked, "tool_choice": "required"}
    if all(one.name != name for one in tools):
        raise _fault("tool_choice.name", f"the server offers no tool '{name[:100]}'")
    return {**asked, "tool_choice": {"type": "function", "name": name}}


def _fault(param: str, words: str) -> MLCError:
    return error_of(reasons.INVALID_VALUE, words, param=param)

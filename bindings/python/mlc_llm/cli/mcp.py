"""MCP servers in the chat: those that the settings file names.

[mcp.files]
command = ["mcp-files", "/home/me"]   # or: url = "..."
allow = ["read_file"]                 # the tools that the model may call; "*": all
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mlc_llm.serve.settings_file import Table, read_settings

if TYPE_CHECKING:
    from mlc_llm.sdk.mcp_servers import MCPServer, MCPTools
    from mlc_llm.types_gen import ChatCompletionMessageToolCall

_SHOWN = 200  # most characters of a result on the screen


@contextmanager
def mcp_tools(settings: str | None) -> Iterator[MCPTools | None]:
    """The tools of the servers in a settings file, connected while the block runs."""
    servers = [] if settings is None else list(read_mcp_servers(read_settings(settings)))
    if not servers:
        yield None
        return
    from mlc_llm.sdk.mcp_servers import MCPTools

    with MCPTools(servers) as tools:
        yield tools


def read_mcp_servers(settings: Table) -> Iterator[MCPServer]:
    """Takes the tables `mcp`. Raises InvalidRequestError, with the key and its line."""
    from mlc_llm.sdk.mcp_servers import MCPServer

    for name, table in settings.tables("mcp"):
        command, url = table.texts("command"), table.text("url")
        if bool(command) == (url is not None):
            raise table.error("command", "give either a command or a url")
        allow = table.texts("allow")
        if not allow:
            raise table.error("allow", 'name the tools that the model may call, or ["*"]')
        environment = table.table("environment").values()
        if not all(isinstance(value, str) for value in environment.values()):
            raise table.error("environment", "must have texts as its values")
        given: dict[str, Any] = {
            "timeout": table.number("timeout", at_least=0.1),
            "max_result_chars": table.integer("max_result_chars", at_least=1),
            "ask": table.flag("ask"),
        }
        table.end()
        known = {key: value for key, value in given.items() if value is not None}
        yield MCPServer(
            name=name, command=command, url=url, environment=environment, allow=allow, **known
        )


def approve_on(
    tools: MCPTools, ask: Callable[[str], str] = input
) -> Callable[[ChatCompletionMessageToolCall], bool]:
    """Whether a call is made: as the file says, else as the user says on the terminal."""

    def approve(call: ChatCompletionMessageToolCall) -> bool:
        function = call.function
        if not tools.asks(function.name):
            return True
        if sys.stdin is None or not sys.stdin.isatty():
            return False
        words = f"Call {_plain(function.name)}({_plain(function.arguments)})? [y/N] "
        return ask(words).strip().lower() in ("y", "yes")

    return approve


def shown(text: str) -> str:
    """A result in a line for the screen."""
    line = _plain(" ".join(text.split()))
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "..."


def _plain(text: str) -> str:
    """Without characters that move a terminal's cursor or change what stands there already."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)

"""The MCP servers of the settings file, whose tools requests may name."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons

if TYPE_CHECKING:
    from mlc_llm.sdk.mcp_servers import MCPServer, MCPTools


class MCPHost:
    """Connects to a server when a request first names it, and again when the connection has ended.
    It belongs to the event loop."""

    def __init__(self, servers: Sequence[MCPServer]) -> None:
        self._servers = {server.name: server for server in servers}
        self._connecting: dict[str, asyncio.Future[MCPTools]] = {}
        # Threads of its own: a server that does not answer must not hold those of requests.
        self._threads = ThreadPoolExecutor(max(1, len(servers)), "mlc-mcp-connect")

    async def tools(self, name: str, param: str) -> MCPTools:
        """The tools of a server. Raises MLCError if it is not named in the settings file, may not
        be called without a question, or cannot be reached."""
        server = self._servers.get(name)
        if server is None:
            names = ", ".join(self._servers) or "none"
            words = f"there is no MCP server '{name[:100]}' in the settings file; there is: {names}"
            raise error_of(reasons.INVALID_VALUE, words, param=param)
        if server.ask:
            words = (
                f"mcp.{name} asks before each call, and nobody can be asked here; with 'ask = "
                "false' in the settings file this server calls its tools"
            )
            raise error_of(reasons.INVALID_VALUE, words, param=param)
        known = self._connecting.get(name)
        if known is not None and known.done() and not _stands(known):
            self._threads.submit(_close, known)
            known = None
        if known is None:
            from mlc_llm.sdk.mcp_servers import MCPTools

            loop = asyncio.get_running_loop()
            known = loop.run_in_executor(self._threads, MCPTools, [server])
            self._connecting[name] = known
        return await asyncio.shield(known)

    def close(self) -> None:
        """Ends the connections."""
        for known in self._connecting.values():
            _close(known)
        self._threads.shutdown(wait=False, cancel_futures=True)


def _stands(known: asyncio.Future[MCPTools]) -> bool:
    if known.cancelled() or known.exception() is not None:
        return False
    return known.result().connected


def _close(known: asyncio.Future[MCPTools]) -> None:
    if known.done() and not known.cancelled() and known.exception() is None:
        known.result().close()

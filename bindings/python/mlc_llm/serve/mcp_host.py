"""The MCP servers of the settings file, whose tools requests may name."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons

if TYPE_CHECKING:
    from mlc_llm.sdk.mcp_servers import MCPServer, MCPTools


class _Known:
    """A server that is or was connected. `ready` ends when it is known which."""

    def __init__(self, server: MCPServer) -> None:
        from mlc_llm.sdk.mcp_servers import MCPTools

        self.tools: MCPTools = MCPTools([server], connect=False)
        self.ready = _on_thread(self.tools.connect)

    @property
    def is_over(self) -> bool:
        """Whether it could not be connected, or the connection has ended."""
        return self.ready.done() and not self.tools.connected


class MCPHost:
    """Connects to a server when a request first names it, and again when the connection has ended.
    It belongs to the event loop."""

    def __init__(self, servers: Sequence[MCPServer]) -> None:
        self._servers = {server.name: server for server in servers}
        self._known: dict[str, _Known] = {}

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
        known = self._known.get(name)
        if known is None or known.is_over:
            if known is not None:
                _on_thread(known.tools.close)
            known = self._known[name] = _Known(server)
        await asyncio.shield(known.ready)
        return known.tools

    async def close(self) -> None:
        """Ends the connections, and those that are made."""
        await asyncio.gather(*(_on_thread(known.tools.close) for known in self._known.values()))


def _on_thread(work: Callable[[], None]) -> asyncio.Future[None]:
    """Waits for work that blocks. Its thread does not hold up the end of the process, as those of
    an executor do."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()
    # An error that nobody waits for is no fault.
    future.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    def end(error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    def run() -> None:
        error: BaseException | None = None
        try:
            work()
        except BaseException as caught:
            error = caught
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(end, error)

    threading.Thread(target=run, name="mlc-mcp-connect", daemon=True).start()
    return future

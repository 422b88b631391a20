"""Tools of MCP servers (Model Context Protocol), for `run_tools` and `stream_tools`.

    server = MCPServer(name="files", command=("mcp-files", "/tmp"), allow=("read_file",))
    with MCPTools([server]) as tools:
        run = engine.chat.completions.run_tools(messages=messages, tools=tools.tools)

The official `mcp` package speaks with the servers (`pip install mlc-llm[mcp]`). Only the tools that
`allow` names are offered to the model.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import importlib.util
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from mlc_llm.errors import InvalidRequestError, NotFoundError, UnavailableError
from mlc_llm.tools import Tool

ALL = "*"
_ARGUMENTS = TypeAdapter(dict[str, Any])
_CUT = "\n[the rest is cut off]"


@dataclass(frozen=True, kw_only=True)
class MCPServer:
    """A server: a program that is started with `command`, or one at a `url` (streamable HTTP).

    `allow`: the names of the tools that the model may call; `*` means all. `timeout`: for the
    connection, and for each call, in seconds. `max_result_chars`: a longer result is cut off.
    `ask`: whether `mlc_llm chat` asks its user before each call.
    """

    name: str
    command: Sequence[str] = ()
    url: str | None = None
    environment: Mapping[str, str] | None = None
    allow: Sequence[str] = ()
    timeout: float = 120.0
    max_result_chars: int = 32768
    ask: bool = True


class MCPTools:
    """The tools of connected servers. The connections live on a thread of their own, until
    `close()` or the end of a `with` block."""

    def __init__(self, servers: Sequence[MCPServer], *, connect: bool = True) -> None:
        """Connects, unless `connect()` is to do so later. Raises MLCError, with the server's name,
        if one cannot be reached."""
        if importlib.util.find_spec("mcp") is None:
            raise NotFoundError(
                "MCP servers need the package 'mcp': pip install 'mlc-llm[mcp]'", param="mcp"
            )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="mlc-mcp", daemon=True)
        self._thread.start()
        self._connections = [_Connection(server) for server in servers]
        self.tools: list[Tool] = []
        self._asks: dict[str, bool] = {}
        self._closing = threading.Lock()
        if connect:
            self.connect()

    def connect(self) -> None:
        """Connects, once. `close()` on another thread ends it with an error."""
        try:
            found = [(one, self._wait(one.open())) for one in self._connections]
            for connection, tools in found:
                self._add(connection, tools)
        except BaseException:
            self.close()
            raise

    @property
    def connected(self) -> bool:
        """Whether all connections stand."""
        return all(connection.is_open for connection in self._connections)

    def asks(self, name: str) -> bool:
        """Whether the user is to be asked before a call of this tool."""
        return self._asks.get(name, True)

    def close(self) -> None:
        """Ends the connections, and the programs that were started for them."""
        with self._closing:
            if self._loop.is_closed():
                return
            for connection in self._connections:
                with contextlib.suppress(Exception):
                    self._wait(connection.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def __enter__(self) -> MCPTools:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _add(self, connection: _Connection, tools: Sequence[Any]) -> None:
        server = connection.server
        for tool in allowed(server, tools):
            if any(tool.name == other.name for other in self.tools):
                raise InvalidRequestError(
                    f"mcp.{server.name}: another server has a tool '{tool.name}' too; allow one",
                    param="allow",
                )
            self._asks[tool.name] = server.ask
            self.tools.append(
                Tool(
                    name=tool.name,
                    description=tool.description,
                    parameters=tool.input_schema,
                    function=self._caller(connection, tool.name),
                    arguments=_read_arguments,
                    strict=None,
                    function_async=self._async_caller(connection, tool.name),
                    read_only=bool(tool.annotations and tool.annotations.read_only_hint),
                )
            )

    def _caller(self, connection: _Connection, name: str) -> Callable[..., str]:
        def call(**arguments: Any) -> str:
            return str(self._wait(connection.call(name, arguments)))

        return call

    def _async_caller(
        self, connection: _Connection, name: str
    ) -> Callable[..., Coroutine[Any, Any, str]]:
        async def call(**arguments: Any) -> str:
            work = connection.call(name, arguments)
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

        return call

    def _wait(self, work: Any) -> Any:
        future: concurrent.futures.Future[Any]
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:  # for example Ctrl-C: nobody waits any more
            future.cancel()
            raise


def allowed(server: MCPServer, tools: Sequence[Any]) -> list[Any]:
    """Those of a server's tools that the model may call. Raises InvalidRequestError if `allow`
    names one that is not there."""
    names = [tool.name for tool in tools]
    for name in server.allow:
        if name != ALL and name not in names:
            there = ", ".join(names) or "none"
            raise InvalidRequestError(
                f"mcp.{server.name}: there is no tool '{name}'; there is: {there}", param="allow"
            )
    return [tool for tool in tools if ALL in server.allow or tool.name in server.allow]


class _Connection:
    """A connection, which one task of the event loop opens, holds and closes."""

    def __init__(self, server: MCPServer) -> None:
        self.server = server
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._client: Any = None

    @property
    def is_open(self) -> bool:
        ended = self._task is None or self._task.done() or self._closing.is_set()
        return not ended

    async def open(self) -> Sequence[Any]:
        """Connects. Returns the server's tools."""
        ready: asyncio.Future[Sequence[Any]] = asyncio.get_running_loop().create_future()
        self._task = asyncio.ensure_future(self._hold(ready))
        try:
            return await asyncio.wait_for(ready, self.server.timeout)
        except asyncio.TimeoutError:
            await self.close()
            raise self._unavailable(f"no answer within {self.server.timeout:g} s") from None

    async def close(self) -> None:
        self._closing.set()
        if self._task is not None:
            if self._client is None:  # it connects: nothing else ends that
                self._task.cancel()
            done, _ = await asyncio.wait({self._task}, timeout=5.0)
            if not done:
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=5.0)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The text of a tool's result. An error of the tool is raised."""
        if not self.is_open:
            raise self._unavailable("the connection has ended")
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        try:
            result = await asyncio.wait_for(
                self._client.call_tool(name, dict(arguments)), self.server.timeout
            )
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                self._closing.set()
            raise
        text = "\n".join(_text_of(part) for part in result.content)
        if len(text) > self.server.max_result_chars:
            text = text[: self.server.max_result_chars] + _CUT
        if result.is_error:
            raise RuntimeError(text or "the tool failed")
        return text

    async def _hold(self, ready: asyncio.Future[Sequence[Any]]) -> None:
        from mcp import Client, StdioServerParameters

        server = self.server
        target: Any = server.url
        if server.command:
            program, *arguments = server.command
            environment = None if server.environment is None else dict(server.environment)
            target = StdioServerParameters(command=program, args=arguments, env=environment)
        try:
            async with Client(target) as client:
                self._client = client
                tools: list[Any] = []
                page = await client.list_tools()
                tools += page.tools
                while page.next_cursor:
                    page = await client.list_tools(cursor=page.next_cursor)
                    tools += page.tools
                ready.set_result(tools)
                await self._closing.wait()
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(self._unavailable(_why(error)))

    def _unavailable(self, why: str) -> UnavailableError:
        return UnavailableError(f"mcp.{self.server.name}: {why}", param=f"mcp.{self.server.name}")


def _why(error: BaseException) -> str:
    """The first of the errors that a group holds."""
    first: Any = error
    while inner := getattr(first, "exceptions", None):
        first = inner[0]
    return str(first) or type(first).__name__


def _text_of(part: Any) -> str:
    """A part that is no text is only named."""
    text = getattr(part, "text", None)
    return text if isinstance(text, str) else f"[{part.type}]"


def _read_arguments(text: str) -> dict[str, Any]:
    return _ARGUMENTS.validate_json(text or "{}")

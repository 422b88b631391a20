"""AsyncMLCEngine: the engine for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from mlc_llm import _core
from mlc_llm.protocol.answers import as_mlc_llm
from mlc_llm.sdk import adapters
from mlc_llm.sdk.chat_helpers import AsyncHelpedChatCompletions
from mlc_llm.sdk.completions_gen import AsyncCompletions, AsyncEmbeddings, AsyncRerank
from mlc_llm.sdk.core_engine import CoreEngine, ends_stream, raise_if_error
from mlc_llm.sdk.engine_base import EngineBase, conversation
from mlc_llm.sdk.loop_events import LoopEvents
from mlc_llm.sdk.paths import absolute
from mlc_llm.sdk.timeout import TIMEOUT_MS
from mlc_llm.types_gen import (
    AdapterList,
    ChatCompletionMessageParam,
    ChatCompletionToolParam,
    InputTokensResponse,
    KVLoadResponse,
    KVSaveResponse,
    PrewarmResponse,
    ThermalLimits,
    ThermalState,
    TrimLevel,
    TrimResponse,
)

Event = tuple[int, str]
_Answer = TypeVar("_Answer", bound=BaseModel)


class AsyncChunkStream(Generic[_Answer]):
    """The chunks in order. The request ends when the stream is closed, when its `async with` block
    is left, when the task that reads it is cancelled, or when nothing refers to it any more. A
    `break` alone does not end it: a later loop goes on."""

    def __init__(
        self,
        core: CoreEngine,
        chunk: type[_Answer],
        request_id: int,
        events: asyncio.Queue[Event],
        name: str | None = None,
        timeout: object = None,
    ) -> None:
        self._core = core
        self._chunk = chunk
        self._timeout = timeout
        self._id = request_id
        self._name = name
        self._events = events
        self._open = True

    def __aiter__(self) -> AsyncChunkStream[_Answer]:
        return self

    async def __anext__(self) -> _Answer:
        if not self._open:
            raise StopAsyncIteration
        try:
            kind, text = await self._events.get()
        except asyncio.CancelledError:
            await self.close()
            raise
        if ends_stream(kind):
            self._end()
            self._events.put_nowait((_core.EVENT_DONE, ""))  # for another reader that waits
        raise_if_error(kind, text, self._timeout)
        if not text:
            raise StopAsyncIteration
        return as_mlc_llm(self._chunk.model_validate_json(text), self._name)

    async def close(self) -> None:
        """Ends the request. Closing again has no effect."""
        self._abort()

    def _end(self) -> None:
        self._open = False
        self._core.forget(self._name, self._id)

    def _abort(self) -> None:
        if self._open:
            self._end()
            self._core.abort(self._id)

    async def __aenter__(self) -> AsyncChunkStream[_Answer]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __del__(self) -> None:
        self._abort()


class AsyncSender:
    """Sends an engine's requests. Gives their answers as objects."""

    def __init__(self, core: CoreEngine) -> None:
        self._core = core

    async def call(
        self, route: str, answer: type[_Answer], request: Mapping[str, Any], name: str | None = None
    ) -> _Answer:
        request_id, events = await self._submit(route, request, name)
        try:
            kind, text = await events.get()
        except asyncio.CancelledError:
            self._core.abort(request_id)
            raise
        finally:
            self._core.forget(name, request_id)
        raise_if_error(kind, text, request.get(TIMEOUT_MS))
        return as_mlc_llm(answer.model_validate_json(text), name)

    async def stream(
        self, route: str, chunk: type[_Answer], request: Mapping[str, Any], name: str | None
    ) -> AsyncChunkStream[_Answer]:
        request_id, events = await self._submit(route, request, name)
        timeout = request.get(TIMEOUT_MS)
        return AsyncChunkStream(self._core, chunk, request_id, events, name, timeout)

    async def _submit(
        self, route: str, request: Mapping[str, Any], name: str | None
    ) -> tuple[int, asyncio.Queue[Event]]:
        """The request's id, and its events as they come."""
        events: asyncio.Queue[Event] = asyncio.Queue()

        def receive(kind: int, text: str) -> None:
            events.put_nowait((kind, text))

        body, buffers = self._core.encode(request)
        loop_events = LoopEvents.of_running_loop()
        request_id = await loop_events.submit(self._core, route, body, receive, buffers)
        self._core.remember(name, request_id)
        return request_id, events


class AsyncChat:
    """`engine.chat`."""

    def __init__(self, completions: AsyncHelpedChatCompletions) -> None:
        self.completions = completions


class AsyncMLCEngine(EngineBase):
    """The asynchronous `MLCEngine`: the same arguments, awaited calls."""

    @cached_property
    def _sender(self) -> AsyncSender:
        return AsyncSender(self._core)

    @cached_property
    def chat(self) -> AsyncChat:
        """`chat.completions` answers a conversation."""
        return AsyncChat(AsyncHelpedChatCompletions(self._sender))

    @cached_property
    def completions(self) -> AsyncCompletions:
        """Continues a text without a chat template."""
        return AsyncCompletions(self._sender)

    @cached_property
    def rerank(self) -> AsyncRerank:
        """Says how well each of some documents answers a query."""
        return AsyncRerank(self._sender)

    @cached_property
    def embeddings(self) -> AsyncEmbeddings:
        """Gives a vector for each text."""
        return AsyncEmbeddings(self._sender)

    async def metrics(self) -> dict[str, Any]:
        """Counters under MLC-LLM's names, and the timings of the last request."""
        return self._core.metrics()

    async def reset(self) -> None:
        """Ends every request and clears the metrics; the model stays loaded."""
        self._core.reset()

    async def abort(self, request_id: str) -> None:
        """Ends the request with the name `create(..., request_id=...)`. Its reader gets an
        error."""
        self._core.abort_named(request_id)

    async def input_tokens(
        self,
        messages: Iterable[ChatCompletionMessageParam],
        *,
        tools: Iterable[ChatCompletionToolParam] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> int:
        """The length of a conversation's prompt in tokens; see `MLCEngine.input_tokens`."""
        request = conversation(messages, tools=tools, chat_template_kwargs=chat_template_kwargs)
        return (await self._sender.call("input_tokens", InputTokensResponse, request)).input_tokens

    async def save_kv(
        self,
        messages: Iterable[ChatCompletionMessageParam],
        path: str | Path,
        *,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> KVSaveResponse:
        """Saves the state of a conversation to a file; see `MLCEngine.save_kv`."""
        request = conversation(messages, path=path, chat_template_kwargs=chat_template_kwargs)
        return await self._sender.call("kv.save", KVSaveResponse, request)

    async def load_kv(self, path: str | Path) -> KVLoadResponse:
        """Puts a saved state into the prefix cache; see `MLCEngine.load_kv`."""
        return await self._sender.call("kv.load", KVLoadResponse, {"path": absolute(path)})

    async def load_adapter(self, name: str, path: str | Path) -> AdapterList:
        """Lets requests choose a LoRA adapter by name; see `MLCEngine.load_adapter`."""
        return await asyncio.to_thread(adapters.load_adapter, self._core, name, path)

    async def unload_adapter(self, name: str) -> AdapterList:
        """Takes an adapter from new requests; its running requests go on with it."""
        return await asyncio.to_thread(adapters.unload_adapter, self._core, name)

    async def adapters(self) -> AdapterList:
        """The adapters that requests may choose, and how much room is left."""
        return await asyncio.to_thread(adapters.list_adapters, self._core)

    async def trim_memory(self, level: TrimLevel = "caches") -> TrimResponse:
        """Gives memory back. `caches`: what only the prefix cache holds. `pages`: also the memory
        of KV pages that no running answer uses. `all`: also the pages of running answers, which are
        computed again and stay the same, and weights that can be read from their files again."""
        return await self._sender.call("memory.trim", TrimResponse, {"level": level})

    async def prewarm(self) -> PrewarmResponse:
        """Reads the weights into memory and computes one step, so that the first request does not
        wait for them."""
        return await self._sender.call("prewarm", PrewarmResponse, {})

    async def set_thermal_state(self, state: ThermalState) -> ThermalLimits:
        """Lowers the threads and the requests at a time on a hot device, or sets them back
        (`nominal`). Answers stay the same. Returns the limits that hold now."""
        return await self._sender.call("thermal.set", ThermalLimits, {"state": state})

    async def close(self) -> None:
        """Ends every request and frees the model."""
        await asyncio.to_thread(self._core.close)

    async def __aenter__(self) -> AsyncMLCEngine:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

# Generated from codegen/schema by `python -m codegen`. Do not edit.
# Schema hash: 2127b3d5b5679cf4
"""The typed `create` of each route; an engine supplies `_create` and the streams.

A parameter that is not given is not sent, and one given as None is sent as null, which the engine
takes as not given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, Protocol, TypeVar, overload

from typing_extensions import Self, Unpack

from .types_gen import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionCreateParams,
    Completion,
    CompletionCreateParams,
    CreateEmbeddingResponse,
    EmbeddingCreateParams,
    RerankCreateParams,
    RerankResponse,
)

_Item = TypeVar("_Item", covariant=True)


class Stream(Protocol[_Item]):
    """Chunks in order. Closing it, or leaving its `with` block, ends the request."""

    def __iter__(self) -> Iterator[_Item]: ...
    def __next__(self) -> _Item: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...


class AsyncStream(Protocol[_Item]):
    """Chunks in order. Closing it, or leaving its `async with` block, ends the request."""

    def __aiter__(self) -> AsyncIterator[_Item]: ...
    async def __anext__(self) -> _Item: ...
    async def close(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...


def _request(
    known: Mapping[str, object],
    required: set[str],
    params: Mapping[str, Any],
    extra_body: Mapping[str, object] | None,
) -> dict[str, Any]:
    """The body to send. A misspelt or missing parameter is a TypeError, as in any call."""
    unknown = sorted(params.keys() - known.keys())
    if unknown:
        raise TypeError(f"create() got an unexpected keyword argument {unknown[0]!r}")
    missing = sorted(required - params.keys() - (extra_body or {}).keys())
    if missing:
        raise TypeError(f"create() missing required keyword argument {missing[0]!r}")
    return {**params, **(extra_body or {})}


class ChatCompletions(ABC):
    """`chat.completions`: see `ChatCompletionCreateParams` for the parameters.

    `stream`: Whether the answer comes in chunks while it is generated.
    `extra_body`: further members of the request, which win over the parameters.
    `request_id`: the answer's id, by which `engine.abort` ends the request; as MLC-LLM's.
    """

    @overload
    def create(
        self,
        *,
        stream: Literal[False] | None = None,
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> ChatCompletion: ...
    @overload
    def create(
        self,
        *,
        stream: Literal[True],
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> Stream[ChatCompletionChunk]: ...
    @overload
    def create(
        self,
        *,
        stream: bool | None,
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> ChatCompletion | Stream[ChatCompletionChunk]: ...
    def create(
        self,
        *,
        stream: bool | None = None,
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> ChatCompletion | Stream[ChatCompletionChunk]:
        """Sends a request; gives the whole answer, or a stream of its chunks."""
        known, required = ChatCompletionCreateParams.__annotations__, {"messages"}
        request = _request(known, required, params, extra_body)
        request["stream"] = bool(stream)
        named = {} if request_id is None else {"request_id": request_id}
        return self._create(request, bool(stream), **named)

    @abstractmethod
    def _create(
        self, request: dict[str, Any], stream: bool, request_id: str | None = None
    ) -> ChatCompletion | Stream[ChatCompletionChunk]:
        """A `ChatCompletion`, or when `stream` holds a stream of `ChatCompletionChunk`."""


class AsyncChatCompletions(ABC):
    """`chat.completions`: see `ChatCompletionCreateParams` for the parameters.

    `stream`: Whether the answer comes in chunks while it is generated.
    `extra_body`: further members of the request, which win over the parameters.
    `request_id`: the answer's id, by which `engine.abort` ends the request; as MLC-LLM's.
    """

    @overload
    async def create(
        self,
        *,
        stream: Literal[False] | None = None,
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> ChatCompletion: ...
    @overload
    async def create(
        self,
        *,
        stream: Literal[True],
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> AsyncStream[ChatCompletionChunk]: ...
    @overload
    async def create(
        self,
        *,
        stream: bool | None,
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> ChatCompletion | AsyncStream[ChatCompletionChunk]: ...
    async def create(
        self,
        *,
        stream: bool | None = None,
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[ChatCompletionCreateParams],
    ) -> ChatCompletion | AsyncStream[ChatCompletionChunk]:
        """Sends a request; gives the whole answer, or a stream of its chunks."""
        known, required = ChatCompletionCreateParams.__annotations__, {"messages"}
        request = _request(known, required, params, extra_body)
        request["stream"] = bool(stream)
        named = {} if request_id is None else {"request_id": request_id}
        return await self._create(request, bool(stream), **named)

    @abstractmethod
    async def _create(
        self, request: dict[str, Any], stream: bool, request_id: str | None = None
    ) -> ChatCompletion | AsyncStream[ChatCompletionChunk]:
        """A `ChatCompletion`, or when `stream` holds a stream of `ChatCompletionChunk`."""


class Completions(ABC):
    """`completions`: see `CompletionCreateParams` for the parameters.

    `stream`: Whether the answer comes in chunks while it is generated.
    `extra_body`: further members of the request, which win over the parameters.
    `request_id`: the answer's id, by which `engine.abort` ends the request; as MLC-LLM's.
    """

    @overload
    def create(
        self,
        *,
        stream: Literal[False] | None = None,
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> Completion: ...
    @overload
    def create(
        self,
        *,
        stream: Literal[True],
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> Stream[Completion]: ...
    @overload
    def create(
        self,
        *,
        stream: bool | None,
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> Completion | Stream[Completion]: ...
    def create(
        self,
        *,
        stream: bool | None = None,
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> Completion | Stream[Completion]:
        """Sends a request; gives the whole answer, or a stream of its chunks."""
        known, required = CompletionCreateParams.__annotations__, {"prompt"}
        request = _request(known, required, params, extra_body)
        request["stream"] = bool(stream)
        named = {} if request_id is None else {"request_id": request_id}
        return self._create(request, bool(stream), **named)

    @abstractmethod
    def _create(
        self, request: dict[str, Any], stream: bool, request_id: str | None = None
    ) -> Completion | Stream[Completion]:
        """A `Completion`, or when `stream` holds a stream of `Completion`."""


class AsyncCompletions(ABC):
    """`completions`: see `CompletionCreateParams` for the parameters.

    `stream`: Whether the answer comes in chunks while it is generated.
    `extra_body`: further members of the request, which win over the parameters.
    `request_id`: the answer's id, by which `engine.abort` ends the request; as MLC-LLM's.
    """

    @overload
    async def create(
        self,
        *,
        stream: Literal[False] | None = None,
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> Completion: ...
    @overload
    async def create(
        self,
        *,
        stream: Literal[True],
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> AsyncStream[Completion]: ...
    @overload
    async def create(
        self,
        *,
        stream: bool | None,
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> Completion | AsyncStream[Completion]: ...
    async def create(
        self,
        *,
        stream: bool | None = None,
        extra_body: Mapping[str, object] | None = None,
        request_id: str | None = None,
        **params: Unpack[CompletionCreateParams],
    ) -> Completion | AsyncStream[Completion]:
        """Sends a request; gives the whole answer, or a stream of its chunks."""
        known, required = CompletionCreateParams.__annotations__, {"prompt"}
        request = _request(known, required, params, extra_body)
        request["stream"] = bool(stream)
        named = {} if request_id is None else {"request_id": request_id}
        return await self._create(request, bool(stream), **named)

    @abstractmethod
    async def _create(
        self, request: dict[str, Any], stream: bool, request_id: str | None = None
    ) -> Completion | AsyncStream[Completion]:
        """A `Completion`, or when `stream` holds a stream of `Completion`."""


class Embeddings(ABC):
    """`embeddings`: see `EmbeddingCreateParams` for the parameters.

    `extra_body`: further members of the request, which win over the parameters.
    """

    def create(
        self,
        *,
        extra_body: Mapping[str, object] | None = None,
        **params: Unpack[EmbeddingCreateParams],
    ) -> CreateEmbeddingResponse:
        """Sends a request and waits for the answer."""
        known, required = EmbeddingCreateParams.__annotations__, {"input"}
        return self._create(_request(known, required, params, extra_body))

    @abstractmethod
    def _create(self, request: dict[str, Any]) -> CreateEmbeddingResponse:
        """The answer to a request."""


class AsyncEmbeddings(ABC):
    """`embeddings`: see `EmbeddingCreateParams` for the parameters.

    `extra_body`: further members of the request, which win over the parameters.
    """

    async def create(
        self,
        *,
        extra_body: Mapping[str, object] | None = None,
        **params: Unpack[EmbeddingCreateParams],
    ) -> CreateEmbeddingResponse:
        """Sends a request and waits for the answer."""
        known, required = EmbeddingCreateParams.__annotations__, {"input"}
        return await self._create(_request(known, required, params, extra_body))

    @abstractmethod
    async def _create(self, request: dict[str, Any]) -> CreateEmbeddingResponse:
        """The answer to a request."""


class Rerank(ABC):
    """`rerank`: see `RerankCreateParams` for the parameters.

    `extra_body`: further members of the request, which win over the parameters.
    """

    def create(
        self,
        *,
        extra_body: Mapping[str, object] | None = None,
        **params: Unpack[RerankCreateParams],
    ) -> RerankResponse:
        """Sends a request and waits for the answer."""
        known, required = RerankCreateParams.__annotations__, {"query", "documents"}
        return self._create(_request(known, required, params, extra_body))

    @abstractmethod
    def _create(self, request: dict[str, Any]) -> RerankResponse:
        """The answer to a request."""


class AsyncRerank(ABC):
    """`rerank`: see `RerankCreateParams` for the parameters.

    `extra_body`: further members of the request, which win over the parameters.
    """

    async def create(
        self,
        *,
        extra_body: Mapping[str, object] | None = None,
        **params: Unpack[RerankCreateParams],
    ) -> RerankResponse:
        """Sends a request and waits for the answer."""
        known, required = RerankCreateParams.__annotations__, {"query", "documents"}
        return await self._create(_request(known, required, params, extra_body))

    @abstractmethod
    async def _create(self, request: dict[str, Any]) -> RerankResponse:
        """The answer to a request."""

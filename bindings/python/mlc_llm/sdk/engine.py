"""MLCEngine: the synchronous engine, with the interface of the `openai` package's client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from mlc_llm import _core
from mlc_llm.protocol.answers import as_mlc_llm
from mlc_llm.sdk import adapters
from mlc_llm.sdk.chat_helpers import HelpedChatCompletions
from mlc_llm.sdk.completions_gen import Completions, Embeddings, Rerank
from mlc_llm.sdk.core_engine import CoreEngine, raise_if_error
from mlc_llm.sdk.engine_base import EngineBase, conversation
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

_CHUNK = _core.EVENT_CHUNK  # looked up once, because a stream uses it for each chunk
_Answer = TypeVar("_Answer", bound=BaseModel)


class ChunkStream(Generic[_Answer]):
    """The chunks in order. The request ends when the stream is closed, when its `with` block is
    left, or when nothing refers to it any more. A `break` alone does not end it: a later loop goes
    on."""

    def __init__(
        self,
        core: CoreEngine,
        route: str,
        chunk: type[_Answer],
        request: Mapping[str, Any],
        name: str | None = None,
    ) -> None:
        self._core = core
        self._chunk = chunk
        self._name = name
        self._timeout = request.get(TIMEOUT_MS)
        self._reading = Lock()  # the end comes once, and every reader must see it
        self._id, self._events = core.stream(route, request, name)
        self._open = True

    def __iter__(self) -> ChunkStream[_Answer]:
        return self

    def __next__(self) -> _Answer:
        with self._reading:
            if not self._open:
                raise StopIteration
            kind, text = self._events.next()
            if kind != _CHUNK:
                self._end()
                raise_if_error(kind, text, self._timeout)
                raise StopIteration
        return as_mlc_llm(self._chunk.model_validate_json(text), self._name)

    def close(self) -> None:
        """Ends the request. Closing again has no effect."""
        if self._open:
            self._end()
            self._core.abort(self._id)

    def _end(self) -> None:
        self._open = False
        self._core.forget(self._name, self._id)

    def __enter__(self) -> ChunkStream[_Answer]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_open", False) and hasattr(self, "_id"):
            self.close()


class Sender:
    """Sends an engine's requests. Gives their answers as objects."""

    def __init__(self, core: CoreEngine) -> None:
        self._core = core

    def call(
        self, route: str, answer: type[_Answer], request: Mapping[str, Any], name: str | None = None
    ) -> _Answer:
        text = self._core.call(route, request, name)
        return as_mlc_llm(answer.model_validate_json(text), name)

    def stream(
        self, route: str, chunk: type[_Answer], request: Mapping[str, Any], name: str | None
    ) -> ChunkStream[_Answer]:
        return ChunkStream(self._core, route, chunk, request, name)


class Chat:
    """`engine.chat`."""

    def __init__(self, completions: HelpedChatCompletions) -> None:
        self.completions = completions


class MLCEngine(EngineBase):
    """An engine with one model.

    `model`: `HF://org/repo`, a folder, a `.gguf` file, or None for the embedded default model.
    `model_lib`: a compiled library; None finds or compiles one. `device`: "auto", "cpu", "cuda:0".
    `mode`: "local" (a few requests), "interactive" (one) or "server" (many). `quantization`: for a
    model that is not converted yet. `engine_config`: MLC-LLM's `--overrides` as a mapping, or its
    `mlc_llm.serve.EngineConfig`. Close it with `terminate()` or use it as a context manager.
    """

    @cached_property
    def _sender(self) -> Sender:
        return Sender(self._core)

    @cached_property
    def chat(self) -> Chat:
        """`chat.completions` answers a conversation."""
        return Chat(HelpedChatCompletions(self._sender))

    @cached_property
    def completions(self) -> Completions:
        """Continues a text without a chat template."""
        return Completions(self._sender)

    @cached_property
    def rerank(self) -> Rerank:
        """Says how well each of some documents answers a query."""
        return Rerank(self._sender)

    @cached_property
    def embeddings(self) -> Embeddings:
        """Gives a vector for each text."""
        return Embeddings(self._sender)

    def metrics(self) -> dict[str, Any]:
        """Counters under MLC-LLM's names, and the timings of the last request."""
        return self._core.metrics()

    def reset(self) -> None:
        """Ends every request and clears the metrics; the model stays loaded."""
        self._core.reset()

    def abort(self, request_id: str) -> None:
        """Ends the request with the name `create(..., request_id=...)`. Its reader gets an
        error."""
        self._core.abort_named(request_id)

    def input_tokens(
        self,
        messages: Iterable[ChatCompletionMessageParam],
        *,
        tools: Iterable[ChatCompletionToolParam] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> int:
        """The length of a conversation's prompt in tokens, as the model would read it."""
        request = conversation(messages, tools=tools, chat_template_kwargs=chat_template_kwargs)
        return self._sender.call("input_tokens", InputTokensResponse, request).input_tokens

    def save_kv(
        self,
        messages: Iterable[ChatCompletionMessageParam],
        path: str | Path,
        *,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> KVSaveResponse:
        """Saves the state of a conversation to a file: the keys and values of its tokens.

        The part that the prefix cache does not hold is computed first. The file belongs to this
        model and this compiled library. `chat_template_kwargs`: as in `chat.completions.create`.
        """
        request = conversation(messages, path=path, chat_template_kwargs=chat_template_kwargs)
        return self._sender.call("kv.save", KVSaveResponse, request)

    def load_kv(self, path: str | Path) -> KVLoadResponse:
        """Puts a saved state into the prefix cache. Requests that begin alike find it there.

        Raises an error for a file of another model or library, a damaged file, or a state that does
        not fit.
        """
        return self._sender.call("kv.load", KVLoadResponse, {"path": absolute(path)})

    def load_adapter(self, name: str, path: str | Path) -> AdapterList:
        """Lets requests choose a LoRA adapter by `lora=name`: a folder of PEFT or mlx-lm, a GGUF
        file, or a file that `mlc_llm convert_adapter` made. One of the same name is replaced; its
        requests go on with it. The engine needs `engine_config={"lora_ranks": ...}`."""
        return adapters.load_adapter(self._core, name, path)

    def unload_adapter(self, name: str) -> AdapterList:
        """Takes an adapter from new requests; its running requests go on with it."""
        return adapters.unload_adapter(self._core, name)

    def adapters(self) -> AdapterList:
        """The adapters that requests may choose, and how much room is left."""
        return adapters.list_adapters(self._core)

    def trim_memory(self, level: TrimLevel = "caches") -> TrimResponse:
        """Gives memory back. `caches`: what only the prefix cache holds. `pages`: also the memory
        of KV pages that no running answer uses. `all`: also the pages of running answers, which are
        computed again and stay the same, and weights that can be read from their files again."""
        return self._sender.call("memory.trim", TrimResponse, {"level": level})

    def prewarm(self) -> PrewarmResponse:
        """Reads the weights into memory and computes one step, so that the first request does not
        wait for them."""
        return self._sender.call("prewarm", PrewarmResponse, {})

    def set_thermal_state(self, state: ThermalState) -> ThermalLimits:
        """Lowers the threads and the requests at a time on a hot device, or sets them back
        (`nominal`). Answers stay the same. Returns the limits that hold now."""
        return self._sender.call("thermal.set", ThermalLimits, {"state": state})

    def close(self) -> None:
        """The same as `terminate()`."""
        self.terminate()

    unload = close

    def __enter__(self) -> MLCEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.terminate()

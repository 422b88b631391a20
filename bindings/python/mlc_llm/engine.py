"""MLCEngine: the synchronous engine, shaped like the `openai` package's client."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from functools import cached_property
from types import TracebackType
from typing import Any

from mlc_llm.completions_gen import ChatCompletions
from mlc_llm.core_engine import CoreEngine, EngineBase, ends_stream, raise_if_error
from mlc_llm.types_gen import ChatCompletion, ChatCompletionChunk

_DONE = ""  # the text of the event that ends a stream well


class ChunkStream:
    """Chunks in order. Closing it, leaving its `with` block or dropping it ends the request."""

    def __init__(self, core: CoreEngine, request: Mapping[str, Any]) -> None:
        self._core = core
        self._events: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
        self._open = True
        events = self._events
        self._id = core.submit(
            "chat.completions", request, lambda kind, text: events.put((kind, text))
        )

    def __iter__(self) -> ChunkStream:
        return self

    def __next__(self) -> ChatCompletionChunk:
        if not self._open:
            raise StopIteration
        kind, text = self._events.get()
        self._open = not ends_stream(kind)
        raise_if_error(kind, text)
        if text == _DONE:
            raise StopIteration
        return ChatCompletionChunk.model_validate_json(text)

    def close(self) -> None:
        if self._open:
            self._open = False
            self._core.abort(self._id)

    def __enter__(self) -> ChunkStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_open", False) and hasattr(self, "_id"):
            self.close()


class _Completions(ChatCompletions):
    def __init__(self, core: CoreEngine) -> None:
        self._core = core

    def _create(self, request: dict[str, Any], stream: bool) -> ChatCompletion | ChunkStream:
        if stream:
            return ChunkStream(self._core, request)
        events: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
        request_id = self._core.submit(
            "chat.completions", request, lambda kind, text: events.put((kind, text))
        )
        try:
            kind, text = events.get()
        except BaseException:  # Ctrl-C: nobody waits for the answer any more
            self._core.abort(request_id)
            raise
        raise_if_error(kind, text)
        return ChatCompletion.model_validate_json(text)


class Chat:
    """`engine.chat`."""

    def __init__(self, completions: _Completions) -> None:
        self.completions = completions


class MLCEngine(EngineBase):
    """An engine with one model in it.

    `model`: `HF://org/repo`, a folder, a `.gguf` file, or None for the embedded default model.
    `model_lib`: a compiled library; None finds or compiles one. `device`: "auto", "cpu", "cuda:0".
    `mode`: "local" (a few requests), "interactive" (one) or "server" (many). `quantization`: for a
    model that is not prepared yet. `engine_config`: MLC-LLM's `--overrides` as a mapping.
    Close it with `terminate()` or use it as a context manager.
    """

    @cached_property
    def chat(self) -> Chat:
        return Chat(_Completions(self._core))

    def metrics(self) -> dict[str, Any]:
        """Counters under MLC-LLM's names, and the timings of the last request."""
        return self._core.metrics()

    def reset(self) -> None:
        """Ends every request and clears the metrics; the model stays loaded."""
        self._core.reset()

    def close(self) -> None:
        """The same as `terminate()`."""
        self.terminate()

    unload = close

    def __enter__(self) -> MLCEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.terminate()

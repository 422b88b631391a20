"""The engine handle that the sync and the async engine share: a thin hand on `_core.Engine`."""

from __future__ import annotations

import atexit
import contextlib
import json
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mlc_llm import _core
from mlc_llm.draft_model import EngineSettings, core_config, resolve_draft
from mlc_llm.errors import (
    InvalidRequestError,
    UnavailableError,
    error_from_core,
    error_from_json,
)
from mlc_llm.model_source import FAKE_DEVICE, ResolvedModel, resolve_model
from mlc_llm.types_gen import ChatCompletionMessageParam, KVLoadResponse, KVSaveResponse

EventCallback = Callable[[int, str], None]
Log = Callable[[str], None]

# Engines that are open when the interpreter ends: their threads must stop before it does.
_open_engines: weakref.WeakSet[CoreEngine] = weakref.WeakSet()


def choose_device(device: str, log: Log | None = None) -> str:
    """`auto` becomes the first device there is; others are checked. `log` gets MLC-LLM's lines."""
    if device == FAKE_DEVICE:
        return device
    choice = json.loads(call_core(_core.choose_device, device.encode(errors="replace")))
    if log is not None:
        for probe in choice["probes"]:
            log(f"{'Found' if probe['found'] else 'Not found'} device: {probe['name']}")
        log(f"Using device: {choice['name']}")
    return str(choice["name"])


def call_core(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function of the core, whose errors become `MLCError`s."""
    try:
        return function(*arguments)
    except _core.CoreError as error:
        raise error_from_core(*error.args) from None


class CoreEngine:
    """A loaded model in the C++ core. Errors are `MLCError`s."""

    def __init__(
        self,
        model: str | Path | None,
        *,
        model_lib: str | Path | None,
        device: str,
        mode: str,
        quantization: str | None,
        engine_config: EngineSettings | None,
        log: Log | None = None,
    ) -> None:
        config = core_config(mode, engine_config)
        self._handle = call_core(_core.Engine, json.dumps(config))
        _open_engines.add(self)
        try:
            self._load(model, model_lib, device, quantization, config, log)
        except BaseException:  # the exception may live on, and this object with it
            self.close()
            raise

    def _load(
        self,
        model: str | Path | None,
        model_lib: str | Path | None,
        device: str,
        quantization: str | None,
        config: Mapping[str, Any],
        log: Log | None,
    ) -> None:
        self.device = choose_device(device, log)
        self.model: ResolvedModel = resolve_model(
            model,
            quantization=quantization,
            device=self.device,
            model_lib=model_lib,
            progress=log,
        )
        draft = resolve_draft(config, device=self.device, progress=log)
        paths = json.dumps(self.model.core_json(self.device, draft))
        if log is not None:
            for line in json.loads(call_core(self._handle.plan, paths))["summary"]:
                log(line)
        # The core looks for Ctrl-C whenever it reports.
        call_core(self._handle.load, paths, _ignore_progress)

    def stream(self, route: str, request: Mapping[str, Any]) -> tuple[int, _core.EventStream]:
        """Queues a request; its id, and its events as they come."""
        stream: tuple[int, _core.EventStream]
        stream = call_core(self._handle.stream, route, _body(request))
        return stream

    def submit(self, route: str, request: Mapping[str, Any], callback: EventCallback) -> int:
        """Queues a request; `callback(kind, json)` is called on a thread of the core's."""
        return self.submit_json(route, _body(request), callback)

    def submit_json(self, route: str, body: bytes, callback: EventCallback) -> int:
        """The same with a request that is JSON already."""
        return int(call_core(self._handle.submit, route, body, callback))

    def abort(self, request_id: int) -> None:
        """Ends a request; one of a closed engine's has ended."""
        with contextlib.suppress(UnavailableError):
            call_core(self._handle.abort, request_id)

    def reset(self) -> None:
        call_core(self._handle.reset)

    def call(self, route: str, request: Mapping[str, Any]) -> bytes:
        """Waits for the one answer of a route that never streams."""
        request_id, events = self.stream(route, request)
        try:
            kind, text = events.next()
        except BaseException:  # Ctrl-C: nobody waits for the answer any more
            self.abort(request_id)
            raise
        raise_if_error(kind, text)
        return text

    def save_kv(
        self,
        messages: Iterable[ChatCompletionMessageParam],
        path: str | Path,
        chat_template_kwargs: Mapping[str, Any] | None,
    ) -> KVSaveResponse:
        request: dict[str, Any] = {"messages": list(messages), "path": _absolute(path)}
        if chat_template_kwargs is not None:
            request["chat_template_kwargs"] = dict(chat_template_kwargs)
        return KVSaveResponse.model_validate_json(self.call("kv.save", request))

    def load_kv(self, path: str | Path) -> KVLoadResponse:
        answer = self.call("kv.load", {"path": _absolute(path)})
        return KVLoadResponse.model_validate_json(answer)

    def metrics(self) -> dict[str, Any]:
        metrics: dict[str, Any] = json.loads(call_core(self._handle.metrics))
        return metrics

    def close(self) -> None:
        """Ends unfinished requests with an error and frees the model."""
        self._handle.close()
        _open_engines.discard(self)


class EngineBase:
    """What MLCEngine and AsyncMLCEngine share: how they are made and how they end."""

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        model_lib: str | Path | None = None,
        device: str = "auto",
        mode: str = "local",
        quantization: str | None = None,
        engine_config: EngineSettings | None = None,
        log: Log | None = None,
    ) -> None:
        self._core = CoreEngine(
            model,
            model_lib=model_lib,
            device=device,
            mode=mode,
            quantization=quantization,
            engine_config=engine_config,
            log=log,
        )

    @property
    def model(self) -> str:
        """The model's name."""
        return self._core.model.name

    def terminate(self) -> None:
        """Ends every request and frees the model."""
        self._core.close()


def _absolute(path: str | Path) -> str:
    return str(Path(path).expanduser().absolute())


def _body(request: Mapping[str, Any]) -> bytes:
    """The request as JSON."""
    try:
        text = json.dumps(request, ensure_ascii=False, default=_dump_model, allow_nan=False)
        return text.encode("utf-8")
    except UnicodeEncodeError:
        message = "the request's text is not valid Unicode: it holds half of a surrogate pair"
        raise InvalidRequestError(f"{message}, as bytes that are not UTF-8 become") from None
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the request cannot be written as JSON: {error}"
        raise InvalidRequestError(message) from None


def _dump_model(value: object) -> object:
    """Messages may be response objects of ours, as in `messages.append(choice.message)`."""
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_none=True)
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _ignore_progress(fraction: float, what: str) -> None: ...


def ends_stream(kind: int) -> bool:
    return bool(kind != _core.EVENT_CHUNK)


def raise_if_error(kind: int, text: str | bytes) -> None:
    if kind == _core.EVENT_ERROR:
        raise error_from_json(json.loads(text))


@atexit.register
def _close_all() -> None:
    for engine in list(_open_engines):
        engine.close()

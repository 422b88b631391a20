"""The engine handle that the sync and the async engine share: a thin hand on `_core.Engine`."""

from __future__ import annotations

import atexit
import contextlib
import json
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from mlc_llm import _core
from mlc_llm.draft_model import EngineSettings, ModelChoice, core_config, resolve_draft
from mlc_llm.errors import (
    InvalidRequestError,
    UnavailableError,
    error_from_core,
    error_from_json,
)
from mlc_llm.model_source import FAKE_DEVICE, ResolvedModel, Told, resolve_model
from mlc_llm.steps import steps_of

if TYPE_CHECKING:  # `mlc_llm chat` does without, and starts the sooner
    from mlc_llm.types_gen import ChatCompletionMessageParam, KVLoadResponse, KVSaveResponse

EventCallback = Callable[[int, str], None]
Log = Callable[[str], None]
Progress = Callable[[float, str], bool | None]

# Engines that are open when the interpreter ends: their threads must stop before it does.
_open_engines: weakref.WeakSet[CoreEngine] = weakref.WeakSet()


def choose_device(device: str, log: Told = None) -> str:
    """`auto` becomes the first device there is; others are checked. The details are MLC-LLM's
    lines."""
    if device == FAKE_DEVICE:
        return device
    choice = json.loads(call_core(_core.choose_device, device.encode(errors="replace")))
    steps = steps_of(log)
    for probe in choice["probes"]:
        steps.detail(f"{'Found' if probe['found'] else 'Not found'} device: {probe['name']}")
    steps.detail(f"Using device: {choice['name']}")
    return str(choice["name"])


def call_core(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function of the core, whose errors become `MLCError`s."""
    try:
        return function(*arguments)
    except _core.CoreError as error:
        raise error_from_core(*error.args) from None


class RequestNames:
    """The names that callers gave to requests which run. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._ids: dict[str, list[int]] = {}

    def add(self, name: str | None, request_id: int) -> None:
        if name is not None:
            with self._lock:
                self._ids.setdefault(name, []).append(request_id)

    def remove(self, name: str | None, request_id: int) -> None:
        if name is None:
            return
        with self._lock:
            ids = self._ids.get(name, [])
            if request_id in ids:
                ids.remove(request_id)
            if not ids:
                self._ids.pop(name, None)

    def ids(self, name: str) -> list[int]:
        with self._lock:
            return list(self._ids.get(name, []))


class CoreEngine:
    """A loaded model in the C++ core. Errors are `MLCError`s."""

    def __init__(
        self,
        model: str | Path | None,
        *,
        model_lib: str | Path | None,
        device: str,
        mode: str | None,
        quantization: str | None,
        engine_config: EngineSettings | None,
        enable_tracing: bool = False,
        log: Told = None,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        """`name`: the model's, in its answers. `progress` is called while weights are loaded, on
        the thread that loads; False from it cancels the load."""
        chosen = ModelChoice(model, model_lib).with_settings(engine_config)
        config = core_config(mode, engine_config)
        if enable_tracing:
            config["enable_tracing"] = True
        self._names = RequestNames()
        self._handle = call_core(_core.Engine, json.dumps(config))
        _open_engines.add(self)
        try:
            self._load(chosen, device, quantization, config, log, name, progress)
        except BaseException:  # the exception may live on, and this object with it
            self.close()
            raise

    def _load(
        self,
        chosen: ModelChoice,
        device: str,
        quantization: str | None,
        config: Mapping[str, Any],
        log: Told,
        name: str | None,
        progress: Progress | None,
    ) -> None:
        steps = steps_of(log)
        self.device = choose_device(device, steps)
        self.model: ResolvedModel = resolve_model(
            chosen.model,
            quantization=quantization,
            device=self.device,
            model_lib=chosen.model_lib,
            opt=chosen.opt,
            progress=steps,
        )
        if name is not None:
            self.model = replace(self.model, name=name)
        draft = resolve_draft(config, device=self.device, progress=steps)
        paths = json.dumps(self.model.core_json(self.device, draft))
        if steps.wants_details:
            for line in json.loads(call_core(self._handle.plan, paths))["summary"]:
                steps.detail(line)
        with steps.step(f"Loading {self.model.name}") as update:

            def report(fraction: float, what: str) -> bool | None:
                update(fraction)
                return None if progress is None else progress(fraction, what)

            # The core looks for Ctrl-C whenever it reports.
            call_core(self._handle.load, paths, report)

    def stream(
        self, route: str, request: Mapping[str, Any], name: str | None = None
    ) -> tuple[int, _core.EventStream]:
        """Queues a request; its id, and its events as they come. `name`: for `abort_named`."""
        stream: tuple[int, _core.EventStream]
        stream = call_core(self._handle.stream, route, *_encode(request))
        self._names.add(name, stream[0])
        return stream

    def submit(
        self,
        route: str,
        request: Mapping[str, Any],
        callback: EventCallback,
        name: str | None = None,
    ) -> int:
        """Queues a request; `callback(kind, json)` is called on a thread of the core's."""
        body, buffers = _encode(request)
        request_id = self.submit_json(route, body, callback, buffers)
        self._names.add(name, request_id)
        return request_id

    def submit_json(
        self, route: str, body: bytes, callback: EventCallback, buffers: Sequence[bytes] = ()
    ) -> int:
        """The same with a request that is JSON already; `buffers`: its "buffer:0" and so on."""
        return int(call_core(self._handle.submit, route, body, callback, list(buffers)))

    def abort(self, request_id: int) -> None:
        """Ends a request; one of a closed engine's has ended."""
        with contextlib.suppress(UnavailableError):
            call_core(self._handle.abort, request_id)

    def abort_named(self, name: str) -> None:
        """Ends the requests of this name that run; there may be none."""
        for request_id in self._names.ids(name):
            self.abort(request_id)

    def forget(self, name: str | None, request_id: int) -> None:
        """A request has ended: its name is free."""
        self._names.remove(name, request_id)

    def pause_request(self, request_id: int, paused: bool) -> None:
        """Takes a request out of the running ones, or lets it go on; one that has ended is gone."""
        change = self._handle.pause_request if paused else self._handle.resume_request
        with contextlib.suppress(UnavailableError):
            call_core(change, request_id)

    def reset(self) -> None:
        call_core(self._handle.reset)

    def call(self, route: str, request: Mapping[str, Any], name: str | None = None) -> bytes:
        """Waits for the one answer of a request that is not streamed."""
        request_id, events = self.stream(route, request, name)
        try:
            kind, text = events.next()
        except BaseException:  # Ctrl-C: nobody waits for the answer any more
            self.abort(request_id)
            raise
        finally:
            self.forget(name, request_id)
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
        from mlc_llm.types_gen import KVSaveResponse

        return KVSaveResponse.model_validate_json(self.call("kv.save", request))

    def load_kv(self, path: str | Path) -> KVLoadResponse:
        from mlc_llm.types_gen import KVLoadResponse

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
        device: str = "auto",
        *,
        model_lib: str | Path | None = None,
        mode: str | None = None,
        quantization: str | None = None,
        engine_config: EngineSettings | None = None,
        enable_tracing: bool = False,
        log: Told = None,
    ) -> None:
        self._core = CoreEngine(
            model,
            model_lib=model_lib,
            device=device,
            mode=mode,
            quantization=quantization,
            engine_config=engine_config,
            enable_tracing=enable_tracing,
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


def _encode(request: Mapping[str, Any]) -> tuple[bytes, list[bytes]]:
    """The request as JSON, and beside it the bytes in it: an image's `url` may be its file."""
    buffers: list[bytes] = []

    def write(value: object) -> object:
        if isinstance(value, bytes | bytearray):
            buffers.append(bytes(value))
            return f"buffer:{len(buffers) - 1}"
        return _dump_model(value)

    try:
        text = json.dumps(request, ensure_ascii=False, default=write, allow_nan=False)
        return text.encode("utf-8"), buffers
    except UnicodeEncodeError:
        message = "the request's text is not valid Unicode: it holds half of a surrogate pair"
        raise InvalidRequestError(f"{message}, as bytes that are not UTF-8 become") from None
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the request cannot be written as JSON: {error}"
        raise InvalidRequestError(message) from None


def _dump_model(value: object) -> object:
    """Messages may be response objects of ours, as in `messages.append(choice.message)`."""
    if (dump := getattr(value, "model_dump", None)) is not None:  # pydantic's
        return dump(exclude_none=True)
    raise TypeError(f"{type(value).__name__} is no JSON value")


def ends_stream(kind: int) -> bool:
    return bool(kind != _core.EVENT_CHUNK)


def raise_if_error(kind: int, text: str | bytes) -> None:
    if kind == _core.EVENT_ERROR:
        raise error_from_json(json.loads(text))


@atexit.register
def _close_all() -> None:
    for engine in list(_open_engines):
        engine.close()

"""The engine handle of the sync and the async engine: a thin layer over `_core.Engine`."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any, cast

from mlc_llm import _core
from mlc_llm.errors import (
    InvalidRequestError,
    UnavailableError,
    error_from_core,
    error_from_json,
    error_of,
)
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare.local_model import DEFAULT_MODEL
from mlc_llm.prepare.model_source import FAKE_DEVICE, ResolvedModel, StepListener, resolve_model
from mlc_llm.prepare.progress import steps_of
from mlc_llm.sdk import request_json
from mlc_llm.sdk.draft_model import EngineSettings, ModelChoice, core_config, resolve_draft
from mlc_llm.sdk.model_names import same_model
from mlc_llm.sdk.paths import absolute
from mlc_llm.sdk.timeout import TIMEOUT_MS, named_as_given

Log = Callable[[str], None]
Progress = Callable[[float, str], bool | None]
LogitProcessor = Callable[[list[int], list[int], memoryview], object]
Admit = Callable[[Callable[[], dict[str, Any]]], object]

# The open engines. Their threads must stop before the interpreter ends.
_open_engines: weakref.WeakSet[CoreEngine] = weakref.WeakSet()


def choose_device(device: str, log: StepListener = None) -> str:
    """`auto` becomes the first device that exists; other names are checked. The details have the
    form of MLC-LLM's lines."""
    if device == FAKE_DEVICE:
        return device
    if not isinstance(cast("object", device), str):
        raise InvalidRequestError(
            f"device must be a name such as 'cpu', not {device!r}", param="device"
        )
    # Mesa's Vulkan layer for desktops complains on standard error if there is no desktop.
    os.environ.setdefault("NODEVICE_SELECT", "1")
    choice = json.loads(call_core(_core.choose_device, device.encode(errors="replace")))
    steps = steps_of(log)
    for probe in choice["probes"]:
        steps.detail(f"{'Found' if probe['found'] else 'Not found'} device: {probe['name']}")
    steps.detail(f"Using device: {choice['name']}")
    return str(choice["name"])


def set_directories(
    *,
    cache: str | Path | None = None,
    temporary: str | Path | None = None,
    libraries: Sequence[str | Path] | None = None,
) -> None:
    """Sets the folders that the engines of this process may use, before the first one is made.

    `cache`: for files that are kept, such as compiled GPU programs (default: MLC_LLM_HOME).
    `temporary`: for files that are removed again (default: `cache`, else the system's folder).
    `libraries`: where model libraries and device backends also are. Folders that do not exist are
    made; one that cannot be written is an error.
    """
    given: dict[str, Any] = {
        "cache": None if cache is None else absolute(cache),
        "temporary": None if temporary is None else absolute(temporary),
        "libraries": None if libraries is None else [absolute(path) for path in libraries],
    }
    known = {name: value for name, value in given.items() if value is not None}
    call_core(_core.set_directories, json.dumps(known))


def call_core(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function of the core and turns its errors into `MLCError`s."""
    try:
        return function(*arguments)
    except _core.CoreError as error:
        raise error_from_core(error) from None


class RequestNames:
    """The names that callers gave to running requests. Thread-safe."""

    def __init__(self) -> None:
        self._lock = RLock()  # the garbage collector may drop a stream where this is held
        self._ids: dict[str, list[int]] = {}

    def add(self, name: str | None, request_id: int) -> None:
        if name is not None:
            with self._lock:
                self._ids[name] = [*self._ids.get(name, ()), request_id]

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
        log: StepListener = None,
        name: str | None = None,
        progress: Progress | None = None,
        admit: Admit | None = None,
    ) -> None:
        """`name`: the model's name in its answers. `progress` is called while weights are loaded,
        on the loading thread. If it returns False, the load is cancelled. `admit` is called when
        all files are there, before memory is taken, with a function that gives the plan; it may
        wait, or raise an error."""
        chosen = ModelChoice(model, model_lib).with_settings(engine_config)
        config = core_config(mode, engine_config)
        if enable_tracing:
            config["enable_tracing"] = True
        self._names = RequestNames()
        self._handle = call_core(_core.Engine, ModelChoice.for_the_core(config))
        _open_engines.add(self)
        try:
            self._resolve(chosen, device, quantization, config, log, name)
            if admit is not None:
                admit(self.plan)
            self._load(log, progress)
        except BaseException:  # the exception may live on and keep this object alive
            self.close()
            raise

    def _resolve(
        self,
        chosen: ModelChoice,
        device: str,
        quantization: str | None,
        config: Mapping[str, Any],
        log: StepListener,
        name: str | None,
    ) -> None:
        """Finds the model's files. Makes those that are missing."""
        steps = steps_of(log)
        self._argument = chosen.model or DEFAULT_MODEL
        self.device = choose_device(device, steps)
        self.model: ResolvedModel = resolve_model(
            chosen.model,
            quantization=quantization,
            device=self.device,
            model_lib=chosen.model_lib,
            **chosen.library_settings(config),
            progress=steps,
        )
        if name is not None:
            self.model = replace(self.model, name=name)
        draft = resolve_draft(config, device=self.device, progress=steps)
        self._paths = json.dumps(self.model.core_json(self.device, draft))

    def _load(self, log: StepListener, progress: Progress | None) -> None:
        steps = steps_of(log)
        if steps.wants_details:
            for line in self.plan()["summary"]:
                steps.detail(line)
        with steps.step(f"Loading {self.model.name}") as update:

            def report(fraction: float, what: str) -> bool | None:
                update(fraction)
                return None if progress is None else progress(fraction, what)

            # The core checks for Ctrl-C at each progress report.
            call_core(self._handle.load, self._paths, report)

    def stream(
        self, route: str, request: Mapping[str, Any], name: str | None = None
    ) -> tuple[int, _core.EventStream]:
        """Queues a request. Returns its id, and its events as they come. `name` is for
        `abort_named`."""
        stream: tuple[int, _core.EventStream]
        stream = call_core(self._handle.stream, route, *self.encode(request))
        self.remember(name, stream[0])
        return stream

    def submit_later(
        self,
        route: str,
        body: bytes,
        buffers: Sequence[bytes],
        mailbox: _core.EventMailbox,
        number: int,
    ) -> None:
        """Submits a request on another thread. What becomes of it, and its events, come into the
        mailbox with this number. `buffers`: the bytes of "buffer:0" and so on."""
        call_core(self._handle.submit_later, route, body, list(buffers), mailbox, number)

    def encode(self, request: Mapping[str, Any]) -> tuple[bytes, list[bytes]]:
        """The request as JSON, and the bytes in it. Raises MLCError if it cannot be written, or
        names another model."""
        self._require_model(request)
        return request_json.encode(request)

    def remember(self, name: str | None, request_id: int) -> None:
        """`name` is for `abort_named`, until `forget`."""
        self._names.add(name, request_id)

    def _require_model(self, request: Mapping[str, Any]) -> None:
        """Refuses a request to another model, as the server does."""
        asked = request.get("model")
        if not isinstance(asked, str) or asked in ("", self.model.name):
            return
        if not any(same_model(asked, str(name)) for name in (self._argument, self.model.folder)):
            raise error_of(
                reasons.MODEL_NOT_FOUND,
                f"The model '{asked}' does not exist; there is: {self.model.name}",
                param="model",
            )

    def abort(self, request_id: int) -> None:
        """Ends a request. If the engine is closed, the request has ended already."""
        with contextlib.suppress(UnavailableError):
            call_core(self._handle.abort, request_id)

    def abort_named(self, name: str) -> None:
        """Ends the running requests with this name. There may be none."""
        for request_id in self._names.ids(name):
            self.abort(request_id)

    def forget(self, name: str | None, request_id: int) -> None:
        """Frees the name of a request that has ended."""
        self._names.remove(name, request_id)

    def pause_request(self, request_id: int, paused: bool) -> None:
        """Pauses or resumes a request. Ignores a request that has ended."""
        change = self._handle.pause_request if paused else self._handle.resume_request
        with contextlib.suppress(UnavailableError):
            call_core(change, request_id)

    def set_logit_processor(self, name: str, processor: LogitProcessor | None) -> None:
        call_core(self._handle.set_logit_processor, name, processor)

    def reset(self) -> None:
        call_core(self._handle.reset)

    def call(self, route: str, request: Mapping[str, Any], name: str | None = None) -> bytes:
        """Sends a request that is not streamed, and waits for its answer."""
        request_id, events = self.stream(route, request, name)
        try:
            kind, text = events.next()
        except BaseException:  # for example Ctrl-C: nobody waits for the answer any more
            self.abort(request_id)
            raise
        finally:
            self.forget(name, request_id)
        raise_if_error(kind, text, request.get(TIMEOUT_MS))
        return text

    def plan(self) -> dict[str, Any]:
        """What the engine allocates for its model, and its limits: the protocol's `Plan`."""
        plan: dict[str, Any] = json.loads(call_core(self._handle.plan, self._paths))
        return plan

    def set_paused(self, paused: bool) -> None:
        call_core(self._handle.pause if paused else self._handle.resume)

    def metrics(self) -> dict[str, Any]:
        metrics: dict[str, Any] = json.loads(call_core(self._handle.metrics))
        return metrics

    def close(self) -> None:
        """Ends unfinished requests with an error and frees the model."""
        self._handle.close()
        _open_engines.discard(self)


def ends_stream(kind: int) -> bool:
    return bool(kind != _core.EVENT_CHUNK)


def raise_if_error(kind: int, text: str | bytes, timeout: object = None) -> None:
    """`timeout`: the request's `timeout_ms`."""
    if kind == _core.EVENT_ERROR:
        raise named_as_given(error_from_json(json.loads(text)), timeout)


@atexit.register
def _close_all() -> None:
    for engine in list(_open_engines):
        engine.close()
    _core.end_locking()  # a thread that asked an engine must not meet an interpreter that ends

"""Routes that must be enabled: they load and unload models and show the engine's state."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.responses import FileResponse, JSONResponse
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mlc_llm.serve import adapters
from mlc_llm.serve import metrics as server_metrics
from mlc_llm.serve.body import model_name, parse_object, require_json
from mlc_llm.serve.catalogue import ModelSpec
from mlc_llm.serve.inference import done_or_left
from mlc_llm.serve.long_work import LOADS, run_long
from mlc_llm.serve.openapi import exchange, gives_text, takes
from mlc_llm.serve.prefill import ask_engine, state_file
from mlc_llm.serve.slot import ServedModel
from mlc_llm.serve.state import lease_model, models_of
from mlc_llm.serve.validation import check

admin = APIRouter(prefix="/admin", tags=["admin"])
adapter_routes = APIRouter(prefix="/v1", tags=["admin"])
debug = APIRouter(prefix="/debug", tags=["debug"], include_in_schema=False)


async def _read(request: Request, schema: str) -> dict[str, Any]:
    require_json(request, assumed=False)
    fields = parse_object(await request.body())
    check(fields, schema)
    model_name(fields)
    return {name: value for name, value in fields.items() if value is not None}


@admin.post("/load", **exchange("ServerLoadRequest", "ModelObject"))
async def load(request: Request) -> Response:
    """Loads a model. The answer comes when the model can be used."""
    spec = ModelSpec(**await _read(request, "ServerLoadRequest"))
    served = await run_long(LOADS, lambda: models_of(request).load(spec))
    return JSONResponse(models_of(request).look_up(served.name).describe())


@admin.post("/unload", **exchange("ServerUnloadRequest", "ServerUnloaded"))
async def unload(request: Request) -> Response:
    """Ends a model's requests and frees its memory."""
    name = (await _read(request, "ServerUnloadRequest"))["model"]
    await run_long(LOADS, lambda: models_of(request).unload(name))
    return JSONResponse({"status": "unloaded", "model": name})


@admin.post(
    "/prefill",
    openapi_extra=takes("ServerPrefillRequest"),
    responses=gives_text("application/octet-stream"),
)
async def prefill(request: Request) -> Response:
    """Computes a prompt, and gives its state to the server that asks (--prefill-from)."""
    asked = await _read(request, "ServerPrefillRequest")
    served = await (await lease_model(request, asked.pop("model", None))).model()
    with ExitStack() as file:
        path = file.enter_context(state_file())
        save = json.dumps({**asked, "path": str(path)}).encode()
        saved = asyncio.ensure_future(ask_engine(served, "kv.save", save))
        await done_or_left(request, saved)
        saved.result()
        return _StateResponse(path, file.pop_all())


class _StateResponse(FileResponse):
    """A file that goes when it is sent."""

    def __init__(self, path: Path, file: ExitStack) -> None:
        super().__init__(path, media_type="application/octet-stream")
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)


@adapter_routes.post("/load_lora_adapter", **exchange("ServerAdapterLoadRequest", "AdapterList"))
async def load_adapter(request: Request) -> Response:
    """Lets requests choose a LoRA adapter, by its name as the model or in `lora`."""
    asked = await _read(request, "ServerAdapterLoadRequest")
    name, path, model = asked["lora_name"], asked["lora_path"], asked.get("base_model_name")
    found = await run_long(LOADS, lambda: adapters.load(models_of(request), model, name, path))
    return JSONResponse(found.model_dump(mode="json"))


@adapter_routes.post(
    "/unload_lora_adapter", **exchange("ServerAdapterUnloadRequest", "AdapterList")
)
async def unload_adapter(request: Request) -> Response:
    """Takes an adapter from new requests; its running requests go on with it."""
    name = (await _read(request, "ServerAdapterUnloadRequest"))["lora_name"]
    found = await run_long(LOADS, lambda: adapters.unload(models_of(request), name))
    return JSONResponse(found.model_dump(mode="json"))


async def _model(request: Request) -> ServedModel:
    """The model that the body names. Without a body, the first one."""
    body = await request.body()
    return models_of(request).find(model_name(parse_object(body)) if body else None)


@debug.post("/dump_engine_metrics")
async def dump_engine_metrics(request: Request) -> Response:
    """The metrics as JSON, by model."""
    text = await asyncio.to_thread(server_metrics.to_json, models_of(request))
    return Response(text, media_type="application/json")


@debug.post("/dump_event_trace")
async def dump_event_trace(request: Request) -> Response:
    """The engine's last events in Chrome's trace format, if the server runs with
    --enable-tracing."""
    model = await _model(request)
    trace = await asyncio.to_thread(model.engine.call, "trace", {})
    return Response(trace, media_type="application/json")


@debug.post("/reset_engine")
async def reset_engine(request: Request) -> Response:
    """Ends every request of a model and clears its caches and metrics."""
    model = await _model(request)
    await asyncio.to_thread(model.engine.reset)
    return Response(json.dumps({"status": "reset"}), media_type="application/json")

"""What the server answers to."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse
from starlette.requests import Request
from starlette.responses import Response

from mlc_llm.serve import metrics as server_metrics
from mlc_llm.serve import responses
from mlc_llm.serve.errors import RequestError
from mlc_llm.serve.inference import answer, peek
from mlc_llm.serve.options import ServeOptions
from mlc_llm.serve.registry import ModelRegistry, ModelSpec

inference = APIRouter(tags=["inference"])
service = APIRouter(tags=["service"])
admin = APIRouter(prefix="/admin", tags=["admin"])
debug = APIRouter(prefix="/debug", tags=["debug"])


def _models(request: Request) -> ModelRegistry:
    models: ModelRegistry = request.app.state.models
    return models


def _options(request: Request) -> ServeOptions:
    options: ServeOptions = request.app.state.options
    return options


async def _answer(request: Request, route: str) -> Response:
    body = await request.body()
    fields = peek(body)
    name = fields.get("model")
    model = _models(request).find(name if isinstance(name, str) else None)
    options = _options(request)
    if fields.get("debug_config") is not None and not options.enable_debug:
        raise RequestError(
            "debug_config is taken by a server that was started with --enable-debug only",
            code="invalid_request",
            param="debug_config",
        )
    stream = fields.get("stream") is True
    return await answer(request, model.engine, route, body, options, stream=stream)


@inference.post("/v1/chat/completions")
async def chat_completions(request: Request) -> Response:
    """OpenAI's chat completions."""
    return await _answer(request, "chat.completions")


@inference.post("/v1/completions")
async def completions(request: Request) -> Response:
    """OpenAI's text completions: prompts as text or token ids, one or several."""
    return await _answer(request, "completions")


@inference.post("/v1/responses")
async def create_response(request: Request) -> Response:
    """OpenAI's responses, without state: text, streamed events, function tools."""
    asked = responses.parse(await request.body())
    model = _models(request).find(asked.get("model"))
    body = json.dumps(responses.to_chat(asked)).encode()
    shape = responses.ResponseShape(asked, model.name)
    return await answer(
        request,
        model.engine,
        "chat.completions",
        body,
        _options(request),
        stream=asked.get("stream") is True,
        shape=shape,
    )


@inference.post("/tokenize")
async def tokenize(request: Request) -> Response:
    """{"text": ...} -> {"tokens": [...], "count": n}."""
    return await _answer(request, "tokenize")


@inference.post("/detokenize")
async def detokenize(request: Request) -> Response:
    """{"tokens": [...]} -> {"text": ...}."""
    return await _answer(request, "detokenize")


@service.get("/", include_in_schema=False)
async def page() -> Response:
    """A chat in the browser."""
    return FileResponse(Path(__file__).parent / "page.html", media_type="text/html")


@service.get("/v1/models")
async def list_models(request: Request) -> Response:
    """The models that can answer."""
    data = [model.describe() for model in _models(request).all()]
    return JSONResponse({"object": "list", "data": data})


@service.get("/v1/models/{model:path}")
async def retrieve_model(request: Request, model: str) -> Response:
    """One of them."""
    return JSONResponse(_models(request).find(model).describe())


@service.get("/health")
async def health() -> Response:
    """The process answers."""
    return JSONResponse({"status": "ok"})


@service.get("/ready")
async def ready(request: Request) -> Response:
    """A model is loaded."""
    return JSONResponse({"status": "ready", "model": _models(request).find(None).name})


@service.get("/metrics")
async def metrics(request: Request) -> Response:
    """Prometheus's text format."""
    text = await asyncio.to_thread(server_metrics.render, _models(request))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


@admin.post("/load")
async def load(request: Request) -> Response:
    """{"model": ..., "model_lib", "device", "mode", "quantization", "engine_config"}: loads it."""
    fields = peek(await request.body())
    known = ("model", "model_lib", "device", "mode", "quantization", "engine_config")
    unknown = sorted(set(fields) - set(known))
    if unknown or not isinstance(fields.get("model"), str):
        raise RequestError(
            f"give 'model' and, if need be, {', '.join(known[1:])}",
            code="invalid_request",
            param=unknown[0] if unknown else "model",
        )
    spec = ModelSpec(**{name: value for name, value in fields.items() if value is not None})
    served = await asyncio.to_thread(_models(request).load, spec)
    return JSONResponse(served.describe())


@admin.post("/unload")
async def unload(request: Request) -> Response:
    """{"model": name}: ends its requests and frees its memory."""
    name = peek(await request.body()).get("model")
    if not isinstance(name, str):
        raise RequestError("give 'model'", code="invalid_request", param="model")
    await asyncio.to_thread(_models(request).unload, name)
    return JSONResponse({"status": "unloaded", "model": name})


@debug.post("/dump_engine_metrics")
async def dump_engine_metrics(request: Request) -> Response:
    """The metrics as JSON, by model."""
    return Response(server_metrics.to_json(_models(request)), media_type="application/json")


@debug.post("/reset_engine")
async def reset_engine(request: Request) -> Response:
    """Ends every request of a model and clears its caches and metrics."""
    fields: dict[str, Any] = peek(await request.body())
    model = _models(request).find(fields.get("model"))
    await asyncio.to_thread(model.engine.reset)
    return Response(json.dumps({"status": "reset"}), media_type="application/json")

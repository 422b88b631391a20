"""The routes of the server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.requests import Request
from starlette.responses import Response

import mlc_llm
from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare.model_folder import chat_template
from mlc_llm.serve import metrics as server_metrics
from mlc_llm.serve.anthropic_answer import COUNT, MESSAGES
from mlc_llm.serve.body import body_of, model_name, peek, require_json, require_name
from mlc_llm.serve.errors import error_response
from mlc_llm.serve.inference import AnswerFormat, RequestHandler
from mlc_llm.serve.infill import INFILL
from mlc_llm.serve.openapi import exchange, gives, gives_text
from mlc_llm.serve.plain_route import PlainRoute
from mlc_llm.serve.responses import InputTokens
from mlc_llm.serve.slot import ServedModel
from mlc_llm.serve.state import drain_of, lease_model, models_of, options_of

inference = APIRouter(tags=["inference"], route_class=PlainRoute)
service = APIRouter(tags=["service"])


async def _answer(request: Request, route: str, form: AnswerFormat | None = None) -> Response:
    require_json(request)
    body = body_of(request)
    fields = await peek(body)
    name = model_name(fields)
    lease = await lease_model(request, name, embeddings=route == "embeddings")
    options = options_of(request)
    if fields.get("debug_config") is not None and not options.enable_debug:
        raise error_of(
            reasons.UNSUPPORTED_PARAMETER,
            "debug_config is taken by a server that was started with --enable-debug only",
            param="debug_config",
        )
    stream = fields.get("stream") is True and form is None
    return await RequestHandler(lease, form or AnswerFormat(), options).run(
        request, route, body, stream=stream
    )


@inference.post(
    "/v1/chat/completions",
    **exchange("ChatCompletionRequest", "ChatCompletion", events="ChatCompletionChunk"),
)
async def chat_completions(request: Request) -> Response:
    """OpenAI's chat completions."""
    return await _answer(request, "chat.completions")


@inference.post(
    "/v1/completions", **exchange("CompletionRequest", "Completion", events="Completion")
)
async def completions(request: Request) -> Response:
    """OpenAI's text completions: prompts as text or token ids, one or several."""
    return await _answer(request, "completions")


@inference.post("/v1/embeddings", **exchange("EmbeddingRequest", "EmbeddingResponse"))
async def embeddings(request: Request) -> Response:
    """OpenAI's embeddings."""
    return await _answer(request, "embeddings", AnswerFormat())


@inference.post("/v1/rerank", **exchange("RerankRequest", "RerankResponse"))
@inference.post("/v2/rerank", **exchange("RerankRequest", "RerankResponse"))
async def rerank(request: Request) -> Response:
    """The documents that answer a query best, as Cohere's two versions and Jina's API."""
    return await _answer(request, "rerank", AnswerFormat())


@inference.post(
    "/v1/chat/completions/input_tokens", **exchange("ChatCompletionRequest", "InputTokenCount")
)
async def count_chat_tokens(request: Request) -> Response:
    """The tokens of a chat's prompt."""
    return await _answer(request, "input_tokens", InputTokens())


@inference.post("/infill", **exchange("InfillRequest", "InfillResponse", events="InfillResponse"))
async def infill(request: Request) -> Response:
    """What belongs into a gap in a text, in llama.cpp's form."""
    return await INFILL.run(request)


@inference.post(
    "/v1/messages",
    **exchange("AnthropicRequest", "AnthropicMessage", events="AnthropicStreamEvent"),
)
async def create_message(request: Request) -> Response:
    """Anthropic's messages: text, thoughts, images, tools, streamed events."""
    return await MESSAGES.run(request)


@inference.post(
    "/v1/messages/count_tokens", **exchange("AnthropicCountTokensRequest", "AnthropicTokenCount")
)
async def count_message_tokens(request: Request) -> Response:
    """The tokens of a message's prompt."""
    return await COUNT.run(request)


@service.get("/v1/models", responses=gives("ModelList"))
async def list_models(request: Request) -> Response:
    """The models that can answer, loaded or not. `status` says which."""
    known = await asyncio.to_thread(models_of(request).known)
    data = [slot.describe(name) for slot in known for name in slot.all_names]
    return JSONResponse({"object": "list", "data": data})


@service.get("/v1/models/{model:path}", responses=gives("ModelObject"))
async def retrieve_model(request: Request, model: str) -> Response:
    """One model."""
    require_name(model)
    slot = await asyncio.to_thread(models_of(request).look_up, model)
    return JSONResponse(slot.describe(model if model in slot.all_names else None))


@service.get("/props", responses=gives("Props"))
async def props(request: Request, model: str | None = None) -> Response:
    """A model, the first by itself, in llama.cpp's form. It is loaded if it is not."""
    if model is not None:
        require_name(model)
    served = await (await lease_model(request, model)).model()
    return JSONResponse(await asyncio.to_thread(_props, served))


def _props(served: ServedModel) -> dict[str, Any]:
    model = served.engine.model
    return {
        "default_generation_settings": {"n_ctx": served.abilities.context_window_size},
        "total_slots": served.plan["max_num_sequence"],
        "model_path": served.argument,
        "chat_template": chat_template(Path(model.folder), model.config),
        "modalities": {"vision": served.takes_pictures, "audio": False},
        "build_info": f"mlc_llm {mlc_llm.__version__}",
    }


@service.get("/health", responses=gives("HealthStatus"))
async def health() -> Response:
    """The process is alive."""
    return JSONResponse({"status": "ok"})


@service.get("/ready", responses=gives("ReadyStatus"))
async def ready(request: Request) -> Response:
    """200 when all models are loaded and the server is not about to stop. Otherwise 503, with the
    progress of the load."""
    if drain_of(request).begun:
        raise drain_of(request).refusal()
    loading = models_of(request).loading
    if not loading.ended:
        return error_response(loading.refusal().to_dict(), beside=loading.progress())
    models = models_of(request)
    slots = await asyncio.to_thread(models.known)
    if not slots:
        raise models.unknown(None)
    first = next((slot for slot in slots if slot.given), slots[0])
    loads = [slot.loading.progress() for slot in slots if slot.phase == "loading"]
    ready = {"status": "ready", "model": first.name}
    return JSONResponse({**ready, "loading": loads} if loads else ready)


@service.get("/metrics", responses=gives_text("text/plain"))
async def metrics(request: Request) -> Response:
    """Prometheus's text format."""
    running = drain_of(request).running
    text = await asyncio.to_thread(server_metrics.render, models_of(request), running)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

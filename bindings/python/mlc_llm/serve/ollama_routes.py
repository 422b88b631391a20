"""Ollama's routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

import mlc_llm
from mlc_llm.errors import MLCError
from mlc_llm.serve import ollama_models
from mlc_llm.serve.body import body_of, model_name, parse_object, require_json
from mlc_llm.serve.ollama_answer import (
    NDJSON,
    ChatAnswerFormat,
    EmbedAnswerFormat,
    GenerateAnswerFormat,
    line,
)
from mlc_llm.serve.ollama_request import (
    asks_nothing,
    chat_request,
    embed_request,
    generate_request,
    keep_alive,
    plain_name,
    streams,
)
from mlc_llm.serve.openapi import exchange, gives
from mlc_llm.serve.slot import Lease
from mlc_llm.serve.state import lease_model, models_of
from mlc_llm.serve.translated import Asked, Translation
from mlc_llm.serve.validation import check

router = APIRouter(prefix="/api", tags=["ollama"])
admin = APIRouter(prefix="/api", tags=["ollama"])


class _Kept(Translation):
    """A request that says how long its model stays loaded."""

    async def lease(self, request: Request, asked: Asked) -> Lease:
        stays = keep_alive(asked)
        lease = await super().lease(request, asked)
        lease.keep_alive = stays
        return lease


@dataclass(frozen=True)
class _Generation(_Kept):
    """A request for a text, or one that only loads the model, or lets it leave. `questions`: the
    fields that ask for a text."""

    questions: tuple[str, ...] = ()

    async def run(self, request: Request) -> Response:
        asked = await self.asked(request)
        stays = keep_alive(asked)
        nothing = asks_nothing(asked, self.questions)
        if nothing and stays == 0 and not await self._is_there(request, asked):
            return self._loaded(asked, "unload")  # a lease would load it
        lease = await self.lease(request, asked)
        if not nothing:
            return await self.submit(request, asked, lease)
        if stays == 0 and not lease.slot.spec.pinned:
            return self._loaded(asked, "unload")
        await lease.model()
        return self._loaded(asked, "load")

    async def _is_there(self, request: Request, asked: Asked) -> bool:
        """Whether the model is in memory, or comes."""
        name = self.name(model_name(asked))
        slot = await asyncio.to_thread(models_of(request).look_up, name)
        return slot.phase in ("loading", "loaded")

    def _loaded(self, asked: Asked, reason: str) -> Response:
        answer = self.answer(asked, "").loaded(reason)  # type: ignore[attr-defined]
        if streams(asked):
            return Response(line(answer), media_type=NDJSON)
        return JSONResponse(answer)


_CHAT = _Generation(
    "OllamaChatRequest",
    chat_request,
    lambda asked, _: ChatAnswerFormat(asked),
    streams=streams,
    name=plain_name,
    questions=("messages",),
)
_GENERATE = _Generation(
    "OllamaGenerateRequest",
    generate_request,
    lambda asked, _: GenerateAnswerFormat(asked),
    ("template", "context"),
    "Send the conversation to '/api/chat'.",
    streams=streams,
    name=plain_name,
    questions=("prompt", "suffix", "images"),
)
_EMBED, _EMBEDDINGS = (
    _Kept(
        schema,
        embed_request,
        lambda asked, _: EmbedAnswerFormat(asked),
        streams=lambda _: False,
        name=plain_name,
        embeds=True,
    )
    for schema in ("OllamaEmbedRequest", "OllamaEmbeddingsRequest")
)


@router.post(
    "/chat", **exchange("OllamaChatRequest", "OllamaChatResponse", lines="OllamaChatResponse")
)
async def chat(request: Request) -> Response:
    """Ollama's chat: lines of JSON, unless `stream` is false."""
    return await _CHAT.run(request)


@router.post(
    "/generate",
    **exchange("OllamaGenerateRequest", "OllamaGenerateResponse", lines="OllamaGenerateResponse"),
)
async def generate(request: Request) -> Response:
    """Ollama's answer to a prompt: through the chat template, or `raw`."""
    return await _GENERATE.run(request)


@router.post("/embed", **exchange("OllamaEmbedRequest", "OllamaEmbedResponse"))
async def embed(request: Request) -> Response:
    """A vector for each text."""
    return await _EMBED.run(request)


@router.post("/embeddings", **exchange("OllamaEmbeddingsRequest", "OllamaEmbeddingsResponse"))
async def embeddings(request: Request) -> Response:
    """The older form of `/api/embed`."""
    return await _EMBEDDINGS.run(request)


@router.get("/tags", responses=gives("OllamaModels"))
async def tags(request: Request) -> Response:
    """The models that can answer, loaded or not."""
    models = models_of(request)
    entries = await asyncio.to_thread(
        lambda: [
            ollama_models.tag(slot, name) for slot in models.known() for name in slot.spec.names
        ]
    )
    return JSONResponse({"models": entries})


@router.get("/ps", responses=gives("OllamaModels"))
async def ps(request: Request) -> Response:
    """The models that are loaded."""
    slots = models_of(request).known
    entries = await asyncio.to_thread(
        lambda: [ollama_models.running(slot, served) for slot in slots() if (served := slot.served)]
    )
    return JSONResponse({"models": entries})


@router.get("/version", responses=gives("OllamaVersion"))
async def version() -> Response:
    """The server's version."""
    return JSONResponse({"version": mlc_llm.__version__})


@router.post("/show", **exchange("OllamaShowRequest", "OllamaShowResponse"))
async def show(request: Request) -> Response:
    """Everything about a model."""
    asked = await _read(request, "OllamaShowRequest")
    model = await (await lease_model(request, ollama_models.named(asked))).model()
    return JSONResponse(await asyncio.to_thread(ollama_models.show, model))


@admin.post("/pull", **exchange("OllamaPullRequest", "OllamaStatus", lines="OllamaStatus"))
async def pull(request: Request) -> Response:
    """Downloads and prepares a model."""
    asked = await _read(request, "OllamaPullRequest")
    lines = ollama_models.pull(ollama_models.named(asked))
    if streams(asked):
        return StreamingResponse(_with_error(lines), media_type=NDJSON)
    return Response([text async for text in lines][-1], media_type="application/json")


@admin.delete("/delete", **exchange("OllamaDeleteRequest", "OllamaStatus"))
async def delete(request: Request) -> Response:
    """Removes a kept model, and unloads it."""
    asked = await _read(request, "OllamaDeleteRequest")
    name = ollama_models.named(asked)
    await asyncio.to_thread(ollama_models.delete, models_of(request), name)
    return JSONResponse({"status": "success"})


async def _with_error(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """In a stream that has begun, an error is the last line."""
    try:
        async for text in lines:
            yield text
    except MLCError as error:
        yield line({"error": error.message})


async def _read(request: Request, schema: str) -> Mapping[str, Any]:
    require_json(request)
    body = body_of(request)
    async with body.parsing():
        asked = await asyncio.to_thread(parse_object, body.data)
    check(asked, schema)
    return asked

"""A server with the real page and answers from a script, for what the fake model never says."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.staticfiles import StaticFiles

from mlc_llm.serve import page_routes

LOGIC = Path(__file__).parent / "logic"
VECTORS = Path(__file__).resolve().parents[4] / "apps" / "vectors"
CUT = "cut"  # in a script: the stream ends without its end


@dataclass(frozen=True)
class Refusal:
    """An answer that is an error."""

    status: int
    code: str | None
    message: str


@dataclass
class Model:
    """An entry of /page-info."""

    id: str
    context_window_size: int = 4096
    takes_pictures: bool = False
    defaults: dict[str, float] = field(default_factory=lambda: {"temperature": 0.2, "top_p": 0.9})


# Deltas, texts (short for {"content": text}), events to wait for, pauses in seconds, CUT; or a
# refusal.
Script = Sequence[Any] | Refusal


@dataclass
class Scripted:
    """What the server says, and what it was asked."""

    answers: deque[Script] = field(default_factory=deque)
    requests: list[dict[str, Any]] = field(default_factory=list)
    models: list[Model] = field(default_factory=lambda: [Model("scripted")])
    loading: float | None = None
    unloaded: list[str] = field(default_factory=list)
    is_alive: bool = True
    usage: dict[str, Any] = field(default_factory=dict)
    port: int = 0

    def reset(self) -> None:
        fresh = Scripted(port=self.port)
        self.__dict__.update(fresh.__dict__)

    def next_answer(self) -> Script:
        return self.answers.popleft() if self.answers else ["Yes."]


def _error(refusal: Refusal) -> Response:
    error = {"message": refusal.message, "code": refusal.code, "type": "invalid_request_error"}
    return JSONResponse({"error": error}, status_code=refusal.status)


def _event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _chunk(model: str, delta: object, finish: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _event({"model": model, "choices": [choice]})


async def _stream(model: str, script: Sequence[Any], usage: dict[str, Any]) -> AsyncIterator[bytes]:
    calls = any(isinstance(step, dict) and "tool_calls" in step for step in script)
    for step in script:
        if step == CUT:
            return
        if isinstance(step, threading.Event):
            while not step.is_set():
                await asyncio.sleep(0.01)
        elif isinstance(step, float):
            await asyncio.sleep(step)
        else:
            yield _chunk(model, step if isinstance(step, dict) else {"content": step}, None)
    yield _chunk(model, {}, "tool_calls" if calls else "stop")
    counts = {"prompt_tokens": 10, "completion_tokens": len(script), **usage}
    yield _event({"choices": [], "usage": counts})
    yield b"data: [DONE]\n\n"


def make_app(scripted: Scripted) -> FastAPI:
    app = FastAPI()

    @app.get("/page-info")
    async def info() -> Response:
        models = [model.__dict__ for model in scripted.models]
        return JSONResponse({"models": models, "can_load": True, "loading": scripted.loading})

    @app.get("/health")
    async def health() -> Response:
        return JSONResponse({}, status_code=200 if scripted.is_alive else 503)

    @app.post("/tokenize")
    async def tokenize(request: Request) -> Response:
        return JSONResponse({"count": len((await request.json())["text"].split())})

    @app.post("/v1/chat/completions")
    async def chat(request: Request) -> Response:
        body = await request.json()
        scripted.requests.append(body)
        script = scripted.next_answer()
        if isinstance(script, Refusal):
            return _error(script)
        events = _stream(body["model"], script, scripted.usage)
        return StreamingResponse(events, media_type="text/event-stream")

    @app.post("/admin/load")
    async def load(request: Request) -> Response:
        path = (await request.json())["model"]
        if path == "missing":
            return _error(Refusal(404, "model_not_found", "there is no such folder"))
        scripted.models.append(Model(path.rpartition("/")[2]))
        return JSONResponse({"id": scripted.models[-1].id})

    @app.post("/admin/unload")
    async def unload(request: Request) -> Response:
        name = (await request.json())["model"]
        scripted.models[:] = [model for model in scripted.models if model.id != name]
        scripted.unloaded.append(name)
        return JSONResponse({"status": "unloaded", "model": name})

    app.include_router(page_routes.router)
    app.mount("/page", page_routes.PageFiles())
    # What the tests of test_page_logic.py import.
    app.mount("/logic", StaticFiles(directory=LOGIC))
    app.mount("/vectors", StaticFiles(directory=VECTORS))
    return app


class ScriptedServer:
    """Runs it on a thread, at a free port."""

    def __init__(self, scripted: Scripted) -> None:
        config = uvicorn.Config(make_app(scripted), port=0, log_level="error")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._scripted = scripted

    def __enter__(self) -> Scripted:
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive(), "the scripted server did not start"
            time.sleep(0.01)
        self._scripted.port = self._server.servers[0].sockets[0].getsockname()[1]
        return self._scripted

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(30)

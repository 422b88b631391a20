"""The chat page: its files in `page/`, and what it asks about this server.

The browser lets the page run only its own scripts and styles and reach only this server: see
`HEADERS`.
"""

from __future__ import annotations

import asyncio
import mimetypes
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.responses import FileResponse, JSONResponse
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from mlc_llm.serve.slot import Slot
from mlc_llm.serve.state import models_of, options_of

FOLDER = Path(__file__).parent / "page"
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "img-src": "'self' data:",  # data: for the pictures that the user chose
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",  # no text can become HTML, not even by mistake
    "trusted-types": "'none'",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _POLICY.items()),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",  # the browser asks whether a file has changed
}
mimetypes.add_type("text/javascript", ".js")  # some systems have another type in their registry

router = APIRouter(include_in_schema=False)


class PageFiles(StaticFiles):
    """The scripts, styles and texts of the page."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(HEADERS)
        return response


@router.get("/")
async def page() -> Response:
    """A chat in the browser."""
    return FileResponse(FOLDER / "index.html", media_type="text/html", headers=HEADERS)


@router.get("/page-info")
async def page_info(request: Request) -> Response:
    """The models with their abilities, and what the page may do with them."""
    models = models_of(request)
    loading = models.loading
    described = await asyncio.to_thread(lambda: [_describe(one) for one in models.chat_models()])
    content = {
        "models": described,
        "can_load": options_of(request).enable_admin,
        "loading": None if loading.ended else loading.progress()["progress"],
    }
    return JSONResponse(content)


def _describe(slot: Slot) -> dict[str, Any]:
    """What a model can do is known once it is loaded."""
    found: dict[str, Any] = {"context_window_size": None, "takes_pictures": None, "defaults": {}}
    if (served := slot.served) is not None:
        abilities = served.abilities
        found = {**asdict(abilities), "defaults": dict(abilities.defaults)}
    return {"id": slot.name, **found}

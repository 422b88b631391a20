"""OpenAI's responses: made, kept, read, ended and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.sdk.tools_gen import MAX_TOOL_CALLS
from mlc_llm.serve.body import body_of, parse_object
from mlc_llm.serve.core_request import CoreRequest
from mlc_llm.serve.openapi import exchange, gives
from mlc_llm.serve.responses import InputTokens, ResponsesAnswerFormat, forget
from mlc_llm.serve.responses_mcp import mcp_tools, with_tool_choice
from mlc_llm.serve.responses_request import file_in, to_chat
from mlc_llm.serve.responses_state import own_items
from mlc_llm.serve.state import keep_lease, responses_of
from mlc_llm.serve.tool_request import ToolRequest
from mlc_llm.serve.translated import Asked, Translation, dump

router = APIRouter(prefix="/v1/responses", tags=["inference"])
_MAX_LISTED = 100


_Items = list[dict[str, Any]]


async def _after_earlier(request: Request, asked: Asked) -> tuple[Asked, _Items]:
    """The request behind the items of the responses that it follows (as it came where there are
    none), and its own items."""
    own = await asyncio.to_thread(own_items, asked)
    before = await responses_of(request).conversation(asked)
    return {**asked, "input": [*before, *own]} if before else asked, own


class _NoFiles(Translation):
    """A request whose pictures are in it: this server keeps no files for clients."""

    def parse(self, body: bytes) -> dict[str, Any]:
        if b'"file_id"' in body and (place := file_in(parse_object(body))) is not None:
            raise _refused(place, "names a file of OpenAI's; send the picture as 'image_url'")
        return super().parse(body)


class _Responses(_NoFiles):
    """A response after those that it follows."""

    async def run(self, request: Request) -> Response:
        asked, lease = await self.read(request)
        state = responses_of(request)
        whole, own = await _after_earlier(request, asked)
        mcp = await mcp_tools(request, asked)
        whole = with_tool_choice(whole, mcp)
        keep = state.keep_from_begin(own)
        if asked.get("store") is False:
            if asked.get("background"):
                raise _refused("background", "needs 'store'")
            keep = forget
        elif asked.get("background"):  # the store has its input
            asked, keep = {**asked, "input": None}, state.update
        answer = ResponsesAnswerFormat(asked, lease.name, keep, mcp)
        core = CoreRequest()
        if mcp:
            tools = [tool for tools in mcp.values() for tool in tools]
            core = ToolRequest(tools, asked.get("max_tool_calls") or MAX_TOOL_CALLS)
        if not asked.get("background"):
            response = await self.submit(request, whole, lease, answer, core)
            return _Watched(response, answer.left)
        if asked.get("stream"):
            raise _refused("stream", "does not go with 'background'; ask for the response later")
        body = body_of(request).for_later(await asyncio.to_thread(_chat, whole))
        queued = await state.begin(own, answer, lease, body, core)
        keep_lease(request, lease)
        return JSONResponse(queued)


class _Watched(Response):
    """A response, and what is done after it, however it ends."""

    def __init__(self, response: Response, after: Callable[[], None]) -> None:
        super().__init__()
        self._response, self._after = response, after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._response(scope, receive, send)
        finally:
            self._after()


class _Counts(_NoFiles):
    """The same, of which only the prompt is counted."""

    async def run(self, request: Request) -> Response:
        asked, lease = await self.read(request)
        whole, _ = await _after_earlier(request, asked)
        return await self.submit(request, whole, lease, InputTokens())


# Fields that need services that this server does not have.
_REFUSED = ("conversation", "prompt")
_WHY = "This server keeps responses: follow one with 'previous_response_id'."
_CREATE = _Responses(
    "ResponseCreateRequest",
    lambda asked: ("chat.completions", to_chat(asked)),
    ResponsesAnswerFormat,
    _REFUSED,
    _WHY,
)
_COUNT = _Counts(
    "ResponseCreateRequest",
    lambda asked: ("input_tokens", to_chat(asked)),
    lambda asked, model: InputTokens(),
    _REFUSED,
    _WHY,
    streams=lambda asked: False,
)


def _chat(asked: Asked) -> bytes:
    return dump(to_chat(asked))


def _refused(param: str, why: str) -> Exception:
    return error_of(reasons.UNSUPPORTED_PARAMETER, f"'{param}' {why}.", param=param)


@router.post("", **exchange("ResponseCreateRequest", "Response", events="ResponseStreamEvent"))
async def create_response(request: Request) -> Response:
    """OpenAI's responses: text, streamed events, function tools; one may follow another."""
    return await _CREATE.run(request)


@router.post("/input_tokens", **exchange("ResponseCreateRequest", "InputTokenCount"))
async def count_response_tokens(request: Request) -> Response:
    """The tokens of a response's prompt."""
    return await _COUNT.run(request)


@router.get("/{response_id}", responses=gives("Response"))
async def get_response(request: Request, response_id: str, stream: bool = False) -> Response:
    """A response that was kept, as it is now."""
    if stream:
        raise _refused("stream", "is not offered for a response that was kept")
    kept = await responses_of(request).get(response_id)
    return JSONResponse(kept.response)


@router.delete("/{response_id}", responses=gives("ResponseDeleted"))
async def delete_response(request: Request, response_id: str) -> Response:
    """Forgets a response. One that is still made ends."""
    await responses_of(request).delete(response_id)
    return JSONResponse({"id": response_id, "object": "response", "deleted": True})


@router.post("/{response_id}/cancel", responses=gives("Response"))
async def cancel_response(request: Request, response_id: str) -> Response:
    """Ends a response that is made in the background."""
    return JSONResponse(await responses_of(request).cancel(response_id))


@router.get("/{response_id}/input_items", responses=gives("ResponseInputItems"))
async def list_input_items(
    request: Request,
    response_id: str,
    limit: int = 20,
    order: str = "desc",
    after: str | None = None,
) -> Response:
    """The items of a response's own request."""
    if not 1 <= limit <= _MAX_LISTED:
        words = f"Invalid 'limit': expected 1 .. {_MAX_LISTED}, but got {limit}."
        raise error_of(reasons.INVALID_VALUE, words, param="limit")
    if order not in ("asc", "desc"):
        words = "Invalid value for 'order'. Supported values are: 'asc', 'desc'."
        raise error_of(reasons.INVALID_VALUE, words, param="order")
    kept = await responses_of(request).get(response_id)
    items = list(kept.input) if order == "asc" else list(reversed(kept.input))
    return JSONResponse(_page(items, limit, after))


def _page(items: list[Mapping[str, Any]], limit: int, after: str | None) -> dict[str, Any]:
    ids = [item["id"] for item in items]
    if after is not None:
        if after not in ids:
            words = f"Invalid 'after': there is no item '{after[:100]}'."
            raise error_of(reasons.INVALID_VALUE, words, param="after")
        items = items[ids.index(after) + 1 :]
    page = items[:limit]
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
        "has_more": len(items) > limit,
    }

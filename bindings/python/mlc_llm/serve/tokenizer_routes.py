"""The tokenizer by itself: /tokenize, /detokenize, /tokenizer_info.

Evaluation harnesses (lm-eval) know these routes as vLLM has them, with `prompt` where the protocol
has `text`. Both are taken and given.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from starlette.requests import Request
from starlette.responses import Response

from mlc_llm.serve.body import body_of, model_name, parse_object, peek, require_json
from mlc_llm.serve.inference import AnswerFormat, RequestHandler
from mlc_llm.serve.openapi import exchange
from mlc_llm.serve.slot import ServedModel
from mlc_llm.serve.state import lease_model, options_of

router = APIRouter(tags=["inference"])
_TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token")


class _TextAnswer(AnswerFormat):
    """An answer whose `text` is also given as `prompt`."""

    def whole(self, text: str) -> str:
        answer = json.loads(text)
        return json.dumps({**answer, "prompt": answer["text"]}, ensure_ascii=False)


async def _answer(request: Request, route: str, form: AnswerFormat) -> Response:
    body = body_of(request)
    lease = await lease_model(request, model_name(await peek(body)))
    handler = RequestHandler(lease, form, options_of(request))
    return await handler.run(request, route, body, stream=False)


@router.post("/tokenize", **exchange("TokenizeRequest", "TokenizeResponse"))
async def tokenize(request: Request) -> Response:
    """The tokens of a text."""
    require_json(request)
    body = body_of(request)
    async with body.parsing():
        asked = await asyncio.to_thread(parse_object, body.data)
    if "text" not in asked and isinstance(asked.get("prompt"), str):
        body.data = json.dumps({**asked, "text": asked["prompt"]}).encode()
    return await _answer(request, "tokenize", AnswerFormat())


@router.post("/detokenize", **exchange("DetokenizeRequest", "DetokenizeResponse"))
async def detokenize(request: Request) -> Response:
    """The text of tokens."""
    require_json(request)
    return await _answer(request, "detokenize", _TextAnswer())


@router.get("/tokenizer_info", include_in_schema=False)
async def tokenizer_info(request: Request, model: str | None = None) -> Response:
    """The first model's tokenizer_config.json, with its special tokens as texts."""
    lease = await lease_model(request, model)
    return JSONResponse(await asyncio.to_thread(_describe, await lease.model()))


def _describe(model: ServedModel) -> dict[str, Any]:
    folder = Path(model.engine.model.folder)
    config = json.loads(_read(folder / "tokenizer_config.json") or "{}")
    found = {name: value for name, value in config.items() if name != "added_tokens_decoder"}
    for name in _TOKENS:
        value = found.get(name)
        found[name] = value.get("content") if isinstance(value, dict) else value
    found.setdefault("chat_template", _read(folder / "chat_template.jinja"))
    return found


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None

"""Requests in another form than the core's: the server reads them as the core reads JSON, checks
them against their schema, and asks the core in its own words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.serve.body import body_of, model_name, parse_object, require_json
from mlc_llm.serve.core_request import CoreRequest
from mlc_llm.serve.inference import AnswerFormat, RequestHandler
from mlc_llm.serve.slot import Lease
from mlc_llm.serve.state import lease_model, options_of
from mlc_llm.serve.validation import check

Asked = Mapping[str, Any]


@dataclass(frozen=True)
class Translation:
    """`schema`: of the request. `refused`: fields that this server has no use for, `why` being the
    end of the message. `to_core`: the route of the core and its request. `answer`: the form of the
    answer, by what was asked and the model's name. `streams`: whether the answer is streamed.
    `name`: from the model's name in the request to ours. `embeds`: whether vectors are wanted."""

    schema: str
    to_core: Callable[[Asked], tuple[str, dict[str, Any]]]
    answer: Callable[[Asked, str], AnswerFormat]
    refused: Collection[str] = ()
    why: str = ""
    streams: Callable[[Asked], bool] = lambda asked: asked.get("stream") is True
    name: Callable[[str | None], str | None] = lambda name: name
    embeds: bool = False

    def parse(self, body: bytes) -> dict[str, Any]:
        """Parses the request. Refuses what the schema does not allow, and `refused` fields."""
        asked = parse_object(body)
        for name in self.refused:
            if asked.get(name):
                raise error_of(
                    reasons.UNSUPPORTED_PARAMETER,
                    f"Unsupported parameter: '{name}'. {self.why}",
                    param=name,
                )
        check(asked, self.schema)
        return asked

    async def run(self, request: Request) -> Response:
        """Answers a request."""
        return await self.submit(request, *await self.read(request))

    async def read(self, request: Request) -> tuple[dict[str, Any], Lease]:
        """What a request asks, and of which model."""
        asked = await self.asked(request)
        return asked, await self.lease(request, asked)

    async def asked(self, request: Request) -> dict[str, Any]:
        """What a request asks."""
        require_json(request)
        body = body_of(request)
        async with body.parsing():
            return await asyncio.to_thread(self.parse, body.data)

    async def lease(self, request: Request, asked: Asked) -> Lease:
        """Holds the model that is asked."""
        name = self.name(model_name(asked))
        return await lease_model(request, name, embeddings=self.embeds)

    async def submit(
        self,
        request: Request,
        asked: Asked,
        lease: Lease,
        answer: AnswerFormat | None = None,
        core: CoreRequest | None = None,
    ) -> Response:
        """Runs what was asked in the core. `answer`: another form of the answer. `core`: another
        kind of request in it."""
        body = body_of(request)
        # What was asked can be longer than the body: a response follows a conversation.
        route, data = await asyncio.to_thread(self._for_core, asked)
        body.replace(data)
        handler = RequestHandler(
            lease, answer or self.answer(asked, lease.name), options_of(request), core
        )
        return await handler.run(request, route, body, stream=self.streams(asked))

    def _for_core(self, asked: Asked) -> tuple[str, bytes]:
        route, fields = self.to_core(asked)
        return route, dump(fields)


def dump(fields: Asked) -> bytes:
    """A request as bytes for the core. The core refuses half of a surrogate pair, so it is kept."""
    return json.dumps(fields).encode()

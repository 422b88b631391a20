"""The class of routes whose functions take a request and give a response, and nothing else."""

from __future__ import annotations

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.types import Receive, Scope, Send


class PlainRoute(APIRoute):
    """FastAPI reads the request for no parameters, and checks no result: that would delay the first
    token. The document of the API knows the route as any other."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in (self.methods or ()):
            return await super().handle(scope, receive, send)
        response = await self.endpoint(Request(scope, receive, send))
        await response(scope, receive, send)

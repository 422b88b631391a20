"""The class of routes whose functions take a request and give a response, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response


class PlainRoute(APIRoute):
    """FastAPI reads the request for no parameters, and checks no result: that would delay the first
    token. The document of the API knows the route as any other."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        return self.endpoint

"""The ASGI application: routes, middleware, error handlers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response

import mlc_llm
from mlc_llm.errors import MLCError
from mlc_llm.serve import routes
from mlc_llm.serve.errors import RequestError, response_of
from mlc_llm.serve.limits import AccessMiddleware, BodyLimitMiddleware
from mlc_llm.serve.options import ServeOptions
from mlc_llm.serve.registry import ModelRegistry


def create_app(models: ModelRegistry, options: ServeOptions) -> FastAPI:
    """The server over `models`, which it unloads when it shuts down."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        models.close()

    app = FastAPI(
        title="mlc_llm", version=mlc_llm.__version__, summary="OpenAI-compatible", lifespan=lifespan
    )
    app.state.models = models
    app.state.options = options
    app.include_router(routes.inference)
    app.include_router(routes.service)
    if options.enable_admin:
        app.include_router(routes.admin)
    if options.enable_debug:
        app.include_router(routes.debug)
    app.add_middleware(BodyLimitMiddleware, max_bytes=options.max_body_bytes)
    if options.api_key:
        app.add_middleware(AccessMiddleware, api_key=options.api_key)
    app.add_middleware(
        CORSMiddleware,
        allow_credentials=options.allow_credentials,
        allow_origins=options.allow_origins,
        allow_methods=options.allow_methods,
        allow_headers=options.allow_headers,
    )
    _add_error_handlers(app)
    return app


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(MLCError)
    async def on_error(_: Request, error: Exception) -> Response:
        assert isinstance(error, MLCError)
        return response_of(error)

    @app.exception_handler(HTTPException)
    async def on_http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 405:
            message = f"{request.method} is not allowed on {request.url.path}"
            return response_of(RequestError(message, code="method_not_allowed"))
        message = f"there is no route {request.method} {request.url.path}"
        return response_of(RequestError(message, code="not_found"))

    @app.exception_handler(RequestValidationError)
    async def on_bad_parameter(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        param = ".".join(str(part) for part in first["loc"][1:])
        return response_of(RequestError(str(first["msg"]), code="invalid_request", param=param))

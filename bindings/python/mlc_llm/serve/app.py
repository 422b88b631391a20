"""The ASGI application: routes, middleware, error handlers."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi_swagger import patch_fastapi  # type: ignore[import-untyped]
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

import mlc_llm
from mlc_llm.errors import InternalError, MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.serve import (
    admin,
    ollama_routes,
    openapi,
    page_routes,
    responses_routes,
    routes,
    tokenizer_routes,
)
from mlc_llm.serve.aliases import AliasMiddleware
from mlc_llm.serve.api_prefix import PrefixMiddleware
from mlc_llm.serve.errors import response_of
from mlc_llm.serve.lifecycle import Drain, DrainMiddleware
from mlc_llm.serve.limits import AccessMiddleware, BodyMiddleware
from mlc_llm.serve.mcp_host import MCPHost
from mlc_llm.serve.options import ServeOptions
from mlc_llm.serve.origin import OriginMiddleware
from mlc_llm.serve.registry import ModelRegistry
from mlc_llm.serve.request_log import RequestLogMiddleware, id_header
from mlc_llm.serve.responses_state import ResponseState


class _Application(FastAPI):
    """Its OpenAPI document uses the protocol's own schemas."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            with_key = bool(self.state.options.api_keys)
            self.openapi_schema = openapi.document(self, with_key=with_key)
        return self.openapi_schema


def create_app(models: ModelRegistry, options: ServeOptions, drain: Drain | None = None) -> FastAPI:
    """The server for `models`. It unloads them when it shuts down."""
    drain = drain or Drain()
    responses = ResponseState(options)
    mcp = MCPHost(options.mcp_servers)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        gc.unfreeze()
        await responses.close()
        await mcp.close()
        models.close()

    app = _Application(
        title="mlc_llm",
        version=mlc_llm.__version__,
        summary="OpenAI's API over mlc_llm",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
        redirect_slashes=False,  # AliasMiddleware knows them
    )
    # FastAPI's own page loads its scripts from another host, and that needs a network.
    patch_fastapi(app, redirect_from_root_to_docs=False)
    app.state.models = models
    app.state.drain = drain
    app.state.responses = responses
    app.state.mcp = mcp
    app.state.options = options
    routers = [routes.inference, tokenizer_routes.router, ollama_routes.router, routes.service]
    routers += [responses_routes.router, page_routes.router]
    routers += (
        [admin.admin, admin.adapter_routes, ollama_routes.admin] if options.enable_admin else []
    )
    routers += [admin.debug] if options.enable_debug else []
    for router in routers:  # a router that is included matches each request a second time
        app.router.routes.extend(router.routes)
    app.mount("/page", page_routes.PageFiles())
    _add_middleware(app, options, drain)
    app.add_middleware(AliasMiddleware, routes=app.router.routes)
    if options.api_prefix:
        app.add_middleware(PrefixMiddleware, prefix=options.api_prefix)
    app.add_middleware(RequestLogMiddleware)
    _add_error_handlers(app)
    return app


def _add_middleware(app: FastAPI, options: ServeOptions, drain: Drain) -> None:
    """The last one that is added sees a request first."""
    app.add_middleware(DrainMiddleware, drain=drain)
    app.add_middleware(
        BodyMiddleware,
        drain=drain,
        max_bytes=options.max_body_bytes,
        max_total_bytes=options.max_total_body_bytes,
        max_requests=options.max_connections,
        timeout=options.body_timeout,
    )
    if options.api_keys:
        app.add_middleware(AccessMiddleware, api_keys=options.api_keys)
    if options.allow_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_credentials=options.allow_credentials,
            allow_origins=options.allow_origins,
            allow_methods=options.allow_methods,
            allow_headers=options.allow_headers,
        )
    app.add_middleware(OriginMiddleware, options=options)


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(MLCError)
    async def on_error(_: Request, error: Exception) -> Response:
        assert isinstance(error, MLCError)
        return response_of(error)

    @app.exception_handler(ClientDisconnect)
    async def on_disconnect(_: Request, error: Exception) -> Response:
        """The client left before its whole request had come. Nobody reads this answer, but a log
        may count it."""
        return Response(status_code=499)

    @app.exception_handler(Exception)
    async def on_mistake(request: Request, error: Exception) -> Response:
        """Starlette sends this answer from outside of all middleware."""
        response = response_of(InternalError("the server made a mistake; its log says more"))
        response.headers.update(id_header(request.scope))
        return response

    @app.exception_handler(HTTPException)
    async def on_http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        prefix = request.app.state.options.api_prefix
        if error.status_code == 405:
            message = f"Not allowed to {request.method} on {prefix}{request.url.path}."
            response = response_of(error_of(reasons.METHOD_NOT_SUPPORTED, message))
            response.headers.update(error.headers or {})  # for example `Allow`
            return response
        message = f"Unknown request URL: {request.method} {prefix}{request.url.path}."
        return response_of(error_of(reasons.UNKNOWN_URL, f"{message} See {prefix}/docs."))

    @app.exception_handler(RequestValidationError)
    async def on_bad_parameter(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        param = ".".join(str(part) for part in first["loc"][1:])
        return response_of(error_of(reasons.INVALID_REQUEST, str(first["msg"]), param=param))

"""The objects that a route finds in its application."""

from __future__ import annotations

import asyncio
from typing import cast

from starlette.requests import Request

from mlc_llm.serve.lifecycle import Drain
from mlc_llm.serve.mcp_host import MCPHost
from mlc_llm.serve.options import ServeOptions
from mlc_llm.serve.registry import ModelRegistry
from mlc_llm.serve.responses_state import ResponseState
from mlc_llm.serve.slot import Lease


def models_of(request: Request) -> ModelRegistry:
    return cast("ModelRegistry", request.app.state.models)


def options_of(request: Request) -> ServeOptions:
    return cast("ServeOptions", request.app.state.options)


def drain_of(request: Request) -> Drain:
    return cast("Drain", request.app.state.drain)


def responses_of(request: Request) -> ResponseState:
    return cast("ResponseState", request.app.state.responses)


def mcp_of(request: Request) -> MCPHost:
    return cast("MCPHost", request.app.state.mcp)


async def lease_model(request: Request, name: str | None, *, embeddings: bool = False) -> Lease:
    """Holds the model that a request names until the request has ended; loads it if need be."""
    models = models_of(request)
    if not models.is_at_hand(name):
        await asyncio.to_thread(models.look_up, name)
    lease = models.lease_for_embeddings(name) if embeddings else models.lease(name)
    request.scope["leases"].append(lease)
    return lease


def keep_lease(request: Request, lease: Lease) -> Lease:
    """Takes a lease over from its request: whoever calls this releases it."""
    request.scope["leases"].remove(lease)
    return lease

"""The objects that a route finds in its application."""

from __future__ import annotations

from starlette.requests import Request

from mlc_llm.serve.lifecycle import Drain
from mlc_llm.serve.options import ServeOptions
from mlc_llm.serve.registry import ModelRegistry
from mlc_llm.serve.responses_state import ResponseState


def models_of(request: Request) -> ModelRegistry:
    models: ModelRegistry = request.app.state.models
    return models


def options_of(request: Request) -> ServeOptions:
    options: ServeOptions = request.app.state.options
    return options


def drain_of(request: Request) -> Drain:
    drain: Drain = request.app.state.drain
    return drain


def responses_of(request: Request) -> ResponseState:
    state: ResponseState = request.app.state.responses
    return state

"""The protocol: what a request, a response and the engine's configuration hold.

This package is the only place where the protocol is written down. `PROTOCOL` lists its roots;
everything that they reach is generated.
"""

from __future__ import annotations

from codegen.schema.base import ProtocolRoots, RouteModel
from codegen.schema.chat_request import ChatCompletionRequest
from codegen.schema.chat_response import ChatCompletion, ChatCompletionChunk
from codegen.schema.engine_config import EngineConfig
from codegen.schema.error import ErrorResponse

PROTOCOL = ProtocolRoots(
    requests=(ChatCompletionRequest, EngineConfig),
    responses=(ChatCompletion, ChatCompletionChunk, ErrorResponse, EngineConfig),
    routes=(
        RouteModel(
            name="chat.completions",
            request=ChatCompletionRequest,
            response=ChatCompletion,
            chunk=ChatCompletionChunk,
            stream_field="stream",
        ),
    ),
)

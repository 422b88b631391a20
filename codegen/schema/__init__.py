"""The protocol: what a request, a response and the engine's configuration hold.

This package is the only place where the protocol is written down. `PROTOCOL` lists its roots;
everything that they reach is generated.
"""

from __future__ import annotations

from codegen.rows import PlainRoute
from codegen.schema.adapters import (
    AdapterList,
    AdapterListRequest,
    AdapterLoadRequest,
    AdapterUnloadRequest,
)
from codegen.schema.anthropic import (
    AnthropicCountTokensRequest,
    AnthropicRequest,
    AnthropicTokenCount,
)
from codegen.schema.anthropic_answer import (
    AnthropicErrorEvent,
    AnthropicMessage,
    AnthropicStreamEvent,
)
from codegen.schema.base import CallModel, ProtocolRoots, RouteModel
from codegen.schema.chat_request import ChatCompletionRequest
from codegen.schema.chat_response import ChatCompletion, ChatCompletionChunk
from codegen.schema.completions import Completion, CompletionRequest
from codegen.schema.embeddings import EmbeddingRequest, EmbeddingResponse
from codegen.schema.engine_config import EngineConfig
from codegen.schema.error import ErrorResponse
from codegen.schema.errors import ERRORS
from codegen.schema.infill import InfillRequest, InfillResponse
from codegen.schema.kv_state import (
    KVHeldRequest,
    KVHeldResponse,
    KVLoadRequest,
    KVLoadResponse,
    KVSaveRequest,
    KVSaveResponse,
)
from codegen.schema.lifecycle import (
    Directories,
    PrewarmRequest,
    PrewarmResponse,
    ThermalHint,
    ThermalLimits,
    TrimRequest,
    TrimResponse,
)
from codegen.schema.metrics import EngineMetrics
from codegen.schema.mlc_llm import MLC_LLM
from codegen.schema.models import DeviceProbe, ModelList, ModelLoadRequest
from codegen.schema.ollama import (
    OllamaChatRequest,
    OllamaDeleteRequest,
    OllamaEmbeddingsRequest,
    OllamaEmbedRequest,
    OllamaGenerateRequest,
    OllamaPullRequest,
    OllamaShowRequest,
)
from codegen.schema.ollama_answer import (
    OllamaChatResponse,
    OllamaEmbeddingsResponse,
    OllamaEmbedResponse,
    OllamaError,
    OllamaGenerateResponse,
    OllamaModels,
    OllamaShowResponse,
    OllamaStatus,
    OllamaVersion,
)
from codegen.schema.plan import Plan
from codegen.schema.rerank import RerankRequest, RerankResponse
from codegen.schema.response_events import ResponseStreamEvent
from codegen.schema.responses import (
    Response,
    ResponseCreateRequest,
    ResponseDeleted,
    ResponseInputItems,
)
from codegen.schema.sampling import SAMPLING
from codegen.schema.server import (
    HealthStatus,
    InputTokenCount,
    Props,
    ReadyStatus,
    ServerAdapterLoadRequest,
    ServerAdapterUnloadRequest,
    ServerLoadRequest,
    ServerPrefillRequest,
    ServerUnloaded,
    ServerUnloadRequest,
)
from codegen.schema.step import STEP_INPUTS
from codegen.schema.tokenization import (
    DetokenizeRequest,
    DetokenizeResponse,
    InputTokensResponse,
    RenderResponse,
    TokenizeRequest,
    TokenizeResponse,
)
from codegen.schema.tool_loop import TOOLS

PROTOCOL = ProtocolRoots(
    requests=(
        ChatCompletionRequest,
        CompletionRequest,
        EmbeddingRequest,
        RerankRequest,
        TokenizeRequest,
        DetokenizeRequest,
        KVSaveRequest,
        KVLoadRequest,
        KVHeldRequest,
        TrimRequest,
        PrewarmRequest,
        ThermalHint,
        AdapterLoadRequest,
        AdapterUnloadRequest,
        AdapterListRequest,
        Directories,
        ModelLoadRequest,
        EngineConfig,
    ),
    responses=(
        ChatCompletion,
        ChatCompletionChunk,
        Completion,
        EmbeddingResponse,
        RerankResponse,
        TokenizeResponse,
        DetokenizeResponse,
        InputTokensResponse,
        RenderResponse,
        KVSaveResponse,
        KVLoadResponse,
        KVHeldResponse,
        TrimResponse,
        PrewarmResponse,
        ThermalLimits,
        AdapterList,
        ModelList,
        DeviceProbe,
        EngineMetrics,
        Plan,
        ErrorResponse,
        EngineConfig,
    ),
    routes=(
        RouteModel(
            name="chat.completions",
            request=ChatCompletionRequest,
            response=ChatCompletion,
            chunk=ChatCompletionChunk,
            stream_field="stream",
            typed_fields=("response_format", "tools"),
        ),
        RouteModel(
            name="completions",
            request=CompletionRequest,
            response=Completion,
            chunk=Completion,
            stream_field="stream",
        ),
        RouteModel(name="embeddings", request=EmbeddingRequest, response=EmbeddingResponse),
        RouteModel(name="rerank", request=RerankRequest, response=RerankResponse),
    ),
    calls=(
        CallModel("tokenize", TokenizeRequest, TokenizeResponse),
        CallModel("detokenize", DetokenizeRequest, DetokenizeResponse),
        CallModel("render", ChatCompletionRequest, RenderResponse),
        CallModel("input_tokens", ChatCompletionRequest, InputTokensResponse),
        CallModel("kv.save", KVSaveRequest, KVSaveResponse),
        CallModel("kv.load", KVLoadRequest, KVLoadResponse),
        CallModel("kv.held", KVHeldRequest, KVHeldResponse),
        CallModel("memory.trim", TrimRequest, TrimResponse),
        CallModel("prewarm", PrewarmRequest, PrewarmResponse),
        CallModel("thermal.set", ThermalHint, ThermalLimits),
        CallModel("adapters.load", AdapterLoadRequest, AdapterList),
        CallModel("adapters.unload", AdapterUnloadRequest, AdapterList),
        CallModel("adapters.list", AdapterListRequest, AdapterList),
    ),
    plain_routes=(
        PlainRoute(
            "trace",
            "What the engine did last, in Chrome's trace format; needs `enable_tracing` in the "
            "EngineConfig.",
        ),
    ),
    sampling=SAMPLING,
    errors=ERRORS,
    step_inputs=STEP_INPUTS,
    server_requests=(
        ResponseCreateRequest,
        AnthropicRequest,
        AnthropicCountTokensRequest,
        OllamaChatRequest,
        OllamaGenerateRequest,
        OllamaEmbedRequest,
        OllamaEmbeddingsRequest,
        OllamaShowRequest,
        OllamaDeleteRequest,
        OllamaPullRequest,
        InfillRequest,
        ServerLoadRequest,
        ServerUnloadRequest,
        ServerAdapterLoadRequest,
        ServerAdapterUnloadRequest,
        ServerPrefillRequest,
    ),
    server_responses=(
        AnthropicMessage,
        AnthropicStreamEvent,
        AnthropicTokenCount,
        AnthropicErrorEvent,
        OllamaChatResponse,
        OllamaGenerateResponse,
        OllamaEmbedResponse,
        OllamaEmbeddingsResponse,
        OllamaModels,
        OllamaShowResponse,
        OllamaVersion,
        OllamaStatus,
        OllamaError,
        Response,
        ResponseStreamEvent,
        ResponseDeleted,
        ResponseInputItems,
        InfillResponse,
        InputTokenCount,
        Props,
        HealthStatus,
        ReadyStatus,
        ServerUnloaded,
    ),
    helpers=(TOOLS,),
    compatible=MLC_LLM,
)

"""Compatibility names: requests and answers of OpenAI's API."""

from __future__ import annotations

import json
import uuid
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from mlc_llm.protocol.conversation_protocol import Conversation
from mlc_llm.protocol.debug_protocol import DebugConfig
from mlc_llm.protocol.error_protocol import BadRequestError
from mlc_llm.types_gen import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionTokenLogprob,
    Choice,
    ChoiceLogprobs,
    ChunkChoice,
    Completion,
    CompletionChoice,
    CompletionUsage,
    CreateEmbeddingResponse,
    Embedding,
    Logprobs,
    Model,
    ModelList,
    TopLogprob,
    Usage,
)

__all__ = [
    "CHAT_COMPLETION_MAX_TOP_LOGPROBS",
    "COMPLETION_MAX_TOP_LOGPROBS",
    "ChatCompletionMessage",
    "ChatCompletionRequest",
    "ChatCompletionResponse",
    "ChatCompletionResponseChoice",
    "ChatCompletionStreamResponse",
    "ChatCompletionStreamResponseChoice",
    "ChatFunction",
    "ChatFunctionCall",
    "ChatTool",
    "ChatToolCall",
    "CompletionLogProbs",
    "CompletionRequest",
    "CompletionResponse",
    "CompletionResponseChoice",
    "CompletionUsage",
    "EmbeddingObject",
    "EmbeddingRequest",
    "EmbeddingResponse",
    "EmbeddingUsage",
    "ListResponse",
    "LogProbs",
    "LogProbsContent",
    "ModelResponse",
    "RequestResponseFormat",
    "StreamOptions",
    "TopLogProbs",
]

CHAT_COMPLETION_MAX_TOP_LOGPROBS = 20
COMPLETION_MAX_TOP_LOGPROBS = 5

# Answers.
TopLogProbs = TopLogprob
LogProbsContent = ChatCompletionTokenLogprob
LogProbs = ChoiceLogprobs
CompletionLogProbs = Logprobs
ModelResponse = Model
ListResponse = ModelList
EmbeddingObject = Embedding
EmbeddingUsage = Usage
EmbeddingResponse = CreateEmbeddingResponse
CompletionResponseChoice = CompletionChoice
CompletionResponse = Completion
ChatCompletionResponseChoice = Choice
ChatCompletionStreamResponseChoice = ChunkChoice
ChatCompletionResponse = ChatCompletion
ChatCompletionStreamResponse = ChatCompletionChunk

_Penalty = Field(default=None, ge=-2, le=2)


class StreamOptions(BaseModel):
    include_usage: bool | None


class RequestResponseFormat(BaseModel):
    """`RequestResponseFormat(type="json_object", schema="{...}")`."""

    model_config = ConfigDict(validate_by_name=True)
    type: Literal["text", "json_object"] = "text"
    json_schema: str | None = Field(default=None, alias="schema")


class ChatFunction(BaseModel):
    description: str | None = None
    name: str
    parameters: dict[str, Any]


class ChatTool(BaseModel):
    type: Literal["function"]
    function: ChatFunction


class ChatFunctionCall(BaseModel):
    name: str
    arguments: dict[str, Any] | None = None


class ChatToolCall(BaseModel):
    id: str = Field(default_factory=lambda: f"call_{uuid.uuid4().hex}")
    type: Literal["function"]
    function: ChatFunctionCall


class ChatCompletionMessage(BaseModel):
    content: str | list[dict[str, Any]] | None = None
    role: Literal["system", "user", "assistant", "tool"]
    name: str | None = None
    tool_calls: list[ChatToolCall] | None = None
    tool_call_id: str | None = None


class EmbeddingRequest(BaseModel):
    input: str | list[str] | list[int] | list[list[int]]
    model: str | None = None
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    user: str | None = None


class _Sampling(BaseModel):
    """What the requests of completions and of chats have in common."""

    model: str | None = None
    frequency_penalty: float | None = _Penalty
    presence_penalty: float | None = _Penalty
    logit_bias: dict[int, float] | None = None
    max_tokens: int | None = None
    n: int = 1
    seed: int | None = None
    stop: str | list[str] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: float | None = None
    top_p: float | None = None
    user: str | None = None
    response_format: RequestResponseFormat | None = None
    debug_config: DebugConfig | None = None


class CompletionRequest(_Sampling):
    prompt: str | list[int]
    best_of: int = 1
    echo: bool = False
    logprobs: int | None = Field(default=None, ge=0, le=COMPLETION_MAX_TOP_LOGPROBS)
    suffix: str | None = None


class ChatCompletionRequest(_Sampling):
    messages: list[ChatCompletionMessage]
    logprobs: bool = False
    top_logprobs: int = Field(default=0, ge=0, le=CHAT_COMPLETION_MAX_TOP_LOGPROBS)
    tools: list[ChatTool] | None = None
    tool_choice: Literal["none", "auto"] | dict[str, Any] | None = None

    def check_message_validity(self) -> None:
        """Refuses with `BadRequestError` what no message of its role can have."""
        for i, message in enumerate(self.messages):
            if message.role == "system" and i > 0:
                raise BadRequestError(f"messages[{i}]: a system message must be the first one")
            if message.tool_call_id is not None and message.role != "tool":
                raise BadRequestError(f"messages[{i}]: tool_call_id is for the role tool")
            if message.tool_calls is not None and message.role != "assistant":
                raise BadRequestError(f"messages[{i}]: tool_calls are the assistant's")

    def check_function_call_usage(self, conv_template: Conversation) -> None:
        """Writes the functions that may be called into a template."""
        functions = [tool.function for tool in self.tools or []]
        if not functions or self.tool_choice == "none":
            conv_template.use_function_calling = False
            return
        if isinstance(self.tool_choice, dict):
            chosen = _named(self.tool_choice, functions)
            conv_template.function_string = chosen.model_dump_json()
        else:
            conv_template.function_string = json.dumps([f.model_dump() for f in functions])
        conv_template.use_function_calling = True


def _named(choice: dict[str, Any], functions: list[ChatFunction]) -> ChatFunction:
    """The function that `{"type": "function", "function": {"name": ...}}` names."""
    function = choice.get("function")
    name = cast("dict[str, Any]", function).get("name") if isinstance(function, dict) else None
    if choice.get("type") != "function" or not isinstance(name, str):
        raise BadRequestError(
            'tool_choice: give {"type": "function", "function": {"name": NAME}}',
            param="tool_choice",
        )
    for candidate in functions:
        if candidate.name == name:
            return candidate
    raise BadRequestError(f"tool_choice: no function {name!r} is in tools", param="tool_choice")

"""Compatibility names: the types of MLC-LLM's packages for Swift and Kotlin.

Where a language has namespaces (Kotlin) they are types of their own, in `OpenAIProtocol`, with
MLC-LLM's members; elsewhere (Swift) another name of the type that they stand for. The names follow
MLC-LLM's repository: `ios/MLCSwift` and `android/mlc4j`.
"""

from __future__ import annotations

from typing import Annotated

from codegen.schema import chat_request, chat_response, messages, response_format, tools
from codegen.schema.base import Case, ClosedEnum, CompatibleModel, Model, OneOf, field, maybe


class TopLogProbs(Model):
    """One of the likeliest tokens at a position."""

    token: str = field(..., "The token's text.")
    logprob: float = field(..., "Its log probability.")
    bytes: list[int] | None = maybe("The UTF-8 bytes of the token.")


class LogProbsContent(Model):
    """A token of the answer and the likeliest ones in its place."""

    token: str = field(..., "The token's text.")
    logprob: float = field(..., "Its log probability.")
    bytes: list[int] | None = maybe("The UTF-8 bytes of the token.")
    top_logprobs: list[TopLogProbs] = field(..., "The likeliest tokens here, likeliest first.")


class LogProbs(Model):
    """The log probabilities of an answer."""

    content: list[LogProbsContent] = field(..., "One entry for each token of the content.")


class ChatFunction(Model):
    """A function that the model may call."""

    name: str = field(..., "The function's name.")
    description: str | None = maybe("What the function does.")
    parameters: dict[str, str] = field(
        ...,
        "The members of a JSON Schema object for the arguments. A text that holds JSON, such as an "
        "object, is taken as that.",
    )


class ChatTool(Model):
    """A tool that the model may call."""

    type: str = field("function", "The kind of tool; only functions exist.")
    function: ChatFunction = field(..., "The function.")


class ChatFunctionCall(Model):
    """A function call that the model made."""

    name: str = field(..., "The name of the function to call.")
    arguments: dict[str, str] | None = maybe(
        "The arguments. A text stands for itself, any other value as its JSON text. What is no "
        "JSON object is the one member `arguments`."
    )


class ChatToolCall(Model):
    """A tool call that the model made."""

    id: str | None = maybe("The call's id, which the tool's answer repeats. Absent: a new one.")
    type: str = field("function", "The kind of tool; only functions exist.")
    function: ChatFunctionCall = field(..., "The function and its arguments.")


class ChatCompletionRole(ClosedEnum):
    """Who speaks."""

    SYSTEM = "system", "The instructions that the model follows."
    USER = "user", "The person, or the program, that asks."
    ASSISTANT = "assistant", "The model."
    TOOL = "tool", "A tool that the model called."


class ChatCompletionMessageContent(OneOf):
    """What a message says: a text, or parts such as `mapOf("type" to "text", "text" to "Hi")`."""

    root: Annotated[str, Case("text")] | Annotated[list[dict[str, str]], Case("parts")]


class ChatCompletionMessage(Model):
    """A message, or what a chunk adds to one."""

    role: ChatCompletionRole = field(..., "Who speaks.")
    content: ChatCompletionMessageContent | None = maybe(
        "What is said. Never null in what `create` gives."
    )
    name: str | None = maybe("A name that tells speakers of the same role apart.")
    tool_calls: list[ChatToolCall] | None = maybe(
        "The assistant's tool calls; in a stream, whole, in an answer's last chunk."
    )
    tool_call_id: str | None = maybe("The call that a tool's message answers.")
    reasoning_content: str | None = maybe("What the model thinks. MLC-LLM has no such member.")


class CompletionUsageExtra(Model):
    """Measurements of a request."""

    prefill_tokens_per_s: float | None = maybe("How fast the prompt was read.")
    decode_tokens_per_s: float | None = maybe("How fast the answer was generated.")
    num_prefill_tokens: int | None = maybe("How much of the prompt the model read.")


class CompletionUsage(Model):
    """What a request cost."""

    prompt_tokens: int = field(..., "The length of the prompt.")
    completion_tokens: int = field(..., "The length of all the answers together.")
    total_tokens: int = field(..., "The sum of the two.")
    extra: CompletionUsageExtra | None = maybe("Measurements of this request.")


class StreamOptions(Model):
    """What a stream carries beside the answer."""

    include_usage: bool = field(False, "Whether a last chunk carries the usage of the request.")


class ChatCompletionStreamResponseChoice(Model):
    """A piece of one of the answers."""

    finish_reason: str | None = maybe("Why the answer ended; null until its last chunk.")
    index: int = field(..., "Which of the `n` answers this belongs to, from 0.")
    delta: ChatCompletionMessage = field(..., "What is added.")
    lobprobs: LogProbs | None = maybe(
        "The log probabilities of the tokens that are added; spelt as MLC-LLM does."
    )


class ChatCompletionStreamResponse(Model):
    """A piece of the answers to a request."""

    id: str = field(..., "The request's id.")
    choices: list[ChatCompletionStreamResponseChoice] = field(
        ..., "Pieces of the answers; empty in the chunk that carries the usage."
    )
    created: int | None = maybe("When the request began.")
    model: str | None = maybe("The model that answers.")
    system_fingerprint: str = field(..., "Names the configuration that answers; may be empty.")
    object: str | None = maybe("The kind of object.")
    usage: CompletionUsage | None = maybe(
        "What the request cost, in the last chunk, when `include_usage` asks for it."
    )


class ResponseFormat(Model):
    """The shape that the answer must have."""

    type: str = field(..., "Such as `text` and `json_object`.")
    schema_text: str | None = maybe("A JSON Schema, as JSON text.", wire_name="schema")


class ChatCompletionRequest(Model):
    """A conversation, and how the model is to continue it."""

    messages: list[ChatCompletionMessage] = field(..., "The conversation so far.")
    model: str | None = maybe("The model to answer.")
    frequency_penalty: float | None = maybe("Lowers tokens by how often they occurred.")
    presence_penalty: float | None = maybe("Lowers tokens that occurred.")
    logprobs: bool = field(False, "Whether log probabilities are returned.")
    top_logprobs: int = field(0, "How many of the likeliest tokens are returned.")
    logit_bias: dict[int, float] | None = maybe("Adds to the logits of tokens.")
    max_tokens: int | None = maybe("The longest answer.")
    n: int = field(1, "How many answers are generated.")
    seed: int | None = maybe("Makes the answer repeatable.")
    stop: list[str] | None = maybe("Texts at which the answer ends.")
    stream: bool = field(True, "Whether the answer comes in chunks; here it always does.")
    stream_options: StreamOptions | None = maybe("Options of the stream.")
    temperature: float | None = maybe("How far the choice strays from the likeliest.")
    top_p: float | None = maybe("Keeps the likeliest that reach this probability.")
    tools: list[ChatTool] | None = maybe("The tools that the model may call.")
    user: str | None = maybe("A label of the end user.")
    response_format: ResponseFormat | None = maybe("The shape that the answer must have.")


MLC_LLM = (
    CompatibleModel(TopLogProbs, chat_response.TopLogprob),
    CompatibleModel(LogProbsContent, chat_response.ChatCompletionTokenLogprob),
    CompatibleModel(LogProbs, chat_response.ChoiceLogprobs),
    CompatibleModel(ChatFunction, tools.FunctionDefinition),
    CompatibleModel(ChatTool, tools.ChatCompletionTool),
    CompatibleModel(ChatFunctionCall, tools.FunctionCall),
    CompatibleModel(ChatToolCall, tools.ChatCompletionMessageToolCall),
    CompatibleModel(ChatCompletionRole, messages.ChatCompletionRole),
    CompatibleModel(ChatCompletionMessageContent, messages.ChatCompletionMessageContent),
    CompatibleModel(ChatCompletionMessage, messages.ChatCompletionMessage),
    CompatibleModel(CompletionUsageExtra, chat_response.CompletionUsageExtra),
    CompatibleModel(CompletionUsage, chat_response.CompletionUsage),
    CompatibleModel(StreamOptions, chat_request.StreamOptions),
    CompatibleModel(
        ChatCompletionStreamResponseChoice, chat_response.ChatCompletionChunkChoice, ("Choice",)
    ),
    CompatibleModel(ChatCompletionStreamResponse, chat_response.ChatCompletionChunk),
    CompatibleModel(ResponseFormat, response_format.ResponseFormat),
    CompatibleModel(ChatCompletionRequest, chat_request.ChatCompletionRequest),
)

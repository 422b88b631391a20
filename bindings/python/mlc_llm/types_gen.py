# Generated from codegen/schema by `python -m codegen`. Do not edit.
# Schema hash: 5c6e83c1dd599df1
"""The protocol's types: `...Param` is what a caller sends, the others are what the engine answers.

A value that a newer engine adds is kept: an unknown word of an open enum as a `str`, an unknown
field of an answer as an attribute.
"""

from __future__ import annotations

from collections.abc import ItemsView, KeysView, Mapping, Sequence, ValuesView
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, model_validator
from typing_extensions import Required, TypedDict

from mlc_llm.errors.nearest import did_you_mean

__all__ = [
    "SCHEMA_HASH",
    "ChatCompletionRole",
    "ChatCompletionContentPartTextParam",
    "ImageDetail",
    "ImageURLParam",
    "ImageSourceParam",
    "ChatCompletionContentPartImageParam",
    "ChatCompletionContentPartParam",
    "ChatCompletionMessageContentParam",
    "FunctionCallParam",
    "FunctionCall",
    "ChatCompletionMessageToolCallParam",
    "ChatCompletionMessageToolCall",
    "ChatCompletionMessageParam",
    "StreamOptionsParam",
    "StopParam",
    "FunctionDefinitionParam",
    "ChatCompletionToolParam",
    "ToolChoiceMode",
    "NamedFunctionParam",
    "ChatCompletionNamedToolChoiceParam",
    "ToolChoiceParam",
    "ResponseFormatTextParam",
    "JsonSchemaSourceParam",
    "ResponseFormatJSONObjectParam",
    "JSONSchemaParam",
    "ResponseFormatJSONSchemaParam",
    "ResponseFormatRegexParam",
    "ResponseFormatGrammarParam",
    "StructuralTagParam",
    "ResponseFormatStructuralTagParam",
    "ResponseFormatParam",
    "ReasoningEffort",
    "LoraUseParam",
    "LoraParam",
    "SpecialRequest",
    "GrammarExecutionMode",
    "DebugConfigParam",
    "ChatCompletionPredictionTextParam",
    "ChatCompletionPredictionParam",
    "ChatCompletionCommonParams",
    "ChatCompletionCreateParams",
    "ChatCompletionRequestParam",
    "PromptItemParam",
    "PromptParam",
    "CompletionCreateParams",
    "CompletionRequestParam",
    "EmbeddingEncoding",
    "EmbeddingCreateParams",
    "EmbeddingRequestParam",
    "RerankDocumentParam",
    "RerankDocument",
    "RerankInputParam",
    "RerankCreateParams",
    "RerankRequestParam",
    "TokenizeRequestParam",
    "DetokenizeRequestParam",
    "KVSaveRequestParam",
    "KVLoadRequestParam",
    "KVHeldRequestParam",
    "TrimLevel",
    "TrimRequestParam",
    "PrewarmRequestParam",
    "ThermalState",
    "ThermalHintParam",
    "AdapterLoadRequestParam",
    "AdapterUnloadRequestParam",
    "AdapterListRequestParam",
    "DirectoriesParam",
    "ModelLoadRequestParam",
    "EngineMode",
    "KVCacheDType",
    "PrefillMode",
    "EmbeddingPooling",
    "PrefixCacheMode",
    "SpeculativeMode",
    "EngineConfigParam",
    "EngineConfig",
    "ChatCompletionMessage",
    "TopLogprob",
    "ChatCompletionTokenLogprob",
    "ChoiceLogprobs",
    "FinishReason",
    "Choice",
    "PromptTokensDetails",
    "CompletionTokensDetails",
    "CompletionUsageExtra",
    "CompletionUsage",
    "Timings",
    "SchemaWarning",
    "ChatCompletion",
    "ToolType",
    "ChoiceDeltaFunctionCall",
    "ChoiceDeltaToolCall",
    "ChoiceDelta",
    "ChunkChoice",
    "PromptProgress",
    "ChatCompletionChunk",
    "Logprobs",
    "CompletionChoice",
    "Completion",
    "EmbeddingVector",
    "Embedding",
    "Usage",
    "CreateEmbeddingResponse",
    "RerankResult",
    "RerankResponse",
    "TokenizeResponse",
    "DetokenizeResponse",
    "InputTokensResponse",
    "RenderResponse",
    "KVSaveResponse",
    "KVLoadResponse",
    "KVHeldPrompt",
    "KVHeldResponse",
    "TrimResponse",
    "PrewarmResponse",
    "ThermalLimits",
    "AdapterInfo",
    "AdapterList",
    "ModelStatus",
    "InputModality",
    "Model",
    "ModelList",
    "DeviceProbe",
    "RequestMetrics",
    "KnownTextMetrics",
    "SpecDecodeMetrics",
    "EngineMetrics",
    "Plan",
    "ErrorStatus",
    "ErrorObject",
    "ErrorResponse",
]

SCHEMA_HASH = "5c6e83c1dd599df1"


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="allow", protected_namespaces=(), validate_by_name=True, serialize_by_alias=True
    )
    _nulls: ClassVar[frozenset[str]] = frozenset()

    def to_dict(self) -> dict[str, Any]:
        """The JSON object: without the members that have no value, but for those that are null
        on the wire when they have none.
        """
        members = {name: getattr(self, name) for name in type(self).model_fields}
        given = {
            type(self).model_fields[name].alias or name: _plain(value)
            for name, value in members.items()
            if value is not None or name in self._nulls
        }
        return {**given, **(self.model_extra or {})}


def _plain(value: object) -> object:
    if isinstance(value, _Model):
        return value.to_dict()
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("dict[str, object]", value).items()}
    return value


def _names(value: object) -> list[str]:
    return list(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else []


class _Config(_Model):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _only_known(cls, given: object) -> object:
        for name in _names(given):
            if name not in cls.model_fields:
                meant = did_you_mean(name, cls.model_fields, "; ")
                raise ValueError(f"'{name}' is no field{meant}")
        return given


class _Measurements(_Model):
    """Numbers that have names. MLC-LLM has a `dict` here: it can be read as one too."""

    def __getitem__(self, name: str) -> Any:
        return self.to_dict()[name]

    def __contains__(self, name: object) -> bool:
        return name in self.to_dict()

    def get(self, name: str, default: Any = None) -> Any:
        return self.to_dict().get(name, default)

    def keys(self) -> KeysView[str]:
        return self.to_dict().keys()

    def values(self) -> ValuesView[Any]:
        return self.to_dict().values()

    def items(self) -> ItemsView[str, Any]:
        return self.to_dict().items()

    def as_text_label(self) -> str:
        """The speeds as MLC-LLM's apps show them: `prefill: 120.5 tok/s, decode: 33.1 tok/s`."""
        speeds = ((name, self.get(f"{name}_tokens_per_s")) for name in ("prefill", "decode"))
        return ", ".join(f"{name}: {v:.1f} tok/s" for name, v in speeds if v is not None)


ChatCompletionRole: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
"""Who speaks."""


class ChatCompletionContentPartTextParam(TypedDict, total=False):
    """A text within a message."""

    type: Required[Literal["text"]]
    """The kind of part."""

    text: Required[str]
    """The text."""


ImageDetail: TypeAlias = Literal["auto", "low", "high", "original"]
"""How closely the model looks at an image."""


class ImageURLParam(TypedDict, total=False):
    """Where an image is."""

    url: Required[str | bytes]
    """The image as a `data:` URL with its bytes in base64, or that base64 alone. Clients take
    the bytes of its file too. Length: at least 1.
    """

    detail: ImageDetail | None
    """How closely the model looks."""


ImageSourceParam: TypeAlias = str | ImageURLParam
"""An image, as an object or as its URL alone."""


class ChatCompletionContentPartImageParam(TypedDict, total=False):
    """An image within a message."""

    type: Required[Literal["image_url"]]
    """The kind of part."""

    image_url: Required[ImageSourceParam]
    """The image."""


ChatCompletionContentPartParam: TypeAlias = (
    ChatCompletionContentPartTextParam | ChatCompletionContentPartImageParam
)
"""A part of a message."""


ChatCompletionMessageContentParam: TypeAlias = str | Sequence[ChatCompletionContentPartParam]
"""What a message says: a text, or texts and images in order."""


class FunctionCallParam(TypedDict, total=False):
    """A function call that the model made."""

    name: Required[str]
    """The name of the function to call."""

    arguments: Required[str]
    """The arguments as JSON text, as the model wrote it; it may be invalid or name arguments
    that the function does not have.
    """


class FunctionCall(_Model):
    """A function call that the model made."""

    name: str
    """The name of the function to call."""

    arguments: str
    """The arguments as JSON text, as the model wrote it; it may be invalid or name arguments
    that the function does not have.
    """


class ChatCompletionMessageToolCallParam(TypedDict, total=False):
    """A tool call that the model made."""

    id: Required[str]
    """The call's id, which the tool's answer repeats as `tool_call_id`."""

    type: Required[Literal["function"]]
    """The kind of tool; only functions exist."""

    function: Required[FunctionCallParam]
    """The function and its arguments."""


class ChatCompletionMessageToolCall(_Model):
    """A tool call that the model made."""

    id: str
    """The call's id, which the tool's answer repeats as `tool_call_id`."""

    type: Literal["function"] = "function"
    """The kind of tool; only functions exist."""

    function: FunctionCall
    """The function and its arguments."""


class ChatCompletionMessageParam(TypedDict, total=False):
    """A message of the conversation so far."""

    role: Required[ChatCompletionRole]
    """Who speaks."""

    content: ChatCompletionMessageContentParam | None
    """What is said. The assistant may leave it out when it calls tools. Required when `role` is
    `system` or `developer` or `user` or `tool`.
    """

    name: str | None
    """A name that tells speakers of the same role apart."""

    tool_calls: Sequence[ChatCompletionMessageToolCallParam] | None
    """The assistant's tool calls."""

    tool_call_id: str | None
    """The call that a tool's message answers. Required when `role` is `tool`."""

    reasoning_content: str | None
    """What the assistant thought before it spoke; a model's template may use it."""


class StreamOptionsParam(TypedDict, total=False):
    """What a stream carries beside the answer."""

    include_usage: bool | None
    """Whether a last chunk, with no choices, carries the usage of the whole request."""


StopParam: TypeAlias = str | Sequence[str]
"""Texts at which the answer ends, before them."""


class FunctionDefinitionParam(TypedDict, total=False):
    """A function that the model may call."""

    name: Required[str]
    """The function's name, by which the model calls it. Length: at least 1."""

    description: str | None
    """What the function does; the model chooses by it when to call."""

    parameters: Mapping[str, object] | None
    """A JSON Schema object for the arguments. Absent: the function takes none."""

    strict: bool | None
    """Whether the arguments are held to the schema while they are generated."""


class ChatCompletionToolParam(TypedDict, total=False):
    """A tool that the model may call."""

    type: Required[Literal["function"]]
    """The kind of tool; only functions exist."""

    function: Required[FunctionDefinitionParam]
    """The function."""


ToolChoiceMode: TypeAlias = Literal["none", "auto", "required"]
"""How free the model is in calling tools."""


class NamedFunctionParam(TypedDict, total=False):
    """A function by its name."""

    name: Required[str]
    """The function's name. Length: at least 1."""


class ChatCompletionNamedToolChoiceParam(TypedDict, total=False):
    """The one tool that the model must call."""

    type: Required[Literal["function"]]
    """The kind of tool; only functions exist."""

    function: Required[NamedFunctionParam]
    """The function to call."""


ToolChoiceParam: TypeAlias = ToolChoiceMode | ChatCompletionNamedToolChoiceParam
"""Which tools the model may or must call."""


class ResponseFormatTextParam(TypedDict, total=False):
    """Any text."""

    type: Required[Literal["text"]]
    """The kind of format."""


JsonSchemaSourceParam: TypeAlias = str | Mapping[str, object]
"""A JSON Schema, as JSON text or as the object itself."""


class ResponseFormatJSONObjectParam(TypedDict, total=False):
    """A JSON object."""

    type: Required[Literal["json_object"]]
    """The kind of format."""

    schema: JsonSchemaSourceParam | None
    """A JSON Schema that the object must match. Absent: any object."""


class JSONSchemaParam(TypedDict, total=False):
    """A JSON Schema with a name."""

    name: Required[str]
    """The schema's name. Length: at least 1 and at most 64."""

    description: str | None
    """What the answer is for; the model may read it."""

    schema: Mapping[str, object] | None
    """The JSON Schema."""

    strict: bool | None
    """Whether a schema is refused that the answer cannot be held to in full. Otherwise what
    cannot be enforced is left out, and `warnings` say so.
    """


class ResponseFormatJSONSchemaParam(TypedDict, total=False):
    """JSON that matches a schema."""

    type: Required[Literal["json_schema"]]
    """The kind of format."""

    json_schema: Required[JSONSchemaParam]
    """The schema."""


class ResponseFormatRegexParam(TypedDict, total=False):
    """Text that a regular expression matches as a whole."""

    type: Required[Literal["regex"]]
    """The kind of format."""

    regex: Required[str]
    """The regular expression, in ECMAScript's syntax. Length: at least 1."""


class ResponseFormatGrammarParam(TypedDict, total=False):
    """Text that a grammar derives."""

    type: Required[Literal["grammar"]]
    """The kind of format."""

    grammar: Required[str]
    """The grammar in GBNF (EBNF as llama.cpp writes it); its first rule is `root`. Length: at
    least 1.
    """


class StructuralTagParam(TypedDict, total=False):
    """A stretch of the answer, between two texts, that has a shape."""

    begin: Required[str]
    """The text that opens the stretch. Length: at least 1."""

    schema: Required[Mapping[str, object]]
    """The JSON Schema."""

    end: Required[str]
    """The text that closes the stretch. Length: at least 1."""


class ResponseFormatStructuralTagParam(TypedDict, total=False):
    """Free text in which tagged stretches have a shape.

    Give either `tags` and `triggers`, or `format`.
    """

    type: Required[Literal["structural_tag"]]
    """The kind of format."""

    tags: Sequence[StructuralTagParam] | None
    """The stretches that may occur. Items: at least 1."""

    triggers: Sequence[str] | None
    """Texts after which a stretch must follow; each tag's `begin` starts with one of them.
    Items: at least 1.
    """

    format: Mapping[str, object] | None
    """A structural tag's format object, in full."""


ResponseFormatParam: TypeAlias = (
    ResponseFormatTextParam
    | ResponseFormatJSONObjectParam
    | ResponseFormatJSONSchemaParam
    | ResponseFormatRegexParam
    | ResponseFormatGrammarParam
    | ResponseFormatStructuralTagParam
)
"""The shape that the answer must have."""


ReasoningEffort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
"""How long a reasoning model thinks before it answers."""


class LoraUseParam(TypedDict, total=False):
    """An adapter of a request."""

    name: Required[str]
    """The name under which it was loaded. Length: at least 1."""

    scale: float | None
    """By how much its change counts. Range: at least -1000 and at most 1000. Default: 1."""


LoraParam: TypeAlias = str | Sequence[LoraUseParam]
"""The adapters of a request: the name of one, or several, whose changes add up."""


SpecialRequest: TypeAlias = Literal["query_engine_metrics"]
"""A request that is no conversation."""


GrammarExecutionMode: TypeAlias = Literal["constraint", "jump_forward"]
"""How a grammar is followed."""


class DebugConfigParam(TypedDict, total=False):
    """Switches for tests and measurements."""

    ignore_eos: bool | None
    """Whether the answer goes on over the end-of-text token. Default: false."""

    pinned_system_prompt: bool | None
    """Whether the whole pages of the prompt stay in the prefix cache until the engine is reset.
    Default: false.
    """

    special_request: SpecialRequest | None
    """Asks for something else than an answer."""

    grammar_execution_mode: GrammarExecutionMode | None
    """How a grammar is followed. Default: `jump_forward`."""


ChatCompletionPredictionTextParam: TypeAlias = str | Sequence[ChatCompletionContentPartTextParam]
"""A predicted text, whole or in parts."""


class ChatCompletionPredictionParam(TypedDict, total=False):
    """A text that the answer probably resembles, such as a file before a small change."""

    type: Required[Literal["content"]]
    """The kind of prediction."""

    content: Required[ChatCompletionPredictionTextParam]
    """The text."""


class ChatCompletionCommonParams(TypedDict, total=False):
    """A conversation, and how the model is to continue it."""

    messages: Required[Sequence[ChatCompletionMessageParam]]
    """The conversation so far, oldest first. Items: at least 1."""

    model: str | None
    """The model to answer. Absent: the engine's own."""

    stream_options: StreamOptionsParam | None
    """Options of the stream."""

    max_tokens: int | None
    """The longest answer. Absent: 4,096. The end of the context may come first. Range: at least
    1. Unit: tokens.
    """

    max_completion_tokens: int | None
    """The newer name of `max_tokens`; it wins when both are given. Absent: `max_tokens`. Range:
    at least 1. Unit: tokens.
    """

    n: int | None
    """How many answers are generated, each on its own. Range: at least 1 and at most 128.
    Default: 1.
    """

    temperature: float | None
    """How far the choice of tokens strays from the likeliest; 0 always takes the likeliest.
    Absent: the model's own default, else 1. Range: at least 0 and at most 2.
    """

    top_p: float | None
    """Keeps the likeliest tokens that together reach this probability; 0 keeps the likeliest
    alone. Absent: the model's own default, else 1. Range: at least 0 and at most 1.
    """

    top_k: int | None
    """Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own
    default, else 0. Range: at least -1. Unit: tokens.
    """

    min_p: float | None
    """Keeps tokens at least this probable, relative to the likeliest. Absent: the model's own
    default, else 0. Range: at least 0 and at most 1.
    """

    frequency_penalty: float | None
    """Lowers a token's logit by this much for each time it occurs in the answer. Absent: the
    model's own default, else 0. Range: at least -2 and at most 2.
    """

    presence_penalty: float | None
    """Lowers a token's logit by this much once it occurs in the answer. Absent: the model's own
    default, else 0. Range: at least -2 and at most 2.
    """

    repetition_penalty: float | None
    """Divides a positive logit, and multiplies a negative one, of tokens that occurred. Absent:
    the model's own default, else 1. Range: above 0 and at most 10.
    """

    top_n_sigma: float | None
    """Keeps tokens whose logit is at most this many standard deviations below the largest; 0 or
    less keeps all. Absent: the model's own default, else 0. Range: at least -1 and at most
    1000.
    """

    xtc_probability: float | None
    """How often (of 1) the likeliest tokens are excluded, all but the last one that
    `xtc_threshold` counts among them. Absent: the model's own default, else 0. Range: at
    least 0 and at most 1.
    """

    xtc_threshold: float | None
    """From which probability on `xtc_probability` counts a token among the likeliest; over 0.5
    there is no second one. Absent: the model's own default, else 0.1. Range: at least 0 and
    at most 1.
    """

    dry_multiplier: float | None
    """Lowers the logit of a token that would go on with a repetition, in prompt and answer: by
    this much times `dry_base` to the power of what the repetition is longer than
    `dry_allowed_length`. Absent: the model's own default, else 0. Range: at least 0 and at
    most 100.
    """

    dry_base: float | None
    """How fast `dry_multiplier` grows with a repetition. Absent: the model's own default, else
    1.75. Range: at least 1 and at most 100.
    """

    dry_allowed_length: int | None
    """`dry_multiplier` begins at repetitions of this length. Absent: the model's own default,
    else 2. Range: at least 1. Unit: tokens.
    """

    dry_penalty_last_n: int | None
    """Among how many of the last tokens `dry_multiplier` looks for repetitions; -1: all, 0:
    none. Absent: the model's own default, else -1. Range: at least -1. Unit: tokens.
    """

    dry_sequence_breakers: Sequence[str] | None
    """A token that contains one of these texts ends repetitions that `dry_multiplier` counts, as
    a special token does. Absent: a line's end, a colon, a quotation mark and an asterisk.
    Length: at least 1. Items: at most 64.
    """

    logit_bias: Mapping[str, float] | Mapping[int, float] | None
    """Adds to the logits of tokens: from token id to bias. Range: at least -100 and at most 100."""

    seed: int | None
    """Makes the answer repeatable: equal requests with equal seeds get equal answers. Absent: a
    random one.
    """

    logprobs: bool | None
    """Whether the chosen tokens' log probabilities are returned. Default: false."""

    top_logprobs: int | None
    """How many of the likeliest tokens are returned at each position; needs `logprobs`. Absent:
    0. Range: at least 0 and at most 20. Unit: tokens.
    """

    stop: StopParam | None
    """Texts at which the answer ends, before them."""

    tool_choice: ToolChoiceParam | None
    """Which tools are called. Absent: `auto` with tools, `none` without."""

    parallel_tool_calls: bool | None
    """Whether one answer may hold several tool calls. Default: true."""

    reasoning_effort: ReasoningEffort | None
    """How long a reasoning model thinks before it answers."""

    reasoning_budget: int | None
    """The longest that a reasoning model thinks; at the limit its thoughts are ended and the
    answer goes on. Absent: no limit. An extension of this engine. Range: at least 0 and at
    most 2147483647. Unit: tokens.
    """

    chat_template_kwargs: Mapping[str, object] | None
    """Further variables for the model's chat template, such as `enable_thinking`."""

    logit_processor: str | None
    """The name of a logit processor that the program has registered with the engine: a function
    that changes the logits before each token. Absent: none. An extension of this engine.
    """

    lora: LoraParam | None
    """The adapters that change the model for this request. Absent: none. An extension of this
    engine.
    """

    user: str | None
    """A label of the end user; it has no effect on the answer."""

    priority: int | None
    """Requests of higher priority are served first and may take the place of running ones of
    lower priority. Each level is worth ten seconds of waiting, so that nobody waits for ever.
    Absent: 0. An extension of this engine. Range: at least -100 and at most 100.
    """

    timeout_ms: int | None
    """The answer must be complete this long after the request came in; else it ends with the
    error `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least
    1 and at most 2147483647. Unit: milliseconds.
    """

    usage_extra: bool | None
    """Whether `usage.extra` carries this request's measurements, such as `ttft_s`. Absent: it
    does in a stream whose `include_usage` is set, as MLC-LLM's. An extension of this engine.
    """

    timings_per_token: bool | None
    """Whether the answer carries `timings`, and in a stream every chunk, as llama.cpp's."""

    return_progress: bool | None
    """Whether a stream begins with chunks that carry `prompt_progress`, as llama.cpp's. They
    have no choices.
    """

    debug_config: DebugConfigParam | None
    """Switches for tests and measurements; a server takes them in debug mode only."""

    metadata: Mapping[str, str] | None
    """Labels of the caller's own; they have no effect."""

    store: bool | None
    """Asks a service to keep the answer; this engine keeps none."""

    service_tier: str | None
    """A service's price class; it has no effect."""

    modalities: Sequence[str] | None
    """The kinds of output that are asked for; only `text` is offered."""

    audio: object | None
    """How spoken output sounds; spoken output is not offered."""

    prediction: ChatCompletionPredictionParam | None
    """A text that the answer will resemble. It makes the answer faster where the two agree, and
    never changes it.
    """

    web_search_options: object | None
    """A search of the web; not offered."""

    functions: object | None
    """The older form of `tools`; use that."""

    function_call: object | None
    """The older form of `tool_choice`; use that."""


class ChatCompletionCreateParams(ChatCompletionCommonParams, total=False):
    """A conversation, and how the model is to continue it."""

    tools: Sequence[ChatCompletionToolParam] | None
    """The tools that the model may call. Items: at most 128."""

    response_format: ResponseFormatParam | None
    """The shape that the answer must have. Absent: any text."""


class ChatCompletionRequestParam(ChatCompletionCreateParams, total=False):
    """A conversation, and how the model is to continue it."""

    stream: bool | None
    """Whether the answer comes in chunks while it is generated. Default: false."""


PromptItemParam: TypeAlias = str | int | Sequence[int]
"""One prompt of several, or one token of a prompt."""


PromptParam: TypeAlias = str | Sequence[PromptItemParam]
"""What is to be continued or embedded: a text, several texts, token ids, or lists of those."""


class CompletionCreateParams(TypedDict, total=False):
    """A text, and how the model is to continue it."""

    prompt: Required[PromptParam]
    """What is to be continued."""

    model: str | None
    """The model to answer. Absent: the engine's own."""

    suffix: str | None
    """The text that follows what is inserted. Absent: the text is only continued."""

    echo: bool | None
    """Whether the answer begins with the prompt. Default: false."""

    best_of: int | None
    """How many answers are generated to return the best `n`. Absent: `n`. Range: at least 1 and
    at most 128.
    """

    stream_options: StreamOptionsParam | None
    """Options of the stream."""

    max_tokens: int | None
    """The longest answer. Range: at least 0. Default: 16. Unit: tokens."""

    n: int | None
    """How many answers are generated, each on its own. Range: at least 1 and at most 128.
    Default: 1.
    """

    temperature: float | None
    """How far the choice of tokens strays from the likeliest; 0 always takes the likeliest.
    Absent: the model's own default, else 1. Range: at least 0 and at most 2.
    """

    top_p: float | None
    """Keeps the likeliest tokens that together reach this probability; 0 keeps the likeliest
    alone. Absent: the model's own default, else 1. Range: at least 0 and at most 1.
    """

    top_k: int | None
    """Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own
    default, else 0. Range: at least -1. Unit: tokens.
    """

    min_p: float | None
    """Keeps tokens at least this probable, relative to the likeliest. Absent: the model's own
    default, else 0. Range: at least 0 and at most 1.
    """

    frequency_penalty: float | None
    """Lowers a token's logit by this much for each time it occurs in the answer. Absent: the
    model's own default, else 0. Range: at least -2 and at most 2.
    """

    presence_penalty: float | None
    """Lowers a token's logit by this much once it occurs in the answer. Absent: the model's own
    default, else 0. Range: at least -2 and at most 2.
    """

    repetition_penalty: float | None
    """Divides a positive logit, and multiplies a negative one, of tokens that occurred. Absent:
    the model's own default, else 1. Range: above 0 and at most 10.
    """

    top_n_sigma: float | None
    """Keeps tokens whose logit is at most this many standard deviations below the largest; 0 or
    less keeps all. Absent: the model's own default, else 0. Range: at least -1 and at most
    1000.
    """

    xtc_probability: float | None
    """How often (of 1) the likeliest tokens are excluded, all but the last one that
    `xtc_threshold` counts among them. Absent: the model's own default, else 0. Range: at
    least 0 and at most 1.
    """

    xtc_threshold: float | None
    """From which probability on `xtc_probability` counts a token among the likeliest; over 0.5
    there is no second one. Absent: the model's own default, else 0.1. Range: at least 0 and
    at most 1.
    """

    dry_multiplier: float | None
    """Lowers the logit of a token that would go on with a repetition, in prompt and answer: by
    this much times `dry_base` to the power of what the repetition is longer than
    `dry_allowed_length`. Absent: the model's own default, else 0. Range: at least 0 and at
    most 100.
    """

    dry_base: float | None
    """How fast `dry_multiplier` grows with a repetition. Absent: the model's own default, else
    1.75. Range: at least 1 and at most 100.
    """

    dry_allowed_length: int | None
    """`dry_multiplier` begins at repetitions of this length. Absent: the model's own default,
    else 2. Range: at least 1. Unit: tokens.
    """

    dry_penalty_last_n: int | None
    """Among how many of the last tokens `dry_multiplier` looks for repetitions; -1: all, 0:
    none. Absent: the model's own default, else -1. Range: at least -1. Unit: tokens.
    """

    dry_sequence_breakers: Sequence[str] | None
    """A token that contains one of these texts ends repetitions that `dry_multiplier` counts, as
    a special token does. Absent: a line's end, a colon, a quotation mark and an asterisk.
    Length: at least 1. Items: at most 64.
    """

    logit_bias: Mapping[str, float] | Mapping[int, float] | None
    """Adds to the logits of tokens: from token id to bias. Range: at least -100 and at most 100."""

    seed: int | None
    """Makes the answer repeatable: equal requests with equal seeds get equal answers. Absent: a
    random one.
    """

    logprobs: int | None
    """How many of the likeliest tokens are returned at each position, beside the chosen one.
    Absent: none. Range: at least 0 and at most 5. Unit: tokens.
    """

    stop: StopParam | None
    """Texts at which the answer ends, before them."""

    response_format: ResponseFormatParam | None
    """The shape that the answer must have. Absent: any text."""

    logit_processor: str | None
    """The name of a logit processor that the program has registered with the engine: a function
    that changes the logits before each token. Absent: none. An extension of this engine.
    """

    lora: LoraParam | None
    """The adapters that change the model for this request. Absent: none. An extension of this
    engine.
    """

    user: str | None
    """A label of the end user; it has no effect on the answer."""

    priority: int | None
    """Requests of higher priority are served first, as in chats. Absent: 0. An extension of this
    engine. Range: at least -100 and at most 100.
    """

    timeout_ms: int | None
    """The answer must be complete this long after the request came in; else it ends with the
    error `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least
    1 and at most 2147483647. Unit: milliseconds.
    """

    timings_per_token: bool | None
    """Whether the answer carries `timings`, and in a stream every chunk, as llama.cpp's."""

    return_progress: bool | None
    """Whether a stream begins with chunks that carry `prompt_progress`, as llama.cpp's. They
    have no choices.
    """

    debug_config: DebugConfigParam | None
    """Switches for tests and measurements; a server takes them in debug mode only."""


class CompletionRequestParam(CompletionCreateParams, total=False):
    """A text, and how the model is to continue it."""

    stream: bool | None
    """Whether the answer comes in chunks while it is generated. Default: false."""


EmbeddingEncoding: TypeAlias = Literal["float", "base64"]
"""How a vector is written."""


class EmbeddingCreateParams(TypedDict, total=False):
    """Texts of which vectors are wanted."""

    input: Required[PromptParam]
    """A text, several texts, or their token ids."""

    model: str | None
    """The model to use. Absent: the engine's own."""

    encoding_format: EmbeddingEncoding | None
    """How the vectors are written. Default: `float`."""

    dimensions: int | None
    """How many numbers of each vector are kept. Absent: all that the model gives. Range: at
    least 1.
    """

    user: str | None
    """A label of the end user; it has no effect."""

    priority: int | None
    """Requests of higher priority are served first, as in chats. Absent: 0. An extension of this
    engine. Range: at least -100 and at most 100.
    """

    timeout_ms: int | None
    """The answer must be complete this long after the request came in; else it ends with the
    error `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least
    1 and at most 2147483647. Unit: milliseconds.
    """


class EmbeddingRequestParam(EmbeddingCreateParams, total=False):
    """Texts of which vectors are wanted."""


class RerankDocumentParam(TypedDict, total=False):
    """A document as an object."""

    text: Required[str]
    """The document's text."""


class RerankDocument(_Model):
    """A document as an object."""

    text: str
    """The document's text."""


RerankInputParam: TypeAlias = str | RerankDocumentParam
"""A document to be judged: its text, or an object with the text."""


class RerankCreateParams(TypedDict, total=False):
    """A query, and the documents of which the best ones are wanted."""

    query: Required[str]
    """What the documents are judged by. Length: at least 1."""

    documents: Required[Sequence[RerankInputParam]]
    """The documents: texts, or objects with a text. Items: at least 1 and at most 10000."""

    model: str | None
    """The model to use. Absent: the engine's own."""

    top_n: int | None
    """How many results are returned, the best first. Absent: one for each document. Range: at
    least 1.
    """

    return_documents: bool | None
    """Whether each result holds its document. Default: false."""

    max_tokens_per_doc: int | None
    """How many tokens of each document are read at most. Absent: as many as fit beside the
    query. Range: at least 1. Unit: tokens.
    """

    truncate: bool | None
    """Whether the end of a document is left out that does not fit beside the query. False: such
    a request is refused. An extension of this engine. Default: true.
    """

    raw_scores: bool | None
    """Whether scores are the model's own numbers, of any size, instead of numbers from 0 to 1.
    An extension of this engine. Default: false.
    """

    priority: int | None
    """Requests of higher priority are served first, as in chats. Absent: 0. An extension of this
    engine. Range: at least -100 and at most 100.
    """

    timeout_ms: int | None
    """The answer must be complete this long after the request came in; else it ends with the
    error `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least
    1 and at most 2147483647. Unit: milliseconds.
    """


class RerankRequestParam(RerankCreateParams, total=False):
    """A query, and the documents of which the best ones are wanted."""


class TokenizeRequestParam(TypedDict, total=False):
    """A text of which the tokens are wanted."""

    text: Required[str]
    """The text."""

    add_special_tokens: bool | None
    """Whether the tokens are added that the model expects around a whole text. Default: false."""


class DetokenizeRequestParam(TypedDict, total=False):
    """Tokens of which the text is wanted."""

    tokens: Required[Sequence[int]]
    """The token ids. Range: at least 0."""

    skip_special_tokens: bool | None
    """Whether special tokens leave no text. Default: true."""


class KVSaveRequestParam(TypedDict, total=False):
    """A conversation whose state is to be saved: `messages` or `prompt_tokens`."""

    path: Required[str]
    """The file to write, on the engine's machine; an older one is replaced. Length: at least 1."""

    messages: Sequence[ChatCompletionMessageParam] | None
    """The conversation, as a request would send it. Absent: `prompt_tokens` is given. Items: at
    least 1.
    """

    chat_template_kwargs: Mapping[str, object] | None
    """Further variables for the model's chat template, as the request would send them."""

    prompt_tokens: Sequence[int] | None
    """The prompt's token ids. Absent: `messages` is given. Range: at least 0. Items: at least 1.
    Unit: tokens.
    """


class KVLoadRequestParam(TypedDict, total=False):
    """A saved state that requests are to find."""

    path: Required[str]
    """The file to read, on the engine's machine. Length: at least 1."""


class KVHeldRequestParam(TypedDict, total=False):
    """A request whose prompts are looked up in the prefix cache: `chat` or `completion`. Nothing
    is computed.
    """

    chat: ChatCompletionRequestParam | None
    """A chat, as it would be sent. Absent: `completion` is given."""

    completion: CompletionRequestParam | None
    """A text to continue, as it would be sent. Absent: `chat` is given."""


TrimLevel: TypeAlias = Literal["caches", "pages", "all"]
"""How much memory is given back; each level includes those before it."""


class TrimRequestParam(TypedDict, total=False):
    """How much memory the engine gives back."""

    level: TrimLevel | None
    """How much. Default: `caches`."""


class PrewarmRequestParam(TypedDict, total=False):
    """What is made ready before the first request."""

    step: bool | None
    """Whether a step of one token is computed; its result is thrown away. Default: true."""


ThermalState: TypeAlias = Literal["nominal", "fair", "serious", "critical"]
"""How hot a device is, by iOS's names. Answers stay the same in every state."""


class ThermalHintParam(TypedDict, total=False):
    """How hot the device is."""

    state: Required[ThermalState]
    """The state."""


class AdapterLoadRequestParam(TypedDict, total=False):
    """An adapter that requests may choose from now on."""

    name: Required[str]
    """The name that requests use. One that is loaded already is replaced; its requests go on
    with it. Length: at least 1 and at most 256.
    """

    path: Required[str]
    """The adapter's file, on the engine's machine; `mlc_llm convert_adapter` makes it of other
    formats. Length: at least 1.
    """


class AdapterUnloadRequestParam(TypedDict, total=False):
    """An adapter that no new request may choose; its requests go on with it."""

    name: Required[str]
    """Its name. Length: at least 1."""


class AdapterListRequestParam(TypedDict, total=False):
    """Which adapters are asked for."""

    name: str | None
    """The adapter of this name alone. Absent: all. Length: at least 1."""


class DirectoriesParam(TypedDict, total=False):
    """The folders that a program gives to the engine, for the whole process."""

    cache: str | None
    """For files that are kept, such as compiled GPU programs. Absent: `MLC_LLM_HOME`, or
    `mlc_llm` in the user's cache folder. Length: at least 1.
    """

    temporary: str | None
    """For files that are removed again. Absent: `cache` if it is given, else the system's folder
    for temporary files. Length: at least 1.
    """

    libraries: Sequence[str] | None
    """Where model libraries and device backends also are. Absent: nowhere else. Length: at least
    1.
    """


class ModelLoadRequestParam(TypedDict, total=False):
    """Which model an engine loads."""

    model: Required[str]
    """The model's folder, which holds `mlc-chat-config.json`, weights and tokenizer."""

    model_lib: str | None
    """The compiled library: a file, or the name of one among the app's libraries or linked into
    the program. Absent: the one in the folder `lib` of the model's folder.
    """

    device: str | None
    """Where the model runs, such as `cpu:0`; `auto` takes the first device there is. Default:
    `auto`.
    """

    name: str | None
    """The model's name in answers. Absent: the folder's."""


EngineMode: TypeAlias = Literal["local", "interactive", "server"]
"""What the engine is for, which sets its other defaults."""


KVCacheDType: TypeAlias = Literal["f32", "f16", "bf16", "q8"]
"""The precision of cached keys and values."""


PrefillMode: TypeAlias = Literal["hybrid", "chunked"]
"""How prompts are taken in beside running answers."""


EmbeddingPooling: TypeAlias = Literal["mean", "last", "cls"]
"""Which hidden states of a text make its vector."""


PrefixCacheMode: TypeAlias = Literal["radix", "disable"]
"""Whether what was computed is kept for requests that begin alike."""


SpeculativeMode: TypeAlias = Literal[
    "disable", "small_draft", "prompt_lookup", "mtp", "eagle", "medusa"
]
"""How tokens are drafted ahead of the model."""


class EngineConfigParam(TypedDict, total=False):
    """How an engine runs a model; what is absent follows from the mode, model and memory."""

    mode: EngineMode | None
    """What the engine is for. Absent: `local`."""

    max_num_sequence: int | None
    """How many sequences are generated at the same time. Absent: by the mode. Range: at least 1."""

    max_total_seq_length: int | None
    """The capacity of the KV cache, all sequences together. Absent: by the mode. Range: at least
    1. Unit: tokens.
    """

    kv_cache_bytes: int | None
    """The capacity of the KV cache, said in memory. Absent: by the mode. Range: at least 1.
    Unit: bytes.
    """

    kv_cache_dtype: KVCacheDType | None
    """The precision of cached keys and values. It is compiled into the model library, so a
    library that is given must have the same. Absent: the library's own.
    """

    memory_limit_bytes: int | None
    """The most that weights, KV cache and temporaries may take. Absent: what is free. Range: at
    least 1. Unit: bytes.
    """

    gpu_memory_utilization: float | None
    """The share of the device's memory that may be used. Absent: 0.85. Range: above 0 and at
    most 1.
    """

    context_window_size: int | None
    """The longest sequence. Absent: the model's own. Range: at least 1. Unit: tokens."""

    sliding_window_size: int | None
    """How far back attention reaches; -1 is all the way. Absent: the model's own. Range: at
    least -1. Unit: tokens.
    """

    attention_sink_size: int | None
    """How many first tokens stay in reach of a sliding window. Absent: the model's own. Range:
    at least 0. Unit: tokens.
    """

    prefill_chunk_size: int | None
    """The most tokens of prompts that one step takes in; it takes fewer where that many would
    last long. Absent: the model's own, and at most 512 on a CPU for a model without pictures.
    Range: at least 1. Unit: tokens.
    """

    prefill_mode: PrefillMode | None
    """How prompts are taken in beside running answers. Absent: `hybrid`."""

    max_queued_requests: int | None
    """How many requests may wait for their turn; more are refused with the error `queue_full`.
    Absent: 1024. Range: at least 1 and at most 1000000.
    """

    enable_tracing: bool | None
    """Whether the engine records what it does for the route `trace`, in Chrome's trace format.
    Absent: false.
    """

    embedding_pooling: EmbeddingPooling | None
    """Which hidden states make the vectors of the route `embeddings`. Absent: what the model's
    mlc-chat-config.json says under the same name, else `mean`.
    """

    openai_last_chunk: bool | None
    """Whether the last chunk of a chat's answer has an empty `delta`, as OpenAI's own has.
    Absent: false; its `content` is then an empty text, as MLC-LLM's is.
    """

    refuse_unknown_fields: bool | None
    """Whether a request with a member that no field has is refused, with its path; for programs
    that write their JSON by hand, as in C. Absent: false; such members are ignored.
    """

    max_history_size: int | None
    """How many states a recurrent model keeps to roll back to. Absent: 1. Range: at least 1."""

    prefix_cache_mode: PrefixCacheMode | None
    """Whether what was computed is kept for requests that begin alike. Absent: `radix`."""

    prefix_cache_max_num_recycling_seqs: int | None
    """How many finished sequences are kept; -1 is as many as the pages hold. Absent: -1. Range:
    at least -1.
    """

    prefix_cache_dir: str | None
    """A folder in which the prefix cache is kept in files too, so that it is there after a
    restart; processes may share it. Its files tell what the prompts were. Without effect for
    encoders and with `prefix_cache_mode` `disable`; refused in browsers. Absent: none.
    """

    prefix_cache_ram_bytes: int | None
    """Of a GPU's engine, the most of the host's memory that keeps what the prefix cache on the
    device has to drop, and gives it back when a prompt begins alike; 0 is none. Refused on
    CPUs, whose KV cache is in that memory, and in browsers. Absent: twice the KV cache and at
    most a quarter of what the host has free, on devices with a memory of their own; else 0.
    Range: at least 0. Unit: bytes.
    """

    prefix_cache_dir_bytes: int | None
    """The most that these files may take; the ones that were not used for the longest time go
    first. Absent: 8 GiB. Range: at least 1. Unit: bytes.
    """

    prefix_cache_dir_days: int | None
    """After how many days without use a file is removed. Absent: 30. Range: at least 1 and at
    most 36500. Unit: days.
    """

    speculative_mode: SpeculativeMode | None
    """How tokens are drafted ahead; the answers are the same with and without. Each mode but
    `disable` also looks up what followed the last tokens earlier, and drafts what is better.
    Absent: on CPUs, by the model's own MTP layer, Eagle layer, Medusa heads or Gemma 4's
    assistant, if it has one, texts keep most of their memory, and `mode` is not `server`;
    else `disable`.
    """

    additional_models: Sequence[str] | None
    """The draft model of `small_draft`, which must have the same vocabulary: `MODEL` or
    `MODEL,LIBRARY`.
    """

    mmproj: str | None
    """The GGUF file with the tower of a GGUF model, as llama.cpp's `--mmproj`; `none` is the
    text alone. For the Python package, which converts such models; refused elsewhere. Absent:
    the one beside the model.
    """

    spec_draft_length: int | None
    """How many tokens are drafted a step; 0 adapts to how many are accepted. It needs a
    `speculative_mode`, or a part that drafts without one. Absent: 0. Range: at least 0. Unit:
    tokens.
    """

    jump_forward: bool | None
    """Whether text that a grammar forces is computed ahead. The answers are the same with and
    without. Absent: true.
    """

    spec_tree_width: int | None
    """Over 1, drafts form a tree that is verified in one step: at most so many at each depth,
    `spec_draft_length` deep, 63 in all. The answers are the same. Over 1 it needs a
    `speculative_mode`, or a part that drafts without one. Absent: 1. Range: at least 1 and at
    most 16.
    """

    tensor_parallel_shards: int | None
    """Among how many shards each layer is divided: groups of CPU threads, or GPUs. Absent: the
    model's own. Range: at least 1.
    """

    pipeline_parallel_stages: int | None
    """Over how many groups of devices the layers are spread. Absent: the model's own. Range: at
    least 1.
    """

    lora_ranks: int | None
    """Room for the adapters that requests choose, in ranks: four adapters of rank 16 take 64. A
    library that is given must be compiled with `--lora`. Absent: 0, which is no room. Range:
    at least 0 and at most 65536.
    """

    lora_bytes: int | None
    """The most memory that this room may take; an engine whose `lora_ranks` take more is
    refused, and the error says how many fit. Absent: what the ranks take. Range: at least 1.
    Unit: bytes.
    """

    max_loras: int | None
    """How many adapters may be loaded at the same time. Absent: as many as the ranks hold.
    Range: at least 1 and at most 65536.
    """

    num_threads: int | None
    """Worker threads on the CPU. Absent: the physical cores that are free. Range: at least 1 and
    at most 1024.
    """


class EngineConfig(_Config):
    """How an engine runs a model; what is absent follows from the mode, model and memory."""

    mode: EngineMode | None = None
    """What the engine is for. Absent: `local`."""

    max_num_sequence: int | None = None
    """How many sequences are generated at the same time. Absent: by the mode. Range: at least 1."""

    max_total_seq_length: int | None = None
    """The capacity of the KV cache, all sequences together. Absent: by the mode. Range: at least
    1. Unit: tokens.
    """

    kv_cache_bytes: int | None = None
    """The capacity of the KV cache, said in memory. Absent: by the mode. Range: at least 1.
    Unit: bytes.
    """

    kv_cache_dtype: KVCacheDType | None = None
    """The precision of cached keys and values. It is compiled into the model library, so a
    library that is given must have the same. Absent: the library's own.
    """

    memory_limit_bytes: int | None = None
    """The most that weights, KV cache and temporaries may take. Absent: what is free. Range: at
    least 1. Unit: bytes.
    """

    gpu_memory_utilization: float | None = None
    """The share of the device's memory that may be used. Absent: 0.85. Range: above 0 and at
    most 1.
    """

    context_window_size: int | None = None
    """The longest sequence. Absent: the model's own. Range: at least 1. Unit: tokens."""

    sliding_window_size: int | None = None
    """How far back attention reaches; -1 is all the way. Absent: the model's own. Range: at
    least -1. Unit: tokens.
    """

    attention_sink_size: int | None = None
    """How many first tokens stay in reach of a sliding window. Absent: the model's own. Range:
    at least 0. Unit: tokens.
    """

    prefill_chunk_size: int | None = None
    """The most tokens of prompts that one step takes in; it takes fewer where that many would
    last long. Absent: the model's own, and at most 512 on a CPU for a model without pictures.
    Range: at least 1. Unit: tokens.
    """

    prefill_mode: PrefillMode | None = None
    """How prompts are taken in beside running answers. Absent: `hybrid`."""

    max_queued_requests: int | None = None
    """How many requests may wait for their turn; more are refused with the error `queue_full`.
    Absent: 1024. Range: at least 1 and at most 1000000.
    """

    enable_tracing: bool | None = None
    """Whether the engine records what it does for the route `trace`, in Chrome's trace format.
    Absent: false.
    """

    embedding_pooling: EmbeddingPooling | None = None
    """Which hidden states make the vectors of the route `embeddings`. Absent: what the model's
    mlc-chat-config.json says under the same name, else `mean`.
    """

    openai_last_chunk: bool | None = None
    """Whether the last chunk of a chat's answer has an empty `delta`, as OpenAI's own has.
    Absent: false; its `content` is then an empty text, as MLC-LLM's is.
    """

    refuse_unknown_fields: bool | None = None
    """Whether a request with a member that no field has is refused, with its path; for programs
    that write their JSON by hand, as in C. Absent: false; such members are ignored.
    """

    max_history_size: int | None = None
    """How many states a recurrent model keeps to roll back to. Absent: 1. Range: at least 1."""

    prefix_cache_mode: PrefixCacheMode | None = None
    """Whether what was computed is kept for requests that begin alike. Absent: `radix`."""

    prefix_cache_max_num_recycling_seqs: int | None = None
    """How many finished sequences are kept; -1 is as many as the pages hold. Absent: -1. Range:
    at least -1.
    """

    prefix_cache_dir: str | None = None
    """A folder in which the prefix cache is kept in files too, so that it is there after a
    restart; processes may share it. Its files tell what the prompts were. Without effect for
    encoders and with `prefix_cache_mode` `disable`; refused in browsers. Absent: none.
    """

    prefix_cache_ram_bytes: int | None = None
    """Of a GPU's engine, the most of the host's memory that keeps what the prefix cache on the
    device has to drop, and gives it back when a prompt begins alike; 0 is none. Refused on
    CPUs, whose KV cache is in that memory, and in browsers. Absent: twice the KV cache and at
    most a quarter of what the host has free, on devices with a memory of their own; else 0.
    Range: at least 0. Unit: bytes.
    """

    prefix_cache_dir_bytes: int | None = None
    """The most that these files may take; the ones that were not used for the longest time go
    first. Absent: 8 GiB. Range: at least 1. Unit: bytes.
    """

    prefix_cache_dir_days: int | None = None
    """After how many days without use a file is removed. Absent: 30. Range: at least 1 and at
    most 36500. Unit: days.
    """

    speculative_mode: SpeculativeMode | None = None
    """How tokens are drafted ahead; the answers are the same with and without. Each mode but
    `disable` also looks up what followed the last tokens earlier, and drafts what is better.
    Absent: on CPUs, by the model's own MTP layer, Eagle layer, Medusa heads or Gemma 4's
    assistant, if it has one, texts keep most of their memory, and `mode` is not `server`;
    else `disable`.
    """

    additional_models: list[str] | None = None
    """The draft model of `small_draft`, which must have the same vocabulary: `MODEL` or
    `MODEL,LIBRARY`.
    """

    mmproj: str | None = None
    """The GGUF file with the tower of a GGUF model, as llama.cpp's `--mmproj`; `none` is the
    text alone. For the Python package, which converts such models; refused elsewhere. Absent:
    the one beside the model.
    """

    spec_draft_length: int | None = None
    """How many tokens are drafted a step; 0 adapts to how many are accepted. It needs a
    `speculative_mode`, or a part that drafts without one. Absent: 0. Range: at least 0. Unit:
    tokens.
    """

    jump_forward: bool | None = None
    """Whether text that a grammar forces is computed ahead. The answers are the same with and
    without. Absent: true.
    """

    spec_tree_width: int | None = None
    """Over 1, drafts form a tree that is verified in one step: at most so many at each depth,
    `spec_draft_length` deep, 63 in all. The answers are the same. Over 1 it needs a
    `speculative_mode`, or a part that drafts without one. Absent: 1. Range: at least 1 and at
    most 16.
    """

    tensor_parallel_shards: int | None = None
    """Among how many shards each layer is divided: groups of CPU threads, or GPUs. Absent: the
    model's own. Range: at least 1.
    """

    pipeline_parallel_stages: int | None = None
    """Over how many groups of devices the layers are spread. Absent: the model's own. Range: at
    least 1.
    """

    lora_ranks: int | None = None
    """Room for the adapters that requests choose, in ranks: four adapters of rank 16 take 64. A
    library that is given must be compiled with `--lora`. Absent: 0, which is no room. Range:
    at least 0 and at most 65536.
    """

    lora_bytes: int | None = None
    """The most memory that this room may take; an engine whose `lora_ranks` take more is
    refused, and the error says how many fit. Absent: what the ranks take. Range: at least 1.
    Unit: bytes.
    """

    max_loras: int | None = None
    """How many adapters may be loaded at the same time. Absent: as many as the ranks hold.
    Range: at least 1 and at most 65536.
    """

    num_threads: int | None = None
    """Worker threads on the CPU. Absent: the physical cores that are free. Range: at least 1 and
    at most 1024.
    """


class ChatCompletionMessage(_Model):
    """The model's answer."""

    _nulls: ClassVar[frozenset[str]] = frozenset({"content", "refusal"})

    role: Literal["assistant"] = "assistant"
    """Always the assistant."""

    content: str | None = None
    """The answer's text; null when it consists of tool calls."""

    refusal: str | None = None
    """Why the model refused to answer."""

    reasoning_content: str | None = None
    """What the model thought before it answered."""

    tool_calls: list[ChatCompletionMessageToolCall] | None = None
    """The tools that the model calls."""


class TopLogprob(_Model):
    """One of the likeliest tokens at a position."""

    _nulls: ClassVar[frozenset[str]] = frozenset({"bytes"})

    token: str
    """The token's text."""

    logprob: float
    """Its log probability; -9999 when it is too small to tell."""

    bytes: list[int] | None = None
    """The UTF-8 bytes of the token, which may be a part of a character."""


class ChatCompletionTokenLogprob(_Model):
    """A token of the answer and the likeliest ones in its place."""

    _nulls: ClassVar[frozenset[str]] = frozenset({"bytes"})

    token: str
    """The token's text."""

    logprob: float
    """Its log probability; -9999 when it is too small to tell."""

    bytes: list[int] | None = None
    """The UTF-8 bytes of the token, which may be a part of a character."""

    top_logprobs: list[TopLogprob]
    """The likeliest tokens here, likeliest first."""


class ChoiceLogprobs(_Model):
    """The log probabilities of an answer."""

    _nulls: ClassVar[frozenset[str]] = frozenset({"content", "refusal"})

    content: list[ChatCompletionTokenLogprob] | None = None
    """One entry for each token of the content."""

    refusal: list[ChatCompletionTokenLogprob] | None = None
    """One entry for each token of a refusal."""


FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "error"] | str
"""Why an answer ended."""


class Choice(_Model):
    """One of the answers."""

    _nulls: ClassVar[frozenset[str]] = frozenset({"logprobs"})

    index: int
    """Which of the `n` answers this is, from 0. Range: at least 0."""

    message: ChatCompletionMessage
    """The answer."""

    logprobs: ChoiceLogprobs | None = None
    """The log probabilities, when they were asked for."""

    finish_reason: FinishReason
    """Why the answer ended."""

    stop_reason: str | None = None
    """The stop text that ended the answer, as vLLM gives it; absent if none did."""


class PromptTokensDetails(_Model):
    """What the prompt's tokens were."""

    cached_tokens: int | None = None
    """How many were found in the prefix cache. Range: at least 0. Unit: tokens."""


class CompletionTokensDetails(_Model):
    """What the answer's tokens were."""

    reasoning_tokens: int | None = None
    """How many the model spent thinking. Range: at least 0. Unit: tokens."""

    accepted_prediction_tokens: int | None = None
    """How many came from the request's `prediction`. Absent without one. Range: at least 0.
    Unit: tokens.
    """

    rejected_prediction_tokens: int | None = None
    """How many of the `prediction` were tried and differ from the answer. Absent without one.
    Range: at least 0. Unit: tokens.
    """


class CompletionUsageExtra(_Measurements):
    """Measurements of a request, under MLC-LLM's names."""

    prompt_tokens: int | None = None
    """The length of the prompt. Range: at least 0. Unit: tokens."""

    completion_tokens: int | None = None
    """The length of the answers. Range: at least 0. Unit: tokens."""

    prefill_tokens: int | None = None
    """How much of the prompt the model read; the rest was cached. Range: at least 0. Unit:
    tokens.
    """

    decode_tokens: int | None = None
    """The tokens that were generated one by one. Range: at least 0. Unit: tokens."""

    jump_forward_tokens: int | None = None
    """The tokens that a grammar forced, without the model. Range: at least 0. Unit: tokens."""

    prefill_tokens_per_s: float | None = None
    """How fast the prompt was read. Range: at least 0. Unit: tokens per second."""

    decode_tokens_per_s: float | None = None
    """How fast the answer was generated. Range: at least 0. Unit: tokens per second."""

    ttft_s: float | None = None
    """From the request to its first token. Range: at least 0. Unit: seconds."""

    inter_token_latency_s: float | None = None
    """The mean time from token to token. Range: at least 0. Unit: seconds."""

    end_to_end_latency_s: float | None = None
    """From the request to its last token. Range: at least 0. Unit: seconds."""

    drafted_tokens: int | None = None
    """The tokens that were guessed ahead, by any kind of draft. Absent if there was none. Range:
    at least 0. Unit: tokens.
    """

    accepted_draft_tokens: int | None = None
    """Of them those that are in the answer. Range: at least 0. Unit: tokens."""

    draft_gain: float | None = None
    """How many times as fast the answer was generated as it would have been without drafts, by
    the measured times of steps. Range: at least 0.
    """


class CompletionUsage(_Model):
    """What a request cost."""

    prompt_tokens: int
    """The length of the prompt. Range: at least 0. Unit: tokens."""

    completion_tokens: int
    """The length of all the answers together. Range: at least 0. Unit: tokens."""

    total_tokens: int
    """The sum of the two. Range: at least 0. Unit: tokens."""

    prompt_tokens_details: PromptTokensDetails | None = None
    """What the prompt's tokens were."""

    completion_tokens_details: CompletionTokensDetails | None = None
    """What the answer's tokens were."""

    extra: CompletionUsageExtra | None = None
    """Measurements of this request, when they were asked for."""


class Timings(_Model):
    """Where the time of a request went so far, under llama.cpp's names."""

    cache_n: int
    """How much of the prompt was cached. Range: at least 0. Unit: tokens."""

    prompt_n: int
    """How much of the prompt the model read. Range: at least 0. Unit: tokens."""

    prompt_ms: float
    """How long that took. Range: at least 0. Unit: milliseconds."""

    prompt_per_token_ms: float
    """The same for each token. Range: at least 0. Unit: milliseconds."""

    prompt_per_second: float
    """How fast the prompt was read. Range: at least 0. Unit: tokens per second."""

    predicted_n: int
    """The tokens that were generated. Range: at least 0. Unit: tokens."""

    predicted_ms: float
    """From the first of them to the last. Range: at least 0. Unit: milliseconds."""

    predicted_per_token_ms: float
    """The mean time from token to token. Range: at least 0. Unit: milliseconds."""

    predicted_per_second: float
    """How fast they were generated. Range: at least 0. Unit: tokens per second."""

    draft_n: int | None = None
    """The tokens that were guessed ahead, if any. Range: at least 0. Unit: tokens."""

    draft_n_accepted: int | None = None
    """Of them those that are in the answer. Range: at least 0. Unit: tokens."""


class SchemaWarning(_Model):
    """What a schema says and the answer was not held to."""

    param: str
    """The field of the request that holds the schema."""

    path: str
    """The JSON pointer of the keyword in the schema."""

    message: str
    """Why it is left out."""


class ChatCompletion(_Model):
    """The answers to a request."""

    id: str
    """The request's id."""

    object: Literal["chat.completion"] = "chat.completion"
    """The kind of object."""

    created: int
    """When it was made. Range: at least 0. Unit: seconds since 1970, UTC."""

    model: str
    """The model that answered."""

    choices: list[Choice]
    """The `n` answers."""

    usage: CompletionUsage | None = None
    """What the request cost."""

    timings: Timings | None = None
    """Where the time went so far, when `timings_per_token` asks for it."""

    warnings: list[SchemaWarning] | None = None
    """What schemas of the request say and the answer was not held to."""

    system_fingerprint: str | None = None
    """Names the configuration that answered; equal ones answer a seed equally."""


ToolType: TypeAlias = Literal["function"] | str
"""The kind of a tool."""


class ChoiceDeltaFunctionCall(_Model):
    """A piece of a function call."""

    name: str | None = None
    """The function's name, in the call's first piece."""

    arguments: str | None = None
    """The next piece of the arguments' JSON text."""


class ChoiceDeltaToolCall(_Model):
    """A piece of a tool call."""

    index: int
    """Which of the message's calls this piece belongs to. Range: at least 0."""

    id: str | None = None
    """The call's id, in its first piece."""

    type: ToolType | None = None
    """The kind of tool, in the call's first piece."""

    function: ChoiceDeltaFunctionCall | None = None
    """The function's piece."""


class ChoiceDelta(_Model):
    """What a chunk adds to an answer."""

    role: ChatCompletionRole | str | None = None
    """Who speaks, in an answer's first chunk."""

    content: str | None = None
    """The next piece of the text; whole characters only. Never absent in an answer's last chunk,
    where it may be empty, unless the engine's `openai_last_chunk` is set.
    """

    reasoning_content: str | None = None
    """The next piece of what the model thinks."""

    refusal: str | None = None
    """The next piece of a refusal."""

    tool_calls: list[ChoiceDeltaToolCall] | None = None
    """The next pieces of tool calls."""


class ChunkChoice(_Model):
    """A piece of one of the answers."""

    _nulls: ClassVar[frozenset[str]] = frozenset({"logprobs", "finish_reason"})

    index: int
    """Which of the `n` answers this belongs to, from 0. Range: at least 0."""

    delta: ChoiceDelta
    """What is added."""

    logprobs: ChoiceLogprobs | None = None
    """The log probabilities of the tokens that are added."""

    finish_reason: FinishReason | None = None
    """Why the answer ended; null until its last chunk."""

    stop_reason: str | None = None
    """The stop text that ended the answer, as vLLM gives it; absent if none did."""


class PromptProgress(_Model):
    """How much of a prompt was read so far, under llama.cpp's names."""

    total: int
    """The length of the prompt. Range: at least 0. Unit: tokens."""

    cache: int
    """How much of it was cached. Range: at least 0. Unit: tokens."""

    processed: int
    """How much of it is done, with what was cached. Range: at least 0. Unit: tokens."""

    time_ms: float
    """How long it took so far. Range: at least 0. Unit: milliseconds."""


class ChatCompletionChunk(_Model):
    """A piece of the answers to a request."""

    id: str
    """The request's id, the same in all its chunks."""

    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    """The kind of object."""

    created: int
    """When the request began; the same in all chunks. Range: at least 0. Unit: seconds since
    1970, UTC.
    """

    model: str
    """The model that answers."""

    choices: list[ChunkChoice]
    """Pieces of the answers; empty in the chunk that carries the usage."""

    usage: CompletionUsage | None = None
    """What the request cost, in the last chunk, when `include_usage` asks for it."""

    timings: Timings | None = None
    """Where the time went so far, when `timings_per_token` asks for it."""

    prompt_progress: PromptProgress | None = None
    """How much of the prompt was read, in the chunks before the answer, when `return_progress`
    asks for it.
    """

    warnings: list[SchemaWarning] | None = None
    """What schemas of the request say and the answer is not held to; in the first chunk."""

    system_fingerprint: str | None = None
    """Names the configuration that answers; equal ones answer a seed equally."""


class Logprobs(_Model):
    """The log probabilities of an answer; the lists run side by side."""

    tokens: list[str] | None = None
    """The tokens' texts."""

    token_logprobs: list[float] | None = None
    """Their log probabilities."""

    top_logprobs: list[dict[str, float]] | None = None
    """At each position from text to log probability, for the likeliest tokens."""

    text_offset: list[int] | None = None
    """Where each token begins in the text. Unit: code points."""


class CompletionChoice(_Model):
    """One of the answers, or a piece of it."""

    _nulls: ClassVar[frozenset[str]] = frozenset({"logprobs", "finish_reason"})

    index: int
    """Which of the answers this is, from 0. Range: at least 0."""

    text: str
    """The text, or its next piece."""

    logprobs: Logprobs | None = None
    """The log probabilities, when they were asked for."""

    finish_reason: FinishReason | None = None
    """Why the answer ended; null until its last chunk."""

    stop_reason: str | None = None
    """The stop text that ended the answer, as vLLM gives it; absent if none did."""


class Completion(_Model):
    """The continuations of a prompt; a chunk of a stream has the same form."""

    id: str
    """The request's id, the same in all its chunks."""

    object: Literal["text_completion"] = "text_completion"
    """The kind of object."""

    created: int
    """When it was made. Range: at least 0. Unit: seconds since 1970, UTC."""

    model: str
    """The model that answered."""

    choices: list[CompletionChoice]
    """The answers; empty in the chunk that carries the usage."""

    usage: CompletionUsage | None = None
    """What the request cost; in a stream in the last chunk, when it is asked for."""

    timings: Timings | None = None
    """Where the time went so far, when `timings_per_token` asks for it."""

    prompt_progress: PromptProgress | None = None
    """How much of the prompt was read, in the chunks before the answer, when `return_progress`
    asks for it.
    """

    warnings: list[SchemaWarning] | None = None
    """What the schema of the request says and the answer is not held to; in the first chunk of a
    stream.
    """

    system_fingerprint: str | None = None
    """Names the configuration that answered; equal ones answer a seed equally."""


if TYPE_CHECKING:
    EmbeddingVector: TypeAlias = list[float]
else:
    EmbeddingVector: TypeAlias = list[float] | str
"""A vector: its numbers, or their base64."""


class Embedding(_Model):
    """The vector of one text."""

    index: int
    """Which of the texts this belongs to, from 0. Range: at least 0."""

    object: Literal["embedding"] = "embedding"
    """The kind of object."""

    embedding: EmbeddingVector
    """The vector."""


class Usage(_Model):
    """What a request for embeddings cost."""

    prompt_tokens: int
    """The length of all texts together. Range: at least 0. Unit: tokens."""

    total_tokens: int
    """The same. Range: at least 0. Unit: tokens."""


class CreateEmbeddingResponse(_Model):
    """The vectors of the texts, in their order."""

    object: Literal["list"] = "list"
    """The kind of object."""

    data: list[Embedding]
    """The vectors."""

    model: str
    """The model that made them."""

    usage: Usage
    """What the request cost."""


class RerankResult(_Model):
    """How well one document answers the query."""

    index: int
    """Which of the documents it is, from 0. Range: at least 0."""

    relevance_score: float
    """The score; a larger one is better."""

    document: RerankDocument | None = None
    """The document. Absent: it was not asked for by `return_documents`."""


class RerankResponse(_Model):
    """The documents in the order of their scores, the best first."""

    id: str
    """The answer's id."""

    object: Literal["list"] = "list"
    """The kind of object."""

    model: str
    """The model that judged."""

    results: list[RerankResult]
    """The results, the best first."""

    usage: Usage
    """What the request cost."""


class TokenizeResponse(_Model):
    """The tokens of a text."""

    tokens: list[int]
    """The token ids. Range: at least 0."""

    count: int
    """How many there are. Range: at least 0. Unit: tokens."""


class DetokenizeResponse(_Model):
    """The text of tokens."""

    text: str
    """The text; bytes that are no UTF-8 are replaced by U+FFFD."""


class InputTokensResponse(_Model):
    """The length of a conversation as the model would read it."""

    input_tokens: int
    """The length of the prompt. Range: at least 0. Unit: tokens."""


class RenderResponse(_Model):
    """A conversation as the model's chat template writes it."""

    prompt: str
    """The text that the model continues."""


class KVSaveResponse(_Model):
    """What was saved."""

    tokens: int
    """How many tokens the state is of. Range: at least 0. Unit: tokens."""

    bytes: int
    """The file's size. Range: at least 0. Unit: bytes."""


class KVLoadResponse(_Model):
    """What was loaded."""

    tokens: int
    """How many tokens a request that begins like the saved one finds. Range: at least 0. Unit:
    tokens.
    """


class KVHeldPrompt(_Model):
    """A prompt, and how much of it the prefix cache holds."""

    tokens: list[int]
    """The prompt's token ids. Range: at least 0."""

    held: int
    """How many of the first ones are held. Range: at least 0. Unit: tokens."""


class KVHeldResponse(_Model):
    """The prompts of a request that a state of `kv.save` can stand for."""

    prompts: list[KVHeldPrompt]
    """Those that consist of tokens alone, in their order: prompts with pictures are left out,
    and so are requests that choose an adapter or want the prompt's `logprobs`.
    """


class TrimResponse(_Model):
    """What was given back."""

    pages: int
    """KV pages whose memory went back to the system. Range: at least 0."""

    page_bytes: int
    """The memory of them; 0 on devices that keep their memory. Range: at least 0. Unit: bytes."""

    weight_bytes: int
    """Weights that the system may drop and read again. Range: at least 0. Unit: bytes."""


class PrewarmResponse(_Model):
    """What was made ready."""

    weight_bytes: int
    """Weights that were read into memory from their files. Range: at least 0. Unit: bytes."""


class ThermalLimits(_Model):
    """The limits that hold now."""

    num_threads: int
    """Threads that compute. Range: at least 1."""

    max_num_sequence: int
    """Answers that are generated at the same time. Range: at least 1."""

    prefill_chunk_size: int
    """Tokens of one step. Range: at least 1. Unit: tokens."""


class AdapterInfo(_Model):
    """An adapter that requests may choose."""

    name: str
    """Its name."""

    rank: int
    """The rank of its matrices. Range: at least 1."""

    hash: str
    """What identifies its content."""


class AdapterList(_Model):
    """The adapters that requests may choose."""

    adapters: list[AdapterInfo]
    """In the order of their names."""

    ranks: int
    """How many ranks have room, those of all adapters together. Range: at least 0."""

    free_ranks: int
    """How many of them are free; an adapter takes a multiple of 8. Range: at least 0."""


ModelStatus: TypeAlias = (
    Literal["unloaded", "loading", "loaded", "sleeping", "leaving", "failed"] | str
)
"""Whether a server has a model in memory."""


InputModality: TypeAlias = Literal["text", "image"] | str
"""What a model reads."""


class Model(_Model):
    """A model that can answer."""

    id: str
    """The model's name, as requests give it in `model`."""

    object: Literal["model"] = "model"
    """The kind of object."""

    created: int
    """When it was made. Range: at least 0. Unit: seconds since 1970, UTC."""

    owned_by: str
    """Who offers it."""

    status: ModelStatus | None = None
    """Whether it is in memory. Absent: nobody says."""

    progress: float | None = None
    """How far its load is. Range: at least 0 and at most 1."""

    input_modalities: list[InputModality] | None = None
    """What it reads. Absent: that is known once it is loaded."""

    parent: str | None = None
    """Of an adapter: its model. Absent: it is a model."""

    root: str | None = None
    """Of an adapter: where it was loaded from. Absent: nobody says."""


class ModelList(_Model):
    """The models that can answer."""

    object: Literal["list"] = "list"
    """The kind of object."""

    data: list[Model]
    """The models."""


class DeviceProbe(_Model):
    """A kind of device, and whether this machine has it."""

    name: str
    """The device, such as `cuda:0`."""

    found: bool
    """Whether it can be used."""

    reason: str
    """Why it cannot be used; empty when it can."""

    description: str | None = None
    """What its driver calls it. Absent: nobody says."""

    memory_bytes: int | None = None
    """The size of its memory; of the CPU: what is free now. Range: at least 0. Unit: bytes."""

    max_buffer_bytes: int | None = None
    """The largest tensor it can hold. Range: at least 0. Unit: bytes."""

    local_memory_bytes: int | None = None
    """Memory that a work-group shares. Range: at least 0. Unit: bytes."""

    max_group_size: int | None = None
    """Work-items of a work-group at most. Range: at least 0."""

    f16: bool | None = None
    """Whether it computes with 16-bit floats."""

    is_processor: bool | None = None
    """Whether it is the CPU, driven as another device; `auto` passes over it."""


class RequestMetrics(_Model):
    """Measurements of one request; `usage.extra` has the same."""

    prompt_tokens: int | None = None
    """The length of the prompt. Range: at least 0. Unit: tokens."""

    completion_tokens: int | None = None
    """The length of the answers. Range: at least 0. Unit: tokens."""

    prefill_tokens: int | None = None
    """How much of the prompt the model read; the rest was cached. Range: at least 0. Unit:
    tokens.
    """

    decode_tokens: int | None = None
    """The tokens that were generated one by one. Range: at least 0. Unit: tokens."""

    jump_forward_tokens: int | None = None
    """The tokens that a grammar forced, without the model. Range: at least 0. Unit: tokens."""

    prefill_tokens_per_s: float | None = None
    """How fast the prompt was read. Range: at least 0. Unit: tokens per second."""

    decode_tokens_per_s: float | None = None
    """How fast the answer was generated. Range: at least 0. Unit: tokens per second."""

    ttft_s: float | None = None
    """From the request to its first token. Range: at least 0. Unit: seconds."""

    inter_token_latency_s: float | None = None
    """The mean time from token to token. Range: at least 0. Unit: seconds."""

    end_to_end_latency_s: float | None = None
    """From the request to its last token. Range: at least 0. Unit: seconds."""

    drafted_tokens: int | None = None
    """The tokens that were guessed ahead, by any kind of draft. Absent if there was none. Range:
    at least 0. Unit: tokens.
    """

    accepted_draft_tokens: int | None = None
    """Of them those that are in the answer. Range: at least 0. Unit: tokens."""

    draft_gain: float | None = None
    """How many times as fast the answer was generated as it would have been without drafts, by
    the measured times of steps. Range: at least 0.
    """


class KnownTextMetrics(_Model):
    """How often a text that was known ahead saved a step."""

    draft_count: int
    """Tokens of such text that were computed ahead. Range: at least 0."""

    accept_count: int
    """Of them those that the model chose: each saved a step. Range: at least 0."""


class SpecDecodeMetrics(_Model):
    """How speculative decoding fares; each list has one number for each drafted position."""

    draft_count: list[int] | None = None
    """How many tokens were drafted. Unit: tokens."""

    accept_count: list[int] | None = None
    """How many were accepted. Unit: tokens."""

    accept_prob: dict[str, Any] | None = None
    """The share of drafts accepted at each position, by `step=i`."""

    accept_rate: dict[str, Any] | None = None
    """The share of accepted among those whose predecessor was, by `step=i`."""

    accept_len: dict[str, Any] | None = None
    """The mean number of tokens accepted up to each position, by `step=i`."""


class EngineMetrics(_Model):
    """Counters since the model was loaded or the engine was reset."""

    engine_prefill_time_sum: float | None = None
    """The model's time on prompts. Range: at least 0. Unit: seconds."""

    engine_decode_time_sum: float | None = None
    """The model's time on answers. Range: at least 0. Unit: seconds."""

    engine_jump_forward_time_sum: float | None = None
    """The time spent on text that grammars forced. Range: at least 0. Unit: seconds."""

    prompt_tokens_sum: int | None = None
    """The length of all prompts. Range: at least 0. Unit: tokens."""

    prefill_tokens_sum: int | None = None
    """How much of the prompts the model read. Range: at least 0. Unit: tokens."""

    decode_tokens_sum: int | None = None
    """The tokens that were generated one by one. Range: at least 0. Unit: tokens."""

    jump_forward_tokens_sum: int | None = None
    """The tokens that grammars forced. Range: at least 0. Unit: tokens."""

    completion_tokens_sum: int | None = None
    """The length of all answers. Range: at least 0. Unit: tokens."""

    prefill_tokens_per_s: float | None = None
    """How fast prompts are read. Range: at least 0. Unit: tokens per second."""

    decode_tokens_per_s: float | None = None
    """How fast answers are generated. Range: at least 0. Unit: tokens per second."""

    kv_pages_total: int | None = None
    """The pages of the KV cache. Range: at least 0. Unit: pages."""

    kv_pages_free: int | None = None
    """The pages that no sequence holds now. Range: at least 0. Unit: pages."""

    num_running_sequences: int | None = None
    """The sequences that are generated at the moment. Range: at least 0."""

    num_waiting_sequences: int | None = None
    """The sequences that wait for their turn or for pages. Range: at least 0."""

    num_queued_requests: int | None = None
    """The requests that no step has taken in yet. Range: at least 0."""

    num_steps: int | None = None
    """How often the model ran. Range: at least 0."""

    num_preemptions: int | None = None
    """How often a sequence had to give back its pages and begin again. Range: at least 0."""

    restored_tokens_sum: int | None = None
    """What the prefix cache got from the host's memory (`prefix_cache_ram_bytes`) and from files
    of `prefix_cache_dir`. Range: at least 0. Unit: tokens.
    """

    written_blocks_sum: int | None = None
    """The files that were written to `prefix_cache_dir`. Range: at least 0. Unit: files."""

    prefix_cache_ram_bytes: int | None = None
    """The host's memory that keeps what the prefix cache on the device may have to drop. Range:
    at least 0. Unit: bytes.
    """

    device_read_bytes_sum: int | None = None
    """What came back from the device: tokens, or rows of logits. Range: at least 0. Unit: bytes."""

    encoded_pictures_sum: int | None = None
    """Pictures of which the vision tower made rows. Range: at least 0. Unit: pictures."""

    engine_encode_time_sum: float | None = None
    """The time of the vision tower. Range: at least 0. Unit: seconds."""

    picture_cache_hits_sum: int | None = None
    """Pictures whose rows were kept from an earlier request. Range: at least 0. Unit: pictures."""

    picture_cache_bytes: int | None = None
    """The rows of pictures that are kept. Range: at least 0. Unit: bytes."""

    num_finished_requests: int | None = None
    """Requests that ended well. Range: at least 0."""

    num_failed_requests: int | None = None
    """Requests that ended with an error or were cancelled. Range: at least 0."""

    last_finished_request: RequestMetrics | None = None
    """Measurements of the request that ended last."""

    jump_forward: KnownTextMetrics | None = None
    """How often text that a grammar forces saved a step."""

    prediction: KnownTextMetrics | None = None
    """How often a request's `prediction` saved a step."""

    prompt_lookup: KnownTextMetrics | None = None
    """How often text that came earlier saved a step. `spec_decode` contains it."""

    drafted_tokens_sum: int | None = None
    """The tokens that were guessed ahead, by any kind of draft. Range: at least 0. Unit: tokens."""

    accepted_draft_tokens_sum: int | None = None
    """Of them those that are in the answers. Range: at least 0. Unit: tokens."""

    draft_gain: float | None = None
    """How many times as fast answers were generated as they would have been without drafts, by
    the measured times of steps. Absent until steps with drafts and without were measured.
    Range: at least 0.
    """

    spec_decode: SpecDecodeMetrics | None = None
    """How speculative decoding fares."""

    decode_time_by_batch_size: dict[str, Any] | None = None
    """The time of a decode step by the number of sequences in it. Unit: seconds."""

    draft_time_by_batch_size: dict[str, Any] | None = None
    """The time of a draft by the number of sequences in it. Unit: seconds."""

    verify_time_by_batch_size: dict[str, Any] | None = None
    """The time of a verification by the number of sequences in it. Unit: seconds."""


class Plan(_Model):
    """What an engine would allocate for a model in a mode, and whether that fits."""

    model: str
    """The model's name."""

    model_type: str
    """The model's family, such as `llama`."""

    quantization: str
    """The scheme of its weights, such as `q4f32_1`."""

    device: str
    """The device, such as `cpu:0`."""

    mode: str
    """The engine's mode."""

    max_num_sequence: int
    """How many sequences are generated at the same time. Range: at least 0."""

    max_total_seq_length: int
    """The capacity of the KV cache, all sequences together. Range: at least 0. Unit: tokens."""

    context_window_size: int
    """The longest sequence. Range: at least 0. Unit: tokens."""

    context_limit: str | None = None
    """What would allow a longer sequence. Missing: nothing would, the model ends there."""

    prefill_chunk_size: int
    """The most tokens of prompts that one step takes in. Range: at least 0. Unit: tokens."""

    kv_bytes_per_token: int
    """Keys and values of one token. Range: at least 0. Unit: bytes."""

    kv_cache_dtype: str
    """The precision of cached keys and values, such as `q8`."""

    parameter_bytes: int
    """The weights, without `table_bytes`. Range: at least 0. Unit: bytes."""

    table_bytes: int
    """Tables of which a token reads single rows, as embeddings. On a CPU they stay in the
    model's files; no sum counts them, since the system keeps of them what fits. Range: at
    least 0. Unit: bytes.
    """

    kv_cache_bytes: int
    """The KV cache. Range: at least 0. Unit: bytes."""

    lora_ranks: int
    """The room for adapters that requests choose, in ranks. Range: at least 0. Unit: ranks."""

    adapter_bytes: int
    """That room. Range: at least 0. Unit: bytes."""

    temporary_bytes: int
    """The largest step's temporaries. Range: at least 0. Unit: bytes."""

    total_bytes: int
    """All of it. Range: at least 0. Unit: bytes."""

    prefix_cache_ram_bytes: int
    """The most of the host's memory that keeps what the prefix cache on the device has to drop;
    no sum counts it. Range: at least 0. Unit: bytes.
    """

    available_bytes: int
    """What the device has free now, and at most `memory_limit_bytes`. Range: at least 0. Unit:
    bytes.
    """

    input_modalities: list[InputModality]
    """What the model reads."""

    fits: bool
    """Whether the engine would load."""

    reason: str | None = None
    """Why it would not."""

    summary: list[str]
    """The same for people, a line an item."""


ErrorStatus: TypeAlias = (
    Literal[
        "invalid_argument",
        "not_found",
        "corrupt",
        "unsupported",
        "resource_exhausted",
        "cancelled",
        "unavailable",
        "deadline_exceeded",
        "internal",
    ]
    | str
)
"""The class of an error. Their order is their number in the C header; append only."""


class ErrorObject(_Model):
    """What went wrong."""

    _nulls: ClassVar[frozenset[str]] = frozenset({"param", "code"})

    message: str
    """What went wrong and what to do about it."""

    type: str
    """The class of the error, such as `invalid_request_error`."""

    param: str | None = None
    """The path of the field at fault, such as `messages[2].content`."""

    code: str | None = None
    """A short machine-readable reason, such as `context_length_exceeded`."""

    status: ErrorStatus | None = None
    """The class of the reason: what a program does that does not know the reason."""


class ErrorResponse(_Model):
    """The answer to a request that failed."""

    error: ErrorObject
    """What went wrong."""

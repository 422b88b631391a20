"""Responses: OpenAI's newer form of a conversation, which the HTTP server writes over chat."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from codegen.schema.adapters import Lora, lora
from codegen.schema.base import AnyJson, AnyObject, Case, ClosedEnum, Model, OneOf, field, maybe
from codegen.schema.chat_request import ReasoningEffort
from codegen.schema.messages import ChatCompletionRole, ImageDetail
from codegen.schema.response_format import (
    ResponseFormatGrammar,
    ResponseFormatJSONObject,
    ResponseFormatRegex,
    ResponseFormatStructuralTag,
    ResponseFormatText,
    SchemaWarning,
)
from codegen.schema.response_items import ResponseMCPError, ResponseOutputItem, ResponseStatus
from codegen.schema.sampling import SamplingFields
from codegen.schema.tools import ToolChoiceMode


class ResponseInputPartType(ClosedEnum):
    """The kind of an input part."""

    INPUT_TEXT = "input_text", "A text of the user's."
    OUTPUT_TEXT = "output_text", "A text of the assistant's, as an earlier response gave it."
    TEXT = "text", "A text."
    INPUT_IMAGE = "input_image", "An image."


class ResponseInputPart(Model):
    """A part of a message."""

    type: ResponseInputPartType = field(..., "The kind of part.")
    text: str | None = maybe(
        "The text.", required_when=("type", ("input_text", "output_text", "text"))
    )
    image_url: str | None = maybe(
        "The image: a `data:` URL, or an address.",
        required_when=("type", ("input_image",)),
        min_length=1,
    )
    detail: ImageDetail | None = maybe("How closely the model looks at the image.")


class ResponseInputContent(OneOf):
    """What is said: a text, or texts and images in order."""

    root: (
        Annotated[str, Case("text")]
        | Annotated[list[ResponseInputPart], Field(min_length=1), Case("parts")]
    )


class ResponseItemType(ClosedEnum):
    """The kind of an input item."""

    MESSAGE = "message", "Somebody speaks."
    FUNCTION_CALL = "function_call", "A function call that the model made."
    FUNCTION_CALL_OUTPUT = "function_call_output", "What the function gave."
    REASONING = "reasoning", "What the model thought, as an earlier response gave it."
    MCP_LIST_TOOLS = "mcp_list_tools", "Tools, as an earlier response gave them; it has no effect."
    MCP_CALL = "mcp_call", "A call at an MCP server, as an earlier response gave it."


class ResponseInputItem(Model):
    """A message, a function call, what a function gave, or a thought."""

    type: ResponseItemType = field(ResponseItemType.MESSAGE, "The kind of item.")
    role: ChatCompletionRole | None = maybe("Who speaks.", required_when=("type", ("message",)))
    content: ResponseInputContent | None = maybe(
        "What is said.", required_when=("type", ("message",))
    )
    call_id: str | None = maybe(
        "The call's id.", required_when=("type", ("function_call", "function_call_output"))
    )
    name: str | None = maybe(
        "The function's name.", required_when=("type", ("function_call", "mcp_call"))
    )
    arguments: str | None = maybe(
        "The arguments as JSON text.", required_when=("type", ("function_call", "mcp_call"))
    )
    output: ResponseInputContent | None = maybe(
        "What the function gave.", required_when=("type", ("function_call_output",))
    )
    id: str | None = maybe("The item's id in the response that it came from.")
    status: str | None = maybe("The item's status there; it has no effect.")
    server_label: str | None = maybe("The MCP server; it has no effect.")
    tools: list[AnyObject] | None = maybe("Its tools; they have no effect.")
    error: ResponseMCPError | None = maybe("Why a call at an MCP server failed.")


class ResponseInput(OneOf):
    """The user's text, or the conversation so far."""

    root: (
        Annotated[str, Case("text")]
        | Annotated[list[ResponseInputItem], Field(min_length=1), Case("items")]
    )


class ResponseFunctionTool(Model):
    """A function that the model may call."""

    type: Literal["function"] = field(..., "The kind of tool.")
    name: str = field(..., "The function's name, by which the model calls it.", min_length=1)
    description: str | None = maybe("What the function does.")
    parameters: AnyObject | None = maybe(
        "A JSON Schema object for the arguments. Absent: the function takes none."
    )
    strict: bool | None = maybe(
        "Whether the arguments are held to the schema while they are generated."
    )


class ResponseMCPApproval(ClosedEnum):
    """Which calls must be approved."""

    NEVER = "never", "None."


class ResponseMCPToolFilter(Model):
    """Some tools of an MCP server."""

    closed = True  # what is not understood would leave more tools than the request allows

    tool_names: list[str] | None = maybe("Their names. Absent: all.")
    read_only: bool | None = maybe(
        "Whether they change nothing, as the server says of each. Absent: both kinds."
    )


class ResponseAllowedTools(OneOf):
    """The tools of an MCP server that the model may call."""

    root: Annotated[list[str], Case("names")] | Annotated[ResponseMCPToolFilter, Case("filter")]


class ResponseMCPTool(Model):
    """The tools of an MCP server that the settings file names; this server calls them."""

    type: Literal["mcp"] = field(..., "The kind of tool.")
    server_label: str = field(..., "The server's name in the settings file.", min_length=1)
    server_description: str | None = maybe("What it is for; it has no effect.")
    allowed_tools: ResponseAllowedTools | None = maybe(
        "Those that the model may call. Absent: all that the settings file allows."
    )
    require_approval: ResponseMCPApproval | None = maybe(
        "Which calls must be approved. Absent: `never`."
    )


class ResponseTool(OneOf):
    """What the model may call."""

    root: Annotated[ResponseFunctionTool | ResponseMCPTool, Field(discriminator="type")]


class ResponseNamedToolChoice(Model):
    """The one function that the model must call."""

    type: Literal["function"] = field(..., "The kind of tool; only functions exist.")
    name: str = field(..., "The function's name.", min_length=1)


class ResponseMCPToolChoice(Model):
    """The MCP server of which the model must call a tool first."""

    type: Literal["mcp"] = field(..., "The kind of tool.")
    server_label: str = field(..., "The server's name in `tools`.", min_length=1)
    name: str | None = maybe(
        "The tool's name. Absent: the model chooses, if no other tools are there."
    )


class ResponseOneToolChoice(OneOf):
    """The tool, or the server, that the model must call."""

    root: Annotated[ResponseNamedToolChoice | ResponseMCPToolChoice, Field(discriminator="type")]


class ResponseToolChoice(OneOf):
    """Which functions the model may or must call."""

    root: Annotated[ToolChoiceMode, Case("mode")] | Annotated[ResponseOneToolChoice, Case("one")]


class ResponseTextFormatJSONSchema(Model):
    """JSON that matches a schema."""

    type: Literal["json_schema"] = field(..., "The kind of format.")
    name: str = field(..., "The schema's name.", min_length=1, max_length=64)
    schema_: AnyObject = field(..., "The JSON Schema.", wire_name="schema")
    description: str | None = maybe("What the answer is for.")
    strict: bool | None = maybe(
        "Whether the answer is held to the schema exactly while it is generated."
    )


class ResponseTextFormat(OneOf):
    """The shape that the answer must have."""

    root: Annotated[
        ResponseFormatText
        | ResponseFormatJSONObject
        | ResponseTextFormatJSONSchema
        | ResponseFormatRegex
        | ResponseFormatGrammar
        | ResponseFormatStructuralTag,
        Field(discriminator="type"),
    ]


class ResponseTextConfig(Model):
    """How the text of the answer is."""

    format: ResponseTextFormat | None = maybe("Its shape. Absent: any text.")
    verbosity: str | None = maybe("How long it is; it has no effect.")


class ResponseReasoning(Model):
    """How a reasoning model thinks."""

    effort: ReasoningEffort | None = maybe("How long.", always=True)
    summary: str | None = maybe("Whether it is summed up; it is given whole.", always=True)


class ResponseTruncation(ClosedEnum):
    """What happens to a conversation that is too long."""

    DISABLED = "disabled", "It is refused."


class ResponseInclude(ClosedEnum):
    """What a response carries beside the answer."""

    LOGPROBS = "message.output_text.logprobs", "The log probabilities of its tokens."
    REASONING = "reasoning.encrypted_content", "Has no effect: thoughts are given in the clear."


class ResponseCreateRequest(SamplingFields):
    """A text or a conversation, and how the model is to answer it."""

    shared_before = "top_logprobs"

    input: ResponseInput = field(..., "What the model answers.")
    model: str | None = maybe("The model to answer. Absent: the server's first.")
    instructions: str | None = maybe("The system message that stands before the input.")
    stream: bool | None = maybe("Whether the answer comes as events while it is generated.")
    stream_options: AnyObject | None = maybe("Options of the stream; they have no effect.")
    max_output_tokens: int | None = maybe(
        "The longest answer. Absent: 4,096. The end of the context may come first.", "tokens", ge=1
    )
    top_logprobs: int | None = maybe(
        "How many of the likeliest tokens are returned at each position.", ge=0, le=20
    )
    include: list[ResponseInclude] | None = maybe("What is wanted beside the answer.")
    text: ResponseTextConfig | None = maybe("How the text of the answer is.")
    tools: list[ResponseTool] | None = maybe(
        "The functions and MCP servers that the model may call.", max_length=128
    )
    tool_choice: ResponseToolChoice | None = maybe(
        "Which functions are called. Absent: `auto` with tools, `none` without."
    )
    parallel_tool_calls: bool | None = maybe(
        "Whether one answer may hold several function calls. Absent: true."
    )
    reasoning: ResponseReasoning | None = maybe("How a reasoning model thinks.")
    metadata: dict[str, str] | None = maybe("Labels of the caller's own; they are repeated.")
    user: str | None = maybe("A label of the end user; it has no effect on the answer.")
    store: bool | None = maybe("Whether the server keeps the response. Absent: true.")
    service_tier: str | None = maybe("A service's price class; it has no effect.")
    prompt_cache_key: str | None = maybe("A label; prompts are cached by their text.")
    safety_identifier: str | None = maybe("A label of the end user; it has no effect.")
    truncation: ResponseTruncation | None = maybe(
        "What happens to a conversation that is too long. Absent: `disabled`."
    )
    previous_response_id: str | None = maybe(
        "A kept response that this one follows: its conversation stands before the input."
    )
    conversation: AnyJson | None = maybe("A kept conversation: refused.")
    background: bool | None = maybe(
        "Whether the response is made later; then it must be kept and is not streamed."
    )
    prompt: AnyJson | None = maybe("A kept prompt: refused.")
    lora: Lora | None = lora()
    max_tool_calls: int | None = maybe(
        "The most calls that this server makes at MCP servers. Absent: 16.", ge=1, le=1000
    )


class ResponseErrorCode(ClosedEnum):
    """Why a response failed."""

    SERVER_ERROR = "server_error", "The server is at fault."
    RATE_LIMIT = "rate_limit_exceeded", "There are too many requests."
    INVALID_PROMPT = "invalid_prompt", "The request is at fault."


class ResponseError(Model):
    """What went wrong."""

    code: ResponseErrorCode = field(..., "The class of the error.")
    message: str = field(..., "What went wrong and what to do about it.")


class ResponseIncompleteDetails(Model):
    """Why an answer was cut off."""

    reason: Literal["max_output_tokens"] = field(..., "It reached the longest length.")


class ResponseInputTokensDetails(Model):
    """What the prompt's tokens were."""

    cached_tokens: int = field(..., "How many were found in the prefix cache.", ge=0)
    cache_write_tokens: int = field(..., "Always 0: writing to the cache is free.", ge=0)


class ResponseOutputTokensDetails(Model):
    """What the answer's tokens were."""

    reasoning_tokens: int = field(..., "How many the model spent thinking.", ge=0)


class ResponseUsage(Model):
    """What a response cost."""

    input_tokens: int = field(..., "The length of the prompt.", unit="tokens", ge=0)
    input_tokens_details: ResponseInputTokensDetails = field(..., "What they were.")
    output_tokens: int = field(..., "The length of the answer.", unit="tokens", ge=0)
    output_tokens_details: ResponseOutputTokensDetails = field(..., "What they were.")
    total_tokens: int = field(..., "The sum of the two.", unit="tokens", ge=0)


class Response(Model):
    """The answer to a request. What was asked for stands in it, as it was asked."""

    id: str = field(..., "The response's id.")
    object: Literal["response"] = field(..., "The kind of object.")
    created_at: int = field(..., "When it was made.", unit="seconds since 1970, UTC", ge=0)
    completed_at: int | None = maybe("When it was whole.", always=True)
    status: ResponseStatus = field(..., "How far it is.")
    background: bool = field(..., "Whether it is made in the background.")
    error: ResponseError | None = maybe("What went wrong.", always=True)
    incomplete_details: ResponseIncompleteDetails | None = maybe("Why it was cut off.", always=True)
    instructions: str | None = maybe("The system message.", always=True)
    max_output_tokens: int | None = maybe("The longest answer.", always=True)
    metadata: dict[str, str] = field(..., "The caller's labels.")
    model: str = field(..., "The model that answered.")
    output: list[ResponseOutputItem] = field(..., "What the model gave, in order.")
    parallel_tool_calls: bool = field(..., "Whether several function calls were allowed.")
    previous_response_id: str | None = maybe("The response that it follows.", always=True)
    reasoning: ResponseReasoning = field(..., "How the model was to think.")
    service_tier: str = field(..., "Always `default`.")
    store: bool = field(..., "Whether it is kept.")
    temperature: float | None = maybe("As it was asked for.", always=True)
    text: ResponseTextConfig = field(..., "How the text was to be.")
    tool_choice: ResponseToolChoice = field(..., "Which functions were to be called.")
    tools: list[ResponseTool] = field(..., "As they were asked for.")
    top_logprobs: int = field(..., "As it was asked for.")
    top_p: float | None = maybe("As it was asked for.", always=True)
    truncation: ResponseTruncation = field(..., "What happens to a conversation that is too long.")
    usage: ResponseUsage | None = maybe("What it cost.", always=True)
    user: str | None = maybe("The label of the end user.", always=True)
    warnings: list[SchemaWarning] | None = maybe(
        "What schemas of the request say and the answer was not held to."
    )


class ResponseDeleted(Model):
    """The response is gone."""

    id: str = field(..., "The response's id.")
    object: Literal["response"] = field(..., "The kind of object.")
    deleted: bool = field(..., "Always true.")


class ResponseInputItems(Model):
    """The items of a response's own request, without those that it follows."""

    object: Literal["list"] = field(..., "The kind of object.")
    data: list[AnyObject] = field(..., "The items.")
    first_id: str | None = maybe("The id of the first one.", always=True)
    last_id: str | None = maybe("The id of the last one.", always=True)
    has_more: bool = field(..., "Whether others follow.")

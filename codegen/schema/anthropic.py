"""Messages: Anthropic's form of a conversation, which the HTTP server writes over chat."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from codegen.schema.adapters import Lora, lora
from codegen.schema.base import AnyJson, AnyObject, Case, ClosedEnum, Model, OneOf, field, maybe
from codegen.schema.sampling import SamplingFields

_CACHE_CONTROL = "Where a service's cache ends; it has no effect: every prompt is cached."


class AnthropicTextBlock(Model):
    """A text."""

    type: Literal["text"] = field(..., "The kind of block.")
    text: str = field(..., "The text.")
    cache_control: AnyJson | None = maybe(_CACHE_CONTROL)


class AnthropicBase64Source(Model):
    """An image's bytes."""

    type: Literal["base64"] = field(..., "The kind of source.")
    media_type: str = field(..., "Such as `image/png`.", min_length=1)
    data: str = field(..., "The bytes of the image's file in base64.")


class AnthropicURLSource(Model):
    """An image's address."""

    type: Literal["url"] = field(..., "The kind of source.")
    url: str = field(..., "A `data:` URL, or an address.", min_length=1)


class AnthropicImageSource(OneOf):
    """Where an image is."""

    root: Annotated[AnthropicBase64Source | AnthropicURLSource, Field(discriminator="type")]


class AnthropicImageBlock(Model):
    """An image."""

    type: Literal["image"] = field(..., "The kind of block.")
    source: AnthropicImageSource = field(..., "Where it is.")
    cache_control: AnyJson | None = maybe(_CACHE_CONTROL)


class AnthropicThinkingBlock(Model):
    """What the model thought, as an earlier answer gave it."""

    type: Literal["thinking"] = field(..., "The kind of block.")
    thinking: str = field(..., "The thought.")
    signature: str | None = maybe("A service's seal of the thought; it has no effect.")


class AnthropicRedactedThinkingBlock(Model):
    """A thought that a service has encrypted; the model does not get it."""

    type: Literal["redacted_thinking"] = field(..., "The kind of block.")
    data: str = field(..., "The encrypted thought.")


class AnthropicToolUseBlock(Model):
    """A call of a tool that the model made."""

    type: Literal["tool_use"] = field(..., "The kind of block.")
    id: str = field(..., "The call's id, which the `tool_result` repeats.")
    name: str = field(..., "The tool's name.")
    input: AnyObject = field(..., "The arguments.")
    cache_control: AnyJson | None = maybe(_CACHE_CONTROL)


class AnthropicToolResultPart(OneOf):
    """A part of what a tool gave."""

    root: Annotated[AnthropicTextBlock | AnthropicImageBlock, Field(discriminator="type")]


class AnthropicToolResultContent(OneOf):
    """What a tool gave: a text, or texts and images in order."""

    root: Annotated[str, Case("text")] | Annotated[list[AnthropicToolResultPart], Case("parts")]


class AnthropicToolResultBlock(Model):
    """What a tool gave."""

    type: Literal["tool_result"] = field(..., "The kind of block.")
    tool_use_id: str = field(..., "The id of the call.")
    content: AnthropicToolResultContent | None = maybe("What it gave. Absent: an empty text.")
    is_error: bool | None = maybe("Whether it failed; the content says how.")
    cache_control: AnyJson | None = maybe(_CACHE_CONTROL)


class AnthropicInputBlock(OneOf):
    """A part of a message."""

    root: Annotated[
        AnthropicTextBlock
        | AnthropicImageBlock
        | AnthropicThinkingBlock
        | AnthropicRedactedThinkingBlock
        | AnthropicToolUseBlock
        | AnthropicToolResultBlock,
        Field(discriminator="type"),
    ]


class AnthropicContent(OneOf):
    """What is said: a text, or blocks in order."""

    root: (
        Annotated[str, Case("text")]
        | Annotated[list[AnthropicInputBlock], Field(min_length=1), Case("blocks")]
    )


class AnthropicRole(ClosedEnum):
    """Who speaks."""

    USER = "user", "The person, or the program, that asks."
    ASSISTANT = "assistant", "The model."
    SYSTEM = "system", "Further instructions that the model follows."


class AnthropicInputMessage(Model):
    """A message of the conversation so far."""

    role: AnthropicRole = field(..., "Who speaks.")
    content: AnthropicContent = field(..., "What is said.")


class AnthropicSystem(OneOf):
    """The system message: a text, or several."""

    root: Annotated[str, Case("text")] | Annotated[list[AnthropicTextBlock], Case("blocks")]


class AnthropicToolType(ClosedEnum):
    """The kind of a tool. The tools of Anthropic's own service are refused."""

    CUSTOM = "custom", "A tool of the caller's."


class AnthropicTool(Model):
    """A tool that the model may call."""

    type: AnthropicToolType | None = maybe("The kind of tool. Absent: `custom`.")
    name: str = field(..., "The tool's name, by which the model calls it.", min_length=1)
    description: str | None = maybe("What the tool does.")
    input_schema: AnyObject = field(..., "A JSON Schema object for the arguments.")
    strict: bool | None = maybe(
        "Whether the arguments are held to the schema while they are generated."
    )
    cache_control: AnyJson | None = maybe(_CACHE_CONTROL)


class AnthropicToolChoiceType(ClosedEnum):
    """How free the model is in calling tools."""

    AUTO = "auto", "Answers or calls tools, as it sees fit."
    ANY = "any", "Calls at least one tool."
    TOOL = "tool", "Calls one tool."
    NONE = "none", "Calls no tool."


class AnthropicToolChoice(Model):
    """Which tools the model may or must call."""

    type: AnthropicToolChoiceType = field(..., "How free it is.")
    name: str | None = maybe(
        "The tool that it must call.", required_when=("type", ("tool",)), min_length=1
    )
    disable_parallel_tool_use: bool | None = maybe(
        "Whether one answer holds one call at most. Absent: false."
    )


class AnthropicThinkingType(ClosedEnum):
    """Whether a reasoning model thinks before it answers."""

    ENABLED = "enabled", "It does, within a budget."
    ADAPTIVE = "adaptive", "It does, as long as it sees fit."
    BETWEEN_TOOLS = "between_tools", "The same."
    DISABLED = "disabled", "It does not."


class AnthropicThinking(Model):
    """How a reasoning model thinks."""

    type: AnthropicThinkingType = field(..., "Whether it thinks.")
    budget_tokens: int | None = maybe(
        "The longest thought; at the limit the answer begins.",
        "tokens",
        required_when=("type", ("enabled",)),
        ge=1,
        le=2147483647,
    )


class AnthropicEffort(ClosedEnum):
    """How much a reasoning model does for its answer."""

    LOW = "low", "A little."
    MEDIUM = "medium", "As it was trained to."
    HIGH = "high", "Much."
    XHIGH = "xhigh", "More."
    MAX = "max", "As much as it can."


class AnthropicOutputFormat(Model):
    """JSON that matches a schema."""

    type: Literal["json_schema"] = field(..., "The kind of format.")
    schema_: AnyObject = field(..., "The JSON Schema.", wire_name="schema")


class AnthropicOutputConfig(Model):
    """How the answer is."""

    effort: AnthropicEffort | None = maybe("How much is done for it.")
    format: AnthropicOutputFormat | None = maybe("Its shape. Absent: any text.")


class AnthropicCountTokensRequest(Model):
    """A conversation, and what the model reads beside it."""

    messages: list[AnthropicInputMessage] = field(
        ..., "The conversation so far, oldest first.", min_length=1
    )
    model: str | None = maybe("The model to answer. Absent: the server's first.")
    system: AnthropicSystem | None = maybe("The system message.")
    tools: list[AnthropicTool] | None = maybe("The tools that the model may call.", max_length=128)
    tool_choice: AnthropicToolChoice | None = maybe(
        "Which tools are called. Absent: `auto` with tools."
    )
    thinking: AnthropicThinking | None = maybe(
        "How a reasoning model thinks. Absent: as it does by itself."
    )
    output_config: AnthropicOutputConfig | None = maybe("How the answer is.")
    mcp_servers: AnyJson | None = maybe("Servers that a service would ask: refused.")


class AnthropicRequest(AnthropicCountTokensRequest, SamplingFields):
    """A conversation, and how the model is to continue it."""

    shared_before = "stop_sequences"

    max_tokens: int = field(
        ..., "The longest answer. The end of the context may come first.", unit="tokens", ge=1
    )
    stop_sequences: list[Annotated[str, Field(min_length=1)]] | None = maybe(
        "Texts at which the answer ends, before them.", max_length=16
    )
    stream: bool | None = maybe("Whether the answer comes as events while it is generated.")
    metadata: AnyObject | None = maybe("Labels of the caller's own; they have no effect.")
    service_tier: str | None = maybe("A service's price class; it has no effect.")
    context_management: AnyJson | None = maybe(
        "What a service leaves out of a long conversation; nothing is left out here."
    )
    container: AnyJson | None = maybe("A service's container: refused.")
    lora: Lora | None = lora()


class AnthropicTokenCount(Model):
    """The length of a conversation as the model would read it."""

    input_tokens: int = field(..., "The length of the prompt.", unit="tokens", ge=0)

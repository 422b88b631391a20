"""Ollama's API: what its clients ask, which the HTTP server asks the engine."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from codegen.schema.adapters import Lora, lora
from codegen.schema.base import AnyJson, AnyObject, Case, ClosedEnum, Model, OneOf, field, maybe
from codegen.schema.tools import ChatCompletionTool


class OllamaStop(OneOf):
    """Texts at which the answer ends, before them."""

    root: (
        Annotated[str, Case("text")]
        | Annotated[list[Annotated[str, Field(min_length=1)]], Field(max_length=16), Case("texts")]
    )


class OllamaOptions(Model):
    """How tokens are chosen, and how a model is loaded. A name that is not here is refused."""

    closed = True

    num_predict: int | None = maybe(
        "The longest answer; below 1: up to the end of the context. Absent: 4,096.", "tokens", ge=-2
    )
    temperature: float | None = maybe("As in OpenAI's API.", ge=0, le=2)
    top_k: int | None = maybe("Keeps this many of the likeliest tokens; 0 keeps all.", ge=-1)
    top_p: float | None = maybe("As in OpenAI's API.", ge=0, le=1)
    min_p: float | None = maybe(
        "Keeps tokens at least this probable, relative to the likeliest.", ge=0, le=1
    )
    seed: int | None = maybe("Makes the answer repeatable.")
    stop: OllamaStop | None = maybe("Texts at which the answer ends, before them.")
    repeat_penalty: float | None = maybe("The `repetition_penalty` of the other APIs.", gt=0, le=10)
    repeat_last_n: int | None = maybe(
        "How far back `repeat_penalty` looks; beside it only -1 (the whole context) and 0 (no "
        "penalty) are offered.",
        ge=-1,
    )
    presence_penalty: float | None = maybe("As in OpenAI's API.", ge=-2, le=2)
    frequency_penalty: float | None = maybe("As in OpenAI's API.", ge=-2, le=2)
    typical_p: float | None = maybe("Only 1, which keeps all tokens, is offered.")
    tfs_z: float | None = maybe("Only 1, which keeps all tokens, is offered.")
    mirostat: int | None = maybe("Only 0, which is off, is offered.")
    mirostat_tau: float | None = maybe("Has no effect without `mirostat`.")
    mirostat_eta: float | None = maybe("Has no effect without `mirostat`.")
    penalize_newline: bool | None = maybe("Only true is offered.")
    num_ctx: int | None = maybe(
        "Has no effect: the context is chosen when a model is loaded, and nothing is cut off."
    )
    num_keep: int | None = maybe("Has no effect: nothing is cut off.")
    num_batch: int | None = maybe("Has no effect on the answer.")
    num_gpu: int | None = maybe("Has no effect on the answer.")
    main_gpu: int | None = maybe("Has no effect on the answer.")
    num_thread: int | None = maybe("Has no effect on the answer.")
    numa: bool | None = maybe("Has no effect on the answer.")
    low_vram: bool | None = maybe("Has no effect on the answer.")
    f16_kv: bool | None = maybe("Has no effect: the model's own setting counts.")
    use_mmap: bool | None = maybe("Has no effect on the answer.")
    use_mlock: bool | None = maybe("Has no effect on the answer.")
    logits_all: bool | None = maybe("Has no effect on the answer.")
    vocab_only: bool | None = maybe("Has no effect on the answer.")
    embedding_only: bool | None = maybe("Has no effect on the answer.")


class OllamaFormat(OneOf):
    """The shape that the answer must have: `json`, or a JSON Schema."""

    root: Annotated[str, Case("word")] | Annotated[AnyObject, Case("schema")]


class OllamaThink(OneOf):
    """Whether a reasoning model thinks, or how long: `low`, `medium`, `high`."""

    root: Annotated[bool, Case("switch")] | Annotated[str, Case("effort")]


class OllamaKeepAlive(OneOf):
    """How long the model stays loaded: seconds, or a time such as `5m`; below 0: for ever."""

    root: Annotated[float, Case("seconds")] | Annotated[str, Case("time")]


class OllamaRole(ClosedEnum):
    """Who speaks."""

    SYSTEM = "system", "The instructions that the model follows."
    USER = "user", "The person, or the program, that asks."
    ASSISTANT = "assistant", "The model."
    TOOL = "tool", "A tool that the model called."


class OllamaCalledFunction(Model):
    """A function, and the arguments with which it is called."""

    name: str = field(..., "The function's name.", min_length=1)
    arguments: AnyObject = field(..., "The arguments.")


class OllamaToolCall(Model):
    """A call of a tool that the model made."""

    id: str | None = maybe("The call's id.")
    function: OllamaCalledFunction = field(..., "What is called.")


class OllamaMessage(Model):
    """A message of the conversation so far."""

    role: OllamaRole = field(..., "Who speaks.")
    content: str | None = maybe("What is said. Absent: an empty text.")
    thinking: str | None = maybe("What the assistant thought before it spoke.")
    images: list[str] | None = maybe("The bytes of images' files in base64.")
    tool_calls: list[OllamaToolCall] | None = maybe("The assistant's calls.")
    tool_name: str | None = maybe("The tool that gave this.")
    tool_call_id: str | None = maybe("The call that this answers. Absent: the oldest one.")


class _Call(Model):
    """What every request to a model has."""

    model: str = field(..., "The model's name; `:latest` behind it is ignored.", min_length=1)
    options: OllamaOptions | None = maybe("How tokens are chosen.")
    keep_alive: OllamaKeepAlive | None = maybe("How long the model stays loaded.")


class _Generation(_Call):
    """What every request for a text has."""

    stream: bool | None = maybe(
        "Whether the answer comes as lines while it is generated. Absent: true."
    )
    format: OllamaFormat | None = maybe("The shape of the answer. Absent: any text.")
    think: OllamaThink | None = maybe("Whether the model thinks. Absent: as it does.")
    logprobs: bool | None = maybe("Whether tokens come with their log probabilities.")
    top_logprobs: int | None = maybe(
        "How many of the likeliest tokens come beside each.", ge=0, le=20
    )
    lora: Lora | None = lora()


class OllamaChatRequest(_Generation):
    """A conversation, and how the model is to continue it."""

    messages: list[OllamaMessage] | None = maybe(
        "The conversation so far, oldest first. Absent or empty: the model is loaded."
    )
    tools: list[ChatCompletionTool] | None = maybe(
        "The tools that the model may call.", max_length=128
    )


class OllamaGenerateRequest(_Generation):
    """A prompt that the model answers, or continues."""

    prompt: str | None = maybe("The prompt. Absent or empty: the model is loaded.")
    suffix: str | None = maybe("The text behind the gap that the model fills.")
    system: str | None = maybe("The system message.")
    images: list[str] | None = maybe("The bytes of images' files in base64.")
    raw: bool | None = maybe("Whether the model continues the prompt as it stands.")
    template: str | None = maybe("Another chat template: refused.")
    context: list[int] | None = maybe("An earlier answer's tokens: refused; use `/api/chat`.")


class OllamaEmbedInput(OneOf):
    """A text, or several."""

    root: Annotated[str, Case("text")] | Annotated[list[str], Field(min_length=1), Case("texts")]


class OllamaEmbedRequest(_Call):
    """Texts of which vectors are wanted."""

    input: OllamaEmbedInput = field(..., "A text, or several.")
    truncate: bool | None = maybe(
        "Whether a text that is too long is cut off; here it is an error."
    )
    dimensions: int | None = maybe("How many numbers of each vector are kept.", ge=1)


class OllamaEmbeddingsRequest(_Call):
    """A text of which a vector is wanted: the older form."""

    prompt: str = field(..., "The text.")


class OllamaShowRequest(Model):
    """A model of which everything is wanted."""

    model: str | None = maybe("The model's name.")
    name: str | None = maybe("The older name of `model`.")
    verbose: bool | None = maybe("Has no effect: all is shown.")


class OllamaDeleteRequest(Model):
    """A kept model that is to be removed."""

    model: str | None = maybe("The model's name.")
    name: str | None = maybe("The older name of `model`.")


class OllamaPullRequest(Model):
    """A model that is to be downloaded and prepared."""

    model: str | None = maybe("`HF://org/repo`, `hf.co/org/repo`, or a path.")
    name: str | None = maybe("The older name of `model`.")
    stream: bool | None = maybe("Whether the progress comes as lines. Absent: true.")
    insecure: AnyJson | None = maybe("Has no effect.")

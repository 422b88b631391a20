"""What the server answers in Ollama's form: an object, or the same in lines of JSON."""

from __future__ import annotations

from typing import Literal

from codegen.schema.base import AnyObject, Model, OpenEnum, field, maybe, measure
from codegen.schema.ollama import OllamaToolCall


class OllamaLikelyToken(Model):
    """A token that was likely."""

    token: str = field(..., "The token's text.")
    logprob: float = field(..., "Its log probability.")
    bytes: list[int] | None = maybe("Its bytes.")


class OllamaLogprob(Model):
    """A token of the answer."""

    token: str = field(..., "The token's text.")
    logprob: float = field(..., "Its log probability.")
    bytes: list[int] | None = maybe("Its bytes.")
    top_logprobs: list[OllamaLikelyToken] | None = maybe("The likeliest in its place.")


class OllamaDoneReason(OpenEnum):
    """Why an answer ended."""

    STOP = "stop", "The model ended it, a stop text was reached, or tools are called."
    LENGTH = "length", "`num_predict` or the context's end was reached."
    LOAD = "load", "Nothing was asked; the model is loaded."
    UNLOAD = "unload", "Nothing was asked; the model is unloaded."


class _Answer(Model):
    """What every answer, and every line of one, has. The last line has the numbers."""

    model: str = field(..., "The model, as the request named it.")
    created_at: str = field(..., "When this was made.")
    done: bool = field(..., "Whether this is the last line.")
    done_reason: OllamaDoneReason | None = maybe("Why the answer ended.")
    total_duration: int | None = measure("From the request on.", "nanoseconds")
    load_duration: int | None = measure("Loading the model.", "nanoseconds")
    prompt_eval_count: int | None = measure("The prompt's length.", "tokens")
    prompt_eval_cached_count: int | None = measure("What of it was cached.", "tokens")
    prompt_eval_duration: int | None = measure("Up to the first token.", "nanoseconds")
    eval_count: int | None = measure("The answer's length.", "tokens")
    eval_duration: int | None = measure("From the first token to the last.", "nanoseconds")
    logprobs: list[OllamaLogprob] | None = maybe("The tokens, when asked for.")


class OllamaAnswerMessage(Model):
    """The model's message, or a piece of it."""

    role: Literal["assistant"] = field(..., "Who speaks.")
    content: str = field(..., "What is said.")
    thinking: str | None = maybe("What the model thinks.")
    tool_calls: list[OllamaToolCall] | None = maybe("The calls; each is whole.")


class OllamaChatResponse(_Answer):
    """The answer to a conversation, or a line of it."""

    message: OllamaAnswerMessage = field(..., "The message, or the next piece.")


class OllamaGenerateResponse(_Answer):
    """The answer to a prompt, or a line of it."""

    response: str = field(..., "The text, or its next piece.")
    thinking: str | None = maybe("What the model thinks.")


class OllamaEmbedResponse(Model):
    """The vectors of texts."""

    model: str = field(..., "The model.")
    embeddings: list[list[float]] = field(..., "A vector for each text.")
    total_duration: int = field(..., "From the request on.", unit="nanoseconds", ge=0)
    load_duration: int = field(..., "Always 0.", unit="nanoseconds", ge=0)
    prompt_eval_count: int = field(..., "The length of all texts.", unit="tokens", ge=0)


class OllamaEmbeddingsResponse(Model):
    """The vector of a text."""

    embedding: list[float] = field(..., "The vector.")


class OllamaModelDetails(Model):
    """What a model is."""

    parent_model: str = field(..., "Always empty.")
    format: str = field(..., "`mlc`, or `gguf`.")
    family: str = field(..., "Such as `llama`.")
    families: list[str] = field(..., "The same.")
    parameter_size: str = field(..., "How many weights it has, as its name says, such as `135M`.")
    quantization_level: str = field(..., "Such as `q4f32_1`.")


class OllamaModel(Model):
    """A model that can answer."""

    name: str = field(..., "Its name.")
    model: str = field(..., "The same.")
    modified_at: str | None = maybe("When it was loaded or made.")
    size: int = field(..., "Its files, or the memory that it takes.", unit="bytes", ge=0)
    digest: str = field(..., "A checksum of its description.")
    details: OllamaModelDetails = field(..., "What it is.")
    expires_at: str | None = maybe("When it will leave, if nobody asks it.")
    size_vram: int | None = measure("What it takes of a GPU's memory.", "bytes")
    context_length: int | None = measure("The longest chat.", "tokens")


class OllamaModels(Model):
    """The models."""

    models: list[OllamaModel] = field(..., "One entry a model.")


class OllamaShowResponse(Model):
    """Everything about a model."""

    modelfile: str = field(..., "Always empty: there is none.")
    parameters: str = field(..., "Its defaults of sampling, a line each.")
    template: str = field(..., "Its chat template, in Jinja's language.")
    details: OllamaModelDetails = field(..., "What it is.")
    model_info: AnyObject = field(..., "Its sizes, under GGUF's names.")
    capabilities: list[str] = field(..., "Such as `completion`, `tools`, `vision`, `embedding`.")
    modified_at: str = field(..., "When it was loaded.")


class OllamaVersion(Model):
    """The server's version."""

    version: str = field(..., "The version of mlc_llm.")


class OllamaStatus(Model):
    """How far a download is."""

    status: str | None = maybe("What is done; `success` at the end.")
    digest: str | None = maybe("What is downloaded.")
    total: int | None = measure("How much it is.")
    completed: int | None = measure("How much of it is there.")


class OllamaError(Model):
    """What is wrong."""

    error: str = field(..., "What is wrong and what to do about it.")

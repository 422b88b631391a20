"""What the HTTP server asks and answers beside the engine's routes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from codegen.schema.base import AnyObject, Model, field, maybe
from codegen.schema.tokenization import TokenId


class HealthStatus(Model):
    """The process answers."""

    status: Literal["ok"] = field(..., "Always this word.")


class LoadingModel(Model):
    """How far the load of a model is."""

    status: Literal["loading"] = field(..., "Always this word.")
    model: str = field(..., "The model's name.")
    stage: str = field(..., "What is done now, such as `weights`.")
    progress: float = field(..., "The part that is done.", ge=0, le=1)


class ReadyStatus(Model):
    """A model is loaded."""

    status: Literal["ready"] = field(..., "Always this word.")
    model: str = field(..., "The model that answers a request which names none.")
    loading: list[LoadingModel] | None = maybe(
        "The models that are being loaded now. Absent: none."
    )


class ServerLoadRequest(Model):
    """Which model the server loads, as its command line would name it."""

    closed = True

    model: str = field(
        ...,
        "A prepared or an ordinary model folder, a GGUF file, or `HF://org/repo`.",
        min_length=1,
    )
    model_lib: str | None = maybe("The compiled library. Absent: found or compiled.")
    device: str | None = maybe("Where the model runs. Absent: the first device there is.")
    mode: str | None = maybe("`local`, `interactive` or `server`. Absent: `local`.")
    quantization: str | None = maybe("For a model that is not prepared yet.")
    engine_config: AnyObject | None = maybe("Members of `EngineConfig`.")


class ServerUnloadRequest(Model):
    """Which model the server unloads."""

    closed = True

    model: str = field(..., "The model's name.", min_length=1)


class ServerAdapterLoadRequest(Model):
    """A LoRA adapter that requests may choose, as vLLM's route takes it."""

    closed = True

    lora_name: str = field(..., "The adapter's name.", min_length=1)
    lora_path: str = field(
        ..., "Its folder (PEFT's or mlx-lm's), or its file (GGUF, `.mlc-adapter`).", min_length=1
    )
    base_model_name: str | None = maybe("The model. Absent: the first one.")


class ServerAdapterUnloadRequest(Model):
    """An adapter that no new request may choose."""

    closed = True

    lora_name: str = field(..., "The adapter's name.", min_length=1)


class ServerPrefillRequest(Model):
    """A prompt that another server goes on with. The answer is its state, in `kv.save`'s form."""

    closed = True

    prompt_tokens: Annotated[list[TokenId], Field(min_length=1)] = field(
        ..., "The prompt's token ids.", unit="tokens"
    )
    model: str | None = maybe("The model. Absent: the first one.")


class InputTokenCount(Model):
    """The length of a conversation as the model would read it."""

    object: Literal["response.input_tokens"] = field(..., "The kind of object.")
    input_tokens: int = field(..., "The length of the prompt.", unit="tokens", ge=0)


class ServerUnloaded(Model):
    """The model is gone."""

    status: Literal["unloaded"] = field(..., "Always this word.")
    model: str = field(..., "The model's name.")


class PropsModalities(Model):
    """What a model takes beside text."""

    vision: bool = field(..., "Whether it takes pictures.")
    audio: bool = field(..., "Always false.")


class PropsSettings(Model):
    """What a request that says nothing gets."""

    n_ctx: int = field(..., "The longest chat.", unit="tokens", ge=0)


class Props(Model):
    """A model as llama.cpp's server describes it."""

    default_generation_settings: PropsSettings = field(..., "What a request gets by itself.")
    total_slots: int = field(..., "How many sequences are generated at the same time.", ge=0)
    model_path: str = field(..., "The place from which it was loaded.")
    chat_template: str = field(..., "Its chat template.")
    modalities: PropsModalities = field(..., "What it takes beside text.")
    build_info: str = field(..., "The server's version.")

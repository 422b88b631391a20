"""Models and devices: what there is, and what is loaded."""

from __future__ import annotations

from typing import Literal

from codegen.schema.base import Model, OpenEnum, field, maybe, measure


class ModelStatus(OpenEnum):
    """Whether a server has a model in memory."""

    UNLOADED = "unloaded", "It is known, and a request loads it."
    LOADING = "loading", "It is being loaded."
    LOADED = "loaded", "It answers at once."
    SLEEPING = "sleeping", "It is loaded, and gave back what can be computed or read again."
    LEAVING = "leaving", "It ends its last requests, and leaves."
    FAILED = "failed", "Its last load failed; it is tried again after some time."


class InputModality(OpenEnum):
    """What a model reads."""

    TEXT = "text", "Texts."
    IMAGE = "image", "Pictures: parts `image_url` of messages."


class ModelObject(Model):
    """A model that can answer."""

    names = {"python": "Model"}

    id: str = field(..., "The model's name, as requests give it in `model`.")
    object: Literal["model"] = field(..., "The kind of object.")
    created: int = field(..., "When it was made.", unit="seconds since 1970, UTC", ge=0)
    owned_by: str = field(..., "Who offers it.")
    status: ModelStatus | None = maybe("Whether it is in memory. Absent: nobody says.")
    progress: float | None = maybe("How far its load is.", ge=0, le=1)
    input_modalities: list[InputModality] | None = maybe(
        "What it reads. Absent: that is known once it is loaded."
    )
    parent: str | None = maybe("Of an adapter: its model. Absent: it is a model.")
    root: str | None = maybe("Of an adapter: where it was loaded from. Absent: nobody says.")


class ModelList(Model):
    """The models that can answer."""

    object: Literal["list"] = field(..., "The kind of object.")
    data: list[ModelObject] = field(..., "The models.")


class ModelLoadRequest(Model):
    """Which model an engine loads."""

    model: str = field(
        ..., "The model's folder, which holds `mlc-chat-config.json`, weights and tokenizer."
    )
    model_lib: str | None = maybe(
        "The compiled library: a file, or the name of one among the app's libraries or linked into "
        "the program. Absent: the one in the folder `lib` of the model's folder."
    )
    device: str = field(
        "auto", "Where the model runs, such as `cpu:0`; `auto` takes the first device there is."
    )
    name: str | None = maybe("The model's name in answers. Absent: the folder's.")


class DeviceProbe(Model):
    """A kind of device, and whether this machine has it."""

    name: str = field(..., "The device, such as `cuda:0`.")
    found: bool = field(..., "Whether it can be used.")
    reason: str = field(..., "Why it cannot be used; empty when it can.")
    description: str | None = maybe("What its driver calls it. Absent: nobody says.")
    memory_bytes: int | None = measure(
        "The size of its memory; of the CPU: what is free now.", "bytes"
    )
    max_buffer_bytes: int | None = measure("The largest tensor it can hold.", "bytes")
    local_memory_bytes: int | None = measure("Memory that a work-group shares.", "bytes")
    max_group_size: int | None = measure("Work-items of a work-group at most.")
    f16: bool | None = maybe("Whether it computes with 16-bit floats.")
    is_processor: bool | None = maybe(
        "Whether it is the CPU, driven as another device; `auto` passes over it."
    )

"""LoRA adapters that requests choose by name, and how they are loaded while an engine runs."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from codegen.schema.base import Case, Model, OneOf, field, maybe


class LoraUse(Model):
    """An adapter of a request."""

    name: str = field(..., "The name under which it was loaded.", min_length=1)
    scale: float = field(1.0, "By how much its change counts.", ge=-1000, le=1000)


class Lora(OneOf):
    """The adapters of a request: the name of one, or several, whose changes add up."""

    root: (
        Annotated[str, Field(min_length=1), Case("name")]
        | Annotated[list[LoraUse], Field(max_length=8), Case("uses")]
    )


def lora() -> Any:
    return maybe(
        "The adapters that change the model for this request. Absent: none. An extension of this "
        "engine.",
    )


class AdapterLoadRequest(Model):
    """An adapter that requests may choose from now on."""

    name: str = field(
        ...,
        "The name that requests use. One that is loaded already is replaced; its requests go on "
        "with it.",
        min_length=1,
        max_length=256,
    )
    path: str = field(
        ...,
        "The adapter's file, on the engine's machine; `mlc_llm convert_adapter` makes it of other "
        "formats.",
        min_length=1,
    )


class AdapterUnloadRequest(Model):
    """An adapter that no new request may choose; its requests go on with it."""

    name: str = field(..., "Its name.", min_length=1)


class AdapterListRequest(Model):
    """Which adapters are asked for."""

    name: str | None = maybe("The adapter of this name alone. Absent: all.", min_length=1)


class AdapterInfo(Model):
    """An adapter that requests may choose."""

    name: str = field(..., "Its name.")
    rank: int = field(..., "The rank of its matrices.", ge=1)
    hash: str = field(..., "What identifies its content.")


class AdapterList(Model):
    """The adapters that requests may choose."""

    adapters: list[AdapterInfo] = field(..., "In the order of their names.")
    ranks: int = field(..., "How many ranks have room, those of all adapters together.", ge=0)
    free_ranks: int = field(
        ..., "How many of them are free; an adapter takes a multiple of 8.", ge=0
    )

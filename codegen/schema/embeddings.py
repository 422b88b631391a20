"""Embeddings: a vector for each text."""

from __future__ import annotations

from typing import Annotated, Literal

from codegen.schema import queueing
from codegen.schema.base import Case, ClosedEnum, Model, OneOf, field, maybe
from codegen.schema.completions import Prompt


class EmbeddingEncoding(ClosedEnum):
    """How a vector is written."""

    FLOAT = "float", "As a list of numbers."
    BASE64 = "base64", "As the base64 of its numbers, little-endian float32."


class EmbeddingRequest(Model):
    """Texts of which vectors are wanted."""

    input: Prompt = field(..., "A text, several texts, or their token ids.")
    model: str | None = maybe("The model to use. Absent: the engine's own.")
    encoding_format: EmbeddingEncoding = field(
        EmbeddingEncoding.FLOAT, "How the vectors are written."
    )
    dimensions: int | None = maybe(
        "How many numbers of each vector are kept. Absent: all that the model gives.", ge=1
    )
    user: str | None = maybe("A label of the end user; it has no effect.")
    priority: int | None = queueing.priority()
    timeout_ms: int | None = queueing.timeout_ms()


class EmbeddingVector(OneOf):
    """A vector: its numbers, or their base64."""

    mostly_first = True
    root: Annotated[list[float], Case("numbers")] | Annotated[str, Case("base64")]


class Embedding(Model):
    """The vector of one text."""

    index: int = field(..., "Which of the texts this belongs to, from 0.", ge=0)
    object: Literal["embedding"] = field(..., "The kind of object.")
    embedding: EmbeddingVector = field(..., "The vector.")


class EmbeddingUsage(Model):
    """What a request for embeddings cost."""

    names = {"python": "Usage"}

    prompt_tokens: int = field(..., "The length of all texts together.", unit="tokens", ge=0)
    total_tokens: int = field(..., "The same.", unit="tokens", ge=0)


class EmbeddingResponse(Model):
    """The vectors of the texts, in their order."""

    names = {"python": "CreateEmbeddingResponse"}

    object: Literal["list"] = field(..., "The kind of object.")
    data: list[Embedding] = field(..., "The vectors.")
    model: str = field(..., "The model that made them.")
    usage: EmbeddingUsage = field(..., "What the request cost.")

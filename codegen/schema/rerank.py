"""Reranking: how well each of some documents answers a query."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from codegen.schema import queueing
from codegen.schema.base import Case, Model, OneOf, field, maybe
from codegen.schema.embeddings import EmbeddingUsage


class RerankDocument(Model):
    """A document as an object."""

    text: str = field(..., "The document's text.")


class RerankInput(OneOf):
    """A document to be judged: its text, or an object with the text."""

    root: Annotated[str, Case("text")] | Annotated[RerankDocument, Case("document")]


class RerankRequest(Model):
    """A query, and the documents of which the best ones are wanted."""

    query: str = field(..., "What the documents are judged by.", min_length=1)
    documents: Annotated[list[RerankInput], Field(min_length=1, max_length=10000)] = field(
        ..., "The documents: texts, or objects with a text."
    )
    model: str | None = maybe("The model to use. Absent: the engine's own.")
    top_n: int | None = maybe(
        "How many results are returned, the best first. Absent: one for each document.", ge=1
    )
    return_documents: bool = field(False, "Whether each result holds its document.")
    max_tokens_per_doc: int | None = maybe(
        "How many tokens of each document are read at most. Absent: as many as fit beside the "
        "query.",
        "tokens",
        ge=1,
    )
    truncate: bool = field(
        True,
        "Whether the end of a document is left out that does not fit beside the query. False: "
        "such a request is refused. An extension of this engine.",
    )
    raw_scores: bool = field(
        False,
        "Whether scores are the model's own numbers, of any size, instead of numbers from 0 to 1. "
        "An extension of this engine.",
    )
    priority: int | None = queueing.priority()
    timeout_ms: int | None = queueing.timeout_ms()


class RerankResult(Model):
    """How well one document answers the query."""

    index: int = field(..., "Which of the documents it is, from 0.", ge=0)
    relevance_score: float = field(..., "The score; a larger one is better.")
    document: RerankDocument | None = maybe(
        "The document. Absent: it was not asked for by `return_documents`."
    )


class RerankResponse(Model):
    """The documents in the order of their scores, the best first."""

    id: str = field(..., "The answer's id.")
    object: Literal["list"] = field(..., "The kind of object.")
    model: str = field(..., "The model that judged.")
    results: list[RerankResult] = field(..., "The results, the best first.")
    usage: EmbeddingUsage = field(..., "What the request cost.")

"""The shape that an answer must have."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from codegen.schema.base import AnyObject, Case, Model, OneOf, field, maybe


class ResponseFormatText(Model):
    """Any text."""

    type: Literal["text"] = field(..., "The kind of format.")


class JsonSchemaSource(OneOf):
    """A JSON Schema, as JSON text or as the object itself."""

    root: Annotated[str, Case("text")] | Annotated[AnyObject, Case("object")]


class ResponseFormatJSONObject(Model):
    """A JSON object."""

    type: Literal["json_object"] = field(..., "The kind of format.")
    schema_: JsonSchemaSource | None = maybe(
        "A JSON Schema that the object must match. Absent: any object.", wire_name="schema"
    )


class JSONSchema(Model):
    """A JSON Schema with a name."""

    name: str = field(..., "The schema's name.", min_length=1, max_length=64)
    description: str | None = maybe("What the answer is for; the model may read it.")
    schema_: AnyObject | None = maybe("The JSON Schema.", wire_name="schema")
    strict: bool | None = maybe(
        "Whether a schema is refused that the answer cannot be held to in full. Otherwise what "
        "cannot be enforced is left out, and `warnings` say so."
    )


class SchemaWarning(Model):
    """What a schema says and the answer was not held to."""

    param: str = field(..., "The field of the request that holds the schema.")
    path: str = field(..., "The JSON pointer of the keyword in the schema.")
    message: str = field(..., "Why it is left out.")


class ResponseFormatJSONSchema(Model):
    """JSON that matches a schema."""

    type: Literal["json_schema"] = field(..., "The kind of format.")
    json_schema: JSONSchema = field(..., "The schema.")


class ResponseFormatRegex(Model):
    """Text that a regular expression matches as a whole."""

    type: Literal["regex"] = field(..., "The kind of format.")
    regex: str = field(..., "The regular expression, in ECMAScript's syntax.", min_length=1)


class ResponseFormatGrammar(Model):
    """Text that a grammar derives."""

    type: Literal["grammar"] = field(..., "The kind of format.")
    grammar: str = field(
        ...,
        "The grammar in GBNF (EBNF as llama.cpp writes it); its first rule is `root`.",
        min_length=1,
    )


class StructuralTag(Model):
    """A stretch of the answer, between two texts, that has a shape."""

    begin: str = field(..., "The text that opens the stretch.", min_length=1)
    schema_: AnyObject = field(..., "The JSON Schema.", wire_name="schema")
    end: str = field(..., "The text that closes the stretch.", min_length=1)


class ResponseFormatStructuralTag(Model):
    """Free text in which tagged stretches have a shape.

    Give either `tags` and `triggers`, or `format`.
    """

    type: Literal["structural_tag"] = field(..., "The kind of format.")
    tags: list[StructuralTag] | None = maybe("The stretches that may occur.", min_length=1)
    triggers: list[str] | None = maybe(
        "Texts after which a stretch must follow; each tag's `begin` starts with one of them.",
        min_length=1,
    )
    format: AnyObject | None = maybe("A structural tag's format object, in full.")


class ResponseFormat(OneOf):
    """The shape that the answer must have."""

    root: Annotated[
        ResponseFormatText
        | ResponseFormatJSONObject
        | ResponseFormatJSONSchema
        | ResponseFormatRegex
        | ResponseFormatGrammar
        | ResponseFormatStructuralTag,
        Field(discriminator="type"),
    ]

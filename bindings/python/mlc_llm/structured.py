"""Answers as values of the program's own types.

    class Country(BaseModel):
        name: str
        people: int

    answer = engine.chat.completions.parse(messages=[...], response_format=Country)
    country = answer.choices[0].message.parsed      # a Country

Every type that pydantic knows can be used: models, dataclasses, TypedDicts, lists of them, unions.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from mlc_llm.errors import UnfinishedAnswerError, UnsupportedError
from mlc_llm.types_gen import (
    ChatCompletion,
    ChatCompletionMessage,
    Choice,
    ResponseFormatParam,
)

T = TypeVar("T")
_WITH_SCHEMAS = ("items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf")


class ParsedMessage(ChatCompletionMessage, Generic[T]):
    """The model's answer, and its value."""

    parsed: T | None = None
    """The value; None if the message calls tools instead."""


class ParsedChoice(Choice, Generic[T]):
    """One of the answers."""

    # A narrower type, which is only read.
    message: ParsedMessage[T]  # pyright: ignore[reportIncompatibleVariableOverride]


class ParsedChatCompletion(ChatCompletion, Generic[T]):
    """The answers to a request, with their values."""

    choices: list[ParsedChoice[T]]  # type: ignore[assignment]


def schema_of(kind: type[T]) -> dict[str, Any]:
    """The JSON Schema of a type. Its objects have only the members of the type."""
    try:
        schema = TypeAdapter(kind).json_schema()
    except Exception as error:  # pydantic has several errors for a type without a schema
        raise UnsupportedError(
            f"{_name_of(kind)} has no JSON Schema: {error}", param="response_format"
        ) from None
    close_schema(schema)
    return schema


def format_of(kind: type[T]) -> ResponseFormatParam:
    """A value for `response_format` that restricts an answer to a type."""
    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in _name_of(kind))[:64]
    json_schema = {"name": name, "schema": schema_of(kind), "strict": True}
    return {"type": "json_schema", "json_schema": json_schema}  # type: ignore[typeddict-item]


def parsed(answer: ChatCompletion, kind: type[T]) -> ParsedChatCompletion[T]:
    """An answer with the values of its choices."""
    adapter = TypeAdapter(kind)
    data = answer.model_dump()
    for choice in data["choices"]:
        message = choice["message"]
        if message["content"] is not None and not message.get("tool_calls"):
            message["parsed"] = _value(adapter, choice)
    # The values are complete. `Any` prevents a second validation.
    return cast("ParsedChatCompletion[T]", ParsedChatCompletion[Any].model_validate(data))


def _value(adapter: TypeAdapter[T], choice: dict[str, Any]) -> T:
    try:
        return adapter.validate_json(choice["message"]["content"])
    except ValidationError as error:
        advice = "; give it more tokens" if choice["finish_reason"] == "length" else ""
        raise UnfinishedAnswerError(
            f"answer {choice['index']} (finish_reason {choice['finish_reason']}) is no whole "
            f"value: {error.errors()[0]['msg']}{advice}",
            param=f"choices[{choice['index']}]",
        ) from None


def _name_of(kind: object) -> str:
    return getattr(kind, "__name__", None) or str(kind)


def close_schema(schema: object) -> None:
    """Sets `additionalProperties: false` on every object that does not allow other members."""
    if isinstance(schema, list):
        for item in cast("list[object]", schema):
            close_schema(item)
    if not isinstance(schema, dict):
        return
    members = cast("dict[str, object]", schema)
    if "properties" in members:
        members.setdefault("additionalProperties", False)
    for key, value in members.items():
        if key in ("properties", "$defs"):  # a mapping of names to schemas; a name may be any word
            for item in cast("dict[str, object]", value).values():
                close_schema(item)
        elif key in _WITH_SCHEMAS:
            close_schema(value)

"""What the schema's models are made of.

A field's place in JSON follows from its default: `field(...)` must be there, `field(None)` may be
absent, `field(3)` is 3 when absent. In a request, null means absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from enum import Enum
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, RootModel

from codegen.rows import Number, PlainRoute, Record, StepInput, Text


class Model(BaseModel):
    """A JSON object.

    `names` gives the type another name in one language. In a `closed` object an unknown member is
    an error; it suits what a person types.

    The fields of a `shared` model stand in those that inherit it, before their own field
    `shared_before` ("": first of all). In C++ it is their base.
    """

    model_config = ConfigDict(protected_namespaces=(), arbitrary_types_allowed=True)
    names: ClassVar[dict[str, str]] = {}
    closed: ClassVar[bool] = False
    shared: ClassVar[bool] = False
    shared_before: ClassVar[str] = ""


class OneOf(RootModel[Any]):
    """A union: of objects told apart by a tag, or of values told apart by their JSON type.

    Members of the second kind carry their name: `Annotated[str, Case("text")]`. `mostly_first`:
    Python's type checkers see the first form alone, as in OpenAI's package; who asks for another
    form knows it.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    names: ClassVar[dict[str, str]] = {}
    mostly_first: ClassVar[bool] = False


@dataclass(frozen=True)
class Case:
    """The name of one member of a `OneOf`."""

    name: str


class _Words(str, Enum):
    description: str

    def __new__(cls, value: str, description: str) -> _Words:
        member = str.__new__(cls, value)
        member._value_ = value
        member.description = description
        return member


class ClosedEnum(_Words):
    """Words of which the engine refuses all others."""


class OpenEnum(_Words):
    """Words to which a newer engine may add."""


class AnyJson:
    """Any JSON value, passed on unread."""


class AnyObject:
    """A JSON object, passed on unread."""


def field(
    default: Any,
    description: str,
    *,
    unit: str | None = None,
    always: bool = False,
    required_when: tuple[str, tuple[str, ...]] | None = None,
    wire_name: str | None = None,
    neutral: float | None = None,
    or_bytes: bool = False,
    **limits: Any,
) -> Any:
    """One field.

    `always`: the key is written as null when the value is absent. `required_when=("role",
    ("tool",))`: must be there when the earlier field `role` has one of these values. `wire_name`:
    the key in JSON, where it cannot be a pydantic field. `neutral`: of a number of sampling, what
    it is when neither the request nor the model says. `or_bytes`: of a URL, that a client may give
    the bytes themselves. `limits`: ge, gt, le, lt, min_length, max_length.
    """
    extra: Any = {
        "unit": unit,
        "always": always,
        "required_when": required_when,
        "neutral": neutral,
        "or_bytes": or_bytes,
    }
    return Field(
        default, alias=wire_name, description=description, json_schema_extra=extra, **limits
    )


def maybe(description: str, unit: str | None = None, **more: Any) -> Any:
    """A field that may be missing."""
    return field(None, description, unit=unit, **more)


def measure(description: str, unit: str | None = None) -> Any:
    """A count, an amount or a time, never below 0, that may be missing."""
    return maybe(description, unit, ge=0)


@dataclass(frozen=True)
class RouteModel:
    """One `create` function: what it sends and what it gives, whole and in pieces if it streams.

    `typed_fields`: those for which a language's helpers take values of the program's own types.
    """

    name: str
    request: type[Model]
    response: type[Model]
    chunk: type[Model] | None = None
    stream_field: str | None = None
    typed_fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class CallModel:
    """A route of the engine's that gives one answer and is never streamed."""

    name: str
    request: type[Model]
    response: type[Model]


@dataclass(frozen=True)
class SamplingModel:
    """How tokens are chosen: the fields of requests, and the records of the kernels.

    `meaning`: counts the changes of what the words mean where their names and types stay.
    """

    fields: type[Model]
    records: tuple[Record, ...]
    meaning: int


@dataclass(frozen=True)
class StatusModel:
    """A class of errors. `kind` and `http`: of its reasons that name no other."""

    word: OpenEnum
    kind: str
    http: int


@dataclass(frozen=True)
class KindModel:
    """A class of exceptions in each language.

    `reason`: of an error that has no more precise one. `type`: OpenAI's `type`. `parent`: the kind
    that it belongs to as well. `names`: its name where a language has another for it.
    """

    name: str
    reason: str
    type: str
    description: str
    parent: str = ""
    names: Mapping[str, str] = dataclass_field(default_factory=dict)


@dataclass(frozen=True)
class ReasonModel:
    """One reason of an error: the `code` of the error's JSON.

    `description` says what went wrong, `advice` what to do. What is empty is that of the status
    (`kind`, `http`) or of the kind (`type`). `openai`: the `code` that the HTTP server sends; None
    where OpenAI's API has no code.
    """

    name: str
    status: OpenEnum
    description: str
    advice: str
    kind: str = ""
    http: int = 0
    type: str = ""
    openai: str | None = ""


@dataclass(frozen=True)
class ErrorsModel:
    """All errors. The keys of `reasons` say who makes them."""

    statuses: tuple[StatusModel, ...]
    kinds: tuple[KindModel, ...]
    reasons: Mapping[str, tuple[ReasonModel, ...]]


@dataclass(frozen=True)
class EventModel:
    """An event of a helper: `field` is what its value is called."""

    name: str
    field: str
    type: type
    description: str


@dataclass(frozen=True)
class HelperModel:
    """What a helper that is written by hand in every language has in common in all."""

    name: str
    types: tuple[type[Model] | type[ClosedEnum], ...]
    event_name: str
    event_description: str
    events: tuple[EventModel, ...]
    numbers: tuple[Number, ...]
    texts: tuple[Text, ...]


@dataclass(frozen=True)
class CompatibleModel:
    """A type as MLC-LLM has it, and the one of the protocol that it stands for.

    `others`: further names of it.
    """

    model: type[Model] | type[OneOf] | type[ClosedEnum]
    stands_for: type[Model] | type[OneOf] | type[ClosedEnum]
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProtocolRoots:
    """What the engine reads and what it writes; a type may be in both.

    `server_requests` and `server_responses` are what the HTTP server adds to that: its document
    describes them, and no other language has them. `helpers` and `compatible` are only in the
    languages of clients.
    """

    requests: tuple[type[Model], ...]
    responses: tuple[type[Model], ...]
    routes: tuple[RouteModel, ...]
    calls: tuple[CallModel, ...] = ()
    plain_routes: tuple[PlainRoute, ...] = ()
    sampling: SamplingModel | None = None
    errors: ErrorsModel | None = None
    step_inputs: tuple[StepInput, ...] = ()
    server_requests: tuple[type[Model], ...] = ()
    server_responses: tuple[type[Model] | type[OneOf], ...] = ()
    helpers: tuple[HelperModel, ...] = ()
    compatible: tuple[CompatibleModel, ...] = ()

"""The intermediate representation: the protocol as plain data, the same for every language.

`lower.py` makes it from the schema, `languages/` turn it into text. A type is a `Scalar`, `Const`,
`ListOf`, `MapOf`, `Raw`, or a `Ref` to a declared `Struct`, `Union` or `Enum`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, is_dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from codegen.rows import Number, PlainRoute, Record, StepInput, Text


@dataclass(frozen=True)
class Limits:
    """Bounds of a number's value, or of a string's or list's length."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    min_length: int | None = None
    max_length: int | None = None


NO_LIMITS = Limits()


@dataclass(frozen=True)
class Scalar:
    kind: Literal["bool", "int", "float", "string"]
    limits: Limits = NO_LIMITS


@dataclass(frozen=True)
class Const:
    """A string that is always the same."""

    value: str


@dataclass(frozen=True)
class ListOf:
    item: Type
    limits: Limits = NO_LIMITS


@dataclass(frozen=True)
class MapOf:
    """A JSON object used as a map; an `int` key is written in decimal and is not negative."""

    key: Literal["string", "int"]
    value: Type


@dataclass(frozen=True)
class Raw:
    """JSON that is passed on unread."""

    object_only: bool


@dataclass(frozen=True)
class Ref:
    name: str


Type: TypeAlias = Scalar | Const | ListOf | MapOf | Raw | Ref


@dataclass(frozen=True)
class RequiredWhen:
    field: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Field:
    """`required`: the key must be there. `default`: its value when absent; None is no value.

    `or_bytes`: a URL in whose place clients take bytes too.
    """

    name: str
    type: Type
    description: str
    required: bool
    default: bool | int | float | str | None = None
    always: bool = False
    required_when: RequiredWhen | None = None
    unit: str | None = None
    or_bytes: bool = False

    @property
    def optional(self) -> bool:
        """Whether a value may hold nothing here."""
        return not self.required and self.default is None


@dataclass(frozen=True)
class Names:
    """A declaration's name, and the other names it has in single languages."""

    name: str
    overrides: tuple[tuple[str, str], ...] = ()

    def in_language(self, language: str) -> str:
        return dict(self.overrides).get(language, self.name)


@dataclass(frozen=True)
class Usage:
    """Whether the engine reads the type, writes it, or both."""

    in_requests: bool = False
    in_responses: bool = False


@dataclass(frozen=True)
class Struct:
    """`closed`: a member that the schema does not know is an error, not ignored.

    `base`: the struct of `Protocol.bases` whose fields are among these.
    """

    names: Names
    description: str
    fields: tuple[Field, ...]
    usage: Usage
    closed: bool = False
    base: str = ""


@dataclass(frozen=True)
class Variant:
    """`tag`: the discriminator's value, or None when the JSON type tells the variants apart."""

    name: str
    type: Type
    json_type: str
    tag: str | None = None


@dataclass(frozen=True)
class Union:
    """`mostly_first`: type checkers of Python see the first variant alone."""

    names: Names
    description: str
    variants: tuple[Variant, ...]
    discriminator: str | None
    usage: Usage
    mostly_first: bool = False


@dataclass(frozen=True)
class EnumValue:
    wire: str
    description: str


@dataclass(frozen=True)
class Enum:
    """`open`: the engine itself takes and keeps words it does not know. (Clients always do, but in
    a `closed` struct: an answer's `ChatCompletionRole` may be a word that is not among `values`.)
    """

    names: Names
    description: str
    values: tuple[EnumValue, ...]
    open: bool
    usage: Usage


Declaration: TypeAlias = Struct | Union | Enum


@dataclass(frozen=True)
class Route:
    """A `create` function. `chunk` and `stream_field`: of one that streams."""

    name: str
    request: str
    response: str
    chunk: str | None = None
    stream_field: str | None = None
    typed_fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call:
    """A route that gives one answer and is never streamed."""

    name: str
    request: str
    response: str


@dataclass(frozen=True)
class SamplingNumber:
    """A number of sampling; `neutral` is what it is when neither request nor model says."""

    field: Field
    neutral: float


@dataclass(frozen=True)
class Sampling:
    """The struct of the requests' fields, the numbers among them, and the kernels' records."""

    fields: Struct
    numbers: tuple[SamplingNumber, ...]
    records: tuple[Record, ...]
    meaning: int

    def version(self) -> int:
        """Of the records: another one with each change of a name, a type or the order."""
        words = [(r.name, [(w.name, type(w.default).__name__) for w in r.words])
                 for r in self.records]  # fmt: skip
        text = json.dumps([self.meaning, words])
        return int(hashlib.sha256(text.encode()).hexdigest()[:4], 16)


@dataclass(frozen=True)
class ErrorKind:
    """A class of exceptions; `reason` is that of an error without a more precise one."""

    names: Names
    reason: str
    type: str
    parent: str
    description: str


@dataclass(frozen=True)
class ErrorStatus:
    """`number` crosses the C interface; `kind` is that of an error of no known reason."""

    word: str
    number: int
    kind: ErrorKind
    description: str


@dataclass(frozen=True)
class Reason:
    """`source`: who makes it. `openai`: the `code` that the HTTP server sends, None for none."""

    name: str
    source: str
    status: ErrorStatus
    kind: ErrorKind
    http: int
    type: str
    openai: str | None
    description: str
    advice: str

    @property
    def doc(self) -> str:
        return f"{self.description} {self.advice}"


@dataclass(frozen=True)
class Errors:
    """All that is known of errors. The last kind is that of an error of which nothing is known."""

    statuses: tuple[ErrorStatus, ...]
    kinds: tuple[ErrorKind, ...]
    reasons: tuple[Reason, ...]

    def find(self, name: str) -> Reason:
        return next(reason for reason in self.reasons if reason.name == name)

    @property
    def last_kind(self) -> ErrorKind:
        return self.kinds[-1]

    def kind_of_type(self) -> dict[str, ErrorKind]:
        """The first kind of each type; of a server's error, the last, which is ours."""
        kinds = {kind.type: kind for kind in reversed(self.kinds)}
        return {**kinds, self.last_kind.type: self.last_kind}


@dataclass(frozen=True)
class Event:
    """`field` is what its value is called where values have names."""

    name: str
    field: str
    type: Type
    description: str


@dataclass(frozen=True)
class Helper:
    """What is common to a helper of all client languages: types, an event, numbers and texts."""

    name: str
    declarations: tuple[Struct | Enum, ...]
    event_name: str
    event_description: str
    events: tuple[Event, ...]
    numbers: tuple[Number, ...]
    texts: tuple[Text, ...]


@dataclass(frozen=True)
class Compatible:
    """A declaration of MLC-LLM's, and the name of the one that it stands for."""

    declaration: Declaration
    stands_for: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Protocol:
    """Declarations, each after those it uses; `server` has those that the HTTP server adds.

    `bases`: structs of fields that several declarations share. `compatible`: MLC-LLM's types, whose
    names may be those of `declarations`.
    """

    declarations: tuple[Declaration, ...]
    routes: tuple[Route, ...]
    calls: tuple[Call, ...] = ()
    server: tuple[Declaration, ...] = ()
    helpers: tuple[Helper, ...] = ()
    compatible: tuple[Compatible, ...] = ()
    plain_routes: tuple[PlainRoute, ...] = ()
    bases: tuple[Struct, ...] = ()
    sampling: Sampling | None = None
    errors: Errors | None = None
    step_inputs: tuple[StepInput, ...] = ()

    def find(self, name: str) -> Declaration:
        return next(d for d in self.declarations if d.names.name == name)

    @cached_property
    def schema_hash(self) -> str:
        """A short hash of what the engine reads and writes: descriptions and what helpers
        need do not change it.
        """
        protocol = asdict(self)
        in_clients = ("server", "helpers", "compatible", "bases")
        for beside in (*in_clients, "sampling", "errors", "step_inputs"):
            del protocol[beside]
        text = json.dumps(_of_the_engine(protocol), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _of_the_engine(value: Any) -> Any:
    if isinstance(value, dict):
        beside = ("description", "typed_fields", "or_bytes")
        return {k: _of_the_engine(v) for k, v in value.items() if k not in beside}
    if isinstance(value, (list, tuple)):
        return [_of_the_engine(item) for item in value]
    assert not is_dataclass(value)
    return value

"""A schema with each feature once: what the golden files are generated from."""

from __future__ import annotations

from typing import Annotated, Literal

from codegen.rows import Number, PlainRoute, Record, StepInput, Text, Word
from codegen.schema.base import (
    AnyJson,
    AnyObject,
    CallModel,
    Case,
    ClosedEnum,
    CompatibleModel,
    ErrorsModel,
    EventModel,
    HelperModel,
    KindModel,
    Model,
    OneOf,
    OpenEnum,
    ProtocolRoots,
    ReasonModel,
    RouteModel,
    SamplingModel,
    StatusModel,
    field,
)
from pydantic import Field


class Colour(ClosedEnum):
    """A closed enum.

    Its description has two paragraphs.
    """

    DEFAULT = "default", "A reserved word."
    DARK_RED = "dark-red", "A hyphen."


class Mood(OpenEnum):
    """An open enum."""

    FINE = "fine", "All is well."


class Circle(Model):
    """A tagged member."""

    kind: Literal["circle"] = field(..., "A constant.")
    radius: float = field(..., "An exclusive bound.", gt=0, lt=10)


class Square(Model):
    """Another tagged member."""

    kind: Literal["square"] = field(..., "A constant.")
    side: int = field(..., "Inclusive bounds and a unit.", ge=1, le=9, unit="cm")


class Dot(Model):
    """A tagged member with nothing but its tag."""

    kind: Literal["dot"] = field(..., "A constant.")


class Shape(OneOf):
    """A union of tagged objects."""

    root: Annotated[Circle | Square | Dot, Field(discriminator="kind")]


class Anything(OneOf):
    """A union by JSON type, one member of each."""

    root: (
        Annotated[bool, Case("yes")]
        | Annotated[float, Field(ge=0), Case("number")]
        | Annotated[str, Field(min_length=1), Case("value")]
        | Annotated[list[Shape], Field(max_length=2), Case("shapes")]
        | Annotated[AnyObject, Case("object")]
    )


class Sayings(OneOf):
    """A union of a text and a list of what may be texts."""

    root: Annotated[str, Case("one")] | Annotated[list[Anything], Case("many")]


class Picture(Model):
    """An object with a text that may be bytes."""

    url: str = field(..., "A text, or bytes.", or_bytes=True)
    size: int | None = field(None, "An optional number.")


class Options(Model):
    """A closed object with another name in Python."""

    names = {"python": "Settings"}
    closed = True

    size: int | None = field(None, "A size.", ge=1)
    colour: Colour | None = field(None, "An optional enum.")


class Keywords(Model):
    """Names that languages reserve."""

    default: bool = field(..., "Reserved in C++.")
    in_: str = field(..., "Reserved in Python and Swift.", wire_name="in")
    when: str = field(..., "Reserved in Kotlin.")
    object: str = field(..., "Reserved in Kotlin.")
    schema_: str | None = field(None, "A member of pydantic's models.", wire_name="schema")
    writer: int = field(..., "The word for a helper.")


class Request(Model):
    """A request with every kind of field."""

    stream: bool = field(False, "A default of false.")
    colour: Colour = field(Colour.DARK_RED, "A default word.")
    words: list[str] = field(..., "A list with bounds.", min_length=1, max_length=3)
    reason: str | None = field(None, "An optional text with bounds.", min_length=2, max_length=4)
    paint: Colour = field(..., "A required enum.")
    why: str | None = field(
        None, "Required at times.", required_when=("paint", ("default", "dark-red"))
    )
    by_id: dict[int, Annotated[float, Field(le=5)]] | None = field(None, "A map by number.")
    by_name: dict[str, bool] | None = field(None, "A map by word.")
    shape: Shape = field(..., "A union.")
    anything: Anything | None = field(None, "Another union.")
    raw: AnyJson | None = field(None, "Any JSON.")
    raw_object: AnyObject = field(..., "Any object.")
    title: str = field("none", "A default text.")
    count: int = field(
        3, "A default number, with a long description: " + "many words, " * 9 + "so."
    )
    options: Options | None = field(None, "A nested object.")
    keywords: Keywords | None = field(None, "Names that languages reserve.")
    sayings: Sayings | None = field(None, "A text or several.")
    picture: Picture | None = field(None, "An object with a text that may be bytes.")


class Reply(Model):
    """A response."""

    kind: Literal["reply"] = field(..., "A constant.")
    mood: Mood | None = field(None, "An open enum that is null when absent.", always=True)
    moods: list[Mood] = field(..., "A list of them.")
    colours: list[Colour] | None = field(None, "A closed enum in an answer.")
    shape: Shape | None = field(None, "A union that is written.")
    keywords: Keywords | None = field(None, "Names that languages reserve.")
    numbers: dict[str, float] | None = field(None, "A map that is written.")


class Question(Model):
    """What a call takes."""

    text: str = field("", "A default that is empty.")
    subject: Anything | None = field(None, "A union that may be a text.")


class Tastes(Model):
    """Fields that several objects share."""

    shared = True

    sweet: float | None = field(None, "A number.", ge=0, neutral=1)
    layers: int | None = field(None, "A whole number.", neutral=0)
    label: str | None = field(None, "No number.")


class Term(Tastes):
    """What a route takes that does not stream."""

    shared_before = "size"

    text: str = field(..., "A required text.")
    size: int | None = field(None, "An optional number.")
    sayings: Sayings | None = field(None, "A text or several.")


class SmallVector(OneOf):
    """A union whose first form Python's type checkers see."""

    mostly_first = True
    root: Annotated[list[float], Case("numbers")] | Annotated[str, Case("text")]


class Answer(Model):
    """What a call gives."""

    count: int = field(..., "A number.", ge=0)
    vector: SmallVector | None = field(None, "Of two forms.")


class Piece(Model):
    """A piece of a response."""

    text: str = field(..., 'A text with a \\ and """quotes""".')


class Errand(Model):
    """What the HTTP server alone reads."""

    closed = True

    colour: Colour = field(Colour.DEFAULT, "A default.")
    size: int | None = field(
        None, "Needed with the default.", required_when=("colour", ("default",))
    )
    note: AnyJson | None = field(None, "Any JSON.")


class Outcome(Model):
    """What the HTTP server alone writes."""

    errand: Errand = field(..., "A type of its requests.")
    reason: str | None = field(None, "Null when there is none.", always=True)


class Weather(ClosedEnum):
    """Words of a helper's."""

    FAIR = "fair", "The sun shines."
    FOUL = "foul", "It does not."


class Walk(Model):
    """An object of a helper's."""

    weather: Weather = field(..., "A word of its own.")
    reply: Reply = field(..., "What the engine writes.")
    questions: list[Question] = field(..., "What the engine alone reads.")
    note: str | None = field(None, "An optional text.")


HELPER = HelperModel(
    name="walks",
    types=(Weather, Walk),
    event_name="WalkEvent",
    event_description="What befalls a walker.",
    events=(
        EventModel("step", "far", int, "A number."),
        EventModel("end", "walk", Walk, "An object."),
    ),
    numbers=(Number("most_steps", 9, "A number."),),
    texts=(
        Text("hello", 'a "text" with $ and \\', "A text that is whole."),
        Text("lost_way", "{who_ever} lost the way to {place}", "A text with gaps."),
    ),
)


class Tone(ClosedEnum):
    """An enum of other programs."""

    LOW = "low", "A word."


class Content(OneOf):
    """A union that is a class there."""

    root: Annotated[str, Case("text")] | Annotated[list[dict[str, str]], Case("parts")]


class CompletionUsageExtra(Model):
    """A type with functions of its own."""

    speed: float | None = field(None, "A number.")


class OtherReply(Model):
    """A type with two further names."""

    tone: Tone = field(..., "An enum.")
    size: int = field(1, "A default number.")
    content: Content | None = field(None, "A union.")


class OtherRequest(Model):
    """A request of another shape."""

    words: list[str] = field(..., "A list.")
    replies: list[OtherReply] | None = field(None, "A list of another type.")


OtherRequest.__name__ = Request.__name__
COMPATIBLE = (
    CompatibleModel(Tone, Colour),
    CompatibleModel(Content, Anything),
    CompatibleModel(CompletionUsageExtra, Piece),
    CompatibleModel(OtherReply, Reply, ("Second", "Third")),
    CompatibleModel(OtherRequest, Request),
)


class ErrorStatus(OpenEnum):
    """The classes of errors."""

    WRONG = "wrong", "The caller's mistake."
    OURS = "ours", "Our mistake."


ERRORS = ErrorsModel(
    statuses=(
        StatusModel(ErrorStatus.WRONG, "Wrong", 400),
        StatusModel(ErrorStatus.OURS, "Own", 500),
    ),
    kinds=(
        KindModel("Wrong", "wrong_request", "request_error", "A wrong request."),
        KindModel("TooHot", "too_hot", "request_error", "A kind of a kind.", parent="Wrong"),
        KindModel(
            "Own", "internal_error", "server_error", "Our mistake.", names={"swift": "ourOwn"}
        ),
    ),
    reasons={
        "core": (
            ReasonModel(
                "wrong_request", ErrorStatus.WRONG, "It is wrong.", "Mend it.", openai=None
            ),
            ReasonModel("internal_error", ErrorStatus.OURS, "We failed.", "Tell us."),
        ),
        "kitchen": (
            ReasonModel(
                "too_hot",
                ErrorStatus.WRONG,
                "It burns.",
                "Wait.",
                kind="TooHot",
                http=418,
                type="tea",
            ),
        ),
    },
)


PROTOCOL = ProtocolRoots(
    requests=(Request, Question, Term, Options),
    responses=(Reply, Piece, Answer, Options),
    routes=(
        RouteModel(
            name="small.talk",
            request=Request,
            response=Reply,
            chunk=Piece,
            stream_field="stream",
            typed_fields=("shape", "why"),
        ),
        RouteModel(name="terms", request=Term, response=Answer),
    ),
    calls=(CallModel(name="ask", request=Question, response=Answer),),
    plain_routes=(PlainRoute("look", "A route that reads nothing."),),
    errors=ERRORS,
    sampling=SamplingModel(
        Tastes,
        (
            Record(
                "TaskWords",
                "A record.",
                (Word("row", -1, "An int."), Word("scale", 1.5, "A float.")),
            ),
        ),
        meaning=1,
    ),
    step_inputs=(
        StepInput("rows", ("n",), "One number of each row."),
        StepInput("places", ("n", 3), "Three of each row.", when="axes", unset="rows"),
        StepInput("kinds", ("n",), "Of each row; -1: none.", when="kinds", unset=-1),
    ),
    server_requests=(Errand,),
    server_responses=(Outcome,),
    helpers=(HELPER,),
    compatible=COMPATIBLE,
)

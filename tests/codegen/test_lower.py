"""What the schema's models mean, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import pytest
import small_schema
from codegen import ir, rows
from codegen.languages import common
from codegen.lower import SchemaError, lower
from codegen.schema import PROTOCOL
from codegen.schema.base import Case, ClosedEnum, Model, OneOf, ProtocolRoots, field
from pydantic import Field


def lower_one(model: type[Model]) -> ir.Declaration:
    return lower(ProtocolRoots((model,), (), ())).find(model.__name__)


def lower_field(annotation: Any, value: Any) -> ir.Field:
    members = {"__doc__": "A model.", "__annotations__": {"x": annotation}, "x": value}
    declaration = lower_one(type("M", (Model,), {**members, "__module__": __name__}))
    assert isinstance(declaration, ir.Struct)
    return declaration.fields[0]


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (bool, ir.Scalar("bool")),
        (int, ir.Scalar("int")),
        (float, ir.Scalar("float")),
        (str, ir.Scalar("string")),
        (Literal["word"], ir.Const("word")),
        (list[int], ir.ListOf(ir.Scalar("int"))),
        (list[list[str]], ir.ListOf(ir.ListOf(ir.Scalar("string")))),
        (dict[str, bool], ir.MapOf("string", ir.Scalar("bool"))),
        (dict[int, float], ir.MapOf("int", ir.Scalar("float"))),
        (small_schema.AnyJson, ir.Raw(object_only=False)),
        (small_schema.AnyObject, ir.Raw(object_only=True)),
        (small_schema.Colour, ir.Ref("Colour")),
        (
            list[Annotated[str, Field(min_length=1)]],
            ir.ListOf(ir.Scalar("string", ir.Limits(min_length=1))),
        ),
    ],
)
def test_types(annotation: Any, expected: ir.Type) -> None:
    assert lower_field(annotation, field(..., "A field.")).type == expected


def test_where_limits_belong() -> None:
    inner = list[Annotated[int, Field(ge=1)]]
    lowered = lower_field(inner, field(..., "A field.", max_length=3)).type
    item = ir.Scalar("int", ir.Limits(ge=1))
    assert lowered == ir.ListOf(item, ir.Limits(max_length=3))


def test_presence_follows_from_the_default() -> None:
    required = lower_field(int, field(..., "A field."))
    optional = lower_field(int | None, field(None, "A field.", always=True))
    default = lower_field(int, field(0, "A field."))
    assert (required.required, required.optional, required.default) == (True, False, None)
    assert (optional.required, optional.optional, optional.always) == (False, True, True)
    assert (default.required, default.optional, default.default) == (False, False, 0)


class Word(ClosedEnum):
    """Words."""

    A = "a", "No full stop"


class Loop(Model):
    """A model that contains itself."""

    inner: Loop | None = field(None, "A field.")


class SameTags(OneOf):
    """Members that cannot be told apart."""

    root: Annotated[str, Case("a")] | Annotated[small_schema.Colour, Case("b")]


class NoCase(OneOf):
    """A member without a name."""

    root: str | Annotated[int, Case("b")]


class NotWritten(Model):
    """A field without a sentence."""

    x: int = 3


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (int | None, field(..., "A field."), "go together"),
        (int, field(None, "A field."), "go together"),
        (int, field(..., "A field"), "full stop"),
        (int, field(..., "A field.", always=True), "`always`"),
        (int | str, field(..., "A field."), "OneOf"),
        (bytes, field(..., "A field."), "no Model"),
        (Word, field(..., "A field."), "Word.A: needs a description"),
        (dict[str, int], field(..., "A field.", min_length=1), "cannot have limits"),
        (list[int], field([], "A field."), "no scalar"),
        (Literal["a"] | None, field(None, "A field."), "constant must be required"),
        (int | None, field(None, "A field.", required_when=("y", ("a",))), "required_when"),
        (Loop, field(..., "A field."), "contains itself"),
        (SameTags, field(..., "A field."), "told apart"),
        (NoCase, field(..., "A field."), "needs a Case"),
    ],
)
def test_refusals(annotation: Any, value: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        lower_field(annotation, value)


def test_a_field_without_a_sentence_is_refused() -> None:
    with pytest.raises(SchemaError, match="NotWritten.x"):
        lower_one(NotWritten)


def test_each_declaration_stands_after_those_it_uses() -> None:
    seen: set[str] = set()
    for declaration in lower(PROTOCOL).declarations:
        members = getattr(declaration, "fields", None) or getattr(declaration, "variants", ())
        for member in members:
            assert not refs(member.type) - seen, declaration.names.name
        seen.add(declaration.names.name)


def refs(type_: ir.Type) -> set[str]:
    if isinstance(type_, ir.Ref):
        return {type_.name}
    if isinstance(type_, ir.ListOf):
        return refs(type_.item)
    return refs(type_.value) if isinstance(type_, ir.MapOf) else set()


def test_usage_is_reachability() -> None:
    protocol = lower(small_schema.PROTOCOL)
    assert protocol.find("Colour").usage == ir.Usage(in_requests=True, in_responses=True)
    assert protocol.find("Anything").usage == ir.Usage(in_requests=True, in_responses=False)
    assert protocol.find("Mood").usage == ir.Usage(in_requests=False, in_responses=True)


def test_hash_is_of_what_crosses_the_wire() -> None:
    protocol = lower(small_schema.PROTOCOL)
    first, *rest = protocol.declarations
    told_otherwise = replace(first, description="Other words.")
    opened = replace(first, open=True)
    assert protocol.schema_hash == lower(small_schema.PROTOCOL).schema_hash
    assert replace(protocol, declarations=(told_otherwise, *rest)).schema_hash == (
        protocol.schema_hash
    )
    assert replace(protocol, declarations=(opened, *rest)).schema_hash != protocol.schema_hash


def test_bounds_and_defaults_keep_all_their_digits() -> None:
    """2147483647 was once written as 2.14748e+09."""
    for value, text in ((2147483647, "2147483647"), (1e6, "1000000"), (0.1234567, "0.1234567")):
        assert common.number(value) == text


def test_shared_fields_stand_where_the_model_says() -> None:
    term = lower(small_schema.PROTOCOL).find("Term")
    assert isinstance(term, ir.Struct)
    assert [f.name for f in term.fields] == ["text", "sweet", "layers", "label", "size", "sayings"]
    assert term.base == "Tastes"


def test_shared_before_must_name_a_field() -> None:
    class Odd(small_schema.Tastes):
        """A model."""

        shared_before = "absent"

        size: int = field(..., "A number.")

    with pytest.raises(SchemaError, match="has no field 'absent' of its own"):
        lower_one(Odd)


def test_sampling_fields_exist_once() -> None:
    """Chats, completions and responses have all of them, with the same words and limits."""
    protocol = lower(PROTOCOL)
    assert protocol.sampling is not None
    shared = set(protocol.sampling.fields.fields)
    declarations = {d.names.name: d for d in (*protocol.declarations, *protocol.server)}
    for name in ("ChatCompletionRequest", "CompletionRequest", "ResponseCreateRequest"):
        request = declarations[name]
        assert isinstance(request, ir.Struct)
        assert shared <= set(request.fields)
    assert {number.field.name for number in protocol.sampling.numbers} == {
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "frequency_penalty",
        "presence_penalty",
        "repetition_penalty",
        "top_n_sigma",
        "xtc_probability",
        "xtc_threshold",
        "dry_multiplier",
        "dry_base",
        "dry_allowed_length",
        "dry_penalty_last_n",
    }


def test_the_version_of_the_sampler_changes_with_its_words() -> None:
    sampling = lower(PROTOCOL).sampling
    assert sampling is not None
    task, *rest = sampling.records
    added = replace(task, words=(*task.words, rows.Word("mood", 0.0, "A word.")))
    turned = replace(task, words=tuple(reversed(task.words)))
    others = [replace(sampling, records=(record, *rest)) for record in (added, turned)]
    others.append(replace(sampling, meaning=sampling.meaning + 1))
    versions = {s.version() for s in (sampling, *others)}
    assert len(versions) == 4
    assert all(0 < version < 1 << 16 for version in versions)

"""Every field type that Pydantic writes a schema for: a value of each is admitted."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import ipaddress
import json
import re
import typing
import uuid
from collections import deque
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import NamedTuple, TypedDict
from walk import walk


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Point(BaseModel):
    x: float
    y: float = 0.0


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Movie(TypedDict):
    title: str
    year: int


class Pair(NamedTuple):
    first: int
    second: str


@dataclasses.dataclass
class User:
    name: str
    age: int = 0


SITE = "https" + "://example.com/a?b=c"
FIELDS: list[tuple[Any, list[Any]]] = [
    (str, ['a "quoted" line\n']),
    (int, [-3, 0, 1234567890123]),
    (float, [-0.25, 1.5e-7, 3]),
    (bool, [True]),
    (bytes, ["abc"]),
    (None, [None]),
    (Any, [1, {"a": [None]}]),
    (object, ["x"]),
    (decimal.Decimal, [1.5, "2.75"]),
    (complex, ["1+2j"]),
    (datetime.datetime, ["2024-02-29T12:30:00Z"]),
    (datetime.date, ["2024-02-29"]),
    (datetime.time, ["12:30:00Z"]),
    (datetime.timedelta, ["P1DT2H", "PT30S"]),
    (uuid.UUID, ["018f3f5e-7c1a-7b2c-9d3e-4f5a6b7c8d9e"]),
    (pydantic.UUID4, ["7f9c24e8-3b12-4fef-91e0-56a2d5a1c0de"]),
    (pydantic.UUID1, ["6ba7b810-9dad-11d1-80b4-00c04fd430c8"]),
    (ipaddress.IPv4Address, ["192.168.0.1"]),
    (ipaddress.IPv6Address, ["2001:db8::1"]),
    (ipaddress.IPv4Network, ["10.0.0.0/8"]),
    (ipaddress.IPv6Network, ["2001:db8::/32"]),
    (ipaddress.IPv4Interface, ["10.0.0.1/8"]),
    (pydantic.IPvAnyAddress, ["10.0.0.1"]),
    (pydantic.AnyUrl, [SITE, "mailto:a@b.cc"]),
    (pydantic.HttpUrl, [SITE]),
    (pydantic.FileUrl, ["file:///etc/hosts"]),
    (pydantic.PostgresDsn, ["postgres" + "://user:pw@localhost:5432/db"]),
    (pydantic.RedisDsn, ["redis" + "://localhost:6379/0"]),
    (Path, ["/tmp/a b.txt"]),
    (pydantic.FilePath, ["a.txt"]),
    (pydantic.DirectoryPath, ["a"]),
    (re.Pattern, ["a+b"]),
    (pydantic.SecretStr, ["secret"]),
    (pydantic.SecretBytes, ["secret"]),
    (pydantic.Json, ['{"a": 1}']),
    (pydantic.Base64Str, ["aGVsbG8="]),
    (pydantic.ByteSize, [1024]),
    (pydantic.PositiveInt, [1, 99]),
    (pydantic.NegativeInt, [-1]),
    (pydantic.NonNegativeInt, [0]),
    (pydantic.PositiveFloat, [0.99, 1e-6, 12.5]),
    (pydantic.NegativeFloat, [-0.25]),
    (pydantic.NonNegativeFloat, [0, 0.1]),
    (pydantic.FiniteFloat, [1.25]),
    (pydantic.PastDate, ["2020-01-31"]),
    (pydantic.FutureDate, ["2999-12-31"]),
    (pydantic.AwareDatetime, ["2024-01-01T00:00:00+02:00"]),
    (Annotated[str, Field(max_length=300)], ['She said "no".']),
    (Annotated[str, Field(pattern=r"[a-z]+\d")], ["-- ab1 --"]),
    (Annotated[float, Field(gt=0, lt=1)], [0.5, 0.999]),
    (Annotated[float, Field(multiple_of=0.05)], [0.15, 2]),
    (Annotated[int, Field(multiple_of=7)], [21]),
    (Literal["a", 1, True], ["a", 1]),
    (Color, ["red"]),
    (Level, [2]),
    (list[int], [[1, 2]]),
    (set[Color], [["blue", "red"]]),
    (frozenset[bool], [[True]]),
    (tuple[int, str], [[1, "a"]]),
    (tuple[int, ...], [[1, 2, 3]]),
    (deque[int], [[1]]),
    (dict[str, int], [{"a": 1}]),
    (dict[int, str], [{"1": "a"}]),
    (dict[uuid.UUID, int], [{"018f3f5e-7c1a-7b2c-9d3e-4f5a6b7c8d9e": 1}]),
    (typing.Optional[int], [None, 3]),  # noqa: UP045
    (int | str, [1, "a"]),
    (Point, [{"x": 1.5, "y": -0.25}]),
    (Node, [{"value": 1, "children": [{"value": 2, "children": []}]}]),
    (Annotated[Cat | Dog, Field(discriminator="kind")], [{"kind": "cat", "lives": 9}]),
    (Movie, [{"title": "M", "year": 1931}]),
    (Pair, [[1, "a"]]),
    (User, [{"name": "a", "age": 3}]),
]


def test_every_field_type_admits_its_values() -> None:
    assert len(FIELDS) >= 59
    tasks = []
    for kind, values in FIELDS:
        texts = [json.dumps(value, ensure_ascii=False) for value in values]
        schema = TypeAdapter(kind).json_schema()
        tasks.append({"kind": "schema", "source": schema, "strict": False, "admits": texts})
    for (kind, values), answer in zip(FIELDS, walk(tasks), strict=True):
        assert answer.get("admitted") == [True] * len(values), (kind, values, answer)
        assert len(answer["warnings"]) <= 1, (kind, answer)  # `regex`, items of sets of texts

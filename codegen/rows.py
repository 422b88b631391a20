"""Rows of the schema that every language takes as they are: they need no lowering."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class PlainRoute:
    """A route of the engine's that reads nothing of its request's JSON."""

    name: str
    description: str


@dataclass(frozen=True)
class Word:
    """A 32-bit word of a record; `default` tells its type: an int or a float."""

    name: str
    default: int | float
    description: str


@dataclass(frozen=True)
class Record:
    """What the core hands to the kernels that sample on a GPU: words side by side."""

    name: str
    description: str
    words: tuple[Word, ...]


@dataclass(frozen=True)
class Number:
    """A number that helpers of all languages share."""

    name: str
    value: int
    description: str


@dataclass(frozen=True)
class Text:
    """A text that helpers of all languages write, with `{names}` of what is put in."""

    name: str
    text: str
    description: str

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(re.findall(r"{(\w+)}", self.text))


@dataclass(frozen=True)
class StepInput:
    """An int32 input of a step (`schema/step.py`).

    `shape`: a string is a run-time size: n rows, b sequences, p pages. `when`: what a library has
    that takes it. `unset`: what each row gets if a step leaves it out: a number, or the value of
    another input, once for each column; None: a step cannot leave it out, or it may have no
    entries.
    """

    name: str
    shape: tuple[str | int, ...]
    description: str
    when: str = "always"
    unset: int | str | None = None

    @property
    def width(self) -> int:
        """The numbers of each entry."""
        return math.prod(extent for extent in self.shape if isinstance(extent, int))

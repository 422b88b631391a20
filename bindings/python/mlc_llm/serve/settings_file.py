"""The server's settings file (TOML). A reader takes values by their keys; what nobody takes is
refused. Every error names the key and its line.

settings = read_settings("models.toml")
for name, model in settings.tables("models"):
    device = model.text("device")
    model.end()
settings.end()
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from mlc_llm.errors import InvalidRequestError
from mlc_llm.errors.nearest import did_you_mean

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_MAX_BYTES = 1 << 20
_KINDS = {
    bool: "true or false", int: "an integer", float: "a number", str: "a text", list: "a list",
    dict: "a table",
}  # fmt: skip
_Value = TypeVar("_Value")


def read_settings(path: str | Path) -> Table:
    """The file's outermost table. Raises InvalidRequestError if it cannot be read."""
    path = Path(path)
    text = ""
    try:
        if not path.is_file():
            raise ValueError("there is no such file")
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError(f"larger than {_MAX_BYTES} bytes, so these are no settings")
        text = path.read_text(encoding="utf-8")
        values = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        end = f"at the end, line {len(text.splitlines())}"
        words = str(error).replace("at end of document", end)
        raise InvalidRequestError(f"{path}: {words}", param="settings") from None
    return Table(path, text.splitlines(), (), values)


class Table:
    """A table of the file. Each of its values is taken once."""

    def __init__(
        self, file: Path, lines: list[str], place: tuple[str, ...], values: Mapping[str, Any]
    ) -> None:
        self.file = file
        self._lines = lines
        self._place = place
        self._values = dict(values)
        self._known: list[str] = []

    def text(self, key: str, choices: tuple[str, ...] = ()) -> str | None:
        value = self._take(key, str)
        if value is not None and choices and value not in choices:
            raise self.error(key, f"must be one of {', '.join(choices)}, not '{value[:100]}'")
        if value is not None and (not value or "\0" in value):
            raise self.error(key, "must be a text that is not empty")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        values = self._take(key, list) or []
        if not all(isinstance(value, str) and value for value in values):
            raise self.error(key, "must be a list of texts that are not empty")
        return tuple(values)

    def flag(self, key: str) -> bool | None:
        return self._take(key, bool)

    def integer(self, key: str, *, at_least: int) -> int | None:
        value = self._take(key, int)
        if value is not None and not at_least <= value < 1 << 63:
            raise self.error(key, f"must be at least {at_least}, not {value}")
        return value

    def number(self, key: str, *, at_least: float) -> float | None:
        value = self._take(key, float)
        if value is not None and not (at_least <= value and math.isfinite(value)):
            raise self.error(key, f"must be at least {at_least:g}, not {value:g}")
        return value

    def table(self, key: str) -> Table:
        """The inner table with that name; an empty one if it is absent."""
        return Table(self.file, self._lines, (*self._place, key), self._take(key, dict) or {})

    def tables(self, key: str) -> Iterator[tuple[str, Table]]:
        """The named tables in a table, as `[key.NAME]`."""
        outer = self.table(key)
        for name in list(outer._values):
            yield name, outer.table(name)

    def values(self) -> dict[str, Any]:
        """All that is left, as it is."""
        values, self._values = self._values, {}
        return values

    def end(self) -> None:
        """Refuses what was not taken."""
        for key in self._values:
            hint = did_you_mean(key, self._known) or f"known: {', '.join(self._known)}"
            raise self.error(key, f"there is no such setting; {hint}")

    def error(self, key: str, words: str) -> InvalidRequestError:
        """The error for a value of this table."""
        place = (*self._place, key)
        name = ".".join(place)
        line = _line_of(self._lines, place)
        where = f"{self.file}, line {line}" if line else str(self.file)
        return InvalidRequestError(f"{where}: {name}: {words}", param=name)

    def _take(self, key: str, kind: type[_Value]) -> _Value | None:
        self._known.append(key)
        value = self._values.pop(key, None)
        if value is None:
            return None
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise self.error(key, f"must be {_KINDS[kind]}")
        return value


def _line_of(lines: list[str], place: tuple[str, ...]) -> int | None:
    """The line, counted from 1, that sets a place; else the line of the table around it. TOML's
    parsers keep no lines, so each line that may name a key is parsed by itself."""
    table: tuple[str, ...] = ()
    around: tuple[int, int] | None = None  # length of the table's place, line
    for number, line in enumerate(lines, 1):
        is_header = line.lstrip().startswith("[")
        found = _place_in(line if is_header else line.partition("=")[0] + "=0")
        if found is None:
            continue
        if is_header:
            table = found
        here = table if is_header else (*table, *found)
        if here[: len(place)] == place:
            return number
        if place[: len(here)] == here and (around is None or len(here) > around[0]):
            around = (len(here), number)
    return None if around is None else around[1]


def _place_in(line: str) -> tuple[str, ...] | None:
    try:
        value: Any = tomllib.loads(line)
    except ValueError:
        return None
    place = []
    while isinstance(value, dict | list) and value:
        value = value[0] if isinstance(value, list) else value
        if isinstance(value, dict) and value:
            key, value = next(iter(value.items()))
            place.append(key)
    return tuple(place) or None

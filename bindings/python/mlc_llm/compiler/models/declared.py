"""Fields of a configuration that one line describes: the name, the type, the default, the bounds.

    @dataclass(frozen=True, kw_only=True)
    class MyConfig(DecoderConfig):
        my_bias: bool = flag(default=False, gguf="blk.0.my.bias")
        my_width: int = integer(default=lambda found: found["hidden_size"], minimum=0)

A subclass that declares the field again has another default. A family's `fields` reads what one
line can't say.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from mlc_llm.compiler.models.config_reader import MOST, ConfigReader
from mlc_llm.compiler.models.family import GGUFFields

# From the fields that are read already to the default of another one.
Usual = Callable[[Mapping[str, Any]], int]


def flag(*, default: bool, gguf: str = "") -> Any:
    """`gguf`: the tensor that a GGUF file has if the flag is true."""
    return _field(lambda read, name, found: read.flag(name, default=default), gguf)


def integer(
    *,
    default: int | Usual | None = None,
    minimum: int = 1,
    maximum: int = MOST,
    or_auto: bool = False,
) -> Any:
    """`or_auto`: the word "auto" stands for the default."""

    def value(read: ConfigReader, name: str, found: Mapping[str, Any]) -> int:
        if or_auto and read.config.get(name) == "auto":
            read = read.without(name)
        usual = default(found) if callable(default) else default
        return read.integer(name, default=usual, minimum=minimum, maximum=maximum)

    return _field(value)


def number(*, default: float | None = None) -> Any:
    """A positive number."""
    return _field(lambda read, name, found: read.number(name, default=default))


def switch(*, default: float = 0.0) -> Any:
    """A positive number, or 0 for off."""
    return _field(lambda read, name, found: read.switch(name, default))


def choice(*, of: Mapping[str, str], default: str) -> Any:
    return _field(lambda read, name, found: read.choice(name, of=of, default=default))


def read_declared(
    config_class: type[Any], read: ConfigReader, found: Mapping[str, Any]
) -> dict[str, Any]:
    """`found`, with the declared fields of the class."""
    whole = dict(found)
    for field in dataclasses.fields(config_class):
        if "read" in field.metadata:
            whole[field.name] = field.metadata["read"](read, field.name, whole)
    return whole


def gguf_flags(config_class: type[Any], file: GGUFFields) -> dict[str, bool]:
    """The declared flags that tensors of a file say."""
    tensors = {
        field.name: field.metadata["gguf"]
        for field in dataclasses.fields(config_class)
        if field.metadata.get("gguf")
    }
    return {name: file.has_tensor(tensor) for name, tensor in tensors.items()}


def _field(read: Callable[[ConfigReader, str, Mapping[str, Any]], Any], gguf: str = "") -> Any:
    return dataclasses.field(metadata={"read": read, "gguf": gguf})

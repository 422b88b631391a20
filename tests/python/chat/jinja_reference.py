"""The reference for our Jinja: jinja2 with the settings transformers gives it."""

from __future__ import annotations

import datetime
import functools
import json
from typing import Any

import jinja2
import mlc_core_parts
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from mlc_llm import _core
from mlc_llm.errors import error_from_core

NOW = 1_753_362_367  # 2025-07-24 13:06:07 UTC


class _GenerationBlock(Extension):
    """`{% generation %}` marks what the assistant wrote; the text is passed through."""

    tags = {"generation"}

    def parse(self, parser: Any) -> nodes.CallBlock:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_pass", []), [], [], body).set_lineno(line)

    def _pass(self, caller: Any) -> str:
        return caller()


def _raise_exception(message: str) -> None:
    raise jinja2.exceptions.TemplateError(message)


def _tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _strftime_now(format: str) -> str:
    return (
        datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc)
        .replace(tzinfo=None)
        .strftime(format)
    )


def make_environment() -> jinja2.Environment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationBlock, loopcontrols]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    return environment


ENVIRONMENT = make_environment()


@functools.lru_cache(maxsize=100)
def _compiled(source: str) -> jinja2.Template:
    return ENVIRONMENT.from_string(source)


def reference(source: str, context: dict[str, Any]) -> tuple[str, str]:
    """("text", ...) or ("error", message)."""
    try:
        text = _compiled(source).render(**context)
        text.encode()  # a lone surrogate is an error, too
        return "text", text
    except Exception as error:  # whatever jinja2 or Python raise counts
        return "error", f"{type(error).__name__}: {error}"


def ours(source: str, context: dict[str, Any]) -> tuple[str, str]:
    try:
        return "text", mlc_core_parts.render_jinja(source, json.dumps(context), NOW)
    except _core.CoreError as error:
        return "error", error_from_core(error).message


def check(source: str, context: dict[str, Any]) -> None:
    """Equal texts, or errors on both sides."""
    expected, actual = reference(source, context), ours(source, context)
    assert expected[0] == actual[0], f"{source!r}\nreference: {expected}\nours: {actual}"
    if expected[0] == "text":
        assert actual[1] == expected[1], source

"""Damaged templates and hostile programs end in a text or an error, in bounded time."""
# ruff: noqa: E501

from __future__ import annotations

import json
import pathlib
import random
import time

import mlc_core_parts
import pytest

from mlc_llm import _core
from mlc_llm.errors import error_from_core

FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures" / "templates"
TEMPLATES = {path.stem: path.read_bytes() for path in sorted(FIXTURES.glob("*.jinja"))}
MESSAGES = json.dumps(
    [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f"}}]},
    ]
)
TOOLS = json.dumps([{"type": "function", "function": {"name": "f", "parameters": {}}}])


def _damage(source: bytes, rng: random.Random) -> bytes:
    data = bytearray(source)
    for _ in range(rng.randrange(1, 4)):
        kind, at = rng.randrange(5), rng.randrange(max(len(data), 1))
        if kind == 0 and data:
            data[at] = rng.randrange(256)
        elif kind == 1:
            del data[at : at + rng.randrange(1, 40)]
        elif kind == 2:
            data[at:at] = rng.choice([b"{%", b"%}", b"{{", b"}}", b"{#", b"(", b"'", b"\xff", b"|"])
        elif kind == 3:
            data[at:at] = data[rng.randrange(len(data) + 1) :][: rng.randrange(60)]
        else:
            del data[at:]
    return bytes(data)


@pytest.mark.parametrize("name", TEMPLATES)
def test_damaged_template(name: str) -> None:
    rng = random.Random(name)
    for _ in range(60):
        source = _damage(TEMPLATES[name], rng)
        try:
            chat = mlc_core_parts.ChatTemplate(
                source.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
            )
            chat.render(MESSAGES, TOOLS, True)
        except _core.CoreError as error:
            fault = error_from_core(error)
            assert fault.status == "invalid_argument"
            assert fault.code == "template_error" or "chat template, line " in fault.message


HOSTILE = {
    "nested parentheses": "{{ " + "(" * 100_000 + "1" + ")" * 100_000 + " }}",
    "nested lists": "{{ " + "[" * 5_000 + "]" * 5_000 + " }}",
    "nots": "{{ " + "not " * 100_000 + "1 }}",
    "minuses": "{{ " + "- " * 100_000 + "1 }}",
    "long sum": "{{ 1" + " + 1" * 100_000 + " }}",
    "attributes": "{{ a" + ".a" * 100_000 + " }}",
    "filters": "{{ 1" + " | string" * 100_000 + " }}",
    "nested ifs": "{% if 1 %}" * 5_000 + "{% endif %}" * 5_000,
    "else ifs": "{% if 0 %}" + "{% elif 0 %}" * 20_000 + "{% endif %}",
    "conditions": "{{ " + "1 if 0 else " * 50_000 + "1 }}",
    "endless macro": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "two macros": "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
    "endless caller": "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{% call m() %}{% endcall %}",
    "nested loops": "{% for a in range(99999) %}" * 5 + "x" + "{% endfor %}" * 5,
    "huge range": "{{ range(10**15) | list }}",
    "repeat text": "{{ 'x' * 10**15 }}",
    "repeat list": "{{ [0] * 10**15 }}",
    "doubling text": "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
    "doubling list": "{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}",
    "doubling tree": "{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = [n.x, n.x] %}{% endfor %}"
    "{{ n.x == [n.x] }}{{ n.x }}",
    "equal trees": "{% set n = namespace(x=[1], y=[1]) %}{% for i in range(99) %}{% set n.x = [n.x, n.x] %}"
    "{% set n.y = [n.y, n.y] %}{% endfor %}{{ n.x == n.y }}",
    "deep list": "{% set n = namespace(x=[]) %}{% for i in range(99999) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x }}",
    "namespace in itself": "{% set n = namespace() %}{% set n.x = [n] %}{{ n }}",
    "namespace chain": "{% set n = namespace(x=0) %}{% for i in range(99999) %}{% set m = namespace(x=n.x) %}"
    "{% set n.x = m %}{% endfor %}{{ n }}",
    "macro chain": "{% set n = namespace(x=0) %}{% for i in range(9999) %}{% macro m() %}{{ n.x }}{% endmacro %}"
    "{% set n.x = m %}{% endfor %}",
    "width": "{{ '%99999999d' % 1 }}",
    "format width": "{{ '{:>9999999999}'.format(1) }}",
    "precision": "{{ '%.99999999f' % 1.5 }}",
    "center": "{{ 'x'.center(10**12) }}",
    "zfill": "{{ 'x'.zfill(10**12) }}",
    "ljust": "{{ 'x'.ljust(10**9, 'é') }}",
    "tabs": "{{ ('\t' * 99999).expandtabs(10**9) }}",
    "indent": "{{ ('\n' * 9999) | indent(10**9, true, true) }}",
    "json indent": "{{ [[[1]]] | tojson(indent=10**9) }}",
    "replace": "{% set s = 'x' * 99999 %}{{ s.replace('', s) }}",
    "join": "{{ (range(99999) | join('x' * 99999)) }}",
    "batch": "{{ [1] | batch(10**12, 0) | list }}",
    "slice filter": "{{ [1] | slice(10**12) | list }}",
    "power": "{{ 10 ** 10 ** 10 }}",
    "round": "{{ 1.5 | round(10**9) }}{{ 1.5 | round(-10**9) }}{{ 7 | round(-10**9) }}",
    "strftime": "{{ strftime_now('%Y' * 99999) }}",
    "output": "{% set s = 'x' * 10**7 %}{% for i in range(99999) %}{{ s }}{% endfor %}",
    "split": "{% for i in range(9999) %}{% set x = ('a ' * 99999).split() %}{% endfor %}",
    "search": "{% set s = 'a' * 10**7 %}{% for i in range(99999) %}{% set x = s.find('ab') %}{% endfor %}",
    "contains": "{% set s = 'a' * 10**7 %}{% for i in range(99999) %}{% set x = 'b' in s %}{% endfor %}",
    "in list": "{% set l = range(99999) %}{% for i in range(99999) %}{% set x = -1 in l %}{% endfor %}",
    "sort": "{% for i in range(99999) %}{% set x = range(99999) | sort %}{% endfor %}",
    "tuple keys": "{% set d = dict(range(99999) | map('batch', 1)) %}{{ [((1,),)] * 99999 | unique | list | length }}",
    "strip": "{% set s = 'x' * 10**6 %}{% for i in range(9999) %}{% set y = s.strip(s) %}{% endfor %}",
    "changed": "{% set s = ['x' * 10**6] * 99 %}{% for i in range(99999) %}{{ loop.changed(s) }}{% endfor %}",
    "kwargs": "{% macro m() %}{{ kwargs }}{% endmacro %}{{ m(**dict(range(9))) }}",
    "unclosed comments": "{#" * 100_000,
    "unclosed raw": "{% raw %}" * 50_000,
    "braces": "{" * 200_000,
    "quotes": "{{ " + "'" * 100_001,
    "strings": "{{ " + "'a' " * 100_000 + "}}",
    "percent": "{{ '%' * 99999 % () }}",
    "brace fields": "{{ ('{0}' * 99999).format('x' * 9999) }}",
    "slice step": "{{ 'abc'[::9223372036854775807] }}{{ 'abc'[-9223372036854775807::-9223372036854775807] }}",
    "range edge": "{{ range(9223372036854775800, 9223372036854775807, 5) | list }}",
    "division": "{{ (-9223372036854775807 - 1) // -1 }}",
    "remainder": "{{ (-9223372036854775807 - 1) % -1 }}",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_program(name: str) -> None:
    begin = time.process_time()
    try:
        text = mlc_core_parts.render_jinja(HOSTILE[name])
        assert len(text) <= 64 << 20
    except _core.CoreError as error:
        assert error_from_core(error).message.startswith("chat template, line ")
    assert time.process_time() - begin < 20

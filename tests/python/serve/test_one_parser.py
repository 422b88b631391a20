"""One parser reads a body, the core's: no text makes the server and the engine see different
requests."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from mlc_llm import _core

from .conftest import PATIENCE, running_server

CHAT, TEXT, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
MESSAGES = "/v1/messages"
BODIES: dict[str, dict[str, Any]] = {
    CHAT: {"messages": [{"role": "user", "content": "x"}], "max_tokens": 2},
    TEXT: {"prompt": "x", "max_tokens": 2},
    RESPONSES: {"input": "x", "max_output_tokens": 2},
    "/api/chat": {"messages": [{"role": "user", "content": "x"}], "model": "fake-model"},
    MESSAGES: {"messages": [{"role": "user", "content": "x"}], "max_tokens": 2},
    "/tokenize": {"text": "x"},
}
DEBUG = '"debug_config": {"ignore_eos": true}'


def body_of(path: str, *more: str) -> bytes:
    """The path's request with more members at its end, as they are."""
    return (json.dumps(BODIES[path])[:-1] + "".join(f", {text}" for text in more) + "}").encode()


@pytest.fixture(scope="module")
def plain() -> Iterator[httpx.Client]:
    """A server that takes no `debug_config`."""
    with running_server("--enable-admin") as url:
        headers = {"Content-Type": "application/json"}
        with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE) as client:
            yield client


@pytest.mark.parametrize("path", [*BODIES, "/admin/load", "/admin/unload"])
@pytest.mark.parametrize("behind", [b"\0", b"\0{}", b"\0" * 5000, b" \0 ", b"\x1a", b"//", b","])
def test_nothing_stands_behind_a_body(plain: httpx.Client, path: str, behind: bytes) -> None:
    body = body_of(path, '"model": "fake-model"') if path in BODIES else b'{"model": "x"}'
    answer = plain.post(path, content=body + behind)
    assert answer.status_code == 400, answer.text
    assert "invalid JSON" in answer.text


@pytest.mark.parametrize(
    "members",
    [
        (DEBUG,),
        ('"debug_config": null', DEBUG),
        ('"\\u0064ebug_config": {"ignore_eos": true}',),
        (DEBUG, '"x": "\\u0000"'),
    ],
)
def test_debug_config_is_seen_however_it_is_written(
    plain: httpx.Client, members: tuple[str, ...]
) -> None:
    for path in (CHAT, TEXT):
        answer = plain.post(path, content=body_of(path, *members))
        assert answer.status_code == 400
        assert answer.json()["error"]["param"] == "debug_config"
        hidden = plain.post(path, content=body_of(path, *members) + b"\0")
        assert hidden.status_code == 400


def test_of_two_members_the_same_one_counts_everywhere(plain: httpx.Client) -> None:
    for path in (CHAT, TEXT, RESPONSES, MESSAGES):
        wrong, right = '"model": "nobody"', '"model": "fake-model"'
        assert plain.post(path, content=body_of(path, wrong, right)).status_code == 200
        assert plain.post(path, content=body_of(path, right, wrong)).status_code == 404
        for first, last in ((False, True), (True, False)):
            twice = [f'"stream": {json.dumps(value)}' for value in (first, last)]
            kind = plain.post(path, content=body_of(path, *twice)).headers["content-type"]
            assert kind.startswith("text/event-stream") is last
        unlike = plain.post(path, content=body_of(path, '"stream": true', '"Stream": false'))
        assert unlike.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-32-be"])
def test_a_body_is_utf_8(plain: httpx.Client, encoding: str) -> None:
    for path in BODIES:
        body = body_of(path).decode().encode(encoding)
        assert plain.post(path, content=body).status_code == 400


def test_a_byte_order_mark_says_nothing(plain: httpx.Client) -> None:
    for path in BODIES:
        assert plain.post(path, content=b"\xef\xbb\xbf" + body_of(path)).status_code == 200


def test_a_body_has_so_many_values(plain: httpx.Client) -> None:
    many = '"x": [' + "0," * (1 << 20) + "0]"
    for path in BODIES:
        answer = plain.post(path, content=body_of(path, many))
        assert answer.status_code == 400 and "too many values" in answer.text


@pytest.mark.parametrize("schema", ['{"type": "object"}\0', '{"type": "object"}\0{}', "{}x"])
def test_a_schema_that_is_text_has_nothing_behind_it(plain: httpx.Client, schema: str) -> None:
    wanted = json.dumps({"type": "json_object", "schema": schema})
    answer = plain.post(CHAT, content=body_of(CHAT, f'"response_format": {wanted}'))
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "response_format.schema"


def test_values_are_the_core_s() -> None:
    value = {"a": [1, -(2**63), 1.5, True, None, "é\n\0\U0001f600"], "b": {"c": {}}, "": []}
    assert _core.read_json(json.dumps(value).encode()) == value
    assert _core.read_json(b'{"a": 1, "b": 2, "a": 3}') == {"a": 3, "b": 2}
    large = _core.read_json(b"[18446744073709551616, 9223372036854775808, -1e308]")
    assert all(isinstance(number, float) for number in large) and math.isfinite(sum(large))
    assert _core.read_members(b'{"a": 1, "b": [2], "a": 3}', ["a", "b", "c"]) == {"a": 3, "b": [2]}
    assert _core.read_members(b"[1]", ["a"]) == {}
    for text in (b"", b"{", b"NaN", b"1e999", b"{} {}", b"{}\0", b'"\xff"', b'"\\ud800"'):
        with pytest.raises(_core.CoreError):
            _core.read_json(text)

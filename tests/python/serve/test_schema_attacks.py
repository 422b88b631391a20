"""Small schemas that ask for gigabytes, beside thirty half bodies and what else is refused: the
server's memory has a bound, and others are served."""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from .conftest import get, post
from .test_connections import CHAT, HELLO, MB, connected, half, head, server, wait_until

MOST_KB = 200_000  # over the memory of an idle server


def doubling(levels: int) -> dict[str, Any]:
    """A value of 2^levels leaves; all of it is forced."""
    definitions: dict[str, Any] = {f"a{levels}": {"const": 1}}
    for level in range(levels):
        both = {side: {"$ref": f"#/$defs/a{level + 1}"} for side in "lr"}
        definitions[f"a{level}"] = {"type": "object", "properties": both, "required": ["l", "r"]}
    return {"$ref": "#/$defs/a0", "$defs": definitions}


def constants(*counts: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"const": "a constant"}
    for count in counts:
        schema = {"type": "array", "items": schema, "minItems": count, "maxItems": count}
    return schema


def sets() -> dict[str, Any]:
    values = [f"{'x' * 20_000}{value}" for value in range(7)]
    return {"type": "array", "uniqueItems": True, "items": {"enum": values}}


ATTACKS = [doubling(16), doubling(20), doubling(60), constants(3, 1000, 1000), sets()]


_JSON = {"type": "json_schema"}


def forms(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The routes that take a schema."""
    named = {"name": "x", "schema": schema, "strict": True}
    tool = {"name": "x", "parameters": {"type": "object", "properties": {"x": schema}}}
    for_chat = {**HELLO, "max_tokens": 300}
    use = {"tools": [{"type": "function", "function": tool}], "tool_choice": "required"}
    text = {"input": "x", "max_output_tokens": 300}
    return [
        (CHAT, {**for_chat, "response_format": {"type": "json_schema", "json_schema": named}}),
        (CHAT, {**for_chat, **use}),
        ("/v1/messages", {**for_chat, "output_config": {"format": _JSON | {"schema": schema}}}),
        ("/v1/responses", {**text, "text": {"format": {"type": "json_schema", **named}}}),
    ]


def test_all_attacks_together_take_little_memory_and_hold_nobody_up() -> None:
    with server("--body-timeout", "3600") as running, ExitStack() as stack:
        assert post(running.url + CHAT, json=HELLO).status_code == 200
        Path(f"/proc/{running.process.pid}/clear_refs").write_text("5")  # the peak begins here
        idle = running.resident_kb()
        answers: list[int] = []

        def attack(path: str, body: dict[str, Any]) -> None:
            answers.append(post(running.url + path, json=body).status_code)

        for _ in range(30):
            stack.enter_context(connected(running, half(15 * MB, 16 * MB)))
        hidden = json.dumps(HELLO | {"debug_config": {"ignore_eos": True}}).encode() + b"\0"
        requests = [request for schema in ATTACKS for request in forms(schema)]
        for begin in range(0, len(requests), 3):
            attacks = [
                threading.Thread(target=attack, args=request)
                for request in requests[begin : begin + 3]
            ]
            for thread in attacks:
                thread.start()
            assert post(running.url + CHAT, json=HELLO).status_code == 200
            assert get(running.url + "/health").status_code == 200
            assert post(running.url + CHAT, content=hidden).status_code == 400
            foreign = post(running.url + CHAT, json=HELLO, headers={"Host": "evil.example"})
            assert foreign.status_code == 403
            for thread in attacks:
                thread.join()
        assert len(answers) == len(requests) and set(answers) <= {200, 400}
        taken = running.peak_kb() - idle
        print(f"{taken} KB over the idle server's {idle}")
        assert taken < MOST_KB


@pytest.mark.parametrize(
    "path, body", forms(doubling(60)), ids=["chat", "tools", "messages", "responses"]
)
def test_leaving_ends_the_work_on_a_schema(path: str, body: dict[str, Any]) -> None:
    endless = {**body, "stream": True, "max_tokens": 1_000_000}
    if path == "/v1/responses":
        endless["max_output_tokens"] = endless.pop("max_tokens")
    data = json.dumps(endless).encode()
    with server() as running:
        with connected(running, head(path, len(data)) + data) as leaving:
            assert leaving.recv(12).startswith(b"HTTP/1.1 ")
        wait_until(lambda: "running 0.0" in get(f"{running.url}/metrics").text)
        assert post(running.url + CHAT, json=HELLO).status_code == 200

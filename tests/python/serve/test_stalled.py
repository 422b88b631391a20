"""Clients that do not read their streams."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from .conftest import FAKE, PATIENCE, Running, started_server

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Hello"}]
# Far more than the buffers of a connection hold, and not long for the fake model.
LONG: dict[str, Any] = {
    "messages": HELLO, "max_tokens": 6000, "n": 2, "seed": 3, "logprobs": True, "top_logprobs": 5,
    "stream": True, "debug_config": {"ignore_eos": True},
}  # fmt: skip


@contextmanager
def stalled_stream(url: str, body: dict[str, Any]) -> Iterator[socket.socket]:
    """A connection on which a request was sent and nothing is read."""
    host, port = url.partition("//")[2].split(":")
    text = json.dumps(body).encode()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(PATIENCE)
        connection.connect((host, int(port)))
        head = f"POST {CHAT} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        connection.sendall(head.encode() + text)
        yield connection


def metric(http: httpx.Client, name: str) -> float:
    return float(http.post("/debug/dump_engine_metrics").json()["fake-model"][name])


def wait_until_it_stands(http: httpx.Client) -> None:
    """Until nothing runs and something waits."""
    deadline = time.monotonic() + PATIENCE
    while metric(http, "num_running_sequences") or not metric(http, "num_waiting_sequences"):
        assert time.monotonic() < deadline, "the stream was not paused"
        time.sleep(0.02)


def texts_of(chunks: list[str]) -> dict[int, str]:
    """By choice."""
    texts: dict[int, str] = {}
    for event in chunks:
        for choice in json.loads(event)["choices"] if event != "[DONE]" else ():
            texts.setdefault(choice["index"], "")
            texts[choice["index"]] += choice["delta"].get("content") or ""
    return texts


def read_rest(connection: socket.socket) -> list[str]:
    data = b""
    while part := connection.recv(1 << 16):
        data += part
    chunked = data.partition(b"\r\n\r\n")[2]
    text = b""
    while chunked:
        size, _, rest = chunked.partition(b"\r\n")
        text += rest[: int(size, 16)]
        chunked = rest[int(size, 16) + 2 :]
    return [line[6:] for line in text.decode().split("\n") if line.startswith("data: ")]


@contextmanager
def server(*options: str) -> Iterator[tuple[Running, httpx.Client]]:
    overrides = ("--enable-debug", "--overrides", "max_num_sequence=4;max_total_seq_length=32768")
    with started_server(str(FAKE), "--device", "fake", *overrides, *options) as running:
        with httpx.Client(base_url=running.url, timeout=PATIENCE) as http:
            yield running, http
        assert running.stop() == 0 and "Traceback" not in running.errors, running.errors


def test_a_stream_that_is_not_read_stops_others_go_on_and_it_resumes_exactly() -> None:
    with server() as (running, http):
        events = http.post(CHAT, json=LONG).text.split("\n\n")[:-1]
        expected = texts_of([event[6:] for event in events])
        before = running.resident_kb()
        with stalled_stream(running.url, LONG) as stalled:
            wait_until_it_stands(http)
            tokens = metric(http, "completion_tokens_sum")
            answer = http.post(CHAT, json={**LONG, "max_tokens": 50, "n": 1, "stream": False})
            assert answer.json()["usage"]["completion_tokens"] == 50
            assert metric(http, "num_waiting_sequences") >= 1, "it is paused still"
            assert metric(http, "completion_tokens_sum") == tokens + 50
            assert running.resident_kb() - before < 30_000
            rest = read_rest(stalled)
        assert rest[-1] == "[DONE]" and texts_of(rest) == expected


def test_a_stream_that_is_not_read_ends_after_a_time() -> None:
    with server("--stalled-timeout", "0.2") as (_, http):
        failed = metric(http, "num_failed_requests")
        with stalled_stream(str(http.base_url), LONG) as stalled:
            deadline = time.monotonic() + PATIENCE
            while metric(http, "num_failed_requests") == failed:
                assert time.monotonic() < deadline, "the stream was not ended"
                time.sleep(0.02)
            assert metric(http, "num_waiting_sequences") == 0
            assert "[DONE]" not in read_rest(stalled)[-1:]

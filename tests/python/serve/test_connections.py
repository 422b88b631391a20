"""Clients that hold connections, send half of what they announce, or too much: the server stays
reachable, its memory has a bound, and it ends when it must."""

from __future__ import annotations

import json
import resource
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from mlc_llm.serve import connections
from mlc_llm.serve.connections import limit_connections

from .conftest import ENDLESS, FAKE, PATIENCE, Running, get, post, started_server

CHAT = "/v1/chat/completions"
HELLO = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 2}
MB = 1 << 20


@contextmanager
def server(*options: str, program: tuple[str, ...] = ()) -> Iterator[Running]:
    fake = (str(FAKE), "--device", "fake", "--enable-debug")
    with started_server(*fake, *options, program=program) as running:
        yield running
        if running.process.poll() is None:
            assert running.stop() == 0
        assert "Traceback" not in running.errors, running.errors


@contextmanager
def connected(server: Running, data: bytes = b"") -> Iterator[socket.socket]:
    """A connection over which `data` was sent, as far as the server took it."""
    host, port = server.url.partition("//")[2].split(":")
    with socket.create_connection((host, int(port)), PATIENCE) as connection:
        with suppress(ConnectionError):
            connection.sendall(data)
        yield connection


def head(path: str, length: int | str = 0, *more: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {length}", *more, "", ""]
    return "\r\n".join(lines).encode()


def half(sent: int, announced: int, path: str = CHAT) -> bytes:
    return head(path, announced) + b"{" + b" " * (sent - 1)


def answer_of(connection: socket.socket) -> tuple[int, str]:
    """The status and the rest of an answer; 0 if the connection was closed without one."""
    data = b""
    with suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            data += part
    return (int(data.split()[1]), data.decode()) if data else (0, "")


def read_until(connection: socket.socket, text: bytes, times: int = 1) -> None:
    data = b""
    while data.count(text) < times:
        data += (part := connection.recv(1 << 16))
        assert part, data


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_sigterm_ends_a_server_that_waits_for_bodies() -> None:
    # With time limits of an hour nothing but the signal can end them.
    hour = ("--shutdown-timeout", "3600", "--body-timeout", "3600", "--head-timeout", "3600")
    with server(*hour) as running, ExitStack() as stack:
        sent = (half(10, 100), half(10, MB), head(CHAT)[:-2], b"", half(10, 100, "/health"))
        silent = [stack.enter_context(connected(running, data)) for data in sent]
        assert get(f"{running.url}/health").status_code == 200  # all of them were accepted
        running.process.send_signal(signal.SIGTERM)
        status, text = answer_of(silent[0])
        assert status == 503 and json.loads(text.partition("\r\n\r\n")[2])["error"]["code"] == (
            "shutting_down"
        )
        assert running.wait() == 0


def test_sigterm_ends_a_server_whose_client_does_not_read() -> None:
    options = ("--shutdown-timeout", "0.1", "--stalled-timeout", "3600")
    with server(*options) as running:
        body = json.dumps({**HELLO, **ENDLESS, "stream": True, "n": 8}).encode()
        with connected(running, head(CHAT, len(body)) + body) as unread:
            unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wait_until(lambda: "running 1.0" in get(f"{running.url}/metrics").text)
            running.process.send_signal(signal.SIGTERM)
            assert running.wait() == 0


def test_a_body_and_a_head_have_time_limits() -> None:
    with server("--body-timeout", "0.3", "--head-timeout", "0.3") as running:
        with connected(running, half(10, 100)) as slow:
            status, text = answer_of(slow)
            assert status == 408 and "body_timeout" in text and "connection: close" in text.lower()
        for data in (b"", head(CHAT)[:20]):
            with connected(running, data) as slow:
                assert answer_of(slow) == (0, "")
        # an answer may take longer than both
        long = {**HELLO, "max_tokens": 20_000, "debug_config": {"ignore_eos": True}}
        assert post(running.url + CHAT, json=long).status_code == 200


def test_a_connection_that_is_used_again_has_the_same_limits() -> None:
    with server("--head-timeout", "0.5") as running:
        with connected(running, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n") as connection:
            read_until(connection, b'{"status":"ok"}')
            connection.sendall(b"GET /heal")
            assert answer_of(connection) == (0, "")


@pytest.mark.parametrize(
    "data",
    [
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 100_000,
        b"GET /health HTTP/1.1\r\nHost: " + b"x" * MB,
        b"GET /" + b"x" * MB,
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
        b"\r\n1\r\n{\r\n0\r\nX: " + b"y" * MB,  # a trailer
    ],
    ids=["headers", "a header", "a path", "a trailer"],
)
def test_a_head_has_a_size(data: bytes) -> None:
    with server() as running, connected(running, data) as connection:
        assert answer_of(connection)[0] in (0, 400)  # 0: closed before all was sent
        assert get(f"{running.url}/health").status_code == 200


def test_requests_ahead_of_their_answers_have_a_limit() -> None:
    with server() as running:
        many = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5000
        with connected(running, many) as connection:
            status, text = answer_of(connection)
            assert status in (0, 200, 400) and text.count("HTTP/1.1 200") < 100
        few = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 4
        with connected(running, few) as connection:
            read_until(connection, b'{"status":"ok"}', times=4)


def test_probes_are_answered_when_all_connections_are_taken() -> None:
    few = ("--max-connections", "4", "--body-timeout", "3600", "--head-timeout", "3600")
    with server(*few) as running, ExitStack() as stack:
        for _ in range(30):  # clients without a request make room for each other
            stack.enter_context(connected(running))
        taken = [stack.enter_context(connected(running, half(10, 100))) for _ in range(4)]
        wait_until(lambda: get(running.url + "/v1/models").status_code == 503)
        refused = post(running.url + CHAT, json=HELLO)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert refused.json()["error"]["code"] == "server_busy"
        assert refused.json()["error"]["type"] == "server_error"
        for _ in range(10):
            for path in ("/health", "/ready"):
                assert get(running.url + path).status_code == 200
        taken[0].sendall(b" " * 89 + b"}")  # a request whose body comes is one as any other
        read_until(taken[0], b"HTTP/1.1 400")
        wait_until(lambda: post(running.url + CHAT, json=HELLO).status_code == 200)


def test_clients_that_come_together_may_first_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be cut off in place of being told that all connections are taken."""
    now = 100.0
    monkeypatch.setattr(connections, "time", Mock(monotonic=lambda: now))
    table = connections.ConnectionTable(connections.ConnectionLimits(4, 10, 10, 10))
    together = [Mock() for _ in range(12)]
    for one in together:
        table.open(one)
    assert not any(one.drop.called for one in together)
    now += 2
    table.open(Mock())
    assert [one.drop.called for one in together] == [True] + [False] * 11


def test_probes_are_answered_with_128_file_handles() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128));"
        "from mlc_llm.__main__ import main; main()"
    )
    with server(program=("-c", code)) as running, ExitStack() as stack:
        for _ in range(150):
            stack.enter_context(connected(running))
        for _ in range(150):
            stack.enter_context(connected(running, half(10, 100)))
        for path in ("/health", "/ready", "/health"):
            assert get(running.url + path).status_code == 200
        assert "out of system resource" not in running.errors


def test_the_default_of_connections_follows_the_handles() -> None:
    most, backlog = limit_connections(None)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert 8 <= most <= 1024 and 1 <= backlog <= 2048 and most + 4 * backlog <= soft
    assert limit_connections(7)[0] == 7


def test_memory_has_a_bound() -> None:
    """The largest memory under bodies that are half sent, slow, or full of small values."""
    values = b'{"messages": [' + b"0," * (7 * MB) + b"0]}"
    members = b'{"messages": {' + b'"":0,' * (3 * MB) + b'"":0}}'
    tokens = json.dumps({"tokens": [1] * 400_000}).encode()
    with server() as running, ExitStack() as stack:
        assert post(running.url + CHAT, json=HELLO).status_code == 200
        Path(f"/proc/{running.process.pid}/clear_refs").write_text("5")  # the peak begins here
        idle = running.resident_kb()
        for _ in range(30):
            stack.enter_context(connected(running, half(15 * MB, 16 * MB)))
        assert post(running.url + CHAT, json=HELLO).status_code == 200  # a small one has its room
        refused = post(running.url + CHAT, content=b" " * (15 * MB))
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "server_busy")
        stack.close()
        wait_until(lambda: post(running.url + CHAT, content=b" " * (15 * MB)).status_code == 400)
        for path, body in (
            (CHAT, values),
            (CHAT, members),
            ("/v1/responses", values),
            ("/detokenize", tokens),
            ("/v1/embeddings", tokens),
        ):
            sent = [
                stack.enter_context(connected(running, head(path, len(body)) + body))
                for _ in range(4)
            ]
            for connection in sent:
                assert connection.recv(12).startswith(b"HTTP/1.1 ")
        assert get(f"{running.url}/health").status_code == 200
        assert running.peak_kb() - idle < 200_000


@pytest.mark.parametrize("stream", [True, False])
def test_an_old_client_gets_no_chunks(stream: bool) -> None:
    body = json.dumps(HELLO | {"stream": stream}).encode()
    request = head(CHAT, len(body)).replace(b"HTTP/1.1", b"HTTP/1.0") + body
    with server() as running, connected(running, request) as connection:
        status, text = answer_of(connection)
    top, _, answer = text.partition("\r\n\r\n")
    assert status == 200
    assert "transfer-encoding" not in top
    assert ("content-length" in top) is not stream
    if stream:
        assert answer.startswith("data: {") and answer.endswith("data: [DONE]\n\n")
    else:
        assert json.loads(answer)["object"] == "chat.completion"


def test_head_and_first_event_come_together() -> None:
    """Each packet wakes the client, which delays the next one on a busy machine."""
    body = json.dumps(HELLO | {"stream": True}).encode()
    with server() as running, connected(running, head(CHAT, len(body)) + body) as connection:
        first = connection.recv(1 << 16)
    assert first.startswith(b"HTTP/1.1 200")
    assert b"\r\ndata: {" in first

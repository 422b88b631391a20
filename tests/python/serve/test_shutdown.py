"""SIGTERM and Ctrl-C: what is being answered ends well, what comes is refused, nothing is lost."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import httpx
import pytest

from .conftest import FAKE, Running, started_server

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Hello"}]
LONG = {"messages": HELLO, "max_tokens": 4000, "debug_config": {"ignore_eos": True}}
ENDLESS = {**LONG, "n": 64}


@contextmanager
def fake_server(*options: str) -> Iterator[Running]:
    with started_server(str(FAKE), "--device", "fake", "--enable-debug", *options) as server:
        yield server


class Stream(threading.Thread):
    """A streamed request; `begun` is set at its first event."""

    def __init__(self, url: str, body: dict[str, object]) -> None:
        super().__init__()
        self.url, self.body = url, body
        self.begun = threading.Event()
        self.data: list[str] = []

    def run(self) -> None:
        body = {**self.body, "stream": True}
        with suppress(httpx.RemoteProtocolError):  # the server may end under it
            with httpx.stream("POST", self.url + CHAT, json=body, timeout=60) as answer:
                for line in answer.iter_lines():
                    if line.startswith("data: "):
                        self.data.append(line[6:])
                        self.begun.set()


def wait_for_running(url: str, count: int) -> None:
    deadline = time.monotonic() + 30
    while f"requests_running {float(count)}" not in httpx.get(f"{url}/metrics").text:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_for_draining(url: str) -> httpx.Response:
    deadline = time.monotonic() + 30
    while (answer := httpx.get(f"{url}/ready")).status_code == 200:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return answer


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_what_runs_is_finished_and_what_comes_is_refused(sig: int) -> None:
    # One after the other: the first one, whose answer takes seconds, holds up the streams.
    with fake_server("--overrides", "max_num_sequence=1") as server:
        streams = [Stream(server.url, LONG) for _ in range(3)]
        with ThreadPoolExecutor(1) as pool:
            whole = pool.submit(httpx.post, server.url + CHAT, json=ENDLESS, timeout=60)
            wait_for_running(server.url, 1)
            for stream in streams:
                stream.start()
            wait_for_running(server.url, 4)
            server.process.send_signal(sig)
            unready = wait_for_draining(server.url)
            refused = httpx.post(server.url + CHAT, json={"messages": HELLO})
            assert httpx.get(f"{server.url}/health").status_code == 200
            for answer in (unready, refused):
                assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
                assert answer.json()["error"]["code"] == "shutting_down"
            assert whole.result().json()["usage"]["completion_tokens"] == 64 * 4000
        for stream in streams:
            stream.join(60)
            assert stream.data[-1] == "[DONE]"
            assert json.loads(stream.data[-2])["choices"][0]["finish_reason"] == "length"
        assert server.wait() == 0 and "Traceback" not in server.errors, server.errors


def test_what_takes_too_long_ends_with_an_error() -> None:
    with fake_server("--shutdown-timeout", "0.3", "--overrides", "max_num_sequence=1") as server:
        stream = Stream(server.url, ENDLESS)
        stream.start()
        assert stream.begun.wait(10)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(httpx.post, server.url + CHAT, json=ENDLESS, timeout=60)
            wait_for_running(server.url, 2)
            begin = time.monotonic()
            assert server.stop(signal.SIGTERM) == 0, server.errors
            assert time.monotonic() - begin < 5
            answer = waiting.result()
        assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
        assert answer.json()["error"]["code"] == "model_unloaded"
        stream.join(60)
        assert json.loads(stream.data[-1])["error"]["code"] == "model_unloaded"
        assert "Traceback" not in server.errors


def test_a_second_signal_ends_at_once() -> None:
    with fake_server() as server:
        stream = Stream(server.url, ENDLESS)
        stream.start()
        assert stream.begun.wait(10)
        server.process.send_signal(signal.SIGINT)
        wait_for_draining(server.url)
        begin = time.monotonic()
        assert server.stop(signal.SIGINT) == 130
        assert time.monotonic() - begin < 2 and "Traceback" not in server.errors, server.errors
        stream.join(10)


def test_an_idle_server_ends_at_once() -> None:
    with fake_server() as server:
        begin = time.monotonic()
        assert server.stop(signal.SIGTERM) == 0 and time.monotonic() - begin < 2

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

from .conftest import ENDLESS, FAKE, MLC_LLM, PATIENCE, Running, get, post, started_server
from .stalled import LONG as UNREAD
from .stalled import read_rest, stalled_stream

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Hello"}]
LONG = {"messages": HELLO, "max_tokens": 4000, "debug_config": {"ignore_eos": True}}


@contextmanager
def fake_server(*options: str) -> Iterator[Running]:
    model = (str(FAKE), "--device", "fake")
    with started_server(*model, "--enable-debug", *options, program=MLC_LLM) as server:
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
            with httpx.stream("POST", self.url + CHAT, json=body, timeout=PATIENCE) as answer:
                for line in answer.iter_lines():
                    if line.startswith("data: "):
                        self.data.append(line[6:])
                        self.begun.set()


def wait_for_running(url: str, count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while f"requests_running {float(count)}" not in get(f"{url}/metrics").text:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_for_draining(url: str) -> httpx.Response:
    deadline = time.monotonic() + PATIENCE
    while (answer := get(f"{url}/ready")).status_code == 200:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return answer


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_what_runs_is_finished_and_what_comes_is_refused(sig: int) -> None:
    patience = str(10 * PATIENCE)
    with fake_server("--shutdown-timeout", patience, "--stalled-timeout", patience) as server:
        # A stream that nobody reads does not end before the test wants it.
        with ThreadPoolExecutor(1) as pool, stalled_stream(server.url, UNREAD) as stream:
            wait_for_running(server.url, 1)
            whole = pool.submit(post, server.url + CHAT, json={**LONG, "n": 32})
            wait_for_running(server.url, 2)
            server.process.send_signal(sig)
            unready = wait_for_draining(server.url)
            refused = post(server.url + CHAT, json={"messages": HELLO})
            assert get(f"{server.url}/health").status_code == 200
            for answer in (unready, refused):
                assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
                assert answer.json()["error"]["code"] == "shutting_down"
            assert whole.result().json()["usage"]["completion_tokens"] == 32 * 4000
            events = read_rest(stream)
        assert events[-1] == "[DONE]"
        assert json.loads(events[-2])["choices"][0]["finish_reason"] == "length"
        assert server.wait() == 0 and "Traceback" not in server.errors, server.errors


def test_what_takes_too_long_ends_with_an_error() -> None:
    with fake_server("--shutdown-timeout", "0.3", "--overrides", "max_num_sequence=1") as server:
        stream = Stream(server.url, {"messages": HELLO, **ENDLESS})
        stream.start()
        assert stream.begun.wait(PATIENCE)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(post, server.url + CHAT, json={"messages": HELLO, **ENDLESS})
            wait_for_running(server.url, 2)
            assert server.stop(signal.SIGTERM) == 0, server.errors
            answer = waiting.result()
        assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
        assert answer.json()["error"]["code"] == "model_unloaded"
        stream.join(PATIENCE)
        assert json.loads(stream.data[-1])["error"]["code"] == "model_unloaded"
        assert "Traceback" not in server.errors


def test_a_second_signal_ends_at_once() -> None:
    with fake_server() as server:
        stream = Stream(server.url, {"messages": HELLO, **ENDLESS})
        stream.start()
        assert stream.begun.wait(PATIENCE)
        server.process.send_signal(signal.SIGINT)
        wait_for_draining(server.url)
        assert server.stop(signal.SIGINT) == 130
        assert "Traceback" not in server.errors, server.errors
        stream.join(PATIENCE)
        assert stream.data[-1] != "[DONE]"


def test_an_idle_server_ends_at_once() -> None:
    with fake_server("--shutdown-timeout", "3600") as server:
        assert server.stop(signal.SIGTERM) == 0  # and waits for nothing

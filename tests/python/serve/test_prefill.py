"""A server that computes prompts, and one that goes on with them (docs/prefill.md)."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import parse_headers
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from starlette.requests import ClientDisconnect, Request

from mlc_llm import MLCEngine
from mlc_llm.errors import InvalidRequestError, MLCError
from mlc_llm.prepare.model_source import ResolvedModel
from mlc_llm.serve import admin
from mlc_llm.serve.prefill import RemotePrefill, state_file
from mlc_llm.serve.slot import ServedModel

from .conftest import FAKE, KEY, MLC_LLM, PATIENCE, Running, started_server

FAKE_MODEL = (str(FAKE), "--device", "fake")
CHAT = "/v1/chat/completions"
LONG = " ".join(f"word {number}" for number in range(24))
QUESTION: dict[str, Any] = {"messages": [{"role": "user", "content": LONG}], "max_tokens": 8}


@pytest.fixture(autouse=True, scope="module")
def own_temporary_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is left there is left by these servers."""
    folder = str(tmp_path_factory.mktemp("prefill"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@contextmanager
def pair(*model: str) -> Iterator[tuple[Running, Running]]:
    """The server that computes prompts, and the one that clients ask."""
    with started_server(*model, "--enable-admin", "--api-key", KEY) as prefill:
        given = ("--prefill-from", prefill.url, "--prefill-key", KEY)
        with started_server(*model, *given) as decode:
            yield prefill, decode


def client_of(server: Running) -> httpx.Client:
    headers = {"Authorization": f"Bearer {KEY}"}
    return httpx.Client(base_url=server.url, headers=headers, timeout=PATIENCE)


def ask(http: httpx.Client, path: str = CHAT, **fields: Any) -> dict[str, Any]:
    answer = http.post(path, json={**(QUESTION if path == CHAT else {}), **fields})
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


def cached(answer: dict[str, Any]) -> int:
    return int(answer["usage"]["prompt_tokens_details"]["cached_tokens"])


def number(server: Running, name: str) -> float:
    with client_of(server) as http:
        text = http.get("/metrics").text
    found = re.search(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)
    assert found is not None, text
    return float(found.group(1))


def wait_until(holds: Callable[[], bool], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def left_files() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob("mlc_llm-prefill-*"))


def test_the_tokens_are_those_of_one_process(tiny_model: ResolvedModel) -> None:
    """A compiled model on the CPU, over TCP: chats, streams, and several prompts of tokens."""
    before = set(left_files())
    model = (str(tiny_model.folder), "--model-lib", str(tiny_model.model_lib), "--device", "cpu")
    with pair(*model) as (prefill, decode), client_of(prefill) as one, client_of(decode) as split:
        answer = ask(split, temperature=0)
        prompt = answer["usage"]["prompt_tokens"]
        assert cached(answer) == prompt - 1 > 64
        assert answer["choices"] == ask(one, temperature=0)["choices"]
        answer = ask(split, temperature=0)  # of its own cache
        assert cached(answer) == prompt - 1
        sent = number(prefill, "mlc_llm_prefill_tokens_total")
        other = {"messages": [{"role": "user", "content": f"other {LONG}"}], "stream": True}
        streams = [http.post(CHAT, json={**QUESTION, **other, "seed": 3}) for http in (split, one)]
        texts = [
            [json.loads(line[6:])["choices"] for line in one.text.split("\n\n") if "{" in line]
            for one in streams
        ]
        assert texts[0] == texts[1] and len(texts[0]) > 2
        assert number(prefill, "mlc_llm_prefill_tokens_total") > sent
        prompts = [[5 + i % 200 for i in range(first, first + 100)] for first in (0, 50)]
        fields = {"prompt": prompts, "temperature": 0, "max_tokens": 4}
        answer = ask(split, "/v1/completions", **fields)
        assert answer["choices"] == ask(one, "/v1/completions", **fields)["choices"]
        assert decode.stop() == 0 and "Traceback" not in decode.errors, decode.errors
    assert set(left_files()) == before


@pytest.fixture(scope="module")
def fakes() -> Iterator[tuple[Running, Running]]:
    with pair(*FAKE_MODEL) as both:
        yield both


def test_short_prompts_and_wrong_requests_stay_here(fakes: tuple[Running, Running]) -> None:
    prefill, decode = fakes
    with client_of(decode) as http:
        short = {"messages": [{"role": "user", "content": "Hi"}]}
        assert cached(ask(http, **short)) == 0
        refused = http.post(CHAT, json={"messages": [{"role": "nobody", "content": LONG}]})
        assert refused.status_code == 400 and refused.json()["error"]["param"].startswith("mess")
        far = {"prompt": [[5] * 40_000]}  # not in the model's context
        too_long = http.post("/v1/completions", json=far)
        assert too_long.status_code == 400, too_long.text
        assert too_long.json()["error"]["code"] == "context_length_exceeded"
        assert number(prefill, "mlc_llm_prefill_tokens_total") == 0
        assert cached(ask(http)) > 100
        assert number(prefill, "mlc_llm_prefill_tokens_total") > 100


def test_the_route_needs_a_key_and_tokens(fakes: tuple[Running, Running]) -> None:
    prefill, decode = fakes
    with client_of(prefill) as http:
        body = {"prompt_tokens": [1, 2, 3]}
        assert httpx.post(f"{prefill.url}/admin/prefill", json=body).status_code == 401
        assert httpx.post(f"{decode.url}/admin/prefill", json=body).status_code == 404
        state = http.post("/admin/prefill", json=body)
        assert state.status_code == 200 and state.content.startswith(b"MLCKV002")
        for wrong in (
            {},
            {"prompt_tokens": []},
            {**body, "path": "/tmp/x"},
            {"prompt_tokens": [-1]},
        ):
            assert http.post("/admin/prefill", json=wrong).status_code == 400, wrong
        wide = http.post("/admin/prefill", json={"prompt_tokens": [10**6]})
        assert wide.json()["error"]["param"] == "prompt_tokens[0]"


def failure(answer: httpx.Response) -> str:
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (502, "prefill_failed"), answer.text
    return str(error["message"])


def test_what_the_other_server_refuses_is_said(fakes: tuple[Running, Running]) -> None:
    for key, words in (("wrong", "Incorrect API key"), (KEY, "'another' does not exist")):
        name = ("--served-model-name", "another")
        given = ("--prefill-from", fakes[0].url, "--prefill-key", key)
        with started_server(*FAKE_MODEL, *name, *given) as decode, client_of(decode) as http:
            assert words in failure(http.post(CHAT, json=QUESTION))
            assert words in failure(http.post(CHAT, json={**QUESTION, "stream": True}))


@pytest.mark.parametrize(
    ("key", "least", "param"),
    [
        ("key\n", 1, "prefill_key"),  # as a file has it
        ("a\tkey", 1, "prefill_key"),
        (" key", 1, "prefill_key"),
        ("key", 0, "prefill_least_tokens"),
    ],
)
def test_options_that_no_request_can_have(key: str, least: int, param: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        RemotePrefill("http://127.0.0.1:1", key, least)
    assert refused.value.param == param and "key\n" not in refused.value.message


def test_a_prefix_cache_is_needed() -> None:
    given = ("--prefill-from", "http://127.0.0.1:1", "--prefix-cache-mode", "disable")
    server = subprocess.run(
        [sys.executable, *MLC_LLM, "serve", *FAKE_MODEL, *given],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert server.returncode != 0 and "--prefix-cache-mode" in server.stderr, server.stderr


@contextmanager
def answered_by(reply: bytes | None) -> Iterator[str]:
    """The address of something that gives one answer. None: it resets the connection."""

    def give() -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as request:
            request.readline()
            # The whole request: bytes that nobody read would make of the end a reset.
            request.read(int(parse_headers(request)["Content-Length"]))
            if reply is None:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                connection.sendall(reply)

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        pool.submit(give)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (None, r"is gone: \w"),  # the error's own text is empty
        (HEAD + b"x" * 64, "is no file of a saved conversation"),
        (HEAD + b"MLCKV002" * 8, "damaged"),
        (HEAD + b"MLCKV002", "is gone: .*closed"),
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 60000\r\n\r\n" + b"[" * 60000, "status 500"),
    ],
)
def test_an_answer_that_is_no_state_is_refused(reply: bytes | None, words: str) -> None:
    before = set(left_files())
    with (
        answered_by(reply) as place,
        started_server(*FAKE_MODEL, "--prefill-from", place) as decode,
        client_of(decode) as http,
    ):
        assert re.search(words, failure(http.post(CHAT, json=QUESTION)))
    assert set(left_files()) == before


def test_a_stream_is_not_silent_while_its_prompt_is_computed() -> None:
    """And its time is limited."""
    with started_server(*FAKE_MODEL, "--enable-admin", "--api-key", KEY) as prefill:
        given = ("--prefill-from", prefill.url, "--prefill-key", KEY)
        times = ("--keep-alive", "0.05", "--request-timeout", "1.5")
        with started_server(*FAKE_MODEL, *given, *times) as decode, client_of(decode) as http:
            prefill.process.send_signal(signal.SIGSTOP)
            late = http.post(CHAT, json={**QUESTION, "stream": True})
            assert late.status_code == 200 and late.text.count(": ") > 3, late.text
            assert '"code": "timeout"' in late.text.rpartition("data: ")[2], late.text
            assert http.post(CHAT, json=QUESTION).json()["error"]["code"] == "timeout"
            prefill.process.send_signal(signal.SIGCONT)
            # On a busy machine not at once: the other server has the earlier prompts before it.
            wait_until(lambda: "[DONE]" in http.post(CHAT, json={**QUESTION, "stream": True}).text)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_request_ends_when_the_server_of_prompts_is_killed(stream: bool) -> None:
    with pair(*FAKE_MODEL) as (prefill, decode), ThreadPoolExecutor(1) as pool:
        with client_of(decode) as http:
            prefill.process.send_signal(signal.SIGSTOP)  # it has the prompt, and does not answer
            asked = pool.submit(http.post, CHAT, json={**QUESTION, "stream": stream})
            time.sleep(0.3)
            assert not asked.done()
            prefill.process.kill()
            assert "is gone" in failure(asked.result(PATIENCE))
            assert "is gone" in failure(http.post(CHAT, json=QUESTION))
            short = {"messages": [{"role": "user", "content": "Hi"}]}
            assert ask(http, **short)["choices"]


def test_a_request_ends_when_the_server_that_answers_is_killed() -> None:
    with pair(*FAKE_MODEL) as (prefill, decode), ThreadPoolExecutor(1) as pool:
        with client_of(decode) as http:
            prefill.process.send_signal(signal.SIGSTOP)
            asked = pool.submit(http.post, CHAT, json=QUESTION)
            time.sleep(0.3)
            assert not asked.done()
            decode.process.kill()
            with pytest.raises((httpx.NetworkError, httpx.RemoteProtocolError)):  # no time limit
                asked.result(PATIENCE)


def test_a_prompt_is_not_computed_for_a_server_that_has_gone() -> None:
    """The connection breaks while the prompt waits for its turn."""
    before, body = set(left_files()), json.dumps({"prompt_tokens": [1, 2, 3]}).encode()
    engine = MLCEngine(str(FAKE), device="fake")._core
    served = ServedModel(("fake",), "", engine, 0)
    lease = SimpleNamespace(model=lambda: _done(served))

    async def asked() -> None:
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            if messages:
                return messages.pop()
            await asyncio.sleep(0.05)
            return {"type": "http.disconnect"}

        headers = [(b"content-type", b"application/json")]
        request = Request({"type": "http", "headers": headers, "method": "POST"}, receive)
        with pytest.raises(ClientDisconnect):
            await admin.prefill(request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(admin, "lease_model", lambda *_: _done(lease))
        engine.set_paused(True)
        asyncio.run(asyncio.wait_for(asked(), PATIENCE))
        engine.set_paused(False)
    wait_until(lambda: engine.metrics()["num_failed_requests"] == 1)
    assert engine.metrics()["num_finished_requests"] == 0
    engine.close()
    assert set(left_files()) == before


def test_a_state_that_is_written_too_late_is_nowhere() -> None:
    """A client may leave when its prompt is computed, and not yet written."""
    before = set(left_files())
    with state_file() as path:
        assert path.parent.stat().st_mode & 0o077 == 0
    engine = MLCEngine(str(FAKE), device="fake")._core
    with pytest.raises(MLCError):
        engine.call("kv.save", {"prompt_tokens": [1, 2, 3], "path": str(path)})
    engine.close()
    assert set(left_files()) == before


async def _done(value: Any) -> Any:
    return value

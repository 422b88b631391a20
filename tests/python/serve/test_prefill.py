"""A server that computes prompts, and one that goes on with them (docs/prefill.md)."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from starlette.requests import ClientDisconnect, Request

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import ResolvedModel
from mlc_llm.serve import admin
from mlc_llm.serve.slot import ServedModel

from .conftest import FAKE, KEY, PATIENCE, Running, started_server

FAKE_MODEL = (str(FAKE), "--device", "fake")
CHAT = "/v1/chat/completions"
LONG = " ".join(f"word {number}" for number in range(24))
QUESTION: dict[str, Any] = {"messages": [{"role": "user", "content": LONG}], "max_tokens": 8}
DEAD_SECONDS = 2.0  # in which a request ends after a process has gone


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
        assert state.status_code == 200 and state.content.startswith(b"MLCKV001")
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


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_request_ends_when_the_server_of_prompts_is_killed(stream: bool) -> None:
    with pair(*FAKE_MODEL) as (prefill, decode), ThreadPoolExecutor(1) as pool:
        with client_of(decode) as http:
            prefill.process.send_signal(signal.SIGSTOP)  # it has the prompt, and does not answer
            asked = pool.submit(http.post, CHAT, json={**QUESTION, "stream": stream})
            time.sleep(0.3)
            assert not asked.done()
            begin = time.monotonic()
            prefill.process.kill()
            assert "is gone" in failure(asked.result(PATIENCE))
            assert time.monotonic() - begin < DEAD_SECONDS
            assert "is gone" in failure(http.post(CHAT, json=QUESTION))
            assert time.monotonic() - begin < 2 * DEAD_SECONDS
            short = {"messages": [{"role": "user", "content": "Hi"}]}
            assert ask(http, **short)["choices"]


def test_a_request_ends_when_the_server_that_answers_is_killed() -> None:
    with pair(*FAKE_MODEL) as (prefill, decode), ThreadPoolExecutor(1) as pool:
        with client_of(decode) as http:
            prefill.process.send_signal(signal.SIGSTOP)
            asked = pool.submit(http.post, CHAT, json=QUESTION)
            time.sleep(0.3)
            assert not asked.done()
            begin = time.monotonic()
            decode.process.kill()
            with pytest.raises(httpx.TransportError):
                asked.result(PATIENCE)
            assert time.monotonic() - begin < DEAD_SECONDS


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


async def _done(value: Any) -> Any:
    return value

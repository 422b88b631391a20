"""The server as its clients see it: the official `openai` package, and plain HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from typing import Any

import httpx
import openai
import pytest

from .conftest import ENDLESS, FAKE, KEY, PATIENCE, get, running_server

HELLO = [{"role": "user", "content": "Hello"}]
MODEL = "fake-model"
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"


def metric(http: httpx.Client, name: str) -> float:
    return http.post("/debug/dump_engine_metrics").json()[MODEL][name]


def wait_until(http: httpx.Client, name: str, value: float) -> None:
    deadline = time.monotonic() + PATIENCE
    while metric(http, name) != value:
        assert time.monotonic() < deadline, f"{name} is {metric(http, name)}, not {value}"
        time.sleep(0.02)


def test_a_stream_says_what_the_whole_answer_says(client: openai.OpenAI) -> None:
    options = {"model": MODEL, "messages": HELLO, "seed": 7, "max_tokens": 50}
    whole = client.chat.completions.create(**options)
    chunks = list(
        client.chat.completions.create(
            **options, stream=True, stream_options={"include_usage": True}
        )
    )
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == whole.choices[0].message.content
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens == whole.usage.total_tokens
    assert {c.id for c in chunks} == {chunks[0].id} and whole.model == MODEL


LONG = "a long prompt " * 60


@pytest.mark.parametrize(
    ("path", "prompt"),
    [(CHAT, {"messages": [{"role": "user", "content": LONG}]}), (TEXT, {"prompt": LONG})],
    ids=["chat", "text"],
)
def test_a_stream_begins_with_the_progress_of_its_prompt_on_request(
    http: httpx.Client, path: str, prompt: dict[str, Any]
) -> None:
    asked = {
        **prompt,
        "model": MODEL,
        "max_tokens": 5,
        "stream": True,
        "return_progress": True,
        "timings_per_token": True,
    }
    lines = http.post(path, json=asked).text.split("\n\n")
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    first = [chunk["choices"] != [] for chunk in chunks].index(True)
    progress = [chunk["prompt_progress"] for chunk in chunks[:first]]
    done = [one["processed"] for one in progress]
    assert progress and done == sorted(done) and done[-1] == progress[-1]["total"] > 60
    assert all("prompt_progress" not in chunk for chunk in chunks[first:])
    assert all("timings" in chunk for chunk in chunks)
    timings = chunks[-1]["timings"]
    assert timings["cache_n"] + timings["prompt_n"] == progress[-1]["total"]
    for path, fields in ((CHAT, {"messages": HELLO}), (TEXT, {"prompt": "Hello"})):
        whole = http.post(path, json={"max_tokens": 4, "timings_per_token": True, **fields}).json()
        assert whole["timings"]["predicted_n"] == whole["usage"]["completion_tokens"]
        assert "timings" not in http.post(path, json={"max_tokens": 4, **fields}).json()


def test_the_async_client_runs_several_at_once(url: str) -> None:
    async def run() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
            calls = [
                client.chat.completions.create(
                    model=MODEL, messages=HELLO, seed=seed % 3, max_tokens=40
                )
                for seed in range(12)
            ]
            return [answer.choices[0].message.content for answer in await asyncio.gather(*calls)]

    texts = asyncio.run(run())
    assert len(set(texts)) == 3 and texts[:3] == texts[3:6] == texts[6:9]


def test_text_completions(client: openai.OpenAI) -> None:
    options = {"model": MODEL, "seed": 4, "max_tokens": 12}
    one = client.completions.create(prompt="Once", **options)
    assert one.object == "text_completion" and one.usage.completion_tokens == 12
    both = client.completions.create(prompt=["Once", "Twice"], echo=True, **options)
    assert both.choices[0].text == "Once" + one.choices[0].text
    assert [choice.index for choice in both.choices] == [0, 1]
    assert both.choices[1].text.startswith("Twice")
    stream = client.completions.create(prompt=["Once", "Twice"], stream=True, **options)
    texts = ["", ""]
    for chunk in stream:
        texts[chunk.choices[0].index] += chunk.choices[0].text
    assert texts == [
        choice.text.removeprefix(p)
        for p, choice in zip(("Once", "Twice"), both.choices, strict=True)
    ]
    logprobs = (
        client.completions.create(prompt=[1, 2, 3], logprobs=2, **options).choices[0].logprobs
    )
    assert len(logprobs.tokens) == 12 and all(len(top) == 2 for top in logprobs.top_logprobs)
    with pytest.raises(openai.BadRequestError) as error:
        client.completions.create(prompt="x", suffix="y", **options)
    assert error.value.param == "suffix"


def test_prompts_are_scored(http: httpx.Client) -> None:
    """As scoring harnesses ask: token ids, an echo, log probabilities, one token or none."""
    tokens = http.post("/tokenize", json={"text": "Once upon a time"}).json()["tokens"]
    ask = {"prompt": [tokens, tokens[:3]], "echo": True, "logprobs": 1, "temperature": 0}
    none, one = (http.post(TEXT, json={**ask, "max_tokens": n}).json() for n in (0, 1))
    for scored, answered, count in zip(
        none["choices"], one["choices"], (len(tokens), 3), strict=True
    ):
        lists = scored["logprobs"]
        assert scored["finish_reason"] == "length" and scored["text"] == "".join(lists["tokens"])
        assert {len(items) for items in lists.values()} == {count}
        assert lists["token_logprobs"][0] == 0 and lists["top_logprobs"][0] == {}
        assert all(score < 0 for score in lists["token_logprobs"][1:])
        assert all(len(top) == 1 for top in lists["top_logprobs"][1:])
        offsets = [len("".join(lists["tokens"][:i])) for i in range(count)]
        assert lists["text_offset"] == offsets
        assert {name: items[:-1] for name, items in answered["logprobs"].items()} == lists
        assert answered["text"].startswith(scored["text"])
    assert none["usage"]["completion_tokens"] == 0 and one["usage"]["completion_tokens"] == 2
    stream = http.post(TEXT, json={**ask, "max_tokens": 0, "stream": True}).text.split("\n\n")
    chunks = [json.loads(event[6:])["choices"][0] for event in stream[:-2]]
    by_index = {chunk["index"]: chunk for chunk in chunks}
    assert [by_index[i]["logprobs"] for i in range(2)] == [c["logprobs"] for c in none["choices"]]
    assert http.post(TEXT, json={"prompt": "x", "max_tokens": 0}).json()["choices"][0]["text"] == ""


def test_what_a_user_writes_is_text(http: httpx.Client) -> None:
    """The special token's text in a message takes as many tokens as its letters."""
    special = "<|im_start|>"
    ids = http.post("/tokenize", json={"text": special}).json()["tokens"]
    assert len(ids) == 1, "the model has no such token"
    letters = [http.post("/tokenize", json={"text": s}).json()["count"] for s in ("<", special[1:])]

    def prompt_tokens(content: str) -> int:
        body = {"messages": [{"role": "user", "content": content}], "max_tokens": 1}
        return int(http.post(CHAT, json=body).json()["usage"]["prompt_tokens"])

    assert prompt_tokens(special) - prompt_tokens("") > max(letters)
    raw = http.post(TEXT, json={"prompt": special, "max_tokens": 1}).json()
    assert raw["usage"]["prompt_tokens"] == 1  # a completion's prompt is the model's own text


def test_the_shape_of_chunks_is_openais(http: httpx.Client) -> None:
    body = {"messages": HELLO, "stream": True, "max_tokens": 3, "seed": 1}
    for usage in (False, True):
        options = {"stream_options": {"include_usage": True}} if usage else {}
        events = http.post(CHAT, json={**body, **options}).text.split("\n\n")[:-2]
        chunks = [json.loads(event[6:]) for event in events]
        deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
        assert deltas[0]["role"] == "assistant" and all("role" not in d for d in deltas[1:])
        if usage:
            assert chunks.pop()["usage"]["completion_tokens"] == 3
        assert all(("usage" in chunk) is usage and not chunk.get("usage") for chunk in chunks)


def test_server_sent_events_end_with_done(http: httpx.Client) -> None:
    body = {"messages": HELLO, "stream": True, "max_tokens": 3, "seed": 1}
    answer = http.post(CHAT, json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = answer.text.split("\n\n")
    assert events[-1] == "" and events[-2] == "data: [DONE]"
    assert all(event.startswith("data: {") for event in events[:-2])


def test_an_event_is_one_line_for_every_client(http: httpx.Client) -> None:
    said = "a\x85b\u2028c\u2029d"  # httpx's `iter_lines` ends lines at these characters
    schema = {"name": "said", "schema": {"const": said}}
    form = {"type": "json_schema", "json_schema": schema}
    body = {"messages": HELLO, "stream": True, "response_format": form}
    with http.stream("POST", CHAT, json=body) as answer:
        *events, done = [line for line in answer.iter_lines() if line]
    assert done == "data: [DONE]"
    chunks = [json.loads(event[6:]) for event in events]
    pieces = [choice["delta"].get("content", "") for c in chunks for choice in c["choices"]]
    assert json.loads("".join(pieces)) == said


def test_models_are_listed_and_found(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [MODEL]
    assert client.models.retrieve(MODEL).owned_by == "mlc_llm"
    assert client.models.retrieve(str(FAKE)).id == MODEL
    with pytest.raises(openai.NotFoundError) as error:
        client.models.retrieve("gpt-9")
    assert error.value.code == "model_not_found"


def test_the_clients_error_classes(client: openai.OpenAI, url: str) -> None:
    with pytest.raises(openai.BadRequestError) as bad:
        client.chat.completions.create(model=MODEL, messages=HELLO, temperature=3)
    assert bad.value.param == "temperature"
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="gpt-9", messages=HELLO)
    with pytest.raises(openai.AuthenticationError) as key:
        openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0).models.list()
    assert key.value.code == "invalid_api_key"


def test_a_full_queue_is_429_with_retry_after() -> None:
    body = {"messages": HELLO, **ENDLESS}

    async def ask_one_too_many(http: httpx.AsyncClient) -> httpx.Response:
        """While one is answered and one waits."""
        async with http.stream("POST", CHAT, json={**body, "stream": True}) as first:
            lines = first.aiter_lines()  # whose end would be the request's
            await anext(lines)
            second = asyncio.create_task(http.post(CHAT, json=body))
            while (
                f'num_queued_requests{{model="{MODEL}"}} 1.0'
                not in (await http.get("/metrics")).text
            ):
                await asyncio.sleep(0.01)
            refused = await http.post(CHAT, json=body)
            second.cancel()
            return refused

    async def ask(url: str) -> httpx.Response:
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as http:
            return await ask_one_too_many(http)

    overrides = "max_num_sequence=1;max_queued_requests=1"
    no_turns = ("--prefix-cache-mode", "disable")
    with running_server("--enable-debug", "--overrides", overrides, *no_turns) as url:
        refused = asyncio.run(ask(url))
    assert refused.status_code == 429 and refused.headers["retry-after"] == "1"
    error = refused.json()["error"]
    assert (error["type"], error["code"]) == ("rate_limit_error", "queue_full")


def test_a_large_body_is_refused_announced_or_not(http: httpx.Client) -> None:
    body = b"x" * 1_000_001
    assert http.post(CHAT, content=body).status_code == 413
    assert (
        http.post(CHAT, content=(body[i : i + 9999] for i in range(0, len(body), 9999))).json()[
            "error"
        ]["code"]
        == "body_too_large"
    )


def test_a_client_that_leaves_ends_its_request() -> None:
    """On a server of its own: requests that other tests have left may end at any time."""
    with (
        running_server("--enable-debug") as url,
        httpx.Client(base_url=url, timeout=PATIENCE) as http,
    ):
        body = {"messages": HELLO, "stream": True, **ENDLESS}
        with http.stream("POST", CHAT, json=body) as answer:
            next(answer.iter_lines())
        wait_until(http, "num_failed_requests", 1)
        asyncio.run(_leave_while_it_runs(http))
        wait_until(http, "num_failed_requests", 2)


async def _leave_while_it_runs(http: httpx.Client) -> None:
    """Asks for a whole answer and closes the connection once the engine is at it."""
    steps = metric(http, "num_steps")
    async with httpx.AsyncClient(
        base_url=http.base_url, headers=http.headers, timeout=PATIENCE
    ) as client:
        task = asyncio.create_task(client.post(CHAT, json={"messages": HELLO, **ENDLESS}))
        while metric(http, "num_steps") == steps:
            await asyncio.sleep(0.005)
        task.cancel()


def test_a_client_that_leaves_before_its_body_has_come_is_no_mistake() -> None:
    with running_server() as url:  # which fails if the server logged a traceback
        host, port = url.partition("//")[2].split(":")
        head = f"POST {CHAT} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(f"{head}Content-Length: 1000\r\n\r\n{{".encode())
        assert get(f"{url}/health").status_code == 200


def test_health_readiness_and_metrics(http: httpx.Client, url: str) -> None:
    assert get(f"{url}/health").json() == {"status": "ok"}  # without the key
    assert get(f"{url}/metrics").status_code == 401
    assert http.get("/ready").json()["model"] == MODEL
    http.post(CHAT, json={"messages": HELLO, "stream": True, "max_tokens": 3})
    text = http.get("/metrics").text
    assert f'mlc_llm_decode_tokens_total{{model="{MODEL}"}}' in text
    assert "time_to_first_token_seconds_count" in text


def test_tokenize_and_back(http: httpx.Client) -> None:
    tokens = http.post("/tokenize", json={"text": "Grüße 🙂"}).json()["tokens"]
    assert http.post("/detokenize", json={"tokens": tokens}).json()["text"] == "Grüße 🙂"


def test_debug_and_admin_are_off_unless_asked_for() -> None:
    with running_server("--enable-admin") as url:
        with httpx.Client(base_url=url, timeout=PATIENCE) as http:
            refused = http.post(CHAT, json={"messages": HELLO, **ENDLESS})
            assert refused.json()["error"]["param"] == "debug_config"
            assert http.post("/debug/reset_engine").status_code == 404
            again = http.post("/admin/load", json={"model": str(FAKE), "device": "fake"})
            assert again.status_code == 409
            assert http.post("/admin/unload", json={"model": MODEL}).status_code == 200
            gone = http.post(CHAT, json={"messages": HELLO})
            assert gone.status_code == 503 and gone.json()["error"]["code"] == "model_not_loaded"
            loaded = http.post("/admin/load", json={"model": str(FAKE), "device": "fake"})
            assert loaded.json()["id"] == MODEL
            assert http.post(CHAT, json={"messages": HELLO, "max_tokens": 3}).status_code == 200

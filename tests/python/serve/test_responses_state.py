"""Responses that are kept, over HTTP: following, reading, deleting, in the background."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import openai
import pytest

from mlc_llm.errors import MLCError
from mlc_llm.serve.body_room import Body, BodyRoom
from mlc_llm.serve.core_request import CoreRequest
from mlc_llm.serve.options import ServeOptions
from mlc_llm.serve.registry import ModelRegistry
from mlc_llm.serve.responses_state import ResponseState

from .conftest import FAKE, PATIENCE, running_server, started_server
from .test_loading import SPEC, serving, wait_until
from .test_responses_store import fill_disk, kept

OPTIONS: dict[str, Any] = {"model": "fake-model", "max_output_tokens": 12, "temperature": 0}
_END = json.loads((FAKE / "mlc-chat-config.json").read_text())["eos_token_id"]
ENDLESS: dict[str, Any] = {
    "model": "fake-model",
    "max_output_tokens": 30000,
    "temperature": 2,
    "extra_body": {"logit_bias": {str(_END): -100}},
}


def test_one_response_follows_another(client: openai.OpenAI) -> None:
    first = client.responses.create(**OPTIONS, input="My name is Ann.", instructions="Be brief.")
    second = client.responses.create(
        **OPTIONS, input="What is my name?", previous_response_id=first.id
    )
    assert second.previous_response_id == first.id and second.store is True
    said = [
        {"role": "user", "content": "My name is Ann."},
        {"role": "assistant", "content": first.output_text},
        {"role": "user", "content": "What is my name?"},
    ]
    whole = client.responses.create(**OPTIONS, input=said)  # type: ignore[arg-type]
    assert whole.output_text == second.output_text
    count = client.responses.input_tokens.count(
        model="fake-model", input="What is my name?", previous_response_id=first.id
    )
    assert count.input_tokens == second.usage.input_tokens == whole.usage.input_tokens
    stream = client.responses.create(
        **OPTIONS, input="What is my name?", previous_response_id=first.id, stream=True
    )
    last = list(stream)[-1].response
    assert last.output_text == second.output_text
    assert client.responses.retrieve(last.id).output_text == last.output_text


def test_reading_and_deleting(client: openai.OpenAI) -> None:
    given = [{"role": "user", "content": text} for text in "abc"]
    made = client.responses.create(**OPTIONS, input=given)  # type: ignore[arg-type]
    assert client.responses.retrieve(made.id).output_text == made.output_text
    listed = client.responses.input_items.list(made.id, order="asc", limit=2)
    assert [item.content[0].text for item in listed] == ["a", "b", "c"]  # type: ignore[union-attr]
    page = client.responses.input_items.list(made.id, limit=2)
    assert [item.content[0].text for item in page.data] == ["c", "b"]  # type: ignore[union-attr]
    assert page.has_more
    client.responses.delete(made.id)
    for ask in (client.responses.retrieve, client.responses.delete, client.responses.cancel):
        with pytest.raises(openai.NotFoundError):
            ask(made.id)
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(**OPTIONS, input="x", previous_response_id=made.id)
    assert refused.value.code == "previous_response_not_found"


def test_what_is_not_stored_is_not_kept(client: openai.OpenAI) -> None:
    made = client.responses.create(**OPTIONS, input="x", store=False)
    assert made.store is False
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(made.id)
    with pytest.raises(openai.BadRequestError):
        client.responses.create(**OPTIONS, input="x", store=False, background=True)


def ended(client: openai.OpenAI, response_id: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        response = client.responses.retrieve(response_id)
        if response.status not in ("queued", "in_progress"):
            return response
        time.sleep(0.02)
    pytest.fail("the response did not end")


def test_in_the_background(client: openai.OpenAI) -> None:
    begun = client.responses.create(**OPTIONS, input="Hello", background=True)
    assert begun.status == "queued" and begun.background
    whole = client.responses.create(**OPTIONS, input="Hello")
    assert ended(client, begun.id).output_text == whole.output_text
    long = client.responses.create(**OPTIONS, input="word " * 20_000, background=True)
    failed = ended(client, long.id)
    assert failed.status == "failed" and "context length" in failed.error.message
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(**OPTIONS, input="x", background=True, stream=True)
    assert refused.value.param == "stream"


def test_cancelling(client: openai.OpenAI, http: httpx.Client) -> None:
    begun = client.responses.create(**ENDLESS, input="Hello", background=True)
    assert client.responses.cancel(begun.id).status == "cancelled"
    assert client.responses.retrieve(begun.id).status == "cancelled"
    assert client.responses.cancel(begun.id).status == "cancelled"
    again = client.responses.create(**ENDLESS, input="Hello", background=True)
    client.responses.delete(again.id)
    deadline = time.monotonic() + PATIENCE
    while "running 0.0" not in http.get("/metrics").text:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    made = client.responses.create(**OPTIONS, input="x")
    with pytest.raises(openai.BadRequestError):
        client.responses.cancel(made.id)


@pytest.fixture
def own() -> Iterator[openai.OpenAI]:
    """Of a server in this process."""
    models = ModelRegistry()
    models.load(SPEC)
    with serving(models=models) as it:
        yield openai.OpenAI(base_url=f"{it.url}/v1", api_key="-", max_retries=0)


def hold(monkeypatch: pytest.MonkeyPatch, step: str, seen: int = 0) -> threading.Event:
    """That step of the core's requests waits for the event, once so many of their events came."""
    work, go_on, events = getattr(CoreRequest, step), threading.Event(), list[Any]()

    async def held(*arguments: Any) -> Any:
        if len(events) >= seen:
            await asyncio.to_thread(go_on.wait, PATIENCE)
        found = await work(*arguments)
        events.extend(found or ())
        return found

    monkeypatch.setattr(CoreRequest, step, held)
    return go_on


def test_the_background_says_how_far_it_is(
    own: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit, answer = hold(monkeypatch, "submit_body"), hold(monkeypatch, "next_events")
    made = own.responses.create(**OPTIONS, input="Hello", background=True).id
    for status, go_on in (("queued", submit), ("in_progress", answer)):
        wait_until(lambda status=status: own.responses.retrieve(made).status == status)
        with pytest.raises(openai.BadRequestError, match=f"is still {status}"):
            own.responses.create(**OPTIONS, input="x", previous_response_id=made)
        go_on.set()
    assert ended(own, made).output_text


def test_a_stream_is_known_from_its_begin(
    own: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = hold(monkeypatch, "next_events", seen=5)
    stream = own.responses.create(**ENDLESS, input="Hello", stream=True)
    made = next(iter(stream)).response.id
    assert own.responses.retrieve(made).status == "in_progress"
    (item,) = own.responses.input_items.list(made).data
    assert item.content[0].text == "Hello"  # type: ignore[union-attr]
    with pytest.raises(openai.BadRequestError, match="synchronous"):
        own.responses.cancel(made)
    with pytest.raises(openai.BadRequestError, match="is still in_progress"):
        own.responses.create(**OPTIONS, input="x", previous_response_id=made)
    text = next(event.delta for event in stream if event.type == "response.output_text.delta")
    stream.close()
    left = ended(own, made)
    go_on.set()
    assert left.status == "cancelled" and left.output_text.startswith(text)
    assert left.output[0].status == "incomplete"


def test_a_stream_can_be_deleted_while_it_is_read(
    own: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = hold(monkeypatch, "next_events", seen=1)
    asked = {**ENDLESS, "max_output_tokens": 2000}  # more events than wait in the core
    stream = own.responses.create(**asked, input="Hello", stream=True)
    made = next(iter(stream)).response.id
    own.responses.delete(made)
    go_on.set()
    *_, last = stream
    assert last.response.output_text
    with pytest.raises(openai.NotFoundError):
        own.responses.retrieve(made)


@pytest.mark.parametrize("path", ["", "/cancel", "/input_items"])
@pytest.mark.parametrize("name", ["nothing", "%00", "x" * 5000, "%F0%9F%98%80", "..%2f.."])
def test_hostile_ids(http: httpx.Client, path: str, name: str) -> None:
    method = "POST" if path == "/cancel" else "GET"
    assert http.request(method, f"/v1/responses/{name}{path}").status_code in (400, 404, 405)


def test_hostile_pages(client: openai.OpenAI, http: httpx.Client) -> None:
    made = client.responses.create(**OPTIONS, input="x")
    items = f"/v1/responses/{made.id}/input_items"
    for query in (
        "limit=0",
        "limit=x",
        "limit=1000",
        "order=up",
        "after=nobody",
        "limit=" + "9" * 99,
    ):
        assert http.get(f"{items}?{query}").status_code == 400, query
    assert http.get(f"/v1/responses/{made.id}?stream=true").status_code == 400
    for wrong in (3, [], {}, "\ud800", "x\0y", "y" * 100_000):
        body = {"input": "x", "previous_response_id": wrong}
        answer = http.post("/v1/responses", content=json.dumps(body).encode())
        assert answer.status_code == 400, answer.text


def test_the_key_is_wanted(url: str) -> None:
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/input_items")):
        assert httpx.request(method, f"{url}/v1/responses/x{path}").status_code == 401


def test_a_server_that_is_killed_loses_the_last_one_at_most(tmp_path: Path) -> None:
    arguments = (str(FAKE), "--device", "fake", "--responses-db", str(tmp_path / "db"))
    ids = []
    with started_server(*arguments) as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0)
        previous: str | None = None
        for number in range(8):
            made = client.responses.create(
                **OPTIONS, input=f"{number}", previous_response_id=previous
            )
            previous = made.id
            ids.append(made.id)
        running = client.responses.create(**ENDLESS, input="x", background=True).id
        server.stop(signal.SIGKILL)
    with started_server(*arguments) as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0)
        for response_id in ids[:-1]:
            assert client.responses.retrieve(response_id).output_text
        follow = client.responses.create(**OPTIONS, input="9", previous_response_id=ids[-2])
        assert follow.usage.input_tokens > 40
        assert client.responses.retrieve(running).status == "failed"
        assert server.stop() == 0


def test_a_full_disk_costs_no_answer(tmp_path: Path) -> None:
    state = ResponseState(ServeOptions(responses_db=tmp_path / "db"))
    first = kept(1, previous_response_id=None)
    state.keep(first.input, first.response)
    assert asyncio.run(state.get("r1")) == first
    taken = state.store._bytes
    fill_disk(state.store)
    long = kept(1, size=100_000, previous_response_id=None)
    state.keep(long.input, long.response)
    assert asyncio.run(state.get("r1")) == first and state.store._bytes == taken
    asyncio.run(state.close())


def test_a_full_disk_is_said(request: pytest.FixtureRequest) -> None:
    """To a client whose answer comes later; else in a line of the log."""
    models = ModelRegistry()
    models.load(SPEC)
    with serving(models=models) as it:
        log = request.getfixturevalue("server_log")
        fill_disk(it.server.config.app.state.responses.store)  # type: ignore[union-attr]
        client = openai.OpenAI(base_url=f"{it.url}/v1", api_key="-", max_retries=0)
        asked: dict[str, Any] = {**OPTIONS, "input": "word " * 1000}
        made = client.responses.create(**asked)
        *_, streamed = client.responses.create(**asked, stream=True)
        with pytest.raises(openai.InternalServerError, match="--responses-db") as refused:
            client.responses.create(**asked, background=True)
        assert refused.value.code == "disk_full"
        for answer in (made, streamed.response):
            assert answer.output_text
            with pytest.raises(openai.NotFoundError):
                client.responses.retrieve(answer.id)
    lines = [one for one in log.records if "is not kept" in one.message]
    assert len(lines) == 2 and not any(one.exc_info for one in log.records)


def test_requests_of_the_background_take_room_for_bodies() -> None:
    async def fill() -> None:
        room = BodyRoom(100_000)
        first = Body(room).for_later(b"x" * 150_000)
        with pytest.raises(MLCError) as refused:
            Body(room).for_later(b"x" * 150_000)
        assert refused.value.code == "server_busy"
        first.release()
        first.release()  # its task ends too
        assert Body(room).for_later(b"y" * 150_000).data[:1] == b"y"

    asyncio.run(fill())


def test_the_background_keeps_room_only_while_it_waits() -> None:
    """A body has its room back when the core has it, or when it is cancelled or refused."""
    text = "word " * 30_000
    room = ("--max-body-bytes", "400000", "--max-total-body-bytes", "400000")
    limits = (*room, "--overrides", "max_num_sequence=1")
    with running_server("--enable-debug", *limits) as url:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="-", max_retries=0)
        for _ in range(12):
            made = client.responses.create(input=text, background=True, model="fake-model")
            with contextlib.suppress(openai.BadRequestError):  # it has ended already
                client.responses.cancel(made.id)
        assert client.responses.create(input="x", model="fake-model").output_text


def test_what_is_not_written_has_a_bound(server_log: pytest.LogCaptureFixture) -> None:
    """Behind a store that waits, and when the server has ended."""

    async def keep() -> None:
        state = ResponseState(ServeOptions())
        release = threading.Event()
        state.store.put = lambda kept: release.wait(PATIENCE)  # type: ignore[assignment]
        for number in range(300):
            one = kept(number, previous_response_id=None)
            state.keep(one.input, one.response)
        assert len(server_log.records) == 300 - 256
        release.set()
        await state.close()
        state.keep(one.input, one.response)
        assert server_log.records[-1].message.endswith("the server ends")

    asyncio.run(keep())


def test_an_answer_that_json_cannot_write_is_said(server_log: pytest.LogCaptureFixture) -> None:
    async def keep() -> None:
        state = ResponseState(ServeOptions())
        one = kept(1, previous_response_id=None, output=[object()])
        state.keep(one.input, one.response)
        await state.close()

    asyncio.run(keep())
    assert [record.message for record in server_log.records] == [
        "The response r1 could not be kept"
    ]


def test_at_most_256_begin_in_the_background() -> None:
    async def begin() -> None:
        state = ResponseState(ServeOptions())
        state._ask_store = lambda *_: asyncio.sleep(60)  # type: ignore[assignment, method-assign]
        room = BodyRoom(1 << 30)
        core: Any = None
        tasks = []
        for number in range(257):
            answer: Any = SimpleNamespace(
                describe=lambda _, number=number: {"id": f"r{number}", "previous_response_id": None}
            )
            body = Body(room).for_later(b"{}")
            tasks.append(asyncio.ensure_future(state.begin([], answer, core, body, core)))
        done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        refused = [task.exception() for task in done]
        assert [getattr(one, "code", None) for one in refused] == ["server_busy"]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        await state.close()

    asyncio.run(begin())

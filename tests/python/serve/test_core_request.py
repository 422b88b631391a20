"""Events from the core's threads to the event loop: none lost, and the request always ended."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from mlc_llm import _core
from mlc_llm.serve.body_room import Body, BodyRoom
from mlc_llm.serve.catalogue import ModelSpec
from mlc_llm.serve.core_request import MAX_WAITING, CoreRequest, Event
from mlc_llm.serve.inference import AnswerFormat, RequestHandler
from mlc_llm.serve.options import ServeOptions
from mlc_llm.serve.slot import Lease, ServedModel, Slot


class Engine:
    """Stands for a CoreEngine: `act` gets the way into the mailbox, on a thread of its own."""

    def __init__(self, act: Callable[[Callable[[int, str], None]], None]) -> None:
        self.act = act
        self.aborted: list[int] = []
        self.pauses: list[bool] = []

    def submit_later(
        self, route: str, body: bytes, buffers: Any, mailbox: _core.EventMailbox, number: int
    ) -> None:
        threading.Thread(target=self.run, args=(partial(mailbox.put, number),)).start()

    def run(self, put: Callable[[int, str], None]) -> None:
        put(_core.EVENT_SUBMITTED, "7")
        self.act(put)

    def abort(self, request_id: int) -> None:
        self.aborted.append(request_id)

    def pause_request(self, request_id: int, paused: bool) -> None:
        assert request_id == 7
        self.pauses.append(paused)


class Submitted(CoreRequest):
    """A request that goes to `engine`."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self.engine: Any = engine

    async def submit_here(self) -> None:
        await self.submit(self.engine, "chat.completions", b"")


def lease_of(engine: Any) -> Lease:
    lease = Lease(Slot(ModelSpec(model="x", names=("x",))), lambda _: None)
    lease.future.set_result(ServedModel(("x",), "x", engine, 0, {"input_modalities": ["text"]}))
    return lease


def test_every_event_comes_once_in_order() -> None:
    count = 20_000

    def act(callback: Callable[[int, str], None]) -> None:
        for number in range(count):
            callback(_core.EVENT_CHUNK, str(number))
        callback(_core.EVENT_DONE, "")

    async def run() -> list[Event]:
        request = Submitted(Engine(act))
        await request.submit_here()
        got: list[Event] = []
        while not got or got[-1][0] == _core.EVENT_CHUNK:
            events = await request.next_events(120)
            assert events, "woken without an event"
            got += events
        return got

    got = asyncio.run(run())
    assert [text for _, text in got] == [*map(str, range(count)), ""]


def test_no_event_in_time_is_none() -> None:
    async def run() -> list[Event]:
        request = Submitted(Engine(lambda callback: None))
        await request.submit_here()
        return await request.next_events(0.01)

    assert asyncio.run(run()) == []


def test_a_client_that_leaves_before_the_first_byte_ends_its_request() -> None:
    engine = Engine(lambda callback: callback(_core.EVENT_CHUNK, "{}"))

    async def run() -> None:
        handler = RequestHandler(lease_of(engine), AnswerFormat(), ServeOptions())
        body = Body(BodyRoom(0))
        response = await handler.run(None, "chat.completions", body, stream=True)  # type: ignore[arg-type]

        async def receive() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            await asyncio.sleep(3600)

        await response({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send)

    asyncio.run(asyncio.wait_for(run(), 120))
    assert engine.aborted == [7]


def test_a_request_whose_submission_is_cancelled_is_aborted() -> None:
    began, go_on = threading.Event(), threading.Event()

    class Slow(Engine):
        def run(self, put: Callable[[int, str], None]) -> None:
            began.set()
            go_on.wait(120)
            super().run(put)

    engine = Slow(lambda callback: None)

    async def run() -> None:
        task = asyncio.create_task(Submitted(engine).submit_here())
        await asyncio.to_thread(began.wait, 120)
        task.cancel()
        await asyncio.wait([task])
        go_on.set()
        while not engine.aborted:
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(run(), 120))


def flood(callback: Callable[[int, str], None]) -> None:
    """As much as may wait, in 16 chunks, and one chunk more."""
    for _ in range(17):
        callback(_core.EVENT_CHUNK, "x" * (MAX_WAITING // 16))


def test_a_request_whose_events_wait_is_paused_until_they_are_taken() -> None:
    flooded = threading.Event()
    engine = Engine(lambda callback: (flood(callback), flooded.set()) and None)

    async def run() -> None:
        request = Submitted(engine)
        await request.submit_here()
        await asyncio.to_thread(flooded.wait, 120)
        while not engine.pauses:
            await asyncio.sleep(0.001)
        assert engine.pauses == [True]
        assert len(await request.next_events(120)) == 17
        assert engine.pauses == [True, False]

    asyncio.run(asyncio.wait_for(run(), 120))
    assert engine.aborted == []


def test_events_that_come_before_the_id_is_known_count() -> None:
    class Early(Engine):
        def run(self, put: Callable[[int, str], None]) -> None:
            flood(put)
            assert self.pauses == []
            super().run(put)

    engine = Early(lambda callback: None)

    async def run() -> None:
        await Submitted(engine).submit_here()

    asyncio.run(asyncio.wait_for(run(), 120))
    assert engine.pauses == [True]


def test_a_stream_that_nobody_reads_ends_after_its_time() -> None:
    engine = Engine(flood)
    sent: list[Any] = []

    async def run() -> None:
        options = ServeOptions(stalled_timeout=0.01)
        handler = RequestHandler(lease_of(engine), AnswerFormat(), options)
        body = Body(BodyRoom(0))
        response = await handler.run(None, "chat.completions", body, stream=True)  # type: ignore[arg-type]

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(3600)
            raise AssertionError

        async def send(message: Any) -> None:
            sent.append(message)
            if len(sent) > 1:  # behind the head nothing is read
                flood(callbacks[0])
                await asyncio.sleep(3600)

        await response({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send)

    callbacks: list[Any] = []
    act = engine.act
    engine.act = lambda callback: (callbacks.append(callback), act(callback)) and None
    asyncio.run(asyncio.wait_for(run(), 120))
    assert engine.aborted == [7] and engine.pauses[-1] is True
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]

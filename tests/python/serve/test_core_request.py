"""Events from the core's thread to the event loop: none lost, and the request always ended."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from mlc_llm import _core
from mlc_llm.serve.core_request import CoreRequest, Event
from mlc_llm.serve.inference import Answering, Shape
from mlc_llm.serve.options import ServeOptions


class Engine:
    """Stands for a CoreEngine: `act` gets the callback, on a thread of its own."""

    def __init__(self, act: Callable[[Callable[[int, str], None]], None]) -> None:
        self.act = act
        self.aborted: list[int] = []

    def submit_json(self, route: str, body: bytes, callback: Callable[[int, str], None]) -> int:
        threading.Thread(target=self.act, args=(callback,)).start()
        return 7

    def abort(self, request_id: int) -> None:
        self.aborted.append(request_id)


def request_of(engine: Engine) -> CoreRequest:
    return CoreRequest(engine)  # type: ignore[arg-type]


def test_every_event_comes_once_in_order() -> None:
    count = 20_000

    def act(callback: Callable[[int, str], None]) -> None:
        for number in range(count):
            callback(_core.EVENT_CHUNK, str(number))
        callback(_core.EVENT_DONE, "")

    async def run() -> list[Event]:
        request = request_of(Engine(act))
        await request.submit("chat.completions", b"")
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
        request = request_of(Engine(lambda callback: None))
        await request.submit("chat.completions", b"")
        return await request.next_events(0.01)

    assert asyncio.run(run()) == []


def test_a_client_that_leaves_before_the_first_byte_ends_its_request() -> None:
    engine = Engine(lambda callback: callback(_core.EVENT_CHUNK, "{}"))

    async def run() -> None:
        answering = Answering(engine, Shape(), ServeOptions())  # type: ignore[arg-type]
        response = await answering.run(None, "chat.completions", b"", stream=True)  # type: ignore[arg-type]

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
        def submit_json(self, route: str, body: bytes, callback: Any) -> int:
            began.set()
            go_on.wait(120)
            return 7

    engine = Slow(lambda callback: None)

    async def run() -> None:
        task = asyncio.create_task(request_of(engine).submit("chat.completions", b""))
        await asyncio.to_thread(began.wait, 120)
        task.cancel()
        await asyncio.wait([task])
        go_on.set()
        while not engine.aborted:
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(run(), 120))

"""Requests of an event loop, over the fake device."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from mlc_llm import AsyncMLCEngine, _core
from mlc_llm.errors import MLCError
from mlc_llm.sdk.loop_events import LoopEvents

FOLDER = Path(__file__).parents[2] / "fixtures" / "fake-model"
CHAT: Any = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 3}


def test_one_engine_serves_several_loops() -> None:
    engine = AsyncMLCEngine(FOLDER, device="fake")

    async def ask() -> str:
        answers = [engine.chat.completions.create(**CHAT, seed=1, n=2) for _ in range(20)]
        texts = {
            choice.message.content
            for one in await asyncio.gather(*answers)
            for choice in one.choices
        }
        return str(sorted(texts))

    assert asyncio.run(ask()) == asyncio.run(ask())
    asyncio.run(engine.close())


def test_closed_loops_keep_no_files_open() -> None:
    async def make() -> None:
        LoopEvents.of_running_loop()

    def count() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    if not Path("/proc/self/fd").exists():
        pytest.skip("counts the open files in /proc")
    asyncio.run(make())
    before = count()
    for _ in range(5):
        asyncio.run(make())
    assert count() == before


def test_a_refused_request_is_an_error_and_leaves_nothing() -> None:
    async def run() -> None:
        engine = AsyncMLCEngine(FOLDER, device="fake")
        with pytest.raises(MLCError, match="temperature"):
            await engine.chat.completions.create(**CHAT, temperature=-1)
        await engine.close()
        with pytest.raises(MLCError, match="closed"):
            await engine.chat.completions.create(**CHAT)
        assert LoopEvents.of_running_loop()._requests == {}

    asyncio.run(run())


def test_a_loop_that_watches_no_files_is_woken_by_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""

    real = _core.EventMailbox

    class Unwatched:
        def __init__(self) -> None:
            mailbox = real()
            self.wake_by, self.take, self.put = mailbox.wake_by, mailbox.take, mailbox.put

        def fileno(self) -> int:
            return -1

    monkeypatch.setattr(_core, "EventMailbox", Unwatched)

    class Engine:
        def submit_later(
            self, route: str, body: bytes, buffers: Any, mailbox: Unwatched, number: int
        ) -> None:
            for event in ((_core.EVENT_SUBMITTED, "7"), (_core.EVENT_DONE, "")):
                threading.Timer(0.01, mailbox.put, (number, *event)).start()

    async def run() -> list[tuple[int, str]]:
        got: asyncio.Queue[tuple[int, str]] = asyncio.Queue()
        engine: Any = Engine()
        events = LoopEvents.of_running_loop()
        await events.submit(engine, "", b"", lambda kind, text: got.put_nowait((kind, text)))
        return [await got.get()]

    assert asyncio.run(asyncio.wait_for(run(), 120)) == [(_core.EVENT_DONE, "")]


class Quick:
    """Stands for a CoreEngine whose threads are faster than the one that submits."""

    def submit_later(
        self, route: str, body: bytes, buffers: Any, mailbox: _core.EventMailbox, number: int
    ) -> None:
        mailbox.put(number, _core.EVENT_RESULT, "{}")
        mailbox.put(number, _core.EVENT_SUBMITTED, "7")


def test_a_receiver_that_fails_takes_nothing_from_others() -> None:
    got: list[int] = []
    told: list[str] = []

    def fail(kind: int, text: str) -> None:
        raise KeyError("mine")

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: told.append(repr(context["exception"]))
        )
        events = LoopEvents.of_running_loop()
        engine: Any = Quick()
        both = (fail, lambda kind, text: got.append(kind))
        await asyncio.gather(*(events.submit(engine, "", b"", one) for one in both))
        assert events._requests == {}

    asyncio.run(run())
    assert got == [_core.EVENT_RESULT] and told == ["KeyError('mine')"]


def test_a_last_event_before_the_submission_is_known() -> None:
    got: list[tuple[int, str]] = []

    async def run() -> int:
        events = LoopEvents.of_running_loop()
        engine: Any = Quick()
        number = await events.submit(engine, "", b"", lambda kind, text: got.append((kind, text)))
        assert events._requests == {}
        return number

    assert asyncio.run(run()) == 7
    assert got == [(_core.EVENT_RESULT, "{}")]


@pytest.mark.parametrize("cancelled_first", [True, False])
def test_a_task_cancelled_while_its_submission_becomes_known(cancelled_first: bool) -> None:
    aborted: list[int] = []

    class Engine:
        def submit_later(
            self, route: str, body: bytes, buffers: Any, mailbox: _core.EventMailbox, number: int
        ) -> None:
            self.mailbox, self.number = mailbox, number

        def abort(self, request_id: int) -> None:
            aborted.append(request_id)

    async def run() -> None:
        engine: Any = Engine()
        events = LoopEvents.of_running_loop()
        task = asyncio.create_task(events.submit(engine, "", b"", lambda kind, text: None))
        await asyncio.sleep(0)
        engine.mailbox.put(engine.number, _core.EVENT_SUBMITTED, "7")
        steps = [task.cancel, events._deliver]
        for step in steps if cancelled_first else reversed(steps):
            step()
        with pytest.raises(asyncio.CancelledError):
            await task
        engine.mailbox.put(engine.number, _core.EVENT_ERROR, "{}")
        events._deliver()
        assert events._requests == {}

    asyncio.run(run())
    assert aborted == [7]

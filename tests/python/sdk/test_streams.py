"""Streams with several readers: the end comes to each of them, and an error to one."""

from __future__ import annotations

import asyncio
import json
import queue
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from mlc_llm import _core
from mlc_llm.errors import MLCError
from mlc_llm.sdk.async_engine import AsyncChunkStream
from mlc_llm.sdk.core_engine import RequestNames
from mlc_llm.sdk.engine import ChunkStream
from mlc_llm.types_gen import Completion

STOPPED = {"error": {"message": "stopped"}}
ENDS = {
    "the end": (_core.EVENT_DONE, ""),
    "an error": (_core.EVENT_ERROR, json.dumps(STOPPED)),
}
FIRST = {"the end": 0, "an error": "stopped"}  # what the first reader gets


class Events:
    """A stream's last event. Whoever waits for another one waits for ever."""

    def __init__(self, end: tuple[int, str]) -> None:
        self._events: queue.Queue[tuple[int, str]] = queue.Queue()
        self._events.put(end)

    def next(self) -> tuple[int, str]:
        time.sleep(0.2)  # meanwhile the other reader comes
        return self._events.get()


def core(events: Events | None = None) -> Any:
    def ignore(*_: object) -> None: ...

    return SimpleNamespace(stream=lambda *_: (1, events), forget=ignore, abort=ignore)


@pytest.mark.parametrize("end", ENDS)
def test_two_threads_read_one_stream(end: str) -> None:
    stream = ChunkStream(core(Events(ENDS[end])), "completions", Completion, {})
    seen: list[int | str] = []

    def read() -> None:
        try:
            seen.append(len(list(stream)))
        except MLCError as error:
            seen.append(error.message)

    threads = [threading.Thread(target=read, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(seen, key=str) == [0, FIRST[end]] and list(stream) == []


@pytest.mark.parametrize("end", ENDS)
def test_three_tasks_read_one_stream(end: str) -> None:
    async def read(stream: AsyncChunkStream[Completion]) -> int | str:
        try:
            return len([chunk async for chunk in stream])
        except MLCError as error:
            return error.message

    async def main() -> list[int | str]:
        events: asyncio.Queue[tuple[int, str]] = asyncio.Queue()
        stream = AsyncChunkStream(core(), Completion, 1, events)
        tasks = [asyncio.create_task(read(stream)) for _ in range(3)]
        await asyncio.sleep(0)  # all of them wait
        events.put_nowait(ENDS[end])
        return await asyncio.wait_for(asyncio.gather(*tasks), 60)

    assert asyncio.run(main()) == [FIRST[end], 0, 0]


def test_a_stream_is_dropped_while_its_thread_has_the_names() -> None:
    """As the garbage collector may do at any moment."""
    names = RequestNames()
    names.add("old", 1)

    class Name(str):
        def __hash__(self) -> int:
            names.remove("old", 1)
            return super().__hash__()

    adding = threading.Thread(target=names.add, args=(Name("new"), 2), daemon=True)
    adding.start()
    adding.join(60)
    assert not adding.is_alive()
    assert (names.ids("old"), names.ids("new")) == ([], [2])

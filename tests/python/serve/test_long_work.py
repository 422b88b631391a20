"""Downloads and loads beside requests."""

from __future__ import annotations

import asyncio
import threading

from mlc_llm.serve.long_work import DOWNLOADS, LOADS, run_long


def test_downloads_hold_no_thread_of_requests_or_loads() -> None:
    ended = threading.Event()

    async def both() -> None:
        works = [asyncio.ensure_future(run_long(DOWNLOADS, ended.wait)) for _ in range(100)]
        assert await asyncio.wait_for(run_long(LOADS, lambda: 4), 60) == 4
        assert await asyncio.wait_for(asyncio.to_thread(lambda: 3), 60) == 3
        ended.set()
        assert await asyncio.gather(*works) == [True] * 100

    asyncio.run(both())

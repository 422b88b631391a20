"""Requests in another form than the core's: who translates them."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mlc_llm.serve.body import work_on
from mlc_llm.serve.body_room import BodyRoom


@pytest.mark.parametrize(("size", "is_here"), [(100, True), (100_000, False)])
def test_a_large_body_does_not_hold_the_event_loop_up(size: int, is_here: bool) -> None:
    async def worker() -> int:
        body = BodyRoom(1 << 20).body(b"x" * size)
        return await work_on(body, threading.get_ident)

    assert (asyncio.run(worker()) == threading.get_ident()) == is_here

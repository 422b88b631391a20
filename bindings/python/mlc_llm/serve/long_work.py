"""Work that may take minutes. Each kind has threads of its own, so that no request waits for a
load, and no load for a download."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Result = TypeVar("_Result")
LOADS = ThreadPoolExecutor(8, "mlc-loads")
DOWNLOADS = ThreadPoolExecutor(8, "mlc-downloads")


async def run_long(threads: ThreadPoolExecutor, work: Callable[[], _Result]) -> _Result:
    """What `work` returns or raises."""
    return await asyncio.get_running_loop().run_in_executor(threads, work)

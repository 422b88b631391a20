"""Work that may take minutes, such as a download or a load. It has threads of its own, so that no
request waits for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Result = TypeVar("_Result")
_THREADS = ThreadPoolExecutor(8, "mlc-long-work")


async def run_long(work: Callable[[], _Result]) -> _Result:
    """What `work` returns or raises."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, work)

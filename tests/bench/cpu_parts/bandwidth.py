"""Bytes a second that this machine reads from memory."""

from __future__ import annotations

import concurrent.futures
import time

import numpy as np

_BLOCK_BYTES = 256 << 20  # far more than the caches hold


def read_bandwidth(threads: int) -> float:
    """The best of five passes of `threads` threads over memory of their own."""
    blocks = [np.ones(_BLOCK_BYTES // 4, np.float32) for _ in range(threads)]
    times = []
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for _ in range(6):
            begin = time.perf_counter()
            list(pool.map(np.max, blocks))
            times.append(time.perf_counter() - begin)
    return threads * _BLOCK_BYTES / min(times[1:])

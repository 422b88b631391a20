"""Clients that ask, read, and now and then leave in the middle; and a probe of `/health`."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx

CHAT = "/v1/chat/completions"


@dataclass
class Tally:
    """What the clients saw. `started` is the sum of `ended`'s values."""

    started: int = 0
    ended: Counter[str] = field(default_factory=Counter)  # "whole", "streamed", "left", a fault
    ids: Counter[str] = field(default_factory=Counter)  # of answers: each one once


async def run_load(
    url: str, *, clients: int, rounds: int = 0, seconds: float = 0, seed: int = 0
) -> Tally:
    """`clients` that ask `rounds` times each, and again and again until `seconds` have gone."""
    tally = Tally()
    deadline = time.monotonic() + seconds
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as http:

        async def client(number: int) -> None:
            rng = random.Random(seed * 1000 + number)
            asked = 0
            while asked < rounds or time.monotonic() < deadline:
                asked += 1
                tally.started += 1
                tally.ended[await _ask(http, rng, tally)] += 1

        await asyncio.gather(*(client(number) for number in range(clients)))
    return tally


async def _ask(http: httpx.AsyncClient, rng: random.Random, tally: Tally) -> str:
    words = " ".join(rng.choices(["sea", "ship", "wind", "12", "née"], k=rng.randint(1, 40)))
    body = {
        "messages": [{"role": "user", "content": f"{rng.random()} {words}"}],
        "max_tokens": rng.randint(1, 16),
        "temperature": 0.8,
    }
    try:
        if rng.random() < 0.3:
            return await _whole(http, body, rng, tally)
        return await _streamed(http, body, rng, tally)
    except httpx.HTTPError as error:
        return f"fault: {type(error).__name__}"


async def _whole(
    http: httpx.AsyncClient, body: dict[str, Any], rng: random.Random, tally: Tally
) -> str:
    patience = rng.uniform(0.0, 2.0) if rng.random() < 0.3 else None
    try:
        answer = await asyncio.wait_for(http.post(CHAT, json=body), patience)
    except asyncio.TimeoutError:
        return "left"
    if answer.status_code != 200:
        return f"fault: {answer.status_code} {answer.text[:200]}"
    parsed = answer.json()
    tally.ids[parsed["id"]] += 1
    count = parsed["usage"]["completion_tokens"]
    return "whole" if 0 < count <= body["max_tokens"] else f"fault: {count} tokens"


async def _streamed(
    http: httpx.AsyncClient, body: dict[str, Any], rng: random.Random, tally: Tally
) -> str:
    body |= {"stream": True, "stream_options": {"include_usage": True}}
    leaves_after = rng.randint(0, 8) if rng.random() < 0.3 else None
    data: list[str] = []
    async with http.stream("POST", CHAT, json=body) as answer:
        if answer.status_code != 200:
            return f"fault: {answer.status_code} {(await answer.aread())[:200]!r}"
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                data.append(line[6:])
            if leaves_after is not None and len(data) >= leaves_after:
                return "left"
    return _check_stream(data, tally)


def _check_stream(data: list[str], tally: Tally) -> str:
    """One answer, whole: one id, one end, one usage, and nothing behind `[DONE]`."""
    if data.count("[DONE]") != 1 or data[-1] != "[DONE]":
        return f"fault: the stream ended with {data[-1:]}"
    chunks = [json.loads(text) for text in data[:-1]]
    ends = [c["finish_reason"] for chunk in chunks for c in chunk["choices"] if c["finish_reason"]]
    usages = [chunk["usage"] for chunk in chunks if chunk.get("usage")]
    ids = {chunk["id"] for chunk in chunks}
    if len(ends) != 1 or len(usages) != 1 or len(ids) != 1:
        return f"fault: {len(ends)} ends, {len(usages)} usages, {len(ids)} ids"
    tally.ids[ids.pop()] += 1
    return "streamed"


class HealthProbe:
    """Asks for `/health` ten times a second, in a process whose clock no client disturbs."""

    def __init__(self, url: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def stop(self) -> list[float]:
        """The times of the answers in milliseconds, in order of size."""
        out, _ = self._process.communicate("stop\n", timeout=120)
        return sorted(json.loads(out))


def _probe(url: str) -> None:
    import gc
    import select

    times = []
    with httpx.Client(base_url=url, timeout=120) as http:
        gc.disable()  # a collection of the probe's own objects took 29 ms of one answer
        while True:  # once at least
            begin = time.perf_counter()
            http.get("/health").raise_for_status()
            times.append((time.perf_counter() - begin) * 1e3)
            if select.select([sys.stdin], [], [], 0.1)[0]:
                break
    print(json.dumps(times))


if __name__ == "__main__":
    _probe(sys.argv[1])

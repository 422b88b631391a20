"""Sends a benchmark's requests and measures their times."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from mlc_llm.bench.dataset import Sample


@dataclass
class Record:
    """The times of one request, in seconds since the benchmark began."""

    begin: float
    end: float = 0.0
    token_times: list[float] = field(default_factory=list)  # one for each chunk with text
    prompt_tokens: int = 0
    completion_tokens: int = 0
    error: str | None = None

    @property
    def ttft(self) -> float:
        return self.token_times[0] - self.begin

    @property
    def tpot(self) -> float | None:
        """The mean time of a token after the first; None for an answer of one token."""
        if self.completion_tokens < 2:
            return None
        return (self.token_times[-1] - self.token_times[0]) / (self.completion_tokens - 1)

    @property
    def itl(self) -> list[float]:
        times = self.token_times
        return [later - earlier for earlier, later in zip(times, times[1:], strict=False)]


@dataclass(frozen=True, kw_only=True)
class Target:
    """The server: the base URL that ends in /v1, a key and a model's name."""

    base_url: str
    api_key: str | None = None
    model: str | None = None
    temperature: float = 0.0
    ignore_eos: bool = False  # mlc_llm's debug_config: answers have the maximum length
    timeout: float = 600.0

    def body(self, sample: Sample) -> dict[str, object]:
        body: dict[str, object] = {
            "messages": [{"role": "user", "content": sample.prompt}],
            "max_tokens": sample.max_tokens,
            "temperature": self.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self.model is not None:
            body["model"] = self.model
        if self.ignore_eos:
            body["debug_config"] = {"ignore_eos": True}
        return body


async def run(
    target: Target,
    samples: Sequence[Sample],
    *,
    concurrency: int | None = None,
    request_rate: float | None = None,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
) -> list[Record]:
    """Sends every sample once: `concurrency` at a time, or `request_rate` a second at random times
    (a Poisson process), even if the server is slow."""
    headers = {"Authorization": f"Bearer {target.api_key}"} if target.api_key else {}
    limits = httpx.Limits(max_connections=None)
    origin = time.perf_counter()
    async with httpx.AsyncClient(
        base_url=target.base_url, headers=headers, timeout=target.timeout, limits=limits
    ) as client:

        async def ask(sample: Sample) -> Record:
            record = await _ask(client, target, sample, origin)
            progress()
            return record

        if request_rate is not None:
            return await _at_rate(ask, samples, request_rate, random.Random(seed))
        return await _at_once(ask, samples, concurrency or 1)


Ask = Callable[[Sample], Coroutine[Any, Any, Record]]


async def _at_once(ask: Ask, samples: Sequence[Sample], concurrency: int) -> list[Record]:
    gate = asyncio.Semaphore(concurrency)

    async def one(sample: Sample) -> Record:
        async with gate:
            return await ask(sample)

    return list(await asyncio.gather(*(one(sample) for sample in samples)))


async def _at_rate(
    ask: Ask, samples: Sequence[Sample], rate: float, rng: random.Random
) -> list[Record]:
    tasks = []
    for sample in samples:
        tasks.append(asyncio.ensure_future(ask(sample)))
        await asyncio.sleep(rng.expovariate(rate))
    return list(await asyncio.gather(*tasks))


async def _ask(client: httpx.AsyncClient, target: Target, sample: Sample, origin: float) -> Record:
    record = Record(begin=time.perf_counter() - origin)
    try:
        async with client.stream("POST", "chat/completions", json=target.body(sample)) as answer:
            if answer.status_code != 200:
                text = (await answer.aread()).decode("utf-8", "replace")
                record.error = f"HTTP {answer.status_code}: {text[:300]}"
            else:
                await _read(answer, record, origin)
    except Exception as error:  # noqa: BLE001  a server may send anything: it is one failure of many
        record.error = f"{type(error).__name__}: {error}"
    record.end = time.perf_counter() - origin
    if record.error is None and not record.token_times:
        record.error = "the answer had no text"
    return record


async def _read(answer: httpx.Response, record: Record, origin: float) -> None:
    async for line in answer.aiter_lines():
        if not line.startswith("data: ") or line == "data: [DONE]":
            continue
        now = time.perf_counter() - origin
        chunk = json.loads(line[6:])
        if "error" in chunk:
            record.error = str(chunk["error"].get("message"))
            return
        if any(choice["delta"].get("content") for choice in chunk.get("choices", ())):
            record.token_times.append(now)
        if usage := chunk.get("usage"):
            record.prompt_tokens = usage["prompt_tokens"]
            record.completion_tokens = usage["completion_tokens"]

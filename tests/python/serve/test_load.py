"""Many clients, and many requests in a row, on a tiny model. `--long`: on the default one, with the
full counts."""

from __future__ import annotations

import asyncio
import statistics
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from mlc_llm.prepare.model_source import ResolvedModel

from .conftest import PATIENCE, Running, get, post, started_server
from .load_client import CHAT, HealthProbe, run_load


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    long = request.config.getoption("--long")
    chosen: ResolvedModel = request.getfixturevalue("default_model" if long else "tiny_model")
    options = ("--device", "cpu", "--enable-debug", "--mode", "server")
    model = (str(chosen.folder), "--model-lib", str(chosen.model_lib))
    limits = ("--overrides", "max_num_sequence=16;max_total_seq_length=4096")
    with started_server(*model, *options, *limits) as server:
        yield server
        assert server.stop() == 0 and "Traceback" not in server.errors, server.errors


def metrics(url: str) -> dict[str, float]:
    (found,) = post(f"{url}/debug/dump_engine_metrics").json().values()
    return found


class Memory(threading.Thread):
    """The server's resident memory, once a second."""

    def __init__(self, server: Running) -> None:
        super().__init__(daemon=True)
        self.samples: list[int] = []
        self._server = server
        self._stopped = threading.Event()

    def run(self) -> None:
        self.samples.append(self._server.resident_kb())
        while not self._stopped.wait(1.0):
            self.samples.append(self._server.resident_kb())

    def stop(self) -> list[int]:
        self._stopped.set()
        self.join()
        return self.samples


def wait_until_drained(url: str) -> dict[str, float]:
    """Until no request runs and the engine makes no further step."""
    deadline = time.monotonic() + PATIENCE
    before = -1.0
    while time.monotonic() < deadline:
        now = metrics(url)
        idle = "requests_running 0.0" in get(f"{url}/metrics").text
        if idle and now["num_steps"] == before:
            return now
        before = now["num_steps"]
        time.sleep(0.3)
    pytest.fail("requests still run")


def touch_every_page(url: str) -> None:
    """Memory counts as resident once it is written: fills the KV cache, whose size is fixed."""
    body = {"messages": [{"role": "user", "content": "ship " * 3900}], "max_tokens": 1}
    answer = httpx.post(url + CHAT, json=body, timeout=600)
    assert answer.status_code == 200, answer.text


def test_sixty_four_clients(server: Running, request: pytest.FixtureRequest) -> None:
    long = request.config.getoption("--long")
    if long:
        touch_every_page(server.url)
        asyncio.run(run_load(server.url, clients=64, seconds=20, seed=1))  # warm
    before = wait_until_drained(server.url)
    memory, probe = Memory(server), HealthProbe(server.url)
    memory.start()
    count = {"seconds": 180} if long else {"rounds": 2}
    tally = asyncio.run(run_load(server.url, clients=64, **count, seed=2))
    health, resident = probe.stop(), memory.stop()
    after = wait_until_drained(server.url)
    p99 = health[len(health) * 99 // 100]
    print(
        f"\n{dict(tally.ended)}; /health of {len(health)}: median {statistics.median(health):.1f} "
        f"p99 {p99:.1f} max {health[-1]:.1f} ms; resident {resident[0] >> 10} .. "
        f"{resident[-1] >> 10} MiB, at most {max(resident) >> 10}"
    )
    assert set(tally.ended) == {"whole", "streamed", "left"}, tally.ended
    assert sum(tally.ended.values()) == tally.started
    assert set(tally.ids.values()) == {1}
    # Each request ended once in the engine; who left before it was queued never came there.
    ended = sum(after[n] - before[n] for n in ("num_finished_requests", "num_failed_requests"))
    assert tally.ended["whole"] + tally.ended["streamed"] <= ended <= tally.started
    if long:  # a time depends on the machine
        third = len(resident) // 3
        grown = statistics.median(resident[-third:]) - statistics.median(resident[:third])
        assert grown < 8 << 10, resident
        assert statistics.median(health) < 50 and health[-1] < 50, health[-20:]


def test_many_short_requests_in_a_row(server: Running, request: pytest.FixtureRequest) -> None:
    """No page is written for the first time later, whatever ran before: a few prompts in turn are
    in the prefix cache after the first round; with --long each prompt is new, and all pages were
    written."""
    long = request.config.getoption("--long")
    count = prompts = 5000
    if long:
        touch_every_page(server.url)
    else:
        count, prompts = 100, 10
    early = 0
    before = wait_until_drained(server.url)["num_steps"]
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as http:
        for number in range(count):
            body = {
                "messages": [{"role": "user", "content": f"{number % prompts}"}],
                "max_tokens": 1,
            }
            answer = http.post(CHAT, json=body)
            assert answer.status_code == 200 and answer.json()["choices"], answer.text
            if number == count // 5:
                early = server.resident_kb()
        assert http.get("/health").status_code == 200
    grown = server.resident_kb() - early
    print(f"\nresident after a fifth: {early >> 10} MiB, then {grown:+d} KiB")
    assert grown < 16 << 10
    assert wait_until_drained(server.url)["num_steps"] >= before + count

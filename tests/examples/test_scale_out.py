"""examples/scale-out: the routing by itself, and two replicas of which one is killed under load.

The second needs Ray: install examples/scale-out/requirements.txt somewhere, name that Python in
MLC_TEST_RAY_PYTHON, and run with --long.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "scale-out"
FAKE = ROOT / "tests" / "fixtures" / "fake-model"
CHAT = "/v1/chat/completions"
sys.path.insert(0, str(EXAMPLE))

from routing import BLOCK, PrefixTable, block_keys, prompt_text  # noqa: E402

IDLE = {"a": 0, "b": 0, "c": 0}


def test_equal_beginnings_have_equal_keys() -> None:
    common = "x" * (3 * BLOCK)
    one, other = block_keys(common + "one"), block_keys(common + "other")
    assert one[:3] == other[:3] and one[3] != other[3]
    assert block_keys("y" + common)[0] != one[0] and block_keys("") == []
    assert len(block_keys("x" * 10_000_000)) == 64


def test_a_known_beginning_stays_and_the_longest_one_counts() -> None:
    table = PrefixTable(seed=1)
    system, chat = "s" * BLOCK, "s" * BLOCK + "c" * BLOCK
    table.record(block_keys(system), "a")
    table.record(block_keys(chat)[1:], "b")
    assert table.rank(block_keys(chat + "more"), IDLE)[0] == "b"
    assert table.rank(block_keys(system + "z" * BLOCK), IDLE)[0] == "a"
    assert sorted(table.rank(block_keys(chat), IDLE)) == ["a", "b", "c"]


def test_unknown_beginnings_spread_and_routers_agree() -> None:
    prompts = [block_keys(f"prompt {i}") for i in range(300)]
    first = [PrefixTable(seed=1).rank(keys, IDLE)[0] for keys in prompts]
    second = [PrefixTable(seed=2).rank(keys, IDLE)[0] for keys in prompts]
    assert first == second and min(Counter(first).values()) > 60


def test_a_busy_replica_is_passed_over() -> None:
    table = PrefixTable(slack=4, seed=1)
    keys = block_keys("x" * BLOCK)
    table.record(keys, "a")
    assert table.rank(keys, {"a": 6, "b": 0, "c": 0})[0] == "a"
    assert table.rank(keys, {"a": 12, "b": 0, "c": 0})[0] in ("b", "c")
    assert table.rank((), {"a": 3, "b": 0})[0] == "b"
    assert table.rank(keys, {}) == []


def test_the_gone_are_forgotten_and_the_table_is_bounded() -> None:
    table = PrefixTable(capacity=100, seed=1)
    for number in range(300):
        table.record(block_keys(f"{number}"), "a")
    assert len(table._owners) == 100
    table.forget("a")
    assert not table._owners


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"messages": 3}'])
def test_any_body_has_a_text(body: bytes) -> None:
    block_keys(prompt_text(CHAT, body))


def test_system_and_first_messages_come_first() -> None:
    def text(question: str) -> str:
        messages = [{"role": "system", "content": "s" * 600}, {"role": "user", "content": question}]
        return prompt_text(CHAT, json.dumps({"messages": messages}).encode())

    assert block_keys(text("one"))[:2] == block_keys(text("two"))[:2]


# Two replicas


def ray_python() -> str | None:
    for python in (os.environ.get("MLC_TEST_RAY_PYTHON"), sys.executable):
        if python and not subprocess.run([python, "-c", "import ray.serve"], stderr=-3).returncode:
            return python
    return None


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def scaled_out(python: str) -> Iterator[str]:
    port = free_port()
    command = [
        python, EXAMPLE / "run.py", "--replicas", "2", "--port", str(port),
        "--mlc-llm", f"{sys.executable} -m mlc_llm",
        "--", FAKE, "--device", "fake", "--enable-debug",
    ]  # fmt: skip
    with subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert any("replicas running" in line for line in process.stdout), "it did not start"
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(120)


def replicas(url: str) -> dict[str, int]:
    """The replicas that answer, and their servers' processes."""
    found = (httpx.get(f"{url}/scale-out/replica", timeout=60) for _ in range(24))
    return dict(answer.json() for answer in found if answer.status_code == 200)


def body_of(number: int, **fields: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": f"{number} " * 200}]
    return {
        "messages": messages, "max_tokens": 3000, "debug_config": {"ignore_eos": True}, **fields
    }  # fmt: skip


async def ask(http: httpx.AsyncClient, number: int, ended: Counter[str]) -> None:
    """One answer, whole or streamed: whole ones must come, streams may end with a clear error."""
    if number % 2:
        answer = await http.post(CHAT, json=body_of(number))
        good = answer.status_code == 200 and answer.json()["usage"]["completion_tokens"] == 3000
        ended["whole" if good else f"fault {answer.status_code} {answer.text[:100]}"] += 1
        return
    data = []
    async with http.stream("POST", CHAT, json=body_of(number, stream=True)) as answer:
        async for line in answer.aiter_lines():
            data += [line[6:]] if line.startswith("data: ") else []
    if data and data[-1] == "[DONE]":
        ended["streamed"] += 1
    elif data and json.loads(data[-1]).get("error", {}).get("code") == "replica_lost":
        ended["lost"] += 1
    else:
        ended[f"fault: ended with {data[-1:]}"] += 1


async def load_and_kill(url: str, seconds: float, victim: int) -> Counter[str]:
    ended: Counter[str] = Counter()
    deadline = time.monotonic() + seconds
    async with httpx.AsyncClient(base_url=url, timeout=120) as http:

        async def client(number: int) -> None:
            rng = random.Random(number)
            while time.monotonic() < deadline:
                await ask(http, rng.randrange(1000), ended)

        async def kill() -> None:
            await asyncio.sleep(seconds / 3)
            os.kill(victim, signal.SIGKILL)

        await asyncio.gather(kill(), *(client(number) for number in range(12)))
    return ended


def test_one_of_two_replicas_is_killed_under_load(pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--long"):
        pytest.skip("starts Ray: --long")
    python = ray_python()
    if python is None:
        pytest.skip("Ray is not installed: see examples/scale-out/README.md")
    with scaled_out(python) as url:
        before = replicas(url)
        assert len(before) == 2
        took = {n: set() for n in range(6)}
        for number in list(took) * 3:  # one conversation, one replica
            body = body_of(number, stream=True, max_tokens=2)
            with httpx.stream("POST", url + CHAT, json=body, timeout=60) as answer:
                answer.read()
                took[number].add(answer.headers["x-replica"])
        assert all(len(names) == 1 for names in took.values()), took
        ended = asyncio.run(load_and_kill(url, 20, next(iter(before.values()))))
        print(f"\n{dict(ended)}")
        assert set(ended) <= {"whole", "streamed", "lost"}, ended
        assert ended["whole"] > 10 and ended["streamed"] > 10 and ended["lost"] <= 12
        deadline = time.monotonic() + 60
        while len(after := replicas(url)) != 2:
            assert time.monotonic() < deadline, after
            time.sleep(1)
        assert len(set(before) & set(after)) == 1

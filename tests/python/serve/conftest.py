"""A real server process on a free port, over the fake device."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import openai
import pytest

FAKE = Path(__file__).parents[2] / "fixtures" / "fake-model"
KEY = "sk-of-the-tests"


@contextmanager
def running_server(*options: str) -> Iterator[str]:
    """The URL of a server that has ended, without an error, when the block has."""
    command = [sys.executable, "-m", "mlc_llm", "serve", str(FAKE), "--device", "fake"]
    with subprocess.Popen(
        [*command, "--port", "0", *options], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if found := re.search(r"running on (\S+:\d+)", line):
                break
        else:
            pytest.fail("the server did not start:\n" + "".join(lines))
        try:
            yield found.group(1)
        finally:
            process.send_signal(signal.SIGINT)
            rest = process.stderr.read()
            assert process.wait(30) == 0 and "Traceback" not in rest, rest


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    with running_server("--api-key", KEY, "--enable-debug", "--max-body-bytes", "1000000") as url:
        yield url


@pytest.fixture(scope="session")
def client(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)


@pytest.fixture(scope="session")
def http(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {KEY}"}) as client:
        yield client

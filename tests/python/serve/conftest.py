"""A real server process on a free port, over the fake device."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import openai
import pytest

FAKE = Path(__file__).parents[2] / "fixtures" / "fake-model"
KEY = "sk-of-the-tests"


@dataclass
class Running:
    """A server and its process; `errors` is what it wrote to standard error until it ended."""

    url: str
    process: subprocess.Popen[str]
    errors: str = ""

    def stop(self, sig: int = signal.SIGINT) -> int:
        """Sends a signal, waits for the end and returns the exit status."""
        self.process.send_signal(sig)
        return self.wait()

    def wait(self) -> int:
        assert self.process.stderr is not None
        self.errors += self.process.stderr.read()
        return self.process.wait(60)

    def resident_kb(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])


@contextmanager
def started_server(*arguments: str) -> Iterator[Running]:
    """A server on a free port; killed at the end if it has not ended."""
    command = [sys.executable, "-m", "mlc_llm", "serve", "--port", "0", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
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
            yield Running(found.group(1), process)
        finally:
            if process.poll() is None:
                process.kill()


@contextmanager
def running_server(*options: str) -> Iterator[str]:
    """The URL of a server of the fake model that has ended, without an error, after the block."""
    with started_server(str(FAKE), "--device", "fake", *options) as server:
        try:
            yield server.url
        finally:
            status = server.stop()
        assert status == 0 and "Traceback" not in server.errors, server.errors


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

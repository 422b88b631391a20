"""A real server process on a free port, over the fake device."""

from __future__ import annotations

import json
import logging
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import openai
import pytest

from .forks import Fork, Forks

FAKE = Path(__file__).parents[2] / "fixtures" / "fake-model"
# What makes the fake model a reranker (mlc-chat-config.json), and one that fills gaps
# (tokenizer_config.json).
RERANKS = {
    "embedding_metadata": {"model_type": "reranker", "pooling_strategy": "last", "normalize": False}
}
GAP_MARKERS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
FILLS_GAPS = dict(
    zip(("fim_pre_token", "fim_suf_token", "fim_mid_token"), GAP_MARKERS, strict=True)
)
KEY = "sk-of-the-tests"
# What nothing takes, on a machine that has much else to do either; httpx gives up after 5 s.
PATIENCE = 120
get, post = partial(httpx.get, timeout=PATIENCE), partial(httpx.post, timeout=PATIENCE)
# More than a minute's work for the fake model: of answers that are left or ended long before.
ENDLESS = {"max_tokens": 30000, "n": 64, "debug_config": {"ignore_eos": True}}


def fake_model(
    folder: Path, config: Mapping[str, Any] = {}, tokenizer: Mapping[str, Any] = {}
) -> Path:
    """Makes `folder` the fake model, with more members of its two configurations."""
    shutil.copytree(FAKE, folder)
    for name, more in (("mlc-chat-config.json", config), ("tokenizer_config.json", tokenizer)):
        path = folder / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **more}))
    return folder


@dataclass
class Running:
    """A server and its process."""

    url: str
    process: subprocess.Popen[bytes] | Fork
    log: Path

    @property
    def errors(self) -> str:
        """What it wrote to standard error."""
        return self.log.read_text()

    def stop(self, sig: int = signal.SIGINT) -> int:
        """Sends a signal, waits for the end and returns the exit status."""
        self.process.send_signal(sig)
        return self.wait()

    def wait(self) -> int:
        return self.process.wait(PATIENCE)

    def resident_kb(self) -> int:
        return self._status("VmRSS")

    def peak_kb(self) -> int:
        """The largest resident memory so far."""
        return self._status("VmHWM")

    def _status(self, name: str) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split(f"{name}:")[1].split()[0])


MLC_LLM = ("-m", "mlc_llm")
forks = cache(Forks)  # one for all servers that this process starts


@contextmanager
def starting_server(*arguments: str, program: tuple[str, ...] = ()) -> Iterator[Running]:
    """A server on a free port that may have begun nothing yet; killed at the end if need be. With
    `program`, Python's words for a process of its own, it is no fork (forks.py)."""
    command = ["serve", "--port", "0", *arguments]
    # Into a file: a pipe that nobody reads makes the server wait when it is full.
    with TemporaryDirectory() as folder, open(log := Path(folder) / "log", "w") as stderr:
        process: subprocess.Popen[bytes] | Fork
        if program:
            full = [sys.executable, *program, *command]
            process = subprocess.Popen(full, stdout=subprocess.DEVNULL, stderr=stderr)
        else:
            process = forks().start(command, log)
        try:
            yield Running("", process, log)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


@contextmanager
def started_server(*arguments: str, program: tuple[str, ...] = ()) -> Iterator[Running]:
    """The same once its models are loaded."""
    with starting_server(*arguments, program=program) as server:
        server.url = _announced_url(server.process, server.log)
        yield server


def _announced_url(process: subprocess.Popen[bytes] | Fork, log: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        if found := re.search(r"ready on (\S+:\d+)", log.read_text()):
            return found.group(1)
        time.sleep(0.02)
    pytest.fail("the server did not start:\n" + log.read_text())


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
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE) as client:
        yield client


@pytest.fixture
def server_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> pytest.LogCaptureFixture:
    """Servers of other tests in this process may have configured the log."""
    log = logging.getLogger("uvicorn.error")
    for name, value in (("disabled", False), ("level", logging.INFO), ("propagate", False)):
        monkeypatch.setattr(log, name, value)
    monkeypatch.setattr(log, "handlers", [caplog.handler])
    monkeypatch.setattr(logging.root.manager, "disable", 0)
    return caplog

"""`mlc_llm launch`: what it runs, and what it says when it cannot."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mlc_llm.cli.launch import _NO_KEY, Launch, _call, _require_model, _server, prepare
from mlc_llm.cli.launch_tools import TOOLS
from mlc_llm.errors import NotFoundError

URL = "http://127.0.0.1:1"  # nobody answers there
HOSTILE = "a 'b' \"c\" $(touch x) `id`; {url}\n"


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_is_told_the_server_the_key_and_the_model(name: str) -> None:
    launch = prepare(TOOLS[name], "http://host.test:8000", "sk-1", "org/coder", "/file", ["more"])
    said = json.dumps([launch.command, launch.variables, launch.file])
    assert launch.command[0] == TOOLS[name].program and launch.command[-1] == "more"
    assert "http://host.test:8000" in said and "sk-1" in said and "org/coder" in said
    assert not any(f"{{{word}}}" in said for word in ("url", "key", "model", "file"))
    if launch.file is not None:
        assert json.loads(launch.file) and "/file" in json.dumps([launch.command, launch.variables])
    assert TOOLS[name].get


@pytest.mark.parametrize("name", TOOLS)
def test_a_shell_reads_what_is_printed(name: str) -> None:
    """Values of strangers stay values."""
    launch = prepare(TOOLS[name], URL, HOSTILE, HOSTILE, "/dev/null", [HOSTILE])
    text = launch.describe().rpartition(shlex.join(launch.command))[0]
    shown = subprocess.run(
        ["bash", "-c", f"{text}\nenv -0; printf '%s\\0' {shlex.join(launch.command)}"],
        capture_output=True, check=True, env={"PATH": os.environ["PATH"]},
    ).stdout.decode()  # fmt: skip
    items = shown.split("\0")
    assert items[-len(launch.command) - 1 : -1] == list(launch.command)
    for variable, value in launch.variables.items():
        assert f"{variable}={value}" in items


def test_print_starts_nothing(mlc_llm: Callable[..., Any]) -> None:
    done = mlc_llm("launch", "claude", "--print", "--url", f"{URL}/v1/", "--model", "coder")
    assert done.returncode == 0, done.stderr
    assert f"export ANTHROPIC_BASE_URL={URL}\n" in done.stdout
    assert "export ANTHROPIC_MODEL=coder\n" in done.stdout
    assert done.stdout.splitlines()[-1] == "claude"


@pytest.mark.parametrize(
    "arguments",
    [
        ("codex", "--model", "m", "--print"),
        ("--print", "codex"),
        ("--model", "m", "--print", "codex"),
    ],
)
def test_what_is_behind_two_dashes_is_the_tools(
    mlc_llm: Callable[..., Any], arguments: tuple[str, ...]
) -> None:
    for rest in (("exec", "--model", "x", "--", "-p"), ("-h",), ()):
        done = mlc_llm("launch", *arguments, "--url", URL, "--", *rest)
        assert done.returncode == 0, done.stderr
        words = shlex.split(done.stdout.splitlines()[-1])
        assert tuple(words[len(words) - len(rest) :]) == rest and words[0] == "codex"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("claude",), "'claude' is not installed; to get it: npm install"),
        (("nothing",), "invalid choice"),
        (("claude", "--print", "--url", "localhost:8000"), "is no address such as http:"),
        (("claude", "--print", "--url", "http://localhost x"), "is no address"),
        (("claude", "--print", "--url", "http:" + "//[::1"), "is no address"),
        (("claude", "--print", "--url", "file:///etc/passwd"), "is no address"),
    ],
)
def test_what_cannot_be_launched(
    mlc_llm: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    arguments: tuple[str, ...], words: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("PATH", str(tmp_path))
    done = mlc_llm("launch", *arguments)
    assert done.returncode != 0 and words in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(("key", "given"), [(_NO_KEY, None), ("sk-1", "sk-1")])
def test_a_server_that_is_started_gets_no_empty_key(
    key: str, given: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(command: list[str], *, env: dict[str, str], **_: Any) -> None:
        assert env.get("MLC_LLM_API_KEY") == given and "serve" in command
        raise InterruptedError

    monkeypatch.setenv("MLC_LLM_API_KEY", "")
    monkeypatch.setattr("mlc_llm.cli.launch._answers", lambda url: False)
    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(InterruptedError), _server(URL, key):
        pass


def test_ctrl_c_is_the_tools_own() -> None:
    tool = "import os, signal, time; os.kill(os.getppid(), signal.SIGINT); time.sleep(0.5)"
    check = "import signal; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler;"
    before = signal.getsignal(signal.SIGINT)
    assert _call(Launch((sys.executable, "-c", check + tool), {})) == 0
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"error": {"code": "model_not_found", "message": "there is no 'a/b'"}}, "no 'a/b'"),
        ({"detail": "Not Found"}, None),
    ],
    ids=["ours", "another server's"],
)
def test_a_model_that_is_not_there_is_named(answer: dict[str, Any], words: str | None) -> None:
    asked: list[str] = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(404)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        refused = pytest.raises(NotFoundError, match=words) if words else nullcontext()
        with refused:
            _require_model(url, "sk-1", "a/b")
        server.shutdown()
    assert asked == ["/v1/models/a%2Fb"]

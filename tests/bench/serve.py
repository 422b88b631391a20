"""What the server adds to the time to first token, beside the engine's own time; what many streams
cost it; and its load.

usage: ./dev bench serve [--prompt-tokens 512] [--runs 15] [--streams 64] [--load]
       [-- options of `bench serve`]

Each run sends a prompt that no cache has (its first token differs) and takes, on the same request,
the client's time to the first chunk (of the first token, which may be a part of a word and have no
text yet) and the engine's (`usage.extra.ttft_s`, which begins when the engine has the request and
holds its prefill). The difference is what HTTP, JSON, the chat template, the tokenizer and two
thread hops cost. Then `--streams` requests run at once. The kernels' threads have a lower priority
(MLC_COMPUTE_NICE), so the processor time of all others is what the streams cost the server; on
Linux only. `--load` then runs `mlc_llm bench serve`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import selectors
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import httpx

_END = b"0\r\n\r\n"  # of an answer in chunks


@contextmanager
def server(*options: str) -> Iterator[tuple[str, int]]:
    """Its address and its process."""
    command = [sys.executable, "-m", "mlc_llm", "serve", "--port", "0", "--enable-debug", *options]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"ready on (\S+:\d+)", line):
                break
        else:
            raise SystemExit("the server did not start")
        try:
            yield found.group(1), process.pid
        finally:
            process.terminate()
            process.stderr.read()


def prompt_of(http: httpx.Client, tokens: int, number: int) -> str:
    """A text whose request has about that many tokens, and a beginning of its own."""
    text = f"{number} "
    while True:
        count = http.post("/tokenize", json={"text": text}).json()["count"]
        if count >= tokens - 20:  # the template's share
            return text
        text += "the quick brown fox jumps over the lazy dog " * max(1, (tokens - 20 - count) // 12)


def message_of(prompt: str, max_tokens: int) -> bytes:
    """A whole request."""
    body = {
        "messages": [{"role": "user", "content": prompt}], "max_tokens": max_tokens,
        "temperature": 0, "stream": True, "stream_options": {"include_usage": True},
        "usage_extra": True, "debug_config": {"ignore_eos": True},
    }  # fmt: skip
    content = json.dumps(body).encode()
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
    return f"{head}\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content


def read(connection: socket.socket) -> bytes:
    got = connection.recv(1 << 16)
    if not got or got.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")):
        raise SystemExit(f"the server refused: {got.decode()}")
    return got


def ask(connection: socket.socket, prompt: str) -> tuple[float, dict[str, Any]]:
    """Milliseconds to the first chunk, and the request's usage. A client that only reads bytes:
    Python's own one needs 0.3 ms for an answer's head, and httpx another millisecond."""
    message, first, got = message_of(prompt, 4), 0.0, b""
    begin = time.perf_counter()
    connection.sendall(message)
    while not got.endswith(_END):
        got += read(connection)
        if not first and b"data: " in got:
            first = time.perf_counter()
    return (first - begin) * 1e3, usage_in(got)


def usage_in(answer: bytes) -> dict[str, Any]:
    lines = answer.decode().splitlines()
    return next(json.loads(line[6:])["usage"] for line in lines if '"usage":{' in line)


def run_streams(place: tuple[str, int], number: int, tokens: int) -> int:
    """Runs so many streams at once. Returns how many tokens came."""
    answers = {socket.create_connection(place): b"" for _ in range(number)}
    for index, connection in enumerate(answers):
        connection.sendall(message_of(f"{index}. Tell a long story.", tokens))
    with selectors.DefaultSelector() as waiting:
        for connection in answers:
            waiting.register(connection, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                connection = cast("socket.socket", key.fileobj)
                answers[connection] += read(connection)
                if answers[connection].endswith(_END):
                    waiting.unregister(connection)
    for connection in answers:
        connection.close()
    return sum(usage_in(got)["completion_tokens"] for got in answers.values())


def seconds_beside_kernels(process: int) -> float:
    """Processor time of a server's threads of the usual priority."""
    ticks = 0
    for path in Path(f"/proc/{process}/task").glob("*/stat"):
        fields = path.read_text().rpartition(") ")[2].split()  # proc(5), from `state` on
        if int(fields[16]) == 0:  # its nice value
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def show_streams(place: tuple[str, int], process: int, number: int) -> None:
    run_streams(place, number, 8)  # warm
    before, begin = seconds_beside_kernels(process), time.perf_counter()
    tokens = run_streams(place, number, 256)
    seconds = time.perf_counter() - begin
    cost = seconds_beside_kernels(process) - before
    print(
        f"{number} streams: {tokens / seconds:.0f} tokens/s; the server took {cost / seconds:.1%} "
        f"of a core, {cost / tokens * 1e6:.0f} us a token"
    )


def show(name: str, values: list[float]) -> None:
    print(
        f"{name:34} median {statistics.median(values):8.2f} ms   min {min(values):8.2f}   "
        f"max {max(values):8.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--prompt-tokens", type=int, default=512)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--streams", type=int, default=64, help="at once; 0: none")
    parser.add_argument("--load", action="store_true", help="then `mlc_llm bench serve`")
    parser.add_argument("rest", nargs="*", help="options of `mlc_llm bench serve`")
    args = parser.parse_args()
    with server() as (url, process), httpx.Client(base_url=url, timeout=600) as http:
        place = httpx.URL(url)
        plain = socket.create_connection((place.host, place.port), timeout=600)
        for number in range(2):  # warm
            ask(plain, prompt_of(http, args.prompt_tokens, 1000 + number))
        seen, own, prompt_tokens = [], [], set()
        for number in range(args.runs):
            ttft, usage = ask(plain, prompt_of(http, args.prompt_tokens, number))
            cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
            if cached > 64:
                raise SystemExit(f"the prefix cache had {cached} tokens of this prompt")
            seen.append(ttft)
            own.append(usage["extra"]["ttft_s"] * 1e3)
            prompt_tokens.add(usage["prompt_tokens"])
        print(f"prompts of {min(prompt_tokens)} .. {max(prompt_tokens)} tokens, {args.runs} runs")
        show("first token, at the client", seen)
        show("first token, in the engine", own)
        show("what the server adds", [a - b for a, b in zip(seen, own, strict=True)])
        if args.streams and sys.platform == "linux":
            show_streams((place.host, place.port or 0), process, args.streams)
        if args.load:
            sys.stdout.flush()
            subprocess.run(
                [sys.executable, "-m", "mlc_llm", "bench", "serve", "--base-url", f"{url}/v1",
                 "--ignore-eos", *args.rest],
                check=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()

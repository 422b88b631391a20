"""What the server adds to the time to first token, beside the engine's own time; and its load.

usage: ./dev bench serve [--prompt-tokens 512] [--runs 15] [--load] [-- options of `bench serve`]

Each run sends a prompt that no cache has (its first token differs) and takes, on the same request,
the client's time to the first chunk with text and the engine's (`usage.extra.ttft_s`, which begins
when the engine has the request and holds its prefill). The difference is what HTTP, JSON, the
chat template, the tokenizer and two thread hops cost. `--load` then runs `mlc_llm bench serve`.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import httpx


@contextmanager
def server(*options: str) -> Iterator[str]:
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
            yield found.group(1)
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


def ask(http: HTTPConnection, prompt: str) -> tuple[float, dict[str, Any]]:
    """Milliseconds to the first text, and the request's usage. Python's own client costs a
    millisecond less than httpx."""
    body = {
        "messages": [{"role": "user", "content": prompt}], "max_tokens": 4, "temperature": 0,
        "stream": True, "stream_options": {"include_usage": True}, "usage_extra": True,
        "debug_config": {"ignore_eos": True},
    }  # fmt: skip
    first, usage = 0.0, {}
    content = json.dumps(body).encode()
    begin = time.perf_counter()
    http.request("POST", "/v1/chat/completions", content, {"Content-Type": "application/json"})
    for line in http.getresponse():
        if not first and b'"content":"' in line and b'"content":""' not in line:
            first = time.perf_counter()
        if b'"usage":{' in line:
            usage = json.loads(line[6:])["usage"]
    return (first - begin) * 1e3, usage


def show(name: str, values: list[float]) -> None:
    print(
        f"{name:34} median {statistics.median(values):8.2f} ms   min {min(values):8.2f}   "
        f"max {max(values):8.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--prompt-tokens", type=int, default=512)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--load", action="store_true", help="then `mlc_llm bench serve`")
    parser.add_argument("rest", nargs="*", help="options of `mlc_llm bench serve`")
    args = parser.parse_args()
    with server() as url, httpx.Client(base_url=url, timeout=600) as http:
        place = httpx.URL(url)
        plain = HTTPConnection(place.host, place.port, timeout=600)
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
        if args.load:
            sys.stdout.flush()
            subprocess.run(
                [sys.executable, "-m", "mlc_llm", "bench", "serve", "--base-url", f"{url}/v1",
                 "--ignore-eos", *args.rest],
                check=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()

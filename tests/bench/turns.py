"""How long a short request waits behind long streams when there are few slots.

usage: ./dev bench turns [--slots 4] [--streams 12] [--tokens 400] [--after 5] [-- options of serve]

Streams of many tokens take all slots; some seconds later a request of 4 tokens comes. Its time from
the request to the whole answer, with turns and without (without a prefix cache there are none), and
the tokens a second of all streams together.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
from serve import server

CHAT = "/v1/chat/completions"


def ask(url: str, prompt: str, tokens: int) -> float:
    """Seconds to the whole answer."""
    body = {
        "messages": [{"role": "user", "content": prompt}], "max_tokens": tokens, "temperature": 0,
        "debug_config": {"ignore_eos": True}, "stream": True,
    }  # fmt: skip
    begin = time.monotonic()
    with httpx.stream("POST", url + CHAT, json=body, timeout=None) as answer:
        lines = [line for line in answer.iter_lines() if line]
    assert lines[-1] == "data: [DONE]", lines[-1]
    return time.monotonic() - begin


def measure(args: argparse.Namespace, *options: str) -> dict[str, float]:
    slots = f"max_num_sequence={args.slots};max_total_seq_length=16384"
    with server("--overrides", slots, *options, *args.options) as (url, _):
        ask(url, "Hello", 4)  # warm
        with ThreadPoolExecutor(args.streams) as pool:
            begin = time.monotonic()
            long = [pool.submit(ask, url, f"Story {i}", args.tokens) for i in range(args.streams)]
            time.sleep(args.after)
            short = ask(url, "Now", 4)
            for one in long:
                one.result()
            seconds = time.monotonic() - begin
    return {"short_s": short, "tokens_per_s": args.streams * args.tokens / seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--streams", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=400)
    parser.add_argument("--after", type=float, default=5.0, help="seconds")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    found = {
        "turns": measure(args),
        "no turns": measure(args, "--prefix-cache-mode", "disable"),
    }
    if args.json:
        print(json.dumps(found))
        return
    for name, case in found.items():
        print(
            f"{name:9} the short request: {case['short_s']:7.2f} s   "
            f"all streams: {case['tokens_per_s']:6.1f} tokens/s"
        )


if __name__ == "__main__":
    main()

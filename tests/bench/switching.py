"""Models that come and go under load: what is lost, and what a switch costs.

usage: ./dev bench switching [--model MODEL | --shape 1B] [--clients 24] [--seconds 600]

Three models of the same shape (links to one prepared folder), memory for two. First one client
measures the first token of a model that is loaded, and of one that was loaded before and has left.
Then many clients ask for the three models in turn; every answer must be whole and of its model.
`--shape`: random weights in q4f16_1, kept under build/bench.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
from gpu_parts.models import MODELS
from gpu_parts.random_model import random_model

NAMES = ("one", "two", "three")
CHAT = "/v1/chat/completions"


def body_of(name: str, tokens: int) -> dict[str, object]:
    return {
        "model": name, "messages": [{"role": "user", "content": "Count to ten."}],
        "max_tokens": tokens, "stream": True,
    }  # fmt: skip


def first_token(http: httpx.Client, name: str) -> float:
    """Milliseconds to the first text."""
    begin, found = time.perf_counter(), 0.0
    with http.stream("POST", CHAT, json=body_of(name, 2)) as answer:
        for line in answer.iter_lines():
            if not found and '"content":"' in line and '"content":""' not in line:
                found = time.perf_counter()
    return (found - begin) * 1e3


def show(name: str, values: list[float]) -> None:
    print(f"{name:34} median {statistics.median(values):8.1f} ms   max {max(values):8.1f}")


def measure_switches(url: str, rounds: int) -> None:
    """The models in turn: the third one has always left."""
    with httpx.Client(base_url=url, timeout=600) as http:
        for name in NAMES:
            first_token(http, name)
        cold, warm = [], []
        for number in range(rounds):
            name = NAMES[number % 3]
            cold.append(first_token(http, name))
            warm.append(first_token(http, name))
    show("first token after a switch", cold)
    show("first token of a loaded model", warm)
    show("what the switch adds", [a - b for a, b in zip(cold, warm, strict=True)])


def load(url: str, clients: int, seconds: float) -> Counter[str]:
    end, seen, lock = time.monotonic() + seconds, Counter[str](), threading.Lock()

    def client(number: int) -> None:
        with httpx.Client(base_url=url, timeout=600) as http:
            turn = number
            while time.monotonic() < end:
                name = NAMES[turn % 3]
                turn += 1 + (turn % 7 == 0)
                said = judge(http, name)
                with lock:
                    seen[said] += 1

    threads = [threading.Thread(target=client, args=(one,)) for one in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


def judge(http: httpx.Client, name: str) -> str:
    try:
        answer = http.post(CHAT, json=body_of(name, 8))
    except httpx.HTTPError as error:
        return f"lost: {error!r}"
    events = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    if not answer.is_success or not events or events[-1] != "[DONE]":
        return f"failed: {answer.text[-300:]}"
    models = {json.loads(event).get("model") for event in events[:-1]}
    return "answered" if models == {name} else f"wrong model: {models} for {name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--model", help="(default: the embedded model)")
    which.add_argument("--shape", choices=MODELS, help="random weights of that shape")
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    from mlc_llm import MLCEngine
    from mlc_llm.sdk.planning import plan

    if args.shape:
        args.model = str(random_model(args.shape, "q4f16_1", Path("build/bench")))
    engine = MLCEngine(args.model)
    source = Path(engine._core.model.folder)
    engine.terminate()
    size = plan(source).total_bytes
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            (Path(folder) / name).symlink_to(source)
        command = [sys.executable, "-m", "mlc_llm", "serve", "--port", "0", "--models-dir", folder]
        command += ["--memory-limit", str(int(2.5 * size)), "--device", "cpu"]
        log = Path(folder) / "log"
        with log.open("w") as errors:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            while not (found := re.search(r"ready on (\S+:\d+)", log.read_text())):
                if process.poll() is not None:
                    raise SystemExit(log.read_text())
                time.sleep(0.05)
            measure_switches(found[1], args.rounds)
            before = log.read_text().count("Unloaded")
            seen = load(found[1], args.clients, args.seconds)
            switches = log.read_text().count("Unloaded") - before
            print(f"{args.clients} clients, {args.seconds:g} s: {dict(seen)}, {switches} switches")
            if set(seen) != {"answered"}:
                raise SystemExit("requests were lost")
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()

"""Runs an engine for long in a process of its own and prints its resident memory at two moments.

usage: long_run.py chats|loads|engines FOLDER LIBRARY EARLY COUNT [THREADS]

Prints JSON: {"early", "late"}, after EARLY and after COUNT rounds {"resident_kb", "heap_kb"}, what
of the C and C++ heap is in use (0 where the C library does not say); on the way, to the error
stream, where it is. THREADS: of the engine, fewer on a machine that does other things too.
"""

from __future__ import annotations

import ctypes
import gc
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

from mlc_llm import MLCEngine

CONFIG: dict[str, int] = {"max_num_sequence": 4, "max_total_seq_length": 2048}
REPORTS = 20


class MallInfo(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks")
        + ("uordblks", "fordblks", "keepcost")
    ]


def heap_kb() -> int:
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return 0
    mallinfo.restype = MallInfo
    info = mallinfo()
    return int(info.uordblks + info.hblkhd) // 1024


def memory() -> dict[str, int]:
    gc.collect()
    status = Path("/proc/self/status").read_text()
    return {"resident_kb": int(status.split("VmRSS:")[1].split()[0]), "heap_kb": heap_kb()}


def chat(engine: MLCEngine, number: int) -> None:
    """A conversation of one to three turns, streamed or not, now and then left in the middle."""
    rng = random.Random(number)
    messages = []
    for _ in range(rng.randint(1, 3)):
        words = " ".join(rng.choices(["the", "sea", "ship", "12", "é"], k=rng.randint(1, 30)))
        messages.append({"role": "user", "content": words})
        options = {"messages": messages, "seed": number, "max_tokens": rng.randint(1, 12)}
        if rng.random() < 0.4:
            with engine.chat.completions.create(stream=True, **options) as stream:
                text = ""
                for chunk in stream:
                    text += "".join(c.delta.content or "" for c in chunk.choices)
                    if rng.random() < 0.05:
                        return
        else:
            answer = engine.chat.completions.create(n=rng.randint(1, 2), logprobs=True, **options)
            text = answer.choices[0].message.content or ""
        messages.append({"role": "assistant", "content": text})


def main() -> None:
    kind, folder, library, early, count, *threads = sys.argv[1:]
    if threads:
        CONFIG["num_threads"] = int(threads[0])

    def open_engine() -> MLCEngine:
        return MLCEngine(folder, model_lib=library, engine_config=CONFIG)

    def load_once(number: int) -> None:
        with open_engine() as engine:
            chat(engine, number)

    def make_once(number: int) -> None:
        open_engine().terminate()

    engine = open_engine() if kind == "chats" else None
    rounds: dict[str, Callable[[int], None]] = {
        "chats": lambda number: chat(engine, number),  # type: ignore[arg-type]
        "loads": load_once,
        "engines": make_once,
    }
    marks = {}
    for number in range(1, int(count) + 1):
        rounds[kind](number)
        if number == int(early):
            marks["early"] = memory()
        if number % max(1, int(count) // REPORTS) == 0:
            print(f"{kind} {number}: {memory()}", file=sys.stderr, flush=True)
    print(json.dumps({**marks, "late": memory()}))


if __name__ == "__main__":
    main()

"""Loads and unloads adapters while requests use them, in a process of its own.

usage: long_adapters.py MODEL LIBRARY EARLY COUNT NAME=PATH NAME=PATH

The two adapters are always loaded; a third name holds one or the other in turn. Three threads ask
without an adapter, with each of the three names, and with several. Every answer must be one that
its adapters gave before. Prints JSON: {"early", "late"}, the memory after EARLY and after COUNT
loads (as `long_run.py`); "answers", how many were compared; "wrong", those that were not right;
"free_ranks" at the end.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from itertools import count
from typing import Any

from long_run import memory

from mlc_llm import MLCEngine
from mlc_llm.errors import NotFoundError

THREADS, REPORTS = 3, 20


def ask(engine: MLCEngine, lora: Any, number: int) -> str:
    """One of four questions; its tokens with their probabilities."""
    made: Any = engine.chat.completions.create(
        messages=[{"role": "user", "content": f"question {number % 4}"}], max_tokens=4,
        temperature=0, logprobs=True, debug_config={"ignore_eos": True}, lora=lora,
    )  # fmt: skip
    return str([(t.token, t.logprob) for t in made.choices[0].logprobs.content])


def main() -> None:
    model, library, early, loads, *given = sys.argv[1:]
    paths = dict(text.split("=", 1) for text in given)
    names = list(paths)
    config = {"lora_ranks": 64, "max_num_sequence": 4, "max_total_seq_length": 2048}
    with MLCEngine(model, model_lib=library, device="cpu", engine_config=config) as engine:
        for name, path in paths.items():
            engine.load_adapter(name, path)
        both = [{"name": names[0], "scale": 0.5}, {"name": names[1]}]
        uses = [None, *names, both]
        wanted = [[ask(engine, use, number) for number in range(4)] for use in uses]
        assert len({text for texts in wanted for text in texts}) == 4 * len(uses)
        wrong: list[str] = []
        answers, done = [0] * THREADS, threading.Event()

        def traffic(thread: int) -> None:
            for turn in count(thread):
                if done.is_set():
                    return
                which, number = turn % (len(uses) + 1), turn // 3
                use = uses[which] if which < len(uses) else "third"
                right = [wanted[which]] if which < len(uses) else wanted[1:3]
                try:
                    text = ask(engine, use, number)
                except NotFoundError:
                    text = "" if use == "third" else "an adapter is lost"
                except Exception as error:  # it must not end the thread in silence
                    text = repr(error)
                if text and text not in [texts[number % 4] for texts in right]:
                    wrong.append(f"{use} {number}: {text}")
                answers[thread] += 1

        threads = [threading.Thread(target=traffic, args=(i,)) for i in range(THREADS)]
        for thread in threads:
            thread.start()
        memories = []
        for turn in range(1, int(loads) + 1):
            engine.load_adapter("third", paths[names[turn % 2]])
            if turn % 3 == 0:  # the others are replaced while they are loaded
                engine.unload_adapter("third")
            if turn in (int(early), int(loads)):
                memories.append(memory())
            if turn % max(1, int(loads) // REPORTS) == 0:
                print(turn, sum(answers), memory(), file=sys.stderr, flush=True)
        for _ in range(600):  # a busy machine may have answered little so far
            if sum(answers) > int(loads) / 10:
                break
            time.sleep(0.1)
        done.set()
        for thread in threads:
            thread.join()
        if any(a.name == "third" for a in engine.adapters().adapters):
            engine.unload_adapter("third")
        found = {"answers": sum(answers), "wrong": wrong[:5], "loads": int(loads)}
        found |= {"early": memories[0], "late": memories[-1]}
        print(json.dumps(found | {"free_ranks": engine.adapters().free_ranks}))


if __name__ == "__main__":
    main()

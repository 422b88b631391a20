"""What an app's pauses, trims, warm-ups and hot states cost with the default model.

usage: ./dev bench lifecycle [--runs 7] [--threads 2]

`pause`: how long the step that runs goes on, while tokens are made and while a prompt of 1,500
tokens is read. `resume`: until the next token. `trim_memory`: what the process
holds afterwards (Linux's smaps). `prewarm`: the first token of an answer after
`trim_memory("all")`, with it and without it. Thermal states: tokens, and processor time for each
second. Medians, but `trim_memory` and thermal states are measured once; the machine should be
quiet.
"""

from __future__ import annotations

import argparse
import re
import statistics
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import resolve_model

LONG = "The sea was calm and the ship went on to the north. " * 125  # about 1,500 tokens
ENDLESS = {"ignore_eos": True}


def ms(seconds: list[float]) -> str:
    return f"{1000 * statistics.median(seconds):.1f} ms (at most {1000 * max(seconds):.1f})"


def seconds_of(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def stream(engine: MLCEngine, prompt: str, count: int):
    return engine.completions.create(
        prompt=prompt, max_tokens=count, temperature=0, stream=True, debug_config=ENDLESS
    )


def first_token(engine: MLCEngine, prompt: str = "Hello") -> float:
    return seconds_of(lambda: list(stream(engine, prompt, 1)))


def pauses(engine: MLCEngine, runs: int) -> None:
    """While tokens are made: the last one after `pause`, and the first one after `resume`."""
    steps: list[float] = []
    stopped, resumed = [], []
    for _ in range(runs):
        arrived: list[float] = []
        reader = threading.Thread(target=_read, args=(stream(engine, "Hello", 40), arrived))
        reader.start()
        while len(arrived) < 8 and reader.is_alive():
            time.sleep(0.001)
        assert len(arrived) >= 8, "the answer ended early"
        paused = time.perf_counter()
        engine.pause()
        engine.trim_memory("caches")  # is answered when the step has ended
        stopped.append(time.perf_counter() - paused)
        time.sleep(0.3)
        late = [at - paused for at in arrived if at > paused + stopped[-1] + 0.1]
        assert not late, f"a token {late[0]:.3f} s after the pause"
        start = time.perf_counter()
        engine.resume()
        reader.join()
        resumed.append(next(at for at in arrived if at > start) - start)
        steps += [after - before for before, after in zip(arrived[:7], arrived[1:8], strict=True)]
    print(f"a token: {ms(steps)}; pause: {ms(stopped)}; resume to the next token: {ms(resumed)}")


def _read(chunks: Iterable[object], arrived: list[float]) -> None:
    for _ in chunks:
        arrived.append(time.perf_counter())


def pauses_in_prompts(engine: MLCEngine, runs: int, state: str) -> None:
    """A step reads a chunk of the prompt, and hot devices have smaller chunks."""
    limits = engine.set_thermal_state(state)
    engine.trim_memory("pages")
    whole, stopped = first_token(engine, LONG), []
    for i in range(runs):
        engine.trim_memory("pages")  # the prompt is read anew
        reader = threading.Thread(target=first_token, args=(engine, LONG))
        reader.start()
        time.sleep(whole * (i + 1) / (runs + 1))
        start = time.perf_counter()
        engine.pause()
        engine.trim_memory("caches")
        stopped.append(time.perf_counter() - start)
        engine.resume()
        reader.join()
    engine.set_thermal_state("nominal")
    print(
        f"a prompt of 1,500 tokens in chunks of {limits.prefill_chunk_size}: "
        f"{1000 * whole:.0f} ms; pause in it: {ms(stopped)}"
    )


def held() -> tuple[float, float]:
    """MB of the process's own memory, and of mapped files."""
    text = Path("/proc/self/smaps_rollup").read_text()
    sizes = {name: int(kb) / 1000 for name, kb in re.findall(r"^(\w+):\s+(\d+) kB", text, re.M)}
    own = sizes["Anonymous"]
    return own, sizes["Rss"] - own


def trims(engine: MLCEngine) -> None:
    for level in ("caches", "pages", "all"):
        first_token(engine, LONG)
        before = held()
        took = seconds_of(partial(engine.trim_memory, level))
        own, mapped = held()
        print(
            f"trim_memory({level}): {before[0]:.0f} + {before[1]:.0f} MB -> {own:.0f} + "
            f"{mapped:.0f} MB in {1000 * took:.0f} ms"
        )


def warm_ups(engine: MLCEngine, runs: int) -> None:
    cold, took, warm = [], [], []
    for _ in range(runs):
        engine.trim_memory("all")
        cold.append(first_token(engine))
        engine.trim_memory("all")
        took.append(seconds_of(engine.prewarm))
        warm.append(first_token(engine))
    print(f"first token: {ms(cold)}; prewarm: {ms(took)}, then {ms(warm)}")


def heat(engine: MLCEngine) -> None:
    for state in ("nominal", "fair", "serious", "critical"):
        limits = engine.set_thermal_state(state)
        engine.trim_memory("pages")
        prompt = first_token(engine, LONG)
        start, busy = time.perf_counter(), time.process_time()
        list(stream(engine, "Hello", 64))
        wall = time.perf_counter() - start
        print(
            f"{state}: {limits.num_threads} threads, chunks of {limits.prefill_chunk_size}, "
            f"{limits.max_num_sequence} at a time: the prompt {1000 * prompt:.0f} ms, "
            f"{64 / wall:.0f} tokens/s with {(time.process_time() - busy) / wall:.2f} processors"
        )
    engine.set_thermal_state("nominal")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    model = resolve_model(None, device="cpu", quantization="q4f32_1", progress=lambda _: None)
    config = {"num_threads": options.threads, "context_window_size": 2048}
    with MLCEngine(
        model.folder, model_lib=model.model_lib, device="cpu", engine_config=config
    ) as engine:
        first_token(engine)
        pauses(engine, options.runs)
        for state in ("nominal", "critical"):
            pauses_in_prompts(engine, options.runs, state)
        trims(engine)
        warm_ups(engine, options.runs)
        heat(engine)


if __name__ == "__main__":
    main()

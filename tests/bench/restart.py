"""The first token of a long prompt after a restart, with the prefix cache kept in files.

usage: ./dev bench restart [--tokens 2000] [--runs 5] [--threads 2] [--random SIZE]

`cold`: nothing has the prompt. `warm`: the same engine has it. `restarted`: a new engine with the
folder, which has answered something else and has brought back by itself what was used last
(`bring`: how long after its start it has); the files are in the system's memory, as after a restart
of the server alone. `at once`: the same when the request itself has to wait for the files, as after
others were used last. `from disk`: the same when they are not in the system's memory (Linux).
`reading`: what it takes to copy these files' bytes once. Medians; the machine should be quiet.
`--random 1B`: random weights of that size instead of the default model.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from gpu_parts.random_model import random_model

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import ResolvedModel, resolve_model

SETTLE_S = 0.5  # what else comes back at the start, and threads that spin


def first_token(engine: MLCEngine, prompt: list[int]) -> tuple[float, int]:
    """Seconds, and how many tokens were found."""
    begin = time.perf_counter()
    answer: Any = engine.completions.create(prompt=prompt, max_tokens=1, temperature=0)
    seconds = time.perf_counter() - begin
    return seconds, answer.usage.prompt_tokens_details.cached_tokens or 0


def wait_for(engine: MLCEngine, tokens: int) -> None:
    """Until the prefix cache has so many tokens of the files."""
    end = time.perf_counter() + 60
    while (engine.metrics()["restored_tokens_sum"] or 0) < tokens:
        if time.perf_counter() > end:
            raise SystemExit("nothing comes back by itself")
        time.sleep(0.002)
    time.sleep(SETTLE_S)


class Folder:
    """The folder of kept prefixes."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def size(self) -> int:
        return sum(file.stat().st_size for file in self.path.iterdir())

    def reading(self) -> float:
        begin = time.perf_counter()
        for file in self.path.iterdir():
            file.read_bytes()
        return time.perf_counter() - begin

    def leave_memory(self) -> None:
        for path in self.path.iterdir():
            file = os.open(path, os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def measure(model: ResolvedModel, folder: Folder, args: argparse.Namespace) -> None:
    config = {
        "num_threads": args.threads,
        "max_total_seq_length": 3 * args.tokens + 64,
        "prefix_cache_dir": str(folder.path),
    }
    rng = random.Random(1)
    prompt, other = ([rng.randrange(1000, 5000) for _ in range(args.tokens)] for _ in range(2))
    times: dict[str, list[float]] = {}

    def note(name: str, engine: MLCEngine, least: int) -> None:
        seconds, found = first_token(engine, prompt)
        assert least <= found <= max(0, args.tokens - 1), found
        times.setdefault(name, []).append(seconds)

    def started() -> MLCEngine:
        engine = MLCEngine(
            model.folder, model_lib=model.model_lib, device="cpu", engine_config=config
        )
        first_token(engine, other[:16])  # brings the weights into memory
        return engine

    for run in range(args.runs):
        begin = time.perf_counter()
        with started() as engine:
            if run == 0:
                note("cold", engine, 0)
            else:
                wait_for(engine, args.tokens)
                times.setdefault("bring", []).append(time.perf_counter() - begin)
                note("restarted", engine, args.tokens - 1)
            note("warm", engine, args.tokens - 1)
        times.setdefault("reading", []).append(folder.reading())
    for name in ("at once", "from disk") if hasattr(os, "posix_fadvise") else ("at once",):
        for _ in range(args.runs):
            with started() as engine:
                wait_for(engine, args.tokens)
                engine.reset()  # of what came back
                if name == "from disk":
                    folder.leave_memory()
                note(name, engine, args.tokens - 1)
    print(f"{args.tokens} tokens, {folder.size() / 1e6:.1f} MB of files")
    for name in ("cold", "warm", "restarted", "bring", "at once", "from disk", "reading"):
        if found := times.get(name):
            print(
                f"{name:10} {1000 * statistics.median(found):8.1f} ms "
                f"({1000 * min(found):.1f} .. {1000 * max(found):.1f})"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--random", metavar="SIZE")
    args = parser.parse_args()
    if args.random is None:
        model = resolve_model(None, device="cpu", quantization="q4f32_1", progress=lambda _: None)
    else:
        folder = random_model(args.random, "q4f16_1", Path("build/bench"))
        model = resolve_model(folder, device="cpu", progress=lambda _: None)
    with tempfile.TemporaryDirectory() as path:
        measure(model, Folder(path), args)


if __name__ == "__main__":
    main()

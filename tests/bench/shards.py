"""What it costs to divide a model among shards of this CPU: decode beside one engine, and the sums.

usage: ./dev bench shards [--shape 1B] [--type Q4_0] [--shards 2] [--rounds 40]

A random model of a real shape. In turn, one engine with a thread for each shard makes some steps,
and the shards with a thread each; medians are printed, and the least times. The sums are timed
alone, all shards arriving at once, and compared with a step: two for each layer, and one for the
embedding.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import mlc_core_parts

sys.path.insert(0, str(Path(__file__).parent))

from cpu_parts import peer, shapes

from mlc_llm.prepare.model_source import resolve_model

TOOL = peer.ROOT / "build" / "dev" / "core" / "mlc_shards_bench"
STEPS, HISTORY, PAGES = 4, 16, 64  # of a round; tokens before it; of the cache


def main() -> None:
    args = _arguments()
    shape = shapes.SHAPES[args.shape]
    folder = peer.ROOT / "build" / "shapes"
    path = shapes.write(folder / f"{args.shape}-{args.type}.gguf", shape, args.type)
    counts = {
        f"1 engine, {args.shards} threads": 1,
        f"{args.shards} shards, 1 thread each": args.shards,
    }
    runners = {name: _runner(path, count, args.shards) for name, count in counts.items()}
    times: dict[str, list[float]] = {name: [] for name in runners}
    for number in range(args.rounds + 1):
        for name in sorted(runners, reverse=number % 2 == 1):
            took = _step_s(runners[name])
            times[name] += [took] if number else []  # the first round warms up
    one, several = (times[name] for name in counts)
    for name, found in times.items():
        print(
            f"{name}: a step {statistics.median(found) * 1e3:.1f} ms, least {min(found) * 1e3:.1f}"
        )
    ratio = statistics.median(one) / statistics.median(several)
    least = min(one) / min(several)
    print(f"speed of the shards / of the engine: {ratio:.3f}, of the least {least:.3f}")
    command = [str(TOOL), str(args.shards), str(shape.hidden)]
    sum_s = float(subprocess.run(command, capture_output=True, check=True).stdout) * 1e-6
    count = 2 * shape.layers + 1
    share = count * sum_s / min(several)
    print(f"a sum of {shape.hidden} floats: {sum_s * 1e6:.1f} us", end="; ")
    print(f"{count} of them: {share:.2%} of the least step")


def _runner(path: Path, shards: int, threads: int) -> Any:
    model = resolve_model(path, overrides={"tensor_parallel_shards": shards})
    files = str(model.folder), str(model.model_lib)
    runner = mlc_core_parts.ModelRunner(*files, PAGES, threads, model.strips)
    runner.forward(list(range(100, 100 + HISTORY)))
    return runner


def _step_s(runner: Any) -> float:
    runner.keep(HISTORY)
    begin = time.perf_counter()
    for token in range(STEPS):
        runner.decode([token], copy_logits=False)
    return (time.perf_counter() - begin) / STEPS


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=list(shapes.SHAPES), default="1B")
    parser.add_argument("--type", choices=list(shapes.KINDS), default="Q4_0")
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=40)
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""From a clone to the first answer, and to a wheel: wall time and processor time of each step.

usage: ./dev bench first_minutes [--runs 3] [--only chat wheel]

Each run clones the last commit into a temporary folder, with cold caches of its own (MLC_LLM_HOME,
no ccache); pip's download cache alone is the user's, since a network's speed is no property of
ours. The machine must be quiet and should have two cores. The table holds medians.
"""

from __future__ import annotations

import argparse
import functools
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROMPT = ("chat", "--prompt", "Name the capital of France.")
Times = tuple[float, float]  # wall, processor: seconds


def measured(name: str, step: Callable[[], None]) -> Times:
    """Tells each step as it ends: a run takes long, and a later step may fail."""
    wall, before = time.monotonic(), _processor_s()
    step()
    times = time.monotonic() - wall, _processor_s() - before
    print(f"{name}: {times[0]:.0f} s, {times[1]:.0f} s of processor", file=sys.stderr, flush=True)
    return times


def _processor_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def first_token(clone: Path, environment: dict[str, str]) -> None:
    """Starts a chat and waits until its answer begins; ends it in order."""
    with subprocess.Popen(
        [sys.executable, "dev", *PROMPT],
        cwd=clone,
        env=environment,
        stdin=subprocess.DEVNULL,  # what is piped in goes behind the prompt
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        begin = child.stdout.read(1)
        child.stdout.read()
    if child.returncode != 0 or not begin:
        raise SystemExit(f"./dev {' '.join(PROMPT)} ended with {child.returncode} in {clone}")


def wheel(clone: Path, environment: dict[str, str]) -> None:
    """Builds the wheel as a user does, with pip's own environment for the build."""
    out = clone / "wheels"
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "."]
    subprocess.run([*command, "-w", out], cwd=clone, env=environment, check=True)
    (built,) = out.glob("mlc_llm-*.whl")
    names = zipfile.ZipFile(built).namelist()
    tests = [n for n in names if "test" in Path(n).name.lower() or "fuzz" in n or "bench_" in n]
    print(f"{built.name}: {built.stat().st_size / 1e6:.1f} MB, {len(names)} files", file=sys.stderr)
    if tests:
        raise SystemExit(f"the wheel holds code of tests: {', '.join(tests)}")


def one_run(only: list[str]) -> dict[str, Times]:
    found: dict[str, Times] = {}
    with tempfile.TemporaryDirectory(prefix="mlc-first-minutes-") as folder:
        clone = Path(folder) / "mlc_llm"
        subprocess.run(["git", "clone", "--quiet", "--no-local", ROOT, clone], check=True)
        environment = {**os.environ, "MLC_LLM_HOME": f"{folder}/home", "CCACHE_DISABLE": "1"}
        environment.pop("PYTHONPATH", None)
        steps: dict[str, Callable[[Path, dict[str, str]], None]] = {
            "clone to the first answer": first_token,
            "second start": first_token,
            "pip wheel": wheel,
        }
        for name, step in steps.items():
            if ("wheel" if step is wheel else "chat") in only:
                found[name] = measured(name, functools.partial(step, clone, environment))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=("chat", "wheel"), default=["chat", "wheel"])
    arguments = parser.parse_args()
    runs = [one_run(arguments.only) for _ in range(arguments.runs)]
    print(
        f"{os.cpu_count()} processors, medians of {len(runs)} runs; load {os.getloadavg()[0]:.1f}"
    )
    print("\n| step | wall, s | processor, s |\n|---|---|---|")
    for step in runs[0]:
        wall, processor = (statistics.median(run[step][i] for run in runs) for i in (0, 1))
        print(f"| {step} | {wall:.0f} | {processor:.0f} |")


if __name__ == "__main__":
    main()

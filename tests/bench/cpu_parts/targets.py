"""What the CPU kernels are to reach, held against the figures of a run.

The first scheme of the run stands beside llama.cpp with its fastest 4-bit file. Goals whose figures
are not there (`--quick`, `--no-peer`, `--no-quality`) are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

FASTER = {  # than llama.cpp, by case and threads
    "decode 1": {1: 1.3, 2: 1.3},
    "decode 8": {2: 2.0},
    "prefill 128": {1: 2.0, 2: 2.0},
    "prefill 512": {1: 2.0, 2: 2.0},
    "decode 1, 2048 before": {1: 2.0, 2: 2.0},
    "prefill 128, 2048 before": {1: 2.0, 2: 2.0},
    "prefill 512, 2048 before": {1: 2.0, 2: 2.0},
}
OF_LIMIT = 0.75
BESIDE_NEIGHBOUR = 0.5  # of the undisturbed speed
EXTRA_BYTES = 60e6
LOAD_S = 0.3
LIBRARY_BYTES = 2.5e6
PERPLEXITY = 1.01  # of llama.cpp's


@dataclass(frozen=True)
class Goal:
    what: str
    wanted: str
    found: str
    met: bool


def goals(result: dict[str, Any]) -> list[Goal]:
    return [*_speed(result), *_files(result.get("files", {})), *_quality(result.get("quality"))]


def extra_bytes(entry: dict[str, Any]) -> int:
    """Of a process's peak memory, what is neither weights nor keys and values."""
    memory = entry["memory"]
    return int(memory["peak"]) - int(entry["weight_bytes"]) - int(memory["kv"])


def _at_least(what: str, wanted: float, found: float, unit: str) -> Goal:
    scale = 100 if unit == " %" else 1
    texts = [f"{value * scale:.{0 if scale > 1 else 2}f}{unit}" for value in (wanted, found)]
    return Goal(what, f"at least {texts[0]}", texts[1], found >= wanted)


def _below(what: str, wanted: float, found: float, unit: str) -> Goal:
    return Goal(what, f"below {wanted:g}{unit}", f"{found:.3g}{unit}", found < wanted)


def _speed(result: dict[str, Any]) -> Iterator[Goal]:
    for threads in (1, 2):
        run = result.get(f"threads_{threads}")
        if run is None:
            continue
        cases, beside = run["cases"], f"{threads} thread{'s' if threads > 1 else ''}"
        names = list(next(iter(cases.values())))
        ours, theirs = names[0], names[-1]
        speed = {case: {n: v["median"] for n, v in found.items()} for case, found in cases.items()}
        for case, wanted in FASTER.items():
            if threads in wanted and case in speed and theirs.startswith("llama.cpp"):
                ratio = speed[case][ours] / speed[case][theirs]
                yield _at_least(f"{case}, {beside}, beside llama.cpp", wanted[threads], ratio, "")
        if threads == 2:
            share = speed["decode 1"][ours] / run["decode_limit"][ours]
            yield _at_least(f"decode 1, {beside}, of memory's limit", OF_LIMIT, share, " %")
            for busy in (1, 2):
                case = f"decode 1, {busy} busy neighbours"
                if case in speed:
                    share = speed[case][ours] / speed["decode 1"][ours]
                    wanted_share = BESIDE_NEIGHBOUR if busy == 1 else BESIDE_NEIGHBOUR / 2
                    yield _at_least(f"{case}, of undisturbed", wanted_share, share, " %")


def _files(files: dict[str, Any]) -> Iterator[Goal]:
    for name, entry in files.items():
        if name.startswith("llama.cpp"):
            continue
        megabytes = extra_bytes(entry) / 1e6
        yield _below(f"{name}: memory beyond weights and KV", EXTRA_BYTES / 1e6, megabytes, " MB")
        yield _below(f"{name}: load", 1e3 * LOAD_S, 1e3 * entry["load_s"], " ms")
        library = entry["library_bytes"] / 1e6
        yield _below(f"{name}: library", LIBRARY_BYTES / 1e6, library, " MB")


def _quality(quality: dict[str, Any] | None) -> Iterator[Goal]:
    for name, pair in (quality or {}).get("pairs", {}).items():
        ratio, difference = pair["perplexity_ratio"], 100 * pair["difference"]
        yield Goal(
            f"{name}: perplexity, of llama.cpp's on the same file",
            f"at most {PERPLEXITY:.0%}",
            f"{ratio:.2%}",
            ratio <= PERPLEXITY,
        )
        low, high = (100 * d for d in pair["difference_interval"])
        yield Goal(
            f"{name}: top-1 agreement less llama.cpp's",
            "not below 0",
            f"{difference:+.2f} points ({low:+.2f} to {high:+.2f})",
            difference >= 0,
        )

"""What `./dev bench cpu` measures: cases, contenders, and the numbers of one run."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cpu_parts import models, peer
from cpu_parts.process import Process, busy_neighbours
from mlc_llm.compiler.machine_limits import read_bandwidth
from mlc_llm.prepare.model_source import ResolvedModel

STEPS = 24  # of decode, in one timing
LONG = 2048
SETTLE_S = 0.1  # before each timing: threads of the program before spin for a while
SHORT = 16  # what stands for an empty history of a decode


@dataclass(frozen=True)
class Case:
    """One thing to time; `neighbours` are busy processes beside it, `steps` those of decode."""

    do: str
    count: int  # of prompt tokens, or of sequences
    history: int
    neighbours: int = 0
    steps: int = STEPS

    @property
    def name(self) -> str:
        behind = f", {self.history} before" if self.history >= LONG else ""
        beside = f", {self.neighbours} busy neighbours" if self.neighbours else ""
        return f"{self.do} {self.count}{behind}{beside}"

    def tokens_per_s(self, process: Process) -> float:
        if self.do == "prefill":
            return self.count / process.ask("prefill", tokens=self.count, history=self.history)
        steps = max(4, self.steps // self.count)
        return self.count / process.ask(
            "decode", batch=self.count, history=self.history, steps=steps
        )


QUICK_CASES = (
    Case("decode", 1, SHORT), Case("decode", 4, SHORT), Case("decode", 1, LONG),
    Case("prefill", 128, 0),
)  # fmt: skip
CASES = (
    *(Case("decode", n, SHORT) for n in (1, 2, 3, 4, 8, 16)),
    *(Case("prefill", n, 0) for n in (128, 512)),
    *(Case("decode", n, LONG) for n in (1, 4, 8, 16)),
    *(Case("prefill", n, LONG) for n in (128, 512)),
    *(Case("decode", 1, SHORT, neighbours=n) for n in (1, 2)),
)


@dataclass(frozen=True)
class Contender:
    """A program with a model: ours in a scheme, or the peer with a file."""

    name: str
    backend: str
    python: Path
    options: dict[str, Any] = field(hash=False)
    weight_bytes: int

    def start(self, threads: int, logs: Path) -> Process:
        log = logs / f"{self.name}.log"
        return Process(self.python, self.backend, {**self.options, "threads": threads}, log)


def ours(schemes: Sequence[str]) -> list[Contender]:
    return [ours_with(models.in_scheme(scheme), scheme) for scheme in schemes]


def ours_with(model: ResolvedModel, name: str) -> Contender:
    index = json.loads((model.folder / "tensor-cache.json").read_text())
    files = {"folder": str(model.folder), "model_lib": str(model.model_lib)}
    options = {**files, "strips": model.strips}
    weight_bytes = int(index["metadata"]["ParamBytes"])
    return Contender(name, "ours", Path(sys.executable), options, weight_bytes)


def peer_with(kind: str) -> Contender:
    """The peer, which is installed, with the embedded model in a type of weights."""
    return peer_of(models.file_of(kind), f"llama.cpp {kind}")


def peer_of(file: Path, name: str) -> Contender:
    options = {"gguf": str(file)}
    return Contender(name, "peer", peer.PYTHON, options, file.stat().st_size)


@contextmanager
def running(contenders: Sequence[Contender], threads: int) -> Iterator[dict[str, Process]]:
    with tempfile.TemporaryDirectory() as logs:
        processes = {c.name: c.start(threads, Path(logs)) for c in contenders}
        try:
            yield processes
        finally:
            for process in processes.values():
                process.close()


def speeds(
    contenders: Sequence[Contender], cases: Sequence[Case], threads: int, rounds: int
) -> dict[str, Any]:
    """Tokens a second: {"cases": {case: {contender: {"median", "best", "all"}}}, ...}."""
    raw: dict[Case, dict[str, list[float]]] = {c: {} for c in cases}
    read: list[float] = []
    with running(contenders, threads) as processes:
        for process in processes.values():
            process.ask("prefill", tokens=128, history=0)  # warms up
        for number in range(rounds):
            print(f"  round {number + 1} of {rounds}", flush=True)
            read.append(read_bandwidth(threads))
            for case in sorted(cases, key=lambda c: c.neighbours):
                with busy_neighbours(case.neighbours):
                    for name in _turned(list(processes), number):
                        time.sleep(SETTLE_S)
                        speed = case.tokens_per_s(processes[name])
                        raw[case].setdefault(name, []).append(speed)
        kv_bytes = {name: process.kv_bytes_per_token for name, process in processes.items()}
    behind = SHORT + STEPS // 2
    limits = {
        c.name: statistics.median(read) / (c.weight_bytes + behind * kv_bytes[c.name])
        for c in contenders
    }
    return {
        "read_bandwidth": statistics.median(read),
        "decode_limit": limits,
        "cases": {
            case.name: {name: _summary(by_name[name]) for name in processes}
            for case, by_name in raw.items()
        },
    }


def _turned(names: list[str], number: int) -> list[str]:
    """Each round another order: who follows whom must not matter."""
    first = number // 2 % len(names)
    order = names[first:] + names[:first]
    return order[::-1] if number % 2 else order


def _summary(values: list[float]) -> dict[str, Any]:
    return {"median": statistics.median(values), "best": max(values), "all": values}


def files(contenders: Sequence[Contender]) -> dict[str, Any]:
    """Load time and memory of fresh processes, warm file cache. "kv": the bytes of the tokens
    that were computed, which is what of the pages lies in memory."""
    found = {}
    for contender in contenders:
        loads, memory = [], {}
        for _ in range(3):
            with running([contender], 2) as processes:
                process = processes[contender.name]
                before = process.ask("memory")
                process.ask("prefill", tokens=512, history=0)
                process.ask("decode", batch=1, history=512, steps=8)
                loads.append(process.load_s)
                kv = (512 + 1 + 8) * process.kv_bytes_per_token  # what decode's first step warms
                memory = process.ask("memory") | {"after_load": before["peak"], "kv": kv}
        library = contender.options.get("model_lib")
        found[contender.name] = {
            "weight_bytes": contender.weight_bytes,
            "load_s": statistics.median(loads),
            "memory": memory,
            "library_bytes": Path(library).stat().st_size if library else None,
        }
    return found

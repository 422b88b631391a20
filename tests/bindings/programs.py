"""The programs of tests/bindings/README.md: found, built and called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARY = ROOT / "build" / "dev" / "core" / "libmlc_llm.so"
FAKE_MODEL = ROOT / "tests" / "fixtures" / "fake-model"
FAKE = ("--model", str(FAKE_MODEL), "--device", "fake")
CANNOT_BUILD = 77
VECTORS = "conformance vectors: "  # a property of tests, with the language: the results


class ProgramError(Exception):
    """A program failed, which is another thing than an answer that is wrong."""


@dataclass(frozen=True)
class Program:
    language: str

    @property
    def environment(self) -> dict[str, str]:
        tools = Path(sys.executable).parent
        build = ROOT / "build" / "bindings" / self.language
        build.mkdir(parents=True, exist_ok=True)
        return {
            **os.environ,
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "MLC_LLM_LIBRARY": str(LIBRARY),
            "MLC_LLM_BUILD": str(build),
        }

    def run(self, *arguments: object, timeout: float = 600) -> subprocess.CompletedProcess[str]:
        command = [str(HERE / self.language / "run"), *map(str, arguments)]
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=timeout
        )

    def call(self, *arguments: object) -> dict[str, Any]:
        """The object that a command prints."""
        done = self.run(*arguments)
        lines = done.stdout.splitlines()
        if done.returncode != 0 or not lines:
            raise ProgramError(
                f"{self.language}: {arguments}: status {done.returncode}\n{done.stderr[-4000:]}"
            )
        answer: dict[str, Any] = json.loads(lines[-1])
        return answer


@cache
def why_not(language: str) -> str:
    """Builds a program; why it cannot be built here, or "" when it is ready."""
    done = Program(language).run("build", timeout=1800)
    if done.returncode == 0:
        return ""
    if done.returncode == CANNOT_BUILD:
        return (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    raise ProgramError(f"{language}: cannot be built:\n{(done.stdout + done.stderr)[-4000:]}")


def languages() -> list[str]:
    return sorted(path.parent.name for path in HERE.glob("*/run"))

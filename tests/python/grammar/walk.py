"""Random texts that a grammar admits: drives the program of grammar_walk.cc."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parents[3] / "build" / "dev" / "core" / "mlc_grammar_walk"


def walk(
    tasks: Sequence[dict[str, Any]], *, tokenizer: Path | None = None, timeout_s: float = 300
) -> list[dict[str, Any]]:
    """One answer a task; `source` may be a value, which is written as JSON."""
    lines = []
    for task in tasks:
        source = task["source"]
        text = source if isinstance(source, str) else json.dumps(source, ensure_ascii=False)
        lines.append(json.dumps({**task, "source": text}))
    done = subprocess.run(
        [str(PROGRAM), *([str(tokenizer)] if tokenizer else [])],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.split("\n") if line]

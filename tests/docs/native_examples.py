"""The programs of examples/swift and examples/kotlin, which do the same: what they are given, and
what they have to say with the default model."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from serving import PATIENCE

from mlc_llm.prepare.model_source import resolve_model

INVOICE = "From: Acme. 3 lamps for 30 EUR. Total: 30 EUR.\n"
# What is typed, and how the output ends.
PROGRAMS = {
    "Agent": ("y\n" * 6, r"\([1-6] calls\)\n$"),
    "Chat": ("Hello\nAnd again\n\n", r"\w.*\n[^$]*\w.*\n$"),
    "Extract": (INVOICE, r"(?m)^.* \d[\d.Ee]* (EUR|USD|other)$"),
}


def all_of(folder: Path, suffix: str) -> tuple[str, ...]:
    """The names of the programs in that folder, each of which is in the table."""
    assert {path.stem for path in folder.glob(f"*{suffix}")} == PROGRAMS.keys()
    return tuple(PROGRAMS)


def check(name: str, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
    typed, wanted = PROGRAMS[name]
    model = resolve_model(None, quantization="q4f32_1", progress=lambda _: None)
    words = [str(model.folder), str(model.model_lib)]
    if name == "Agent":
        (folder / "license.txt").write_text("Do as you like.\n")
        words += [str(folder), "What does the license say?"]
    done = subprocess.run(
        [*command, *words], input=typed, env=environment, capture_output=True, text=True,
        timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert re.search(wanted, done.stdout), done.stdout

"""Joins files of tests into units, each of which is compiled as one file.

    test_units.py COUNT FOLDER FILE...

writes FOLDER/unit_0.cc and so on, COUNT units of about the same size. Many files have helpers of
the same name, so the unnamed namespace of each file gets one of its own around it. Messages and
debuggers name the lines of the files. A unit that stays as it was is not written.
"""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

BEGIN, END = "\nnamespace {\n", "\n}  // namespace\n"


def part(name: str, text: str) -> str:
    """A file of a unit."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit(f"{name}: its tests must stand in one `namespace {{`, in `namespace mlc`")
    own = re.sub(r"\W+", "_", f"file/{name}")
    text = text.replace(BEGIN, f"\nnamespace {own} {{ namespace {{\n")
    return f'#line 1 "{name}"\n' + text.replace(END, "\n}}  // namespace\n")


def units(count: int, texts: Sequence[tuple[str, str]]) -> list[str]:
    """`texts`: names and contents of files. A file is in the unit in which its first letter is."""
    total, before = sum(len(text) for _, text in texts), 0
    found = [""] * count
    for name, text in texts:
        found[before * count // total] += part(name, text)
        before += len(text)
    return found


def main(count: int, folder: Path, files: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = (Path(os.path.relpath(file)).as_posix() for file in files)
    texts = [(name, Path(name).read_text(encoding="utf-8")) for name in names]
    for number, text in enumerate(units(count, texts)):
        unit = folder / f"unit_{number}.cc"
        if not unit.exists() or unit.read_text(encoding="utf-8") != text:
            unit.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])

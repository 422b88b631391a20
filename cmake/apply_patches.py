"""Writes the files that unified patches name, changed by these patches one after the other.

    python cmake/apply_patches.py SOURCES OUT PATCH ...

Strict: a hunk's lines must stand where it says. A file of OUT that would not change is not written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)")


def hunks(patch: str) -> Iterator[tuple[str, int, str, list[str]]]:
    """For each: the file, the first line in it, what it is for, and its lines with their signs."""
    name = ""
    found: tuple[str, int, str, list[str]] | None = None
    for line in patch.splitlines():
        head = HUNK.match(line)
        if found and (head or line.startswith("--- ")):
            yield found
            found = None
        if head:
            found = (name, int(head[1]), head[2], [])
        elif found:
            found[3].append(line)
        elif line.startswith("+++ b/"):
            name = line.removeprefix("+++ b/")
    if found:
        yield found


def applied(patch: str, sources: dict[str, list[str]]) -> None:
    added: dict[str, int] = {}  # lines that the hunks before it put into a file
    for name, first, why, lines in hunks(patch):
        old = [line[1:] for line in lines if line[:1] != "+"]
        new = [line[1:] for line in lines if line[:1] != "-"]
        at = first - 1 + added.get(name, 0)
        if sources[name][at : at + len(old)] != old:
            raise SystemExit(f"{name}:{first} has changed, where a patch wants: {why}")
        sources[name][at : at + len(old)] = new
        added[name] = added.get(name, 0) + len(new) - len(old)


def main(source: Path, out: Path, patches: list[str]) -> None:
    texts = [Path(patch).read_text(encoding="utf-8") for patch in patches]
    names = {hunk[0] for text in texts for hunk in hunks(text)}
    files = {name: (source / name).read_text(encoding="utf-8").split("\n") for name in names}
    for text in texts:
        applied(text, files)
    for name, lines in files.items():
        path, text = out / name, "\n".join(lines)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])

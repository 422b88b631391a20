"""Writes the generated files, or with --check compares them with what is there.

Usage: python -m codegen [--check] [--root FOLDER]
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Mapping
from pathlib import Path

from codegen import c_header, formatters, ir
from codegen.languages import (
    cpp,
    errors,
    kotlin,
    markdown,
    openapi,
    python,
    sampling,
    steps,
    swift,
    typescript,
)
from codegen.lower import lower
from codegen.schema import PROTOCOL

LANGUAGES = (
    cpp,
    python,
    swift,
    kotlin,
    typescript,
    markdown,
    openapi,
    sampling,
    errors,
    steps,
)


def generate(protocol: ir.Protocol) -> dict[str, str]:
    """Every generated file by its path in the repository, formatted."""
    files: dict[str, str] = {}
    for language in LANGUAGES:
        for path, text in language.generate(protocol).items():
            files[path] = formatters.format_text(path, text)
    return files


def write(files: Mapping[str, str], root: Path) -> None:
    """Writes what has changed, and says so."""
    for path, text in files.items():
        target = root / path
        if _read(target) != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
            print(f"wrote {path}")


def differences(files: Mapping[str, str], root: Path) -> str:
    """What `write` would change, as a diff."""
    parts: list[str] = []
    for path, text in files.items():
        old = _read(root / path).splitlines(keepends=True)
        new = text.splitlines(keepends=True)
        parts += difflib.unified_diff(old, new, f"{path} (as it is)", f"{path} (generated)")
    return "".join(parts)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail on a difference")
    parser.add_argument("--root", type=Path, default=formatters.ROOT, help="where the files go")
    options = parser.parse_args(arguments)
    try:
        protocol = lower(PROTOCOL)
        files = generate(protocol) | c_header.generate(protocol, options.root)
    except formatters.FormatterError as error:
        print(f"codegen: {error}", file=sys.stderr)
        return 2
    if not options.check:
        write(files, options.root)
        return 0
    difference = differences(files, options.root)
    sys.stdout.write(difference)
    if difference:
        print("codegen: the generated files are stale; run `python -m codegen`", file=sys.stderr)
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())

"""The reference pages of C, Swift and Kotlin, out of the sources.

A page of docs/reference has a line `<!-- declarations of PATTERN -->`. This hook of MkDocs puts the
public declarations of the files in its place, with their comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from devtools.declarations import declarations, indent_of, outline

ROOT = Path(__file__).resolve().parents[1]
MARKER = re.compile(r"^<!-- declarations of (\S+) -->$", re.MULTILINE)
LANGUAGES = {".h": "c", ".swift": "swift", ".kt": "kotlin"}


def prose(comment: list[str]) -> str:
    """A comment as Markdown. Lines that are indented in it are code."""
    text = "\n".join(comment)
    text = re.sub(r"^ ?/\*\*? ?| ?\*/$|^ ?\*/?(?: |$)|^ {3}|^/// ?", "", text, flags=re.MULTILINE)
    indents = [indent_of(line) for line in text.split("\n") if line.startswith("  ")]
    padding = " " * (4 - min([4, *indents]))
    lines: list[str] = []
    for line in text.strip("\n").split("\n"):
        is_code = line.startswith("  ")
        if is_code and lines and lines[-1] and not lines[-1].startswith("    "):
            lines.append("")
        linked = re.sub(r"(?<!\w)\[([\w.]+)\]", r"`\1`", line)
        lines.append(padding + line if is_code else linked)
    return re.sub(r"^@(?:param|property) (\w+)", r"\n- `\1`:", "\n".join(lines), flags=re.M) + "\n"


def section(title: str, comment: list[str], code: list[str], language: str) -> str:
    return f"### {title}\n\n{prose(comment)}\n```{language}\n" + "\n".join(code) + "\n```\n"


def c_sections(text: str) -> Iterator[str]:
    """A header in its order: each comment, with what is declared between it and the next one."""
    text = text.split('extern "C" {\n#endif\n')[1].split("#ifdef")[0]
    export = r"MLC_LLM_API ([^;]*;)"  # the lines after its own stand under its opening parenthesis
    text = re.sub(export, lambda found: found[1].replace("\n" + " " * 12, "\n"), text)
    text = re.sub(r"^/\* ---- [^\n]*\. ---- \*/\n", "", text, flags=re.MULTILINE)
    for piece in re.split(r"\n{2,}", text.strip()):
        found = re.match(r"(?P<comment>/\*.*?\*/)?(?P<code>.*)", piece, re.DOTALL)
        assert found is not None
        comment, code = (found["comment"] or "").split("\n"), found["code"].strip("\n")
        if group := re.match(r"/\* ---- (.*?) -+ \*/", comment[0]):
            yield f"## {group[1]}\n"
        elif code:
            names = re.findall(
                r"(?:\(\*)?\b(mlc_\w+|MLC[A-Z]\w+|MLC_\w+VERSION)\)?(?= ?\(|;| \d)", code
            )
            yield section(", ".join(names), comment, code.split("\n"), "c")
        elif found["comment"]:
            yield prose(comment)


def sections(path: Path) -> Iterator[str]:
    """The public declarations of a file."""
    language, text = LANGUAGES[path.suffix], path.read_text(encoding="utf-8")
    if language == "c":
        yield from c_sections(text)
        return
    for one in declarations(text.split("\n"), language):
        yield section(one.title, one.comment, outline(one, with_comment=False), language)


def filled(markdown: str) -> str:
    """A page with the declarations that its markers name."""

    def declared(marker: re.Match[str]) -> str:
        paths = sorted(ROOT.glob(marker[1]))
        assert paths, f"{marker[0]}: there are no such files"
        return "\n".join(one for path in paths for one in sections(path))

    return MARKER.sub(declared, markdown)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The hook of MkDocs."""
    return filled(markdown)

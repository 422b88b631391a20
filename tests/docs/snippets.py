"""The fenced blocks of the repository's pages: each is whole, and runs as it is printed.

A block that a test of its own runs has a line above it that names the test:
`<!-- run by: PATH -->`. A block that no test can run says why: `<!-- not run: REASON -->`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What a fence may name; `text` is a drawing or a file's layout.
RUN = ("sh", "python", "swift", "kotlin", "typescript")
LANGUAGES = (*RUN, "java", "c", "json", "text", "toml")
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "bindings/*/*.md", "examples/*.md", "examples/*/*.md")
    for path in ROOT.glob(pattern)
)
_FENCE = re.compile(r"^(?P<indent> *)```(?P<rest>.*)$")
_MARK = re.compile(r"^ *<!-- (?P<kind>not run|run by): (?P<text>.+) -->$")


@dataclass(frozen=True)
class Snippet:
    """A block: where it stands, its language, its text, and which test runs it or why none does."""

    page: str
    line: int
    language: str
    text: str
    reason: str | None = None
    test: str | None = None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def snippets_of(text: str, page: str) -> list[Snippet]:
    """All blocks of a page, in their order."""
    found: list[Snippet] = []
    lines = text.splitlines()
    start: int | None = None
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence is None:
            continue
        if start is None:
            start = number
            continue
        opened = _FENCE.match(lines[start])
        assert opened is not None
        body = "\n".join(one.removeprefix(opened["indent"]) for one in lines[start + 1 : number])
        mark = _MARK.match(lines[start - 1]) if start else None
        said = {"reason" if mark["kind"] == "not run" else "test": mark["text"]} if mark else {}
        found.append(Snippet(page, start + 1, opened["rest"], body + "\n", **said))
        start = None
    assert start is None, f"{page}:{(start or 0) + 1}: this block has no end"
    return found


def all_snippets() -> list[Snippet]:
    return [
        snippet
        for page in PAGES
        for snippet in snippets_of(page.read_text(encoding="utf-8"), str(page.relative_to(ROOT)))
    ]


def to_run(language: str) -> list[Snippet]:
    """Those of a language that the tests of this folder run."""
    found = (s for s in all_snippets() if s.language == language)
    return [s for s in found if s.reason is None and s.test is None]


def commands_in(text: str) -> list[str]:
    """Whole commands of ours between backticks: `mlc_llm chat MODEL`, `./dev bench cpu`."""
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M)
    return re.findall(r"`((?:mlc_llm|\./dev) [a-z][^`]*)`", prose)

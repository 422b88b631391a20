"""The fenced blocks of the repository's pages, and why some of them do not run.

A block that no test can run has a line above it that says why: `<!-- not run: REASON -->`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What a fence may name; `text` is a drawing or a file's layout.
RUN = ("sh", "python", "swift", "kotlin", "java", "typescript")
LANGUAGES = (*RUN, "c", "json", "text")
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "bindings/*/*.md", "examples/*/*.md")
    for path in ROOT.glob(pattern)
)
_FENCE = re.compile(r"^(?P<indent> *)```(?P<rest>.*)$")
_REASON = re.compile(r"^ *<!-- not run: (?P<reason>.+) -->$")


@dataclass(frozen=True)
class Snippet:
    """A block: where it stands, its language, its text, and why it does not run if it does not."""

    page: str
    line: int
    language: str
    text: str
    reason: str | None = None

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
        reason = _REASON.match(lines[start - 1]) if start else None
        found.append(
            Snippet(page, start + 1, opened["rest"], body + "\n", reason and reason["reason"])
        )
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
    """Those of a language that a test runs."""
    return [s for s in all_snippets() if s.language == language and s.reason is None]


def by_page(language: str) -> dict[str, list[Snippet]]:
    """The same; those of one page go on from each other."""
    pages: dict[str, list[Snippet]] = {}
    for snippet in to_run(language):
        pages.setdefault(snippet.page, []).append(snippet)
    return pages


def commands_in(text: str) -> list[str]:
    """Whole commands of ours between backticks: `mlc_llm chat MODEL`, `./dev bench cpu`."""
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M)
    return re.findall(r"`((?:mlc_llm|\./dev) [a-z][^`]*)`", prose)

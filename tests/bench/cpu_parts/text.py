"""The text of the quality table: a story of ours, and Python's own reference manual.

The manual comes with Python (`pydoc` shows it), so that the text is long without being in this
repository; it is the same for every interpreter of one minor version.
"""

from __future__ import annotations

import platform
from pathlib import Path
from pydoc_data.topics import topics

STORY = Path(__file__).parents[1] / "quality.txt"
WINDOW = 2048  # tokens that are read in one piece, from an empty history


def quality_text() -> str:
    """The story, then the manual's paragraphs in the order of its topics, each once."""
    pieces = [STORY.read_text(encoding="utf-8")]
    for name in sorted(topics):
        pieces += topics[name].split("\n\n")
    once: dict[str, str] = {}
    for piece in pieces:
        once.setdefault(" ".join(piece.split()), piece)
    return "\n\n".join(once.values())


def description() -> str:
    version = ".".join(platform.python_version_tuple()[:2])
    return f"`tests/bench/quality.txt` and the reference manual that comes with Python {version}"


def windows(ids: list[int], most: int = WINDOW) -> list[list[int]]:
    """The text in pieces; one of a single token says nothing."""
    pieces = [ids[begin : begin + most] for begin in range(0, len(ids), most)]
    return [piece for piece in pieces if len(piece) > 1]

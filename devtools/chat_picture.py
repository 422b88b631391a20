"""Draws docs/chat.svg from a real chat with the default model.

usage: .venv/bin/python -m devtools.chat_picture

The picture follows the reader's light or dark setting and asks no other host for anything.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "chat.svg"
QUESTIONS = (
    "What is the capital of France?",
    "Which river flows through it?",
    "Name three primary colours.",
)
# The likeliest tokens, so that every machine draws the same.
COMMAND = "mlc_llm chat --set temperature=0"
COLUMNS = 74
_LINE, _MARGIN, _ADVANCE = 20, 16, 7.85
_STYLE = """
  text { font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328;
         white-space: pre }
  .ask { fill: #0550ae; font-weight: bold } .frame { fill: #f6f8fa; stroke: #d1d9e0 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .ask { fill: #79c0ff } .frame { fill: #161b22; stroke: #3d444d }
  }"""

Turn = tuple[str, str]  # a question and its answer


def chat() -> list[Turn]:
    """Asks the default model, in one conversation: what stood before counts."""
    from mlc_llm import MLCEngine

    turns: list[Turn] = []
    messages: list[Any] = []
    with MLCEngine() as engine:
        for question in QUESTIONS:
            messages.append({"role": "user", "content": question})
            answer = engine.chat.completions.create(messages=messages, temperature=0, max_tokens=60)
            text = str(answer.choices[0].message.content)
            messages.append({"role": "assistant", "content": text})
            turns.append((question, text))
    return turns


def lines_of(turns: list[Turn]) -> list[Turn]:
    """(class, text) of each line, as the terminal shows them."""
    lines: list[Turn] = [("", f"$ {COMMAND}")]
    for question, answer in turns:
        lines.append(("ask", f">>> {question}"))
        for paragraph in answer.strip().splitlines():
            lines += [("", part) for part in textwrap.wrap(paragraph, COLUMNS) or [" "]]
    return lines


def drawing(turns: list[Turn]) -> str:
    """The picture as SVG."""
    lines = lines_of(turns)
    width = round(COLUMNS * _ADVANCE) + 2 * _MARGIN
    height = len(lines) * _LINE + 2 * _MARGIN
    body = "".join(
        f'  <text x="{_MARGIN}" y="{_MARGIN + _LINE * number + 14}"'
        f"{f' class={chr(34)}{kind}{chr(34)}' if kind else ''}>{escape(text)}</text>\n"
        for number, (kind, text) in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'role="img">\n  <title>A chat with the default model</title>\n'
        f"  <style>{_STYLE}\n  </style>\n"
        f'  <rect class="frame" x="1" y="1" width="{width - 2}" height="{height - 2}" rx="8"/>\n'
        f"{body}</svg>\n"
    )


def main() -> None:
    PICTURE.write_text(drawing(chat()), encoding="utf-8")
    print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())

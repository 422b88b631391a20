"""An agent with tools: it answers a question about the files of a folder. You approve each call.

python agent.py FOLDER "What does the license say?" [--yes] [--model MODEL]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mlc_llm import MLCEngine

PROMPT = "Use the tools to look at the files. Then answer in two sentences."


def tools_of(folder: Path) -> list[Any]:
    """The functions that the model may call; it reads their names, types and docstrings."""
    folder = folder.resolve()

    def list_files() -> str:
        """Lists the names of all files."""
        names = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        return "\n".join(sorted(names)[:100])

    def read_file(name: str, first_line: int = 1) -> str:
        """Reads 40 lines of a file.

        Args:
            name: The file's name, as list_files gives it.
            first_line: The number of the first line.
        """
        path = (folder / name).resolve()
        if not path.is_relative_to(folder) or not path.is_file():
            return f"There is no file {name}. These are here:\n{list_files()}"
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[max(first_line, 1) - 1 :][:40])

    return [list_files, read_file]


def ask_user(call: Any) -> bool:
    question = f"Call {call.function.name}({call.function.arguments})? [y/n] "
    return input(question).strip().lower().startswith("y")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("question")
    arguments.add_argument("--yes", action="store_true", help="approve every call")
    arguments.add_argument("--model", nargs=1, default=[])
    options = arguments.parse_args()
    messages: list[Any] = [
        {"role": "system", "content": PROMPT},
        {"role": "user", "content": options.question},
    ]
    with MLCEngine(*options.model) as engine:
        with engine.chat.completions.stream_tools(
            messages=messages,
            tools=tools_of(options.folder),
            approve=None if options.yes else ask_user,
            tool_choice="required",  # of the first answer: a small model seldom calls by itself
            parallel_tool_calls=False,
            temperature=0,
            max_calls=6,
            max_tokens=400,
        ) as events:
            for event in events:
                if event.type == "text":
                    print(event.text, end="", flush=True)
                elif event.type == "result":
                    print(f"[{event.result.call.function.name}: {event.result.outcome}]")
        print()


if __name__ == "__main__":
    main()

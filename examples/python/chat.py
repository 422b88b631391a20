"""A conversation in the terminal. An empty line ends it.

python chat.py [MODEL]
"""

from __future__ import annotations

import sys
from typing import Any

from mlc_llm import MLCEngine


def main() -> None:
    messages: list[Any] = [{"role": "system", "content": "Answer in one or two sentences."}]
    with MLCEngine(*sys.argv[1:2]) as engine:
        while question := input("You: ").strip():
            messages.append({"role": "user", "content": question})
            print("Model: ", end="", flush=True)
            answer = ""
            for chunk in engine.chat.completions.create(
                messages=messages, stream=True, max_tokens=300
            ):
                for choice in chunk.choices:
                    answer += choice.delta.content or ""
                    print(choice.delta.content or "", end="", flush=True)
            print()
            messages.append({"role": "assistant", "content": answer})


if __name__ == "__main__":
    main()

"""How many orders that are held out a model writes as the house does, with and without an adapter.

python score.py MODEL [--lora FOLDER] [--url http://localhost:8000 --name ADAPTER]
"""

from __future__ import annotations

import argparse
import json
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from orders import HELD_OUT, messages, orders

from mlc_llm import MLCEngine

Ask = Callable[[dict[str, Any]], str]


def score(ask: Ask, count: int) -> str:
    examples = orders(HELD_OUT, count, 2)
    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(
                lambda example: ask(
                    {"messages": messages(example[0]), "temperature": 0, "max_tokens": 64}
                ),
                examples,
            )
        )
    form = sum(_has_form(answer) for answer in answers)
    exact = sum(answer == wanted for answer, (_, wanted) in zip(answers, examples, strict=True))
    return f"in the house's form {form / count:.0%}, all of it right {exact / count:.0%}"


def _has_form(answer: str) -> bool:
    try:
        return list(json.loads(answer)) == ["item", "qty", "col", "to", "at"]
    except (ValueError, TypeError):
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", help="as of `mlc_llm chat`")
    parser.add_argument("--lora", help="the adapter's folder")
    parser.add_argument("--url", help="a server, in place of a model")
    parser.add_argument("--name", help="the adapter's name there")
    parser.add_argument("--quantization")
    parser.add_argument("--count", type=int, default=48)
    args = parser.parse_args()
    if args.url:

        def ask_server(body: dict[str, Any]) -> str:
            data = json.dumps(body | ({"lora": args.name} if args.name else {})).encode()
            request = urllib.request.Request(
                f"{args.url}/v1/chat/completions", data, {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request) as answer:
                return str(json.load(answer)["choices"][0]["message"]["content"])

        print(score(ask_server, args.count))
        return
    config = {"lora_ranks": 64} if args.lora else {}
    name = None if args.model == "default" else args.model
    with MLCEngine(
        name, device="cpu", quantization=args.quantization, engine_config=config
    ) as engine:
        lora = {"lora": "style"} if args.lora else {}
        if args.lora:
            engine.load_adapter("style", args.lora)

        def ask(body: dict[str, Any]) -> str:
            made: Any = engine.chat.completions.create(**body, **lora)
            return str(made.choices[0].message.content)

        print(score(ask, args.count))


if __name__ == "__main__":
    main()

"""Which sampling defaults let the embedded model end its answers, and which keep it right.

    ./dev bench sampling ["" "repetition_penalty=1.1" "temperature=0;top_p=1" ...] [--seeds 1,2]

Each argument is a setting as `/set` takes it; what it does not name stays at the authors'
recommendation. The 200 prompts are in sampling_prompts.txt; the first hundred are easy questions,
with a pattern for the right answer. An answer that has not ended after 1,024 tokens counts as
endless. All prompts of a setting are answered in one batch.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlc_llm import AsyncMLCEngine
from mlc_llm.cli.settings import parse_chat_settings

PROMPTS = Path(__file__).with_name("sampling_prompts.txt")
MAX_TOKENS = 1024
BATCH = 32
# What the model's authors recommend: the settings that are compared start from it.
RECOMMENDED = {"temperature": 0.2, "top_p": 0.9, "repetition_penalty": 1.0}


@dataclass(frozen=True)
class Answer:
    prompt: str
    pattern: str  # of a right answer; "" for an open prompt
    text: str
    ends: bool
    num_tokens: int

    @property
    def right(self) -> bool:
        return bool(self.pattern) and bool(re.search(self.pattern, self.text.lower()))


def prompts() -> list[tuple[str, str]]:
    """Each prompt with its pattern."""
    lines = PROMPTS.read_text(encoding="utf-8").splitlines()
    parts = [line.partition(" | ") for line in lines if line]
    return [(prompt, pattern) for prompt, _, pattern in parts]


async def ask(engine: AsyncMLCEngine, prompt: str, pattern: str, settings: Any) -> Answer:
    result = await engine.chat.completions.create(
        messages=[{"role": "user", "content": prompt}], max_tokens=MAX_TOKENS, **settings
    )
    choice = result.choices[0]
    text = choice.message.content or ""
    ends = choice.finish_reason == "stop"
    return Answer(prompt, pattern, text, ends, result.usage.completion_tokens)


async def answers(engine: AsyncMLCEngine, settings: dict[str, Any], seed: int) -> list[Answer]:
    everything = {**RECOMMENDED, **settings, "seed": seed}
    return list(await asyncio.gather(*(ask(engine, *p, everything) for p in prompts())))


def row(name: str, found: Iterable[Answer]) -> str:
    """A line of the table: shares in percent, tokens of an answer that ends."""
    found = list(found)
    easy = [a for a in found if a.pattern]
    open_ones = [a for a in found if not a.pattern]

    def share(good: list[bool]) -> str:
        return f"{100 * sum(good) / max(1, len(good)):.1f}"

    lengths = sorted(a.num_tokens for a in found)
    cells = [
        name,
        share([a.ends for a in found]),
        share([a.ends for a in easy]),
        share([a.ends for a in open_ones]),
        share([a.right for a in easy]),
        share([a.right and a.ends for a in easy]),
        str(lengths[len(lengths) // 2]),
    ]
    return "| " + " | ".join(cells) + " |"


async def measure(model: str, settings: list[str], seeds: list[int], keep: Path | None) -> None:
    config = {"max_num_sequence": BATCH}
    engine = AsyncMLCEngine(model, mode="server", engine_config=config)
    heads = ["setting", "ends", "easy ends", "open ends", "right", "right and ends", "tokens"]
    print("| " + " | ".join(heads) + " |")
    print("|---" * len(heads) + "|")
    for setting in settings:
        given = dict(parse_chat_settings(setting).generation)
        found = [a for seed in seeds for a in await answers(engine, given, seed)]
        print(row(setting or "(recommended)", found), flush=True)
        if keep is not None:
            lines = [json.dumps({"setting": setting, **vars(a)}) for a in found]
            with keep.open("a", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
    await engine.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("settings", nargs="*", default=["", "repetition_penalty=1.1"])
    parser.add_argument("--model", default="default")
    parser.add_argument("--seeds", default="1", help="1,2,3: the answers of several")
    parser.add_argument("--keep", type=Path, help="a file to which the answers are added")
    args = parser.parse_args()
    seeds = [int(seed) for seed in args.seeds.split(",")]
    asyncio.run(measure(args.model, args.settings, seeds, args.keep))


if __name__ == "__main__":
    main()

"""Many requests from a file, in the form of OpenAI's batches. They share the model's steps.

python batch.py requests.jsonl answers.jsonl [--model MODEL]

A line of the first file: {"custom_id": "1", "body": {"messages": [...], "max_tokens": 50}}.
Answers come as they are ready. A second run goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any, TextIO

from mlc_llm import AsyncMLCEngine
from mlc_llm.errors import MLCError

AT_ONCE = 32  # requests that the engine holds; it runs as many at a time as its memory allows


def done_in(path: Path) -> set[str]:
    if not path.exists():
        return set()
    return {json.loads(line)["custom_id"] for line in path.read_text("utf-8").splitlines()}


async def answer(engine: AsyncMLCEngine, request: dict[str, Any]) -> dict[str, Any]:
    try:
        found = await engine.chat.completions.create(**request["body"])
    except (MLCError, TypeError) as error:
        return {"custom_id": request["custom_id"], "response": None, "error": str(error)}
    body = json.loads(found.model_dump_json())
    return {"custom_id": request["custom_id"], "response": {"body": body}, "error": None}


async def run(engine: AsyncMLCEngine, requests: list[dict[str, Any]], output: TextIO) -> None:
    places = asyncio.Semaphore(AT_ONCE)

    async def one(request: dict[str, Any]) -> None:
        async with places:
            line = await answer(engine, request)
        output.write(json.dumps(line, ensure_ascii=False) + "\n")
        output.flush()

    await asyncio.gather(*map(one, requests))


async def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("requests", type=Path)
    arguments.add_argument("answers", type=Path)
    arguments.add_argument("--model", nargs=1, default=[])
    options = arguments.parse_args()
    done = done_in(options.answers)
    lines = options.requests.read_text(encoding="utf-8").splitlines()
    requests = [request for request in map(json.loads, lines) if request["custom_id"] not in done]
    engine = AsyncMLCEngine(*options.model)
    try:
        with options.answers.open("a", encoding="utf-8") as output:
            await run(engine, requests, output)
    finally:
        engine.terminate()
    print(f"{len(requests)} answers, {len(done)} were there before")


if __name__ == "__main__":
    asyncio.run(main())

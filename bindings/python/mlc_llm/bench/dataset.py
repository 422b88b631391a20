"""What a benchmark asks: prompts and answer lengths, drawn or out of a file."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mlc_llm.errors import CorruptFileError, InvalidRequestError, NotFoundError

_WORDS = (
    "time year people way day man thing woman life child world school state family student group "
    "country problem hand part place case week company system program question work government "
    "number night point home water room mother area money story fact month lot right study book "
    "eye job word business issue side kind head house service friend father power hour game line"
).split()
_LONGEST = 4096  # tokens of a drawn length


@dataclass(frozen=True)
class Sample:
    """One request: a prompt, and the longest answer to it in tokens."""

    prompt: str
    max_tokens: int


def synthetic(
    number: int, *, input_len: int, output_len: int, spread: float, seed: int
) -> list[Sample]:
    """Lengths log-normal around the given medians, as those of shared chats are; `spread` is the
    standard deviation of the logarithm, and 0 makes all of them equal. A word is about a token."""
    rng = random.Random(seed)

    def length(median: int) -> int:
        return max(1, min(_LONGEST, round(median * rng.lognormvariate(0.0, spread))))

    return [
        # The number makes prompts differ, so that no prefix cache answers for the model.
        Sample(
            f"{index} " + " ".join(rng.choices(_WORDS, k=length(input_len))),
            length(output_len),
        )
        for index in range(number)
    ]


def read_sharegpt(path: Path, number: int, *, output_len: int, seed: int) -> list[Sample]:
    """First questions of a ShareGPT file: [{"conversations": [{"value": ...}, ...]}, ...]."""
    try:
        conversations = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotFoundError(f"{path}: {error.strerror}", param="dataset") from None
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"{path}: {error}", param="dataset") from None
    pairs = list(_questions(conversations))
    if not pairs:
        raise CorruptFileError(
            f'{path}: no [{{"conversations": [{{"value": "..."}}, ...]}}, ...] in it',
            param="dataset",
        )
    rng = random.Random(seed)
    chosen = rng.sample(pairs, number) if number <= len(pairs) else rng.choices(pairs, k=number)
    return [Sample(question, answer_words or output_len) for question, answer_words in chosen]


def _questions(conversations: object) -> Iterator[tuple[str, int]]:
    """Each first question, and the words of its answer: near enough its tokens."""
    for conversation in conversations if isinstance(conversations, list) else []:
        turns = conversation.get("conversations") if isinstance(conversation, dict) else None
        if not isinstance(turns, list):
            continue
        values = [turn.get("value") for turn in turns[:2] if isinstance(turn, dict)]
        if values and isinstance(values[0], str) and values[0]:
            answer = values[1] if len(values) > 1 and isinstance(values[1], str) else ""
            yield values[0], len(answer.split())


def require_positive(**values: float) -> None:
    """Command-line numbers that must be above 0."""
    for name, value in values.items():
        if value <= 0:
            raise InvalidRequestError(
                f"--{name.replace('_', '-')} {value}: must be above 0", param=name
            )

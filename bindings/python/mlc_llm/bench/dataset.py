"""The benchmark's requests: prompts and answer lengths, random or from a file."""

from __future__ import annotations

import json
import math
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
_LONGEST = 4096  # the maximum of a random length, in tokens


@dataclass(frozen=True)
class Sample:
    """One request: a prompt, and the longest answer to it in tokens."""

    prompt: str
    max_tokens: int


def synthetic(
    number: int, *, input_len: int, output_len: int, spread: float, seed: int
) -> list[Sample]:
    """Lengths are log-normal around the given medians, as in shared chats. `spread` is the standard
    deviation of the logarithm; with 0 all lengths are equal. A word is about a token."""
    rng = random.Random(seed)

    def length(median: int) -> int:
        return max(1, min(_LONGEST, round(median * rng.lognormvariate(0.0, min(spread, 50.0)))))

    return [
        # The number makes the prompts different, so that no prefix cache answers instead of the
        # model.
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
    """Each first question, and the number of words in its answer, which is close to the number of
    tokens."""
    for conversation in conversations if isinstance(conversations, list) else []:
        turns = conversation.get("conversations") if isinstance(conversation, dict) else None
        if not isinstance(turns, list):
            continue
        values = [turn.get("value") for turn in turns[:2] if isinstance(turn, dict)]
        if values and isinstance(values[0], str) and values[0]:
            answer = values[1] if len(values) > 1 and isinstance(values[1], str) else ""
            yield values[0], len(answer.split())


def require_positive(**values: float | None) -> None:
    """Checks that numbers of the command line are above 0; None: not given."""
    for name, value in values.items():
        if value is not None and not value > 0:  # nor NaN
            raise _refused(name, value, "above 0")


def require_not_negative(**values: float) -> None:
    """Checks that numbers of the command line are at least 0."""
    for name, value in values.items():
        if not 0 <= value < math.inf:
            raise _refused(name, value, "at least 0")


def _refused(name: str, value: float, what: str) -> InvalidRequestError:
    return InvalidRequestError(f"--{name.replace('_', '-')} {value}: must be {what}", param=name)

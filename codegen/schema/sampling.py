"""How tokens are chosen: the one place where the numbers of sampling are written down.

`SamplingFields` are the fields that chats, completions and responses share. `SAMPLING` has beside
them the words that the core packs for the kernels that sample on a GPU. CONTRIBUTING.md says how a
parameter is added.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from codegen.rows import Record, Word
from codegen.schema.base import Model, SamplingModel, maybe


class SamplingFields(Model):
    """How tokens are chosen."""

    shared = True

    temperature: float | None = maybe(
        "How far the choice of tokens strays from the likeliest; 0 always takes the likeliest. "
        "Absent: the model's own default, else 1.",
        ge=0,
        le=2,
        neutral=1,
    )
    top_p: float | None = maybe(
        "Keeps the likeliest tokens that together reach this probability; 0 keeps the likeliest "
        "alone. Absent: the model's own default, else 1.",
        ge=0,
        le=1,
        neutral=1,
    )
    top_k: int | None = maybe(
        "Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own "
        "default, else 0.",
        "tokens",
        ge=-1,
        neutral=0,
    )
    min_p: float | None = maybe(
        "Keeps tokens at least this probable, relative to the likeliest. Absent: the model's own "
        "default, else 0.",
        ge=0,
        le=1,
        neutral=0,
    )
    frequency_penalty: float | None = maybe(
        "Lowers a token's logit by this much for each time it occurs in the answer. Absent: the "
        "model's own default, else 0.",
        ge=-2,
        le=2,
        neutral=0,
    )
    presence_penalty: float | None = maybe(
        "Lowers a token's logit by this much once it occurs in the answer. Absent: the model's "
        "own default, else 0.",
        ge=-2,
        le=2,
        neutral=0,
    )
    repetition_penalty: float | None = maybe(
        "Divides a positive logit, and multiplies a negative one, of tokens that occurred. "
        "Absent: the model's own default, else 1.",
        gt=0,
        le=10,
        neutral=1,
    )
    top_n_sigma: float | None = maybe(
        "Keeps tokens whose logit is at most this many standard deviations below the largest; 0 or "
        "less keeps all. Absent: the model's own default, else 0.",
        ge=-1,
        le=1000,
        neutral=0,
    )
    xtc_probability: float | None = maybe(
        "How often (of 1) the likeliest tokens are excluded, all but the last one that "
        "`xtc_threshold` counts among them. Absent: the model's own default, else 0.",
        ge=0,
        le=1,
        neutral=0,
    )
    xtc_threshold: float | None = maybe(
        "From which probability on `xtc_probability` counts a token among the likeliest; over 0.5 "
        "there is no second one. Absent: the model's own default, else 0.1.",
        ge=0,
        le=1,
        neutral=0.1,
    )
    dry_multiplier: float | None = maybe(
        "Lowers the logit of a token that would go on with a repetition, in prompt and answer: by "
        "this much times `dry_base` to the power of what the repetition is longer than "
        "`dry_allowed_length`. Absent: the model's own default, else 0.",
        ge=0,
        le=100,
        neutral=0,
    )
    dry_base: float | None = maybe(
        "How fast `dry_multiplier` grows with a repetition. Absent: the model's own default, else "
        "1.75.",
        ge=1,
        le=100,
        neutral=1.75,
    )
    dry_allowed_length: int | None = maybe(
        "`dry_multiplier` begins at repetitions of this length. Absent: the model's own default, "
        "else 2.",
        "tokens",
        ge=1,
        neutral=2,
    )
    dry_penalty_last_n: int | None = maybe(
        "Among how many of the last tokens `dry_multiplier` looks for repetitions; -1: all, 0: "
        "none. Absent: the model's own default, else -1.",
        "tokens",
        ge=-1,
        neutral=-1,
    )
    dry_sequence_breakers: list[Annotated[str, Field(min_length=1)]] | None = maybe(
        "A token that contains one of these texts ends repetitions that `dry_multiplier` counts, "
        "as a special token does. "
        "Absent: a line's end, a colon, a quotation mark and an asterisk.",
        max_length=64,
    )
    logit_bias: dict[int, Annotated[float, Field(ge=-100, le=100)]] | None = maybe(
        "Adds to the logits of tokens: from token id to bias."
    )
    seed: int | None = maybe(
        "Makes the answer repeatable: equal requests with equal seeds get equal answers. "
        "Absent: a random one."
    )


def logit_processor() -> Any:
    """The field, as chats and completions have it."""
    return maybe(
        "The name of a logit processor that the program has registered with the engine: a function "
        "that changes the logits before each token. Absent: none. An extension of this engine."
    )


TASK = Record(
    "TaskWords",
    "One token to be chosen. The mask and the changes lie in a list of words beside the tasks.",
    (
        Word("row", 0, "Of the step's logits."),
        Word("limit", 0, "Tokens that may be chosen: the first ones."),
        Word("mask_start", -1, "Where the mask begins; -1: all tokens may be chosen."),
        Word("changes_start", 0, "Where the changes begin."),
        Word("num_changes", 0, "How many there are."),
        Word("top_k", 0, "0: all tokens; 1: the likeliest token, whatever follows."),
        Word("scale", 1.0, "1 / temperature, 1e6 at most."),
        Word("top_p", 1.0, "As in requests."),
        Word("min_p", 0.0, "As in requests."),
        Word("top_n_sigma", 0.0, "As in requests; 0: all tokens."),
        Word("xtc_threshold", 2.0, "As in requests; over 1: none is excluded."),
        Word("uniform", 0.0, "A random number in [0, 1)."),
    ),
)
CHANGE = Record(
    "LogitChange",
    "What happens to a finite logit before the mask.",
    (
        Word("token", 0, "Whose logit it is."),
        Word("bias", 0.0, "Is added first."),
        Word("repetition", 1.0, "Then divides a positive logit, multiplies another one."),
        Word("penalty", 0.0, "Is subtracted last."),
    ),
)
SAMPLING = SamplingModel(SamplingFields, (TASK, CHANGE), meaning=1)

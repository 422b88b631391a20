"""A gap in a text, as llama.cpp's clients in editors ask for it."""

from __future__ import annotations

from codegen.schema.base import Model, OpenEnum, field, maybe, measure
from codegen.schema.chat_request import Stop
from codegen.schema.metrics import Timings
from codegen.schema.sampling import SamplingFields


class InfillExtra(Model):
    """A text of another file, which the model may use."""

    text: str = field(..., "The text.")
    filename: str | None = maybe("Where it stands.")


class InfillRequest(SamplingFields):
    """What stands before and behind a gap."""

    shared_before = "repeat_penalty"

    input_prefix: str = field(..., "The text before the gap.")
    input_suffix: str = field(..., "The text behind the gap.")
    model: str | None = maybe("The model to answer. Absent: the server's first.")
    prompt: str | None = maybe("Further text before the gap: the line of the cursor.")
    input_extra: list[InfillExtra] | None = maybe("Texts of other files.", max_length=256)
    n_predict: int | None = maybe(
        "The longest answer; below 0: up to the end of the context. Absent: 4,096.", "tokens", ge=-2
    )
    repeat_penalty: float | None = maybe("The older name of `repetition_penalty`.", gt=0, le=10)
    stop: Stop | None = maybe("Texts at which the answer ends, before them.")
    stream: bool | None = maybe("Whether the answer comes as events while it is generated.")


class InfillStopType(OpenEnum):
    """Why an answer ended."""

    NONE = "none", "It has not."
    EOS = "eos", "The model ended it."
    LIMIT = "limit", "`n_predict` or the context's end was reached."
    WORD = "word", "A stop text was reached."


class InfillResponse(Model):
    """What belongs into the gap, or the next piece of it. The last piece has the numbers."""

    content: str = field(..., "The text.")
    stop: bool = field(..., "Whether the answer is whole.")
    model: str | None = maybe("The model that answered.")
    stop_type: InfillStopType | None = maybe("Why it ended.")
    truncated: bool | None = maybe("Always false: nothing is cut off.")
    tokens_evaluated: int | None = measure("The prompt's length.", "tokens")
    tokens_cached: int | None = measure("What of it was cached.", "tokens")
    tokens_predicted: int | None = measure("The answer's length.", "tokens")
    timings: Timings | None = maybe("Where the time went.")

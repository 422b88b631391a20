"""A gap in a text, as llama.cpp's clients in editors ask for it."""

from __future__ import annotations

from codegen.schema.base import Model, OpenEnum, field
from codegen.schema.chat_request import Stop
from codegen.schema.metrics import Timings
from codegen.schema.sampling import SamplingFields


class InfillExtra(Model):
    """A text of another file, which the model may use."""

    text: str = field(..., "The text.")
    filename: str | None = field(None, "Where it stands.")


class InfillRequest(SamplingFields):
    """What stands before and behind a gap."""

    shared_before = "repeat_penalty"

    input_prefix: str = field(..., "The text before the gap.")
    input_suffix: str = field(..., "The text behind the gap.")
    model: str | None = field(None, "The model to answer. Absent: the server's first.")
    prompt: str | None = field(None, "Further text before the gap: the line of the cursor.")
    input_extra: list[InfillExtra] | None = field(None, "Texts of other files.", max_length=256)
    n_predict: int | None = field(
        None,
        "The longest answer; below 0: up to the end of the context. Absent: 4,096.",
        unit="tokens",
        ge=-2,
    )
    repeat_penalty: float | None = field(
        None, "The older name of `repetition_penalty`.", gt=0, le=10
    )
    stop: Stop | None = field(None, "Texts at which the answer ends, before them.")
    stream: bool | None = field(None, "Whether the answer comes as events while it is generated.")


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
    model: str | None = field(None, "The model that answered.")
    stop_type: InfillStopType | None = field(None, "Why it ended.")
    truncated: bool | None = field(None, "Always false: nothing is cut off.")
    tokens_evaluated: int | None = field(None, "The prompt's length.", unit="tokens", ge=0)
    tokens_cached: int | None = field(None, "What of it was cached.", unit="tokens", ge=0)
    tokens_predicted: int | None = field(None, "The answer's length.", unit="tokens", ge=0)
    timings: Timings | None = field(None, "Where the time went.")

# Generated from codegen/schema by `python -m codegen`. Do not edit.
# Schema hash: 5c6e83c1dd599df1
"""The int32 inputs of a step (docs/step-inputs.md): n rows of b sequences."""

from __future__ import annotations

from typing import NamedTuple


class StepInput(NamedTuple):
    """A string in the shape is a run-time size. `when`: what a library has that takes it."""

    name: str
    shape: tuple[str | int, ...]
    when: str


STEP_INPUTS = (
    StepInput("tokens", ("n",), "tokens"),
    StepInput("positions", ("n",), "always"),
    StepInput("slots", ("n",), "always"),
    StepInput("row_sequence", ("n",), "always"),
    StepInput("page_indptr", ("b_plus_1",), "always"),
    StepInput("page_indices", ("p",), "always"),
    StepInput("windowed_slots", ("n",), "windowed_pages"),
    StepInput("windowed_indices", ("p",), "windowed_pages"),
    StepInput("token_types", ("n",), "token_types"),
    StepInput("last_seen", ("n",), "rows_ahead"),
    StepInput("rotary", ("n", 3), "axes"),
    StepInput("adapter_rows", ("u",), "adapters"),
    StepInput("adapter_groups", ("u",), "adapters"),
    StepInput("adapter_scales", ("u",), "adapters"),
    StepInput("copy_source", ("c",), "token_trees"),
    StepInput("copy_destination", ("c",), "token_trees"),
    StepInput("windowed_copy_source", ("c",), "windowed_trees"),
    StepInput("windowed_copy_destination", ("c",), "windowed_trees"),
    StepInput("state_source", ("b",), "states"),
    StepInput("row_indptr", ("b_plus_1",), "states"),
    StepInput("state_writes", ("n",), "states"),
    StepInput("logit_rows", ("m",), "logits"),
    StepInput("hidden_rows", ("h",), "hidden_states"),
)

"""The functions of a layer that drafts: it has pages, and reads a token and a state in each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlc_llm.compiler.nn.builder import Input, Memory
from mlc_llm.compiler.spec.draft import PREFIX

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Batch, Builder

# f(embeddings, states, batch, memory) -> the logits of the rows that want them, and the states from
# which the next guesses are made
Step = Callable[[Any, Any, "Batch", Memory], tuple[Any, Any]]


def build_steps(
    nn: Builder, embed: Callable[[Any], Any], hidden: int, most: int, step: Step
) -> None:
    """`most`: rows of a step."""
    nn.needs("logits")
    nn.needs("hidden_states")
    bounds = dict.fromkeys(("n", "m", "h"), most)
    with nn.function(f"{PREFIX}embed", {"tokens": Input(("n",), "int32")}, bounds=bounds) as f:
        f.results = {"embeddings": embed(f["tokens"])}
    rows = Input(("n", hidden))
    inputs = {"embeddings": rows, "target_states": rows}
    inputs |= nn.step_inputs(also=set(), without=set())
    with nn.function(f"{PREFIX}batch_prefill", inputs, bounds=bounds) as f:
        memory = Memory(f.items("kv_pages"), [])
        logits, states = step(f["embeddings"], f["target_states"], f.batch, memory)
        f.results = {"logits": logits, "hidden_states": states}

"""The embedded model in q0f32 against an independent NumPy float64 forward pass.

Logits are recomputed by the reference here, for one prompt and 16 steps; the 64-token
continuations of three prompts were recorded by `record.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

STEPS = 16
TOLERANCE = 1e-3  # relative; what is measured is about 1e-6


@pytest.fixture(scope="module")
def model(prepared):
    """The compiled library; `forward([(name, ids)])` appends to a sequence and gives logits."""
    from mlc_llm.compiler.vm_runner import Runner

    folder, library = prepared("q0f32")
    return Runner.open(library, folder)


def distance(actual, expected) -> float:
    return float(np.linalg.norm(actual - expected) / np.linalg.norm(expected))


def test_logits_of_a_prompt_and_16_steps_agree(model, reference, recorded):
    case = recorded["cases"][0]
    text = reference.start()
    model.drop("logits")
    ids = case["prompt"]
    assert distance(model.forward([("logits", ids)]), text.append(ids)) < TOLERANCE
    for token in case["greedy"][:STEPS]:
        expected = text.append([token])
        actual = model.forward([("logits", [token])])
        assert distance(actual, expected) < TOLERANCE
        assert int(actual[-1].argmax()) == int(expected[-1].argmax())


@pytest.mark.parametrize("number", range(3))
def test_greedy_continuations_are_those_of_the_reference(model, recorded, number):
    case = recorded["cases"][number]
    model.drop("greedy")
    logits = model.forward([("greedy", case["prompt"])], last_only=True)
    found = []
    while len(found) < len(case["greedy"]):
        found.append(int(logits[-1].argmax()))
        logits = model.forward([("greedy", found[-1:])])
    assert found == case["greedy"]


def test_the_recorded_answers_are_whole(recorded):
    for case in recorded["cases"]:
        assert len(case["greedy"]) == 64 or case["greedy"][-1] == recorded["stop"]

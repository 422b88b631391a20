"""Every family with experts: a tiny random model against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import reference_experts
import tiny_experts

IDS = [int(i) for i in np.random.RandomState(3).randint(0, 128, 24)]


@pytest.mark.parametrize("family", tiny_experts.FAMILIES)
def test_logits_are_those_of_the_reference(family):
    config = tiny_experts.config(family)
    expected = reference_experts.logits(config, tiny_experts.weights(config), IDS)
    whole = tiny_experts.runner(family).forward([("a", IDS)])
    assert np.abs(whole - expected).max() < 1e-4 * np.abs(expected).max()
    cut = tiny_experts.runner(family)
    steps = [IDS[:7], IDS[7:20], *([token] for token in IDS[20:])]
    rows = [cut.forward([("a", step), ("b", IDS[:1])])[: len(step)] for step in steps]
    assert np.array_equal(np.concatenate(rows), whole)


@pytest.mark.parametrize("family", tiny_experts.FAMILIES)
def test_every_switch_counts(family):
    config = tiny_experts.config(family)
    weights = tiny_experts.weights(config)
    expected = reference_experts.logits(config, weights, IDS)
    for switch in tiny_experts.FAMILIES[family][1]:
        without = reference_experts.logits(config, weights, IDS, off=[switch])
        assert np.abs(without - expected).max() > 0.01 * np.abs(expected).max(), switch

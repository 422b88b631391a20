"""Encoders: a tiny random model of each family against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import reference_encoder
import tiny_encoders

RNG = np.random.RandomState(3)
TEXTS = [[int(i) for i in RNG.randint(2, 128, length)] for length in (24, 1, 37, 16, 17)]


@pytest.mark.parametrize("family", tiny_encoders.FAMILIES)
def test_hidden_states_are_those_of_the_reference(family):
    config = tiny_encoders.config(family)
    weights = tiny_encoders.weights(config)
    found = tiny_encoders.runner(family).encode(TEXTS)
    for ids, states in zip(TEXTS, found, strict=True):
        expected = reference_encoder.hidden_states(config, weights, ids)
        assert np.abs(states - expected).max() < 1e-4 * np.abs(expected).max(), len(ids)


@pytest.mark.parametrize("family", tiny_encoders.FAMILIES)
def test_a_text_has_the_same_bits_in_any_batch(family):
    runner = tiny_encoders.runner(family)
    together = runner.encode(TEXTS)
    for order in ([0], [4, 0], [2, 3, 0, 1]):
        for number, states in zip(order, runner.encode([TEXTS[i] for i in order]), strict=True):
            assert np.array_equal(states, together[number]), order


@pytest.mark.parametrize("switch", reference_encoder.SWITCHES)
def test_every_switch_counts(switch):
    for family in tiny_encoders.FAMILIES:
        config = tiny_encoders.config(family)
        weights = tiny_encoders.weights(config)
        expected = reference_encoder.hidden_states(config, weights, TEXTS[0])
        without = reference_encoder.hidden_states(config, weights, TEXTS[0], off=[switch])
        assert np.abs(without - expected).max() > 0.01 * np.abs(expected).max(), family


def test_all_layers_share_the_pages_of_one(family="bert"):
    """An encoder's pages are of use only while a layer attends."""
    metadata = tiny_encoders.runner(family).metadata
    assert metadata["encoder"] is True
    assert len(metadata["kv_cache"]["layers"]) == 1

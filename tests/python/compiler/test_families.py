"""Every family of decoders: a tiny random model against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import reference_decoder
import tiny_families

IDS = [int(i) for i in np.random.RandomState(3).randint(0, 128, 24)]


# They have the kernels of the others, which a short run checks by fixtures alone.
ALWAYS = ("gemma2", "gemma3_text", "lfm2", "phi")


@pytest.mark.parametrize("family", tiny_families.FAMILIES)
def test_a_familys_logits_are_those_of_the_reference(family, request):
    if family not in ALWAYS and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each family; run with --long")
    config = tiny_families.config(family)
    weights = tiny_families.weights(config)
    expected = reference_decoder.logits(config, weights, IDS)
    whole = tiny_families.runner(family).forward([("a", IDS)])
    assert np.abs(whole - expected).max() < 1e-4 * np.abs(expected).max()
    cut = tiny_families.runner(family)
    steps = [IDS[:7], IDS[7:20], *([token] for token in IDS[20:])]
    rows = [cut.forward([("a", step), ("b", IDS[:1])])[: len(step)] for step in steps]
    assert np.array_equal(np.concatenate(rows), whole)


@pytest.mark.parametrize("family", tiny_families.FAMILIES)
def test_every_switch_of_a_family_counts(family):
    config = tiny_families.config(family)
    weights = tiny_families.weights(config)
    expected = reference_decoder.logits(config, weights, IDS)
    for switch in tiny_families.FAMILIES[family][1]:
        without = reference_decoder.logits(config, weights, IDS, off=[switch])
        assert np.abs(without - expected).max() > 0.01 * np.abs(expected).max(), switch

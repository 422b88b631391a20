"""Every family with experts: a tiny random model against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import reference_experts
import tiny_experts
from experts_library import runner
from tiny_experts import IDS

# In every run: all kinds of routers, and the kernels of the others.
USUAL = ("qwen3_moe", "gpt_oss", "glm4_moe")
MLX = Path(__file__).resolve().parents[2] / "fixtures" / "experts" / "mlx_logits.npz"


@pytest.mark.parametrize("family", tiny_experts.FAMILIES)
def test_logits_are_those_of_the_reference(family, request):
    if family not in USUAL and not request.config.getoption("--long"):
        pytest.skip("libraries of the other families are compiled with --long")
    config = tiny_experts.config(family)
    expected = reference_experts.logits(config, tiny_experts.weights(config), IDS)
    whole = runner(family).forward([("a", IDS)])
    assert np.abs(whole - expected).max() < 1e-4 * np.abs(expected).max()
    cut = runner(family)
    steps = [IDS[:7], IDS[7:20], *([token] for token in IDS[20:])]
    rows = [cut.forward([("a", step), ("b", IDS[:1])])[: len(step)] for step in steps]
    assert np.array_equal(np.concatenate(rows), whole)


@pytest.mark.parametrize("family", tiny_experts.FAMILIES)
def test_another_implementation_agrees_with_the_reference(family):
    """mlx-lm; `tests/fixtures/experts/make_mlx_logits.py` wrote its logits."""
    config = tiny_experts.config(family, for_mlx=True)
    found = reference_experts.logits(config, tiny_experts.weights(config), IDS)
    theirs = np.load(MLX)[family]
    assert np.abs(found - theirs).max() < 1e-4 * np.abs(theirs).max()


@pytest.mark.parametrize("family", tiny_experts.FAMILIES)
def test_every_switch_counts(family):
    config = tiny_experts.config(family)
    weights = tiny_experts.weights(config)
    expected = reference_experts.logits(config, weights, IDS)
    for switch in tiny_experts.FAMILIES[family][1]:
        without = reference_experts.logits(config, weights, IDS, off=[switch])
        assert np.abs(without - expected).max() > 0.01 * np.abs(expected).max(), switch

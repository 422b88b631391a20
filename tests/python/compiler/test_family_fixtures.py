"""Every family against logits on which two programs that are not ours agree.

`tests/fixtures/families` says how they were made. A specification is computed in NumPy here; the
compiled libraries of all families are compared by `--long`, a few of them always.
"""

from __future__ import annotations

import numpy as np
import pytest
import spec_fields
from family_fixtures import NAMES, TRANSFORMS, load
from spec_switches import switched_off

from mlc_llm.compiler import reference

TOLERANCE = 1e-3  # of the largest logit
COUNTS = 0.01  # a switch that changes less than this proves nothing


def apart(made, expected) -> float:
    return float(np.abs(made - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("name", NAMES)
def test_a_config_and_its_tensors_mean_what_the_references_compute(name):
    fixture = load(name)
    read = {part.tensor for weight in fixture.weight_map() for part in weight.parts}
    unused = fixture.family.unused
    assert read == {name for name in fixture.weights if not unused or unused not in name}
    made = reference.logits(fixture.spec, fixture.params(), fixture.ids)
    assert apart(made, fixture.logits) < TOLERANCE


# Fields without a switch. Of all but the last, the other value needs other weights.
STRUCTURE = {
    "tied_head",
    *(f"layers.parts.AttentionSpec.{name}"
      for name in ("head_norms.all_heads", "pages_of", "values.are_keys")),
    "layers.parts.LatentSpec.queries",
    "layers.parts.MLPSpec.gated",
    *(f"layers.parts.MoESpec.{name}" for name in ("apart", "gated", "shared_width")),
    *(f"layers.parts.DecayMixSpec.{name}" for name in ("decay", "mixes")),
    "layers.places",  # `off=["post_norm"]`
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_difference_from_llama_has_a_switch_that_moves_the_logits(name):
    fixture = load(name)
    spec, params = fixture.spec, fixture.params()
    left = spec_fields.unusual(spec) - STRUCTURE
    for switch, without in switched_off(spec):
        made = reference.logits(without, params, fixture.ids)
        assert apart(made, fixture.logits) > COUNTS, switch
        left -= spec_fields.changed(spec, without)
    if name == "gemma4_experts":  # a norm behind the experts removes a factor of all
        left -= {"layers.parts.MoESpec.router.scores"}
    assert not left, "fields without a switch"
    if any(layer.places in ("post", "sandwich") for layer in spec.layers):
        made = reference.logits(spec, params, fixture.ids, off=["post_norm"])
        assert apart(made, fixture.logits) > COUNTS, "norms behind"
    for switch, kind in TRANSFORMS.items():
        changed = fixture.params_without(kind)
        if changed is not None:
            made = reference.logits(spec, changed, fixture.ids)
            assert apart(made, fixture.logits) > COUNTS, switch


def test_experts_without_a_gate_multiply_codes():
    """Those of a row's experts lie side by side."""
    fixture = load("nemotron_h_experts")
    floats, codes = (
        fixture.runner("q4f16_1", f"activation_bits={bits}").forward([("a", fixture.ids)])
        for bits in (32, 16)
    )
    assert apart(codes, floats) < TOLERANCE


# Families with a kernel of their own; the others' kernels are in `test_families.py`.
ALWAYS = ("granitemoehybrid", "hunyuan", "nemotron", "olmo3")


@pytest.mark.parametrize("name", NAMES)
def test_a_compiled_library_gives_the_references_logits_and_tokens(name, request):
    if name not in ALWAYS and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each family; run with --long")
    fixture = load(name)
    runner = fixture.runner()
    made = runner.forward([("whole", fixture.ids)])
    assert apart(made, fixture.logits) < TOLERANCE
    tokens, step = [], fixture.ids[: len(fixture.ids) // 2]
    for _ in fixture.greedy:
        logits = runner.forward([("steps", step)], last_only=True)
        step = [int(logits[-1].argmax())]
        tokens += step
    assert tokens == fixture.greedy

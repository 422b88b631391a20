"""MTP layers: their tensors in files, and the functions that the compiler builds of them."""

from __future__ import annotations

import mtp_fixtures
import numpy as np
import pytest
import tiny_families
from vm_runner import Runner

from mlc_llm.compiler import models, reference
from mlc_llm.compiler.convert.weights import with_mtp_of_files
from mlc_llm.compiler.drafts import MTPSpec

LAYER = "model.layers.3."
NAMES = {
    "deepseek_v3": (LAYER + "{}", "enorm hnorm eh_proj shared_head.norm input_layernorm".split()),
    "glm4_moe": (LAYER + "{}", "enorm hnorm eh_proj shared_head.norm self_attn.q_proj".split()),
    "qwen3_5": (
        "mtp.{}",
        "pre_fc_norm_embedding pre_fc_norm_hidden fc norm layers.0.self_attn.q_proj "
        "layers.0.mlp.gate_proj".split(),
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_files_names_are_those_of_the_published_checkpoints(name):
    form, names = NAMES[name]
    found = mtp_fixtures.load(name).mtp_tensors
    assert {f"{form.format(one)}.weight" for one in names} <= set(found)
    assert all(one.startswith(form.removesuffix("{}")) for one in found)


def test_llama_cpp_counts_the_layer_as_one_more_block():
    fixture = mtp_fixtures.load("glm4_moe")
    weights = fixture.family.weight_map(fixture.typed, "gguf")
    found = {part.tensor for weight in weights if weight.draft for part in weight.parts}
    names = "enorm hnorm eh_proj shared_head_norm".split()
    assert {f"blk.3.nextn.{name}.weight" for name in names} < found
    assert {"blk.3.attn_q.weight", "blk.3.ffn_gate_exps.weight"} < found


@pytest.mark.parametrize("name", ["glm4_moe", "qwen3_next"])
def test_the_layer_is_kept_where_the_files_have_it(name):
    fixture = mtp_fixtures.load(name)
    source = tiny_families.Source(fixture.weights)
    without = {k: v for k, v in fixture.weights.items() if k not in fixture.mtp_tensors}
    found = with_mtp_of_files(fixture.typed, fixture.family, source)
    assert found == fixture.typed
    assert fixture.family.config_class.from_dict(found.to_dict()) == found
    less = with_mtp_of_files(fixture.typed, fixture.family, tiny_families.Source(without))
    assert less.num_mtp_layers == 0
    assert fixture.family.decoder(less).draft is None


def test_qwen3_nexts_config_does_not_tell_of_the_layer():
    fixture = mtp_fixtures.load("qwen3_next")
    source = tiny_families.Source(fixture.weights)
    config = {**fixture.config, "mtp_num_hidden_layers": None}
    silent = models.config_from_hf(config)
    assert fixture.family.decoder(silent).draft is None
    assert with_mtp_of_files(silent, fixture.family, source) == fixture.typed


def test_a_layer_with_its_own_embeddings_is_left_out():
    config = {**mtp_fixtures.load("qwen3_5").config, "mtp_use_dedicated_embeddings": True}
    assert models.config_from_hf(config).num_mtp_layers == 0


@pytest.mark.parametrize("name", mtp_fixtures.FIELDS)
def test_drafts_logits_and_states_are_those_of_the_reference(name):
    fixture = mtp_fixtures.load(name)
    runner, params, ids = fixture.runner(), fixture.params(), fixture.ids
    rows = range(len(ids) - 1)
    target = runner.step([("a", ids)], hidden_rows=range(len(ids)))
    want_states = reference.hidden_states(fixture.spec, params, ids)
    states = target["hidden_states"][:-1]
    _assert_near(target["hidden_states"], want_states)
    mtp = Runner(runner.vm, params, num_pages=16, part="draft")
    made = mtp.step([("a", ids[1:])], target_states=states, hidden_rows=rows)
    hidden, logits = reference.mtp(fixture.spec, params, ids[1:], want_states[:-1])
    _assert_near(made["hidden_states"], hidden)
    _assert_near(made["logits"], logits)
    # a guess from the layer's own state, behind known rows that came in two steps
    cut = Runner(runner.vm, params, num_pages=16, part="draft")
    cut.step([("a", ids[1:9])], target_states=states[:8])
    one = cut.step(
        [("b", [7]), ("a", ids[9:])],
        target_states=np.concatenate([states[:1], states[8:]]),
        hidden_rows=[len(ids) - 9],
    )
    assert np.array_equal(one["logits"][1:], made["logits"][8:])
    token = int(logits[-1].argmax())
    longer = reference.mtp(
        fixture.spec, params, [*ids[1:], token], np.concatenate([want_states[:-1], hidden[-1:]])
    )
    again = cut.step([("a", [token])], target_states=one["hidden_states"])
    _assert_near(again["logits"], longer[1][-1:])


@pytest.mark.parametrize(
    ("name", "scheme"),
    [(name, scheme) for name in ("glm4_moe", "qwen3_5") for scheme in ("q0f32", "q4f32_1")]
    + [("qwen3_5", "q4f16_0")],  # by columns
)
def test_a_head_of_the_first_tokens_gives_their_logits(name, scheme):
    fixture = mtp_fixtures.load(name)
    ids = fixture.ids
    states = np.random.default_rng(3).normal(size=(len(ids), fixture.spec.hidden_size))
    made = []
    for count in (0, 40):
        runner = fixture.runner(scheme, draft_vocab_size=count)
        layer = Runner(runner.vm, fixture.params(scheme), num_pages=16, part="draft")
        made.append(layer.step([("a", ids)], target_states=states.astype(np.float32))["logits"])
    whole, short = made
    assert short.shape == whole.shape
    assert np.array_equal(short[:, :48], whole[:, :48])  # blocks of 16
    assert (short[:, 48:] < -1e38).all()


def test_every_part_before_and_behind_the_layer_counts():
    fixture = mtp_fixtures.load("qwen3_5")
    params, ids = fixture.params(), fixture.ids
    states = reference.hidden_states(fixture.spec, params, ids)[:-1]
    _, logits = reference.mtp(fixture.spec, params, ids[1:], states)
    for role, tensor in MTPSpec.tensors.items():
        name = f"model.layers.4.{tensor.ours}.weight"
        turned = {**params, name: params[name][..., ::-1]}
        _, other = reference.mtp(fixture.spec, turned, ids[1:], states)
        assert np.abs(other - logits).max() > 0.01 * np.abs(logits).max(), role


def _assert_near(found, want):
    assert np.abs(found - want).max() < 1e-4 * np.abs(want).max()

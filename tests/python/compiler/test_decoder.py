"""A decoder whose layers differ in everything that they may differ in, against NumPy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import toy_family
import toy_reference
from toy_reference import CONFIG
from vm_runner import Runner

from mlc_llm.compiler import targets
from mlc_llm.compiler.library import build_module
from mlc_llm.compiler.nn.gpu import sampling as gpu_sampling

IDS = [int(i) for i in np.random.RandomState(1).randint(0, 300, 40)]


def runner() -> Runner:
    # With its argument, as test_mixed_layers asks: the cache takes both as one.
    return Runner(toy_reference.module(CONFIG), toy_reference.weights(CONFIG), num_pages=24)


def test_layers_of_different_kinds_are_what_numpy_says():
    want = toy_reference.expected(IDS)
    got = runner().forward([("a", IDS)])
    assert np.abs(got - want).max() < 1e-5 * np.abs(want).max()


def test_learned_sinks_count():
    want = toy_reference.expected(IDS)
    without = toy_reference.expected(IDS, off=["sinks.weight"])
    assert np.abs(without - want).max() > 0.01 * np.abs(want).max()


def test_the_family_is_one_short_file():
    assert len(Path(toy_family.__file__).read_text(encoding="utf-8").splitlines()) < 80


def test_only_layers_with_keys_of_their_own_have_pages():
    layers = runner().metadata["kv_cache"]["layers"]
    assert [layer["page_shape"] for layer in layers] == [[2, 2, 256], [2, 1, 512]]
    assert [layer["slot_runs"] for layer in layers] == [[[32, 1], [2, 16]], [[32, 1], [1, 32]]]


def test_pages_that_a_layer_without_a_window_reads_have_none():
    layers = runner().metadata["kv_cache"]["layers"]
    assert [layer["sliding_window_size"] for layer in layers] == [-1, -1]


def test_recurrent_layers_have_states():
    assert runner().metadata["states"] == [
        {"layer": 1, "shape": [3, 2 * 2 * 16 + 4 * 32], "dtype": "float32"},
        {"layer": 1, "shape": [4, 16 * 32], "dtype": "float32"},
    ]


def test_gpus_that_record_decode_steps_do_not_record_those_with_states(monkeypatch):
    """The core runs them by TVM's virtual machine."""
    monkeypatch.setattr(gpu_sampling, "build", lambda nn, columns: None)
    device = replace(targets.resolve("opencl"), graphs=True)
    names = {}
    for layers in (toy_family.LAYERS, toy_family.LAYERS[2:3]):
        spec = replace(
            toy_reference.library_spec(), device=device, config=toy_family.ToyConfig(layers=layers)
        )
        module = build_module(spec, toy_family.FAMILY)
        names[len(layers)] = {variable.name_hint for variable in module.functions}
    assert {"delta_rule", "causal_conv", "gated_norm", "sigmoid_gate"} <= names[4]
    assert "batch_decode_tokens" in names[1] - names[4]


def test_rows_are_the_same_in_any_company_and_behind_a_fork():
    whole = runner().forward([("a", IDS)])
    cut = runner()
    parts = [cut.forward([("b", IDS[:3]), ("a", IDS[:20])])[3:], cut.forward([("a", IDS[20:21])])]
    cut.fork("a", "c")  # in the middle of a page, in every layer
    cut.forward([("a", [1, 2])])
    parts.append(cut.forward([("c", IDS[21:]), ("b", [5])])[:-1])
    assert np.array_equal(np.concatenate(parts), whole)

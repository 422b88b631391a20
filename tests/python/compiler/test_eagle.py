"""Eagle's layers: their files, and the functions that the compiler builds of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import family_fixtures
import numpy as np
import published_eagle
import pytest
import quick_code
import tiny_families
from vm_runner import Runner

from mlc_llm.compiler import reference
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.convert.drafts import Draft, WithDraft
from mlc_llm.compiler.drafts import EagleSpec, draft_of
from mlc_llm.errors import CorruptFileError, InvalidRequestError, MLCError, UnsupportedError

FIXTURE = "glm4"  # other names, and norms that no Eagle layer has
IDS = "eagle_aux_hidden_state_layer_ids"
CHOSEN = {"eagle_config": {IDS: [0, 1, 2]}}
SOME = [5, 0, 17, 90, 41]


def fixture() -> family_fixtures.Fixture:
    return family_fixtures.load(FIXTURE)


def drafts(kind: str, hidden: int, rows: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tensors and the config of a kind of draft."""
    plain = published_eagle.config(hidden, vocab_size=rows)
    if kind == "first":
        return published_eagle.first(hidden, vocab_size=rows), {**plain, "bias": True}
    if kind == "third, all tokens":
        tensors = published_eagle.third(hidden, None, rows=rows, place="layers.0.")
        layer = {"transformer_layer_config": plain, "norm_before_residual": True}
        return tensors, {**layer, IDS: [1, 2, 3]}
    return published_eagle.third(hidden, SOME, rows=rows), {
        **plain,
        **CHOSEN,
        "draft_vocab_size": 5,
    }


@pytest.mark.parametrize("kind", ["first", "third", "third, all tokens"])
def test_logits_and_states_are_those_of_the_authors_code(tmp_path: Path, kind: str) -> None:
    tiny = fixture()
    spec, ids = tiny.spec, tiny.ids
    tensors, config = drafts(kind, spec.hidden_size, spec.vocab_size)
    draft = Draft(published_eagle.write(tmp_path / "draft", tensors, config), len(spec.layers))
    draft.spec.check(tiny.typed)
    decoder = replace(spec, draft=draft.spec)
    source: Any = WithDraft(tiny_families.Source(tiny.weights), draft)
    family = tiny.family.with_draft(draft.spec)
    params = tiny_families.converted_by(source, family, tiny.typed)
    chat = {**tiny.config, "quantization": "q0f32", "prefill_chunk_size": 64}
    told = json.loads(json.dumps(draft.spec.to_dict()))
    assert draft_of({"draft": told}) == draft.spec
    library = library_spec(
        {**chat, "model_type": tiny.config["model_type"], "draft": told}, device="cpu"
    )
    target = Runner(quick_code.build(library, tiny.family), params, num_pages=16)
    rows = range(len(ids) - 1)
    made = target.step([("a", ids)], hidden_rows=range(len(ids)))
    layer = Runner(target.vm, params, num_pages=16, part="draft")
    assert layer.metadata["kind"] == "eagle"
    table, head = params["model.embed_tokens.weight"], params["lm_head.weight"]
    if draft.spec.chosen_layers:
        assert np.array_equal(draft.spec.chosen_layers, [0, 1, 2])
        chosen = made["layer_states"][:-1]
        _assert_near(chosen, reference.layer_states(spec, params, ids, [0, 1, 2])[:-1])
        states = layer.fused(chosen)
        _assert_near(states, chosen @ tensors["fc.weight"].T)
        _assert_near(states, reference.eagle_fused(decoder, params, chosen))
        place = "midlayer." if kind == "third" else "layers.0."
        normed = kind == "third, all tokens"

        def authors(next_ids: list[int], given: Any) -> tuple[Any, Any]:
            return published_eagle.run_third(tensors, place, table, next_ids, given, normed)
    else:
        states = made["hidden_states"][:-1]

        def authors(next_ids: list[int], given: Any) -> tuple[Any, Any]:
            return published_eagle.run_first(tensors, head, table, next_ids, given)

    found = layer.step([("a", ids[1:])], target_states=states, hidden_rows=rows)
    hidden, logits = authors(ids[1:], states)
    _assert_near(found["hidden_states"], hidden)
    some = list(draft.spec.tokens) or list(range(spec.vocab_size))
    _assert_near(found["logits"][:, some], logits)
    assert (np.delete(found["logits"], some, axis=1) < -1e38).all()
    ours = reference.eagle(decoder, params, ids[1:], states)
    _assert_near(ours[0], hidden)
    _assert_near(ours[1][:, some], logits)
    # a guess from the layer's own state
    token = some[int(logits[-1].argmax())]
    longer = authors([*ids[1:], token], np.concatenate([states, hidden[-1:]]))
    again = layer.step([("a", [token])], target_states=found["hidden_states"][-1:])
    _assert_near(again["logits"][:, some], longer[1][-1:])


def test_three_layers_are_chosen_as_the_authors_do(tmp_path: Path) -> None:
    folder = published_eagle.write(
        tmp_path, published_eagle.third(64, SOME), published_eagle.config(64)
    )
    assert Draft(folder, 32).spec.to_dict()["chosen_layers"] == [1, 15, 28]
    with pytest.raises(UnsupportedError, match="a model of 4 layers") as caught:
        Draft(folder, 4)
    assert caught.value.param == IDS


@pytest.mark.parametrize(
    "fields",
    [
        {IDS: [2, 16, 29]},  # vLLM: the inputs of these layers
        {"eagle_config": {IDS: [1, 15, 28]}},  # SGLang: their results
        {"eagle_config": {IDS: [28, 1, 15]}, IDS: [3, 4, 5]},
        {"eagle_config": {IDS: []}},
        {"eagle_config": None},
    ],
)
def test_layers_are_named_by_their_inputs_or_by_their_results(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    config = {**published_eagle.config(64), **fields}
    folder = published_eagle.write(tmp_path, published_eagle.third(64, SOME), config)
    assert Draft(folder, 32).spec.chosen_layers == (1, 15, 28)


# SpecForge's configs of drafts for Qwen 3 and for Phi 4 mini
QWEN = {"max_window_layers": 36, "sliding_window": None, "use_sliding_window": False}
SPECFORGE = {"qwen3": {**QWEN, "attention_bias": False}, "phi4": {"model_type": "phi3"}}


@pytest.mark.parametrize("name", SPECFORGE)
def test_configs_of_specforge_are_those_of_llamas_layers(tmp_path: Path, name: str) -> None:
    config = published_eagle.config(64, draft_vocab_size=5, **SPECFORGE[name])
    folder = published_eagle.write(tmp_path, published_eagle.third(64, SOME), config)
    found = Draft(folder, 36).spec
    assert isinstance(found, EagleSpec)
    assert (found.family, found.config.sliding_window) == ("llama", -1)


def test_mlc_llms_name_of_the_family_is_known(tmp_path: Path) -> None:
    fields = {**published_eagle.config(64), "model_type": "eagle", "bias": False}
    folder = published_eagle.write(tmp_path, published_eagle.first(64, bias=False), fields)
    found = Draft(folder, 4).spec
    assert isinstance(found, EagleSpec)
    assert (found.family, found.bias, found.chosen_layers) == ("llama", False, ())


def test_a_layer_of_another_model_is_refused(tmp_path: Path) -> None:
    tiny = fixture()
    wide = tiny.spec.hidden_size + 16
    tensors, config = drafts("first", wide, 128)
    draft = Draft(published_eagle.write(tmp_path, tensors, config), 4)
    with pytest.raises(InvalidRequestError, match=f"hidden_size {wide}") as caught:
        draft.spec.check(tiny.typed)
    assert caught.value.param == "draft"


def test_a_tensor_that_is_missing_or_has_another_shape_is_named(tmp_path: Path) -> None:
    tiny = fixture()
    for change in ("missing", "shape"):
        tensors, config = drafts("third", tiny.spec.hidden_size, tiny.spec.vocab_size)
        if change == "missing":
            del tensors["midlayer.self_attn.k_proj.weight"]
        else:
            tensors["fc.weight"] = tensors["fc.weight"][:, 1:].copy()
        draft = Draft(published_eagle.write(tmp_path / change, tensors, config), 4)
        source: Any = WithDraft(tiny_families.Source(tiny.weights), draft)
        family = tiny.family.with_draft(draft.spec)
        with pytest.raises(CorruptFileError, match=r"k_proj|eagle\.fc"):
            tiny_families.converted_by(source, family, tiny.typed)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"num_hidden_layers": 2}, UnsupportedError),
        ({"norm_before_fc": True}, UnsupportedError),
        ({"fc_norm": True}, UnsupportedError),
        ({"eagle_config": {"norm_output": True}}, UnsupportedError),
        ({IDS: [0, 1, 2]}, UnsupportedError),
        ({IDS: [1, 1, 2]}, UnsupportedError),
        ({IDS: [1, 2, 9]}, UnsupportedError),
        ({IDS: "all"}, UnsupportedError),
        ({"eagle_config": {IDS: [1, 2, 8]}}, UnsupportedError),
        ({"eagle_config": {IDS: [-1, 2, 3]}}, UnsupportedError),
        ({"transformer_layer_config": None}, CorruptFileError),
        ({"model_type": 3}, CorruptFileError),
        ({"model_type": "tea", "architectures": ["Tea"]}, UnsupportedError),
        ({"hidden_size": -1}, CorruptFileError),
    ],
)
def test_configs_that_cannot_be_are_refused(
    tmp_path: Path, fields: dict[str, Any], error: type[MLCError]
) -> None:
    config = published_eagle.config(64, **{IDS: [1, 2, 3]}) | fields
    folder = published_eagle.write(tmp_path, published_eagle.third(64, SOME), config)
    with pytest.raises(error) as caught:
        Draft(folder, 8)
    assert caught.value.param


@pytest.mark.parametrize(
    "change",
    [
        {"model_config": 3},
        {"model_type": 3},
        {"chosen_layers": [-1]},
        {"bias": 2},
        {"tokens": ["a"]},
    ],
)
def test_a_damaged_config_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    folder = published_eagle.write(
        tmp_path, published_eagle.third(64, SOME), published_eagle.config(64)
    )
    told = Draft(folder, 32).spec.to_dict()
    with pytest.raises(CorruptFileError):
        draft_of({"draft": {**told, **change}})


def test_a_config_of_another_model_is_refused_before_it_is_compiled(tmp_path: Path) -> None:
    tiny = fixture()
    tensors, config = drafts("third", tiny.spec.hidden_size, tiny.spec.vocab_size)
    told = Draft(published_eagle.write(tmp_path, tensors, config), 4).spec.to_dict()
    chat = {**tiny.config, "quantization": "q0f32"}
    for change in (
        {"tokens": [10**6]},
        {"model_config": {**told["model_config"], "hidden_size": 48}},
    ):
        with pytest.raises(InvalidRequestError, match="trained for another model") as caught:
            library_spec({**chat, "draft": {**told, **change}}, device="cpu")
        assert caught.value.param == "draft"


@pytest.mark.parametrize("family", ["mamba2", "deepseek_v2"])
@pytest.mark.parametrize("chosen", [(), (0, 1, 2)])
def test_a_layer_of_another_kind_is_refused(family: str, chosen: tuple[int, ...]) -> None:
    one = replace(family_fixtures.load(family).typed, num_hidden_layers=1)
    with pytest.raises(UnsupportedError, match=family) as caught:
        _ = EagleSpec(family=family, config=one, chosen_layers=chosen).layer
    assert caught.value.param == "model_type"


def _assert_near(found: Any, want: Any) -> None:
    assert found.shape == want.shape
    assert np.abs(found - want).max() < 1e-3 * np.abs(want).max()

"""Gemma 4's assistant: its folder, and the functions that the compiler builds of it. transformers
and mlx-vlm have computed the same guesses (`tests/fixtures/drafts`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import family_fixtures
import numpy as np
import published_assistant
import pytest
import quick_code
import tiny_families
from vm_runner import Runner

from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.convert.drafts import Draft, WithDraft
from mlc_llm.compiler.drafts import AssistantSpec, draft_of
from mlc_llm.compiler.library import build_module
from mlc_llm.errors import CorruptFileError, InvalidRequestError, MLCError, UnsupportedError

KINDS = sorted(published_assistant.recorded()["kinds"])


def target() -> family_fixtures.Fixture:
    return family_fixtures.load("gemma4_text")


def draft_in(folder: Path, config: dict[str, Any], **tensors: Any) -> Draft:
    seed = published_assistant.recorded()["seed"]
    drawn = published_assistant.weights(recorded("clusters"), target().spec, seed)
    if not config.get("use_ordered_embeddings"):
        del drawn[published_assistant.ORDERING]
    return Draft(published_assistant.write(folder, {**drawn, **tensors}, config), 6)


def recorded(kind: str) -> dict[str, Any]:
    config: dict[str, Any] = published_assistant.recorded()["kinds"][kind]["config"]
    return config


def changed(kind: str = "clusters", **fields: Any) -> dict[str, Any]:
    """The recorded config with other fields; those of its layers are in `text_config`."""
    config = recorded(kind)
    text = {**config["text_config"], **fields.pop("text_config", {})}
    return {**config, **fields, "text_config": text}


@pytest.mark.parametrize("kind", KINDS)
def test_guesses_are_those_of_two_references(tmp_path: Path, kind: str) -> None:
    tiny, found = target(), published_assistant.recorded()["kinds"][kind]
    draft = draft_in(tmp_path, found["config"])
    assert isinstance(draft.spec, AssistantSpec)
    draft.spec.check(tiny.typed)
    source: Any = WithDraft(tiny_families.Source(tiny.weights), draft)
    family = tiny.family.with_draft(draft.spec)
    params = tiny_families.converted_by(source, family, tiny.typed)
    told = json.loads(json.dumps(draft.spec.to_dict()))
    assert draft_of({"draft": told}) == draft.spec
    chat = {**tiny.config, "quantization": "q0f32", "prefill_chunk_size": 64, "draft": told}
    library = library_spec(chat, device="cpu")
    model = Runner(quick_code.build(library, tiny.family), params, num_pages=16)
    made = model.step([("a", tiny.ids)], hidden_rows=range(len(tiny.ids)))
    part = Runner(model.vm, params, num_pages=16, part="draft")
    assert part.metadata["kind"] == "mtp"
    assert "copy_kv_pages" not in part.metadata["functions"]
    assert part.metadata["kv_cache"] == model.metadata["kv_cache"]
    before = [pages.numpy().copy() for pages in model.pages]
    part.pages, part._tables = model.pages, model._tables
    state, wanted = made["hidden_states"][-1:], found["guesses"]
    for guess in wanted:
        part._lengths["a"] = len(tiny.ids) - 1
        work = [("a", [guess["token"]])]
        step = part.step(work, target_states=state, hidden_rows=[0])
        logits, made_state = np.array(guess["logits"]), step["hidden_states"][0]
        kept = logits > logits.min() if draft.spec.clusters else np.full(len(logits), True)
        assert (step["logits"][0, ~kept] < -1e38).all()
        assert kept.sum() == (24 if draft.spec.clusters else 128)  # three of 16 clusters
        _assert_near(step["logits"][0, kept], logits[kept])
        _assert_near(made_state, np.array(guess["state"]))
        # of the reference, so that errors do not add up
        state = np.array([guess["state"]], np.float32)
    for pages, was in zip(model.pages, before, strict=True):
        np.testing.assert_array_equal(pages.numpy(), was)  # nothing is written


def test_pages_behind_the_window_of_the_next_row_are_kept(tmp_path: Path) -> None:
    """The last computed row's window begins one position before that of the next row."""
    tiny = target()
    draft = draft_in(tmp_path, recorded("all tokens"))
    chat = {**tiny.config, "quantization": "q0f32"}
    windows = []
    for more in ({}, {"draft": draft.spec.to_dict()}):
        module = build_module(library_spec({**chat, **more}, device="cpu"), tiny.family)
        layers = json.loads(module["_metadata"].body.body.value)["kv_cache"]["layers"]
        windows.append([layer["sliding_window_size"] for layer in layers])
    # of the model's last layer with a window that has keys and values of its own
    assert windows == [[8, -1, 8, -1], [8, -1, 9, -1]]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"backbone_hidden_size": 96}, "backbone_hidden_size"),
        ({"text_config": {"head_dim": 16}}, "head_dim"),
        ({"text_config": {"global_head_dim": 32}}, "global_head_dim"),
        ({"text_config": {"num_key_value_heads": 2}}, "num_key_value_heads"),
        ({"text_config": {"sliding_window": 4}}, "sliding_window"),
        ({"use_ordered_embeddings": False, "text_config": {"vocab_size": 96}}, "vocab_size"),
    ],
)
def test_an_assistant_of_another_model_is_refused_by_the_field(
    tmp_path: Path, fields: dict[str, Any], named: str
) -> None:
    draft = draft_in(tmp_path, changed(**fields))
    with pytest.raises(InvalidRequestError, match=f"{named} is .* another model") as caught:
        draft.spec.check(target().typed)
    assert caught.value.param == named


def test_it_drafts_for_gemma_4_alone(tmp_path: Path) -> None:
    draft = draft_in(tmp_path, recorded("all tokens"))
    with pytest.raises(InvalidRequestError, match="Gemma 4 alone") as caught:
        draft.spec.check(family_fixtures.load("gemma3_text").typed)
    assert caught.value.param == "model_type"


@pytest.mark.parametrize(
    ("fields", "error", "named"),
    [
        ({"tie_word_embeddings": False}, UnsupportedError, "tie_word_embeddings"),
        ({"text_config": {"enable_moe_block": True}}, UnsupportedError, "enable_moe_block"),
        ({"text_config": {"use_double_wide_mlp": True}}, UnsupportedError, "use_double_wide_mlp"),
        ({"backbone_hidden_size": None}, CorruptFileError, "backbone_hidden_size"),
        ({"num_centroids": 0}, CorruptFileError, "num_centroids"),
        ({"num_centroids": 7}, CorruptFileError, "num_centroids"),
        ({"centroid_intermediate_top_k": 17}, CorruptFileError, "num_centroids"),
    ],
)
def test_configs_that_cannot_be_are_refused(
    tmp_path: Path, fields: dict[str, Any], error: type[MLCError], named: str
) -> None:
    with pytest.raises(error) as caught:
        draft_in(tmp_path, changed(**fields))
    assert caught.value.param == named


def test_clusters_must_name_each_token_once(tmp_path: Path) -> None:
    twice = np.zeros(128, np.int64)
    with pytest.raises(CorruptFileError, match="each of them once"):
        draft_in(tmp_path, recorded("clusters"), **{published_assistant.ORDERING: twice})
    folder = tmp_path / "without"
    folder.mkdir()
    config = {**recorded("clusters"), "use_ordered_embeddings": False}
    draft_in(folder, config)  # writes no order
    published = json.dumps(recorded("clusters"))
    (folder / "config.json").write_text(published)
    with pytest.raises(CorruptFileError, match="token_ordering is missing"):
        Draft(folder, 6)


@pytest.mark.parametrize("change", [{"model_config": 3}, {"target_size": -1}, {"clusters": 5}])
def test_a_damaged_config_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    told = draft_in(tmp_path, recorded("clusters")).spec.to_dict()
    with pytest.raises(CorruptFileError):
        draft_of({"draft": {**told, **change}})


def test_gpus_are_refused(tmp_path: Path) -> None:
    tiny, draft = target(), draft_in(tmp_path, recorded("all tokens"))
    spec = library_spec(
        {**tiny.config, "quantization": "q0f32", "draft": draft.spec.to_dict()}, device="opencl"
    )
    with pytest.raises(UnsupportedError, match="a CPU alone") as caught:
        quick_code.build(spec, tiny.family)
    assert caught.value.param == "draft"


def _assert_near(found: Any, want: Any) -> None:
    assert found.shape == want.shape
    assert np.abs(found - want).max() < 1e-3 * np.abs(want).max()

"""Medusa's heads: their files, and the function that the compiler builds of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import family_fixtures
import medusa_files
import numpy as np
import pytest
import quick_code
from vm_runner import Runner

from mlc_llm.compiler import reference
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.convert.drafts import Draft
from mlc_llm.compiler.drafts import MedusaSpec, draft_of
from mlc_llm.errors import CorruptFileError, InvalidRequestError, MLCError, UnsupportedError

FIXTURE = "qwen2_window"


@pytest.mark.parametrize(
    "draft",
    [
        MedusaSpec(heads=3, blocks=1),
        MedusaSpec(heads=2, blocks=2, tokens=(5, 0, 17, 90, 41)),
        MedusaSpec(heads=1, blocks=1, tokens=tuple(range(64))),
    ],
)
def test_logits_are_those_of_the_reference(draft: MedusaSpec) -> None:
    fixture = family_fixtures.load(FIXTURE)
    decoder = replace(fixture.spec, draft=draft)
    params = {**fixture.params(), **medusa_files.drawn(decoder)}
    chat = {**fixture.config, "quantization": "q0f32", "prefill_chunk_size": 64}
    chat |= {"model_type": fixture.config["model_type"], "draft": draft.to_dict()}
    spec = library_spec(chat, device="cpu")
    module = quick_code.build(spec, fixture.family)
    target = Runner(module, params, num_pages=16)
    states = target.step([("a", fixture.ids)], hidden_rows=range(len(fixture.ids)))["hidden_states"]
    heads = Runner(target.vm, params, part="draft")
    assert heads.metadata["kind"] == "medusa"
    found = heads.head(states).reshape(len(states), draft.heads, -1)
    want = reference.medusa(decoder, params, states)
    has = np.isfinite(want)
    assert has.sum() == len(states) * draft.heads * draft.rows(decoder)
    assert np.abs(found[has] - want[has]).max() < 1e-3 * np.abs(want[has]).max()
    assert (found[~has] < -1e38).all()
    assert np.array_equal(heads.head(states[3:4]), found.reshape(len(states), -1)[3:4])


def test_a_config_tells_of_the_heads() -> None:
    for draft in (MedusaSpec(heads=3, blocks=1), MedusaSpec(heads=1, blocks=2, tokens=(4, 2))):
        assert draft_of(json.loads(json.dumps({"draft": draft.to_dict()}))) == draft
    assert draft_of({}) is None


@pytest.mark.parametrize(
    "draft",
    [
        3,
        {"kind": "tea"},
        {"kind": "medusa", "heads": 0, "blocks": 1},
        {"kind": "medusa", "heads": 1},
        {"kind": "medusa", "heads": 1, "blocks": 1, "tokens": [-1]},
        {"kind": "medusa", "heads": 1, "blocks": 1, "tokens": 7},
    ],
)
def test_a_damaged_config_is_refused(draft: Any) -> None:
    with pytest.raises(CorruptFileError):
        draft_of({"draft": draft})


@pytest.mark.parametrize("prefix", ["", "medusa_head."])
def test_published_files_are_read_by_both_forms_of_their_names(tmp_path: Path, prefix: str) -> None:
    tensors = medusa_files.tensors(heads=2, hidden=4, rows=6)
    medusa_files.write(tmp_path, {prefix + name: value for name, value in tensors.items()}, heads=2)
    draft = Draft(tmp_path)
    assert draft.spec == MedusaSpec(heads=2, blocks=1)
    assert np.array_equal(draft.read("medusa_head.1.1.weight"), tensors["1.1.weight"])


def test_a_map_says_of_which_tokens_the_rows_are(tmp_path: Path) -> None:
    tensors = medusa_files.tensors(heads=1, hidden=4, rows=3) | {"d2t": np.array([2, 2, 7])}
    medusa_files.write(tmp_path, tensors, heads=1)
    draft = Draft(tmp_path)
    assert draft.spec.tokens == (2, 3, 9)
    assert set(draft.tensors) == {f"medusa_head.{name}" for name in tensors if name != "d2t"}
    with pytest.raises(InvalidRequestError, match="token 9"):
        draft.spec.check(SimpleNamespace(vocab_size=9))  # type: ignore[arg-type]


def _without(name: str) -> Any:
    def change(folder: Path) -> None:
        tensors = medusa_files.tensors(heads=2, hidden=4, rows=6)
        del tensors[name]
        medusa_files.write(folder, tensors, heads=2)

    return change


def _with(heads: Any = 2, **more: Any) -> Any:
    def change(folder: Path) -> None:
        tensors = medusa_files.tensors(heads=2, hidden=4, rows=6)
        medusa_files.write(folder, tensors | more, heads=heads)

    return change


def _cut(folder: Path) -> None:
    _with()(folder)
    file = next(folder.glob("*.safetensors"))
    file.write_bytes(file.read_bytes()[:-9])


def _torch(folder: Path) -> None:
    (folder / "medusa_lm_head.pt").write_bytes(b"x")


DAMAGES = {
    "no folder": (lambda folder: folder.rmdir(), MLCError),
    "no weights": (lambda folder: None, MLCError),
    "torch weights": (_torch, UnsupportedError),
    "a file that was cut off": (_cut, CorruptFileError),
    "no head": (lambda folder: medusa_files.write(folder, {"x": np.ones(3)}, heads=1),
                UnsupportedError),
    "too many heads": (_with(heads=1000), CorruptFileError),
    "no number of heads": (_with(heads="2"), CorruptFileError),
    "one token twice": (_with(d2t=np.array([1, 0, 0, 0, 0, 0])), CorruptFileError),
    "a token below 0": (_with(d2t=np.array([-1, 0, 0, 0, 0, 0])), CorruptFileError),
    "a map of floats": (_with(d2t=np.zeros(6, np.float32)), CorruptFileError),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_refused(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "heads"
    folder.mkdir()
    change, error = DAMAGES[damage]
    change(folder)
    with pytest.raises(error) as caught:
        Draft(folder)
    assert caught.value.param

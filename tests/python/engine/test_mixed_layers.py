"""An engine over layers of different heads, sizes and windows, of which one is recurrent and one
reads another's pages: the family of `compiler/support/toy_family.py`, judged by its NumPy
reference.

Answers are the same in chunks, from found prefixes, in a tight pool, with drafts that are taken
back, and behind a saved state; also those to prompts with embedding rows, which C++ tests send.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import engine_ways
import numpy as np
import pytest
import tiny_models
from engine_ways import (
    PROMPT,
    TREES,
    WAYS,
    Model,
    check_a_chat,
    check_a_saved_state,
    check_preemption,
    engine_of,
    prompt_ids,
)

from mlc_llm.errors import UnsupportedError

sys.path.insert(0, str(Path(__file__).parents[1] / "compiler" / "support"))

import toy_reference  # noqa: E402
from toy_family import LAYERS, ToyConfig  # noqa: E402

BINARY = Path(__file__).resolve().parents[3] / "build/dev/core/mlc_core_test"
MIXED, WITHOUT_STATES = ToyConfig(), ToyConfig(layers=(LAYERS[0], *LAYERS[2:]))
MAX_TOKENS = 24
ask = functools.partial(engine_ways.ask, max_tokens=MAX_TOKENS)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """The folder and the library of the toy."""
    return written(MIXED, tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="module")
def without_states(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return written(WITHOUT_STATES, tmp_path_factory.mktemp("toy"))


def written(toy: ToyConfig, folder: Path, module: Any = None) -> Model:
    from mlc_llm.compiler.convert.mlc_writer import WeightWriter
    from mlc_llm.compiler.quantization import StoredParam
    from mlc_llm.compiler.trailer import trailer

    module, weights = module or toy_reference.module(toy), toy_reference.weights(toy)
    library = folder / "toy.so"
    module.export_library(str(library))
    data = library.read_bytes()
    library.write_bytes(data + trailer(data))
    writer = WeightWriter(folder)
    for name, value in weights.items():
        writer.add(StoredParam(name, value.shape, "float32"), [value])
    writer.finish(original_elements=sum(value.size for value in weights.values()))
    (folder / "tokenizer.json").write_bytes(tiny_models.tokenizer_json())
    extras = {"chat_template": tiny_models.TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(extras))
    config = {
        "model_type": "toy",
        "quantization": "q0f32",
        "context_window_size": toy.context_window_size,
        "vocab_size": toy.vocab_size,
        "tokenizer_files": ["tokenizer.json", "tokenizer_config.json"],
        "eos_token_id": 2,
        "bos_token_id": 1,
        "pad_token_id": 0,
    }
    (folder / "mlc-chat-config.json").write_text(json.dumps(config))
    return folder, library


def continued(
    ids: list[int], toy: ToyConfig = MIXED, rows: dict[int, Any] | None = None
) -> tuple[list[int], list[float]]:
    """NumPy's greedy answer; the engine knows no token that the tokenizer does not have."""
    ids, found, known, begin = list(ids), [], len(tiny_models.tokens()), len(ids)
    for _ in range(MAX_TOKENS):
        last = toy_reference.expected(ids, toy, rows)[-1][:known]
        ids.append(int(last.argmax()))
        found.append(float(last.max() - np.log(np.exp(last).sum())))
    return ids[begin:], found


@pytest.fixture(scope="module")
def greedy() -> list[float]:
    return continued(prompt_ids(PROMPT))[1]


def test_a_chat_is_what_numpy_says(model: Model, greedy: list[float]) -> None:
    check_a_chat(model, greedy, 1e-4, ask)


@pytest.mark.parametrize("name", WAYS)
def test_every_way_through_the_engine_gives_the_same(
    name: str, model: Model, greedy: list[float]
) -> None:
    with engine_of(model, **WAYS[name]) as engine:
        np.testing.assert_allclose(ask(engine), [greedy], atol=1e-4)
        np.testing.assert_allclose(ask(engine, n=2), [greedy] * 2, atol=1e-4)


def test_preempted_chats_go_on(model: Model, greedy: list[float]) -> None:
    np.testing.assert_allclose(check_preemption(model, ask)[0], [greedy], atol=1e-4)


def test_token_trees_over_mixed_layers(without_states: Model) -> None:
    want = continued(prompt_ids(PROMPT), WITHOUT_STATES)[1]
    with engine_of(without_states, **TREES) as engine:
        np.testing.assert_allclose(ask(engine), [want], atol=1e-4)
        np.testing.assert_allclose(ask(engine, n=2), [want] * 2, atol=1e-4)


def test_token_trees_over_states_are_refused_by_name(model: Model) -> None:
    with pytest.raises(UnsupportedError, match="spec_tree_width"):
        engine_of(model, **TREES)


def test_a_saved_state_holds_every_layers_pages(
    model: Model, greedy: list[float], tmp_path: Path
) -> None:
    check_a_saved_state(model, greedy, 1e-4, tmp_path, ask)


def test_prompts_with_embedding_rows(model: Model, tmp_path: Path) -> None:
    if not BINARY.exists():
        pytest.skip("the C++ tests are not built; ./dev build builds them")
    rng, text = np.random.RandomState(4), prompt_ids(PROMPT)
    cases = []
    for ids, places in ((text, range(5, 25)), (text[3:], range(2)), (text[:40], range(0))):
        rows = {at: rng.standard_normal(MIXED.hidden_size).astype("f4") for at in places}
        answer, logprobs = continued(ids, MIXED, rows)
        prompt = [[float(v) for v in rows[at]] if at in rows else t for at, t in enumerate(ids)]
        cases.append({"prompt": prompt, "ids": answer, "logprobs": logprobs})
    (tmp_path / "prompts.json").write_text(json.dumps(cases))
    files = {"": model[0], "_LIB": model[1]}
    run = subprocess.run(
        [BINARY, "--gtest_filter=CompiledToy.*"],
        env={
            **os.environ,
            **{f"MLC_TEST_MODEL{suffix}": str(path) for suffix, path in files.items()},
            "MLC_TEST_PROMPTS": str(tmp_path / "prompts.json"),
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "SKIPPED" not in run.stdout and "[  PASSED  ] 5 tests." in run.stdout

"""An engine over layers of different heads, sizes and windows, of which one is recurrent and one
reads another's pages: the family of `compiler/support/toy_family.py`, judged by its NumPy
reference.

Answers are the same in chunks, from found prefixes, in a tight pool, with drafts that are taken
back, and behind a saved state; also those to prompts with embedding rows, which C++ tests send.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models

from mlc_llm import MLCEngine
from mlc_llm.errors import UnsupportedError

sys.path.insert(0, str(Path(__file__).parents[1] / "compiler" / "support"))

import toy_reference  # noqa: E402
from toy_family import LAYERS, ToyConfig  # noqa: E402

BINARY = Path(__file__).resolve().parents[3] / "build/dev/core/mlc_core_test"
MIXED, WITHOUT_STATES = ToyConfig(), ToyConfig(layers=(LAYERS[0], *LAYERS[2:]))
MAX_TOKENS = 24
PROMPT = "a sea, a sun, a sea, a sun; " * 3
ENGINES: dict[str, dict[str, Any]] = {
    "chunks": {"prefill_chunk_size": 16},
    "no prefixes": {"prefix_cache_mode": "disable"},
    "drafts": {"speculative_mode": "prompt_lookup", "spec_draft_length": 4},
}
TREES = {"speculative_mode": "prompt_lookup", "spec_draft_length": 4, "spec_tree_width": 3}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder and the library of the toy."""
    return written(MIXED, tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="module")
def without_states(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return written(WITHOUT_STATES, tmp_path_factory.mktemp("toy"))


def written(toy: ToyConfig, folder: Path) -> tuple[Path, Path]:
    from mlc_llm.compiler.convert.mlc_writer import WeightWriter
    from mlc_llm.compiler.quantization import StoredParam
    from mlc_llm.compiler.trailer import trailer

    module, weights = toy_reference.module(toy), toy_reference.weights(toy)
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


def engine_of(model: tuple[Path, Path], **config: Any) -> MLCEngine:
    return MLCEngine(str(model[0]), model_lib=str(model[1]), device="cpu", engine_config=config)


def ask(engine: MLCEngine, text: str = PROMPT, n: int = 1) -> list[list[float]]:
    """The logprobs of greedy answers, which tell two tokens apart in all but a tie."""
    made: Any = engine.chat.completions.create(
        messages=[{"role": "user", "content": text}],
        n=n,
        max_tokens=MAX_TOKENS,
        temperature=0,
        logprobs=True,
        debug_config={"ignore_eos": True},
    )
    return [[token.logprob for token in choice.logprobs.content] for choice in made.choices]


def prompt_ids(text: str) -> list[int]:
    """As the template and the tokenizer of `tiny_models` make them; `text` has no "th"."""
    words = tiny_models.tokens()

    def letters(part: str) -> list[int]:
        return [words.index({" ": "\u0120", "\n": "\u010a"}.get(c, c)) for c in part]

    begin, end = words.index("<|im_start|>"), words.index("<|im_end|>")
    user = [begin, *letters("user\n" + text), end, *letters("\n")]
    return [*user, begin, *letters("assistant\n")]


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


def test_a_chat_is_what_numpy_says(model: tuple[Path, Path], greedy: list[float]) -> None:
    with engine_of(model) as engine:
        first = ask(engine)
        np.testing.assert_allclose(first, [greedy], atol=1e-4)
        assert ask(engine) == first  # from the prefix that is kept
        assert ask(engine, n=3) == first * 3  # branches share pages, then write their own
        others = [ask(engine, f"{PROMPT}{i}") for i in range(3)]
        assert ask(engine) == first and others[0] != first


@pytest.mark.parametrize("name", ENGINES)
def test_every_way_through_the_engine_gives_the_same(
    name: str, model: tuple[Path, Path], greedy: list[float]
) -> None:
    with engine_of(model, **ENGINES[name]) as engine:
        np.testing.assert_allclose(ask(engine), [greedy], atol=1e-4)
        np.testing.assert_allclose(ask(engine, n=2), [greedy] * 2, atol=1e-4)


def test_preempted_chats_go_on(model: tuple[Path, Path], greedy: list[float]) -> None:
    others = [PROMPT, f"b{PROMPT}", f"c{PROMPT}"]
    config = {"max_total_seq_length": 224, "max_num_sequence": 3}
    with engine_of(model) as engine:
        alone = [ask(engine, text) for text in others]
    with engine_of(model, **config) as engine, ThreadPoolExecutor(len(others)) as pool:
        for _ in range(50):  # in some rounds a busy machine runs one thread after another
            assert list(pool.map(lambda text: ask(engine, text), others)) == alone
            if engine.metrics()["num_preemptions"] > 0:
                break
        assert engine.metrics()["num_preemptions"] > 0
    np.testing.assert_allclose(alone[0], [greedy], atol=1e-4)


def test_token_trees_over_mixed_layers(without_states: tuple[Path, Path]) -> None:
    want = continued(prompt_ids(PROMPT), WITHOUT_STATES)[1]
    with engine_of(without_states, **TREES) as engine:
        np.testing.assert_allclose(ask(engine), [want], atol=1e-4)
        np.testing.assert_allclose(ask(engine, n=2), [want] * 2, atol=1e-4)


def test_token_trees_over_states_are_refused_by_name(model: tuple[Path, Path]) -> None:
    with pytest.raises(UnsupportedError, match="spec_tree_width"):
        engine_of(model, **TREES)


def test_a_saved_state_holds_every_layers_pages(
    model: tuple[Path, Path], greedy: list[float], tmp_path: Path
) -> None:
    messages: Any = [{"role": "user", "content": PROMPT}]
    with engine_of(model) as engine:
        saved = engine.save_kv(messages, tmp_path / "chat.kv")
    with engine_of(model) as engine:
        assert engine.load_kv(tmp_path / "chat.kv").tokens == saved.tokens
        np.testing.assert_allclose(ask(engine), [greedy], atol=1e-4)


def test_prompts_with_embedding_rows(model: tuple[Path, Path], tmp_path: Path) -> None:
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

"""An engine over layers of different heads, sizes and windows, one of which reads another's pages:
the toy family of `compiler/test_decoder.py`, whose NumPy reference is the judge.

Answers are the same in chunks, from found prefixes, in a tight pool, with drafts that are taken
back, and behind a saved state.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models

from mlc_llm import MLCEngine

sys.path.insert(0, str(Path(__file__).parents[1] / "compiler"))

import test_decoder  # noqa: E402

MAX_TOKENS = 24
PROMPT = "a sea, a sun, a sea, a sun; " * 3
ENGINES: dict[str, dict[str, Any]] = {
    "chunks": {"prefill_chunk_size": 16},
    "no prefixes": {"prefix_cache_mode": "disable"},
    "drafts": {"speculative_mode": "prompt_lookup", "spec_draft_length": 4},
    "trees": {
        "speculative_mode": "prompt_lookup",
        "spec_draft_length": 4,
        "spec_tree_width": 3,
    },
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder and the library of the toy."""
    from mlc_llm.compiler.convert.mlc_writer import WeightWriter
    from mlc_llm.compiler.quantization import StoredParam
    from mlc_llm.compiler.trailer import trailer

    folder = tmp_path_factory.mktemp("toy")
    module, weights = test_decoder.toy()
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
        "context_window_size": test_decoder.ToyConfig.context_window_size,
        "vocab_size": test_decoder.VOCABULARY,
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


@pytest.fixture(scope="module")
def greedy() -> list[float]:
    """NumPy's answer; the engine knows no token that the tokenizer does not have."""
    ids, found, known = prompt_ids(PROMPT), [], len(tiny_models.tokens())
    for _ in range(MAX_TOKENS):
        last = test_decoder.expected(ids)[-1][:known]
        ids.append(int(last.argmax()))
        found.append(float(last.max() - np.log(np.exp(last).sum())))
    return found


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


def test_a_saved_state_holds_every_layers_pages(
    model: tuple[Path, Path], greedy: list[float], tmp_path: Path
) -> None:
    messages: Any = [{"role": "user", "content": PROMPT}]
    with engine_of(model) as engine:
        saved = engine.save_kv(messages, tmp_path / "chat.kv")
    with engine_of(model) as engine:
        assert engine.load_kv(tmp_path / "chat.kv").tokens == saved.tokens
        np.testing.assert_allclose(ask(engine), [greedy], atol=1e-4)

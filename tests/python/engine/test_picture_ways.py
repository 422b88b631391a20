"""Whatever way a picture takes through the engine, its answer has the same bits: chunks, prefixes,
branches, batches, preemption and saved chats, for each kind of tower and layout."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import engine_ways
import numpy as np
import pytest
from PIL import Image

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import resolve_model

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "compiler" / "support"), str(TESTS / "convert")]

import tiny_pictures  # noqa: E402

# Those of Qwen are in test_qwen_pictures.py.
CASES = [
    name
    for name in tiny_pictures.tower_cases.CASES
    if name not in tiny_pictures.tower_qwen.CASES and name not in ("idefics3", "internvl")
]  # which differ from SmolVLM and InternVL in names alone
# Rows that see each other, states beside rows, inputs of layers, rows of any number.
USUAL = ("gemma3", "lfm2_vl", "gemma4", "mistral3")
SIZES = [(40, 40), (36, 24)]
TOKENS, TEXT, PAGE = 40, "a sea, a sun", 16


@pytest.fixture(scope="module", params=CASES)
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[engine_ways.Model]:
    if request.param not in USUAL and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each tower; run with --long")
    folder = tmp_path_factory.mktemp("ways") / request.param
    found = resolve_model(
        str(tiny_pictures.write_hf_folder(folder, request.param)), quantization="q0f32"
    )
    yield Path(found.folder), Path(found.model_lib)


def message(seed: int = 0, text: str = TEXT) -> Any:
    """Two pictures with text between."""
    rng, parts = np.random.RandomState(seed), []
    for width, height in SIZES:
        file = io.BytesIO()
        pixels = rng.randint(0, 256, (height, width, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(file, "PNG")
        parts.append({"type": "text", "text": text})
        parts.append({"type": "image_url", "image_url": {"url": file.getvalue(), "detail": "low"}})
    return {"role": "user", "content": parts}


def ask(engine: MLCEngine, seed: int = 0, n: int = 1, text: str = TEXT) -> list[list[float]]:
    made: Any = engine.chat.completions.create(
        messages=[message(seed, text)], n=n, max_tokens=TOKENS, temperature=0, logprobs=True,
        debug_config={"ignore_eos": True},
    )  # fmt: skip
    return [[token.logprob for token in choice.logprobs.content] for choice in made.choices]


def test_no_way_changes_the_answer(model: engine_ways.Model, tmp_path: Path) -> None:
    with engine_ways.engine_of(model) as engine, ThreadPoolExecutor(3) as pool:
        first = ask(engine)
        assert ask(engine) == first, "from the prefix that is kept"
        assert ask(engine, n=3) == first * 3, "branches share pages"
        others = list(pool.map(lambda seed: ask(engine, seed), (1, 2, 0)))  # a batch
        assert others == [ask(engine, 1), ask(engine, 2), first]
        assert others[0] != first != others[1], "the pictures count"
        saved = engine.save_kv([message()], tmp_path / "chat.kv")
        asked = engine.input_tokens([message()])
    with engine_ways.engine_of(model, prefix_cache_mode="disable") as engine:
        assert ask(engine) == first, "without prefixes"
    # Rows that see each other go into one step.
    chunk = 64 if "gemma3" in str(model[0]) else 16
    with engine_ways.engine_of(model, prefill_chunk_size=chunk) as engine:
        assert ask(engine) == first, "in chunks"
        assert engine.load_kv(tmp_path / "chat.kv").tokens == saved.tokens
        assert ask(engine) == first, "a saved chat"
    # Two prompts fit, but not their answers too.
    tight = {"max_total_seq_length": 2 * -(-asked // PAGE) * PAGE + 2 * PAGE, "max_num_sequence": 3}
    with engine_ways.engine_of(model, **tight) as engine, ThreadPoolExecutor(3) as pool:
        for _ in range(50):  # in some rounds a busy machine runs one thread after another
            every = list(pool.map(lambda seed: ask(engine, seed), (0, 1, 2)))
            assert every == [first, *others[:2]], "when memory is short"
            if engine.metrics()["num_preemptions"] > 0:
                break
        assert engine.metrics()["num_preemptions"] > 0

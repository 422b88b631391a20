"""What a model recommends is the default of its requests, from its files to the answer.

Its files are `generation_config.json`, or a GGUF file with `general.sampling`. The core fills the
numbers in, so that every binding has them: none sends what its caller did not set (the conformance
vectors' requests come out as they went in).
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import read_chat_config, resolve_folder

sys.path.append(str(Path(__file__).parent / "convert"))

import tiny_models  # noqa: E402

SEEDS = (1, 2, 3)


def recommend_in_gguf(writer) -> None:
    writer.add_float32("general.sampling.temp", 1.0)
    writer.add_int32("general.sampling.top_k", 1)


@pytest.fixture(scope="module", params=["generation_config.json", "GGUF"])
def engine(request, tmp_path_factory, tiny_hf_folder: Path) -> Iterator[MLCEngine]:
    """Of a model that recommends to take the likeliest token, by `top_k` 1."""
    folder = tmp_path_factory.mktemp("recommends")
    if request.param == "GGUF":
        weights = tiny_models.random_weights()
        model = tiny_models.write_gguf(folder / "m.gguf", weights, add_metadata=recommend_in_gguf)
    else:
        model = folder / "model"
        shutil.copytree(tiny_hf_folder, model)
        recommended = {"temperature": 1.0, "top_k": 1}
        (model / "generation_config.json").write_text(json.dumps(recommended))
    engine = MLCEngine(str(model), device="fake")
    yield engine
    engine.terminate()


@pytest.mark.parametrize(
    ("name", "recommended", "penalty"),
    [("SmolLM2 360M", False, 1.15), ("SmolLM2 360M", True, 1.0), ("Tiny", False, 1.0)],
)
def test_a_gguf_file_of_the_embedded_family_has_its_defaults(
    name: str, recommended: bool, penalty: float, tmp_path: Path
) -> None:
    """Unless the file recommends something itself."""

    def add_metadata(writer) -> None:
        writer.add_string("general.basename", name)
        if recommended:
            writer.add_float32("general.sampling.temp", 0.5)

    weights = tiny_models.random_weights()
    file = tiny_models.write_gguf(tmp_path / "m.gguf", weights, add_metadata=add_metadata)
    config = read_chat_config(resolve_folder(file))
    assert config["repetition_penalty"] == penalty
    assert config["temperature"] == (0.5 if recommended else 0.2 if penalty != 1 else 0.7)


def chat(engine: MLCEngine, **options) -> str:
    result = engine.chat.completions.create(
        messages=[{"role": "user", "content": "Hello"}], max_tokens=8, **options
    )
    return str([token.token for token in result.choices[0].logprobs.content])


def complete(engine: MLCEngine, **options) -> str:
    options["logprobs"] = 0
    result = engine.completions.create(prompt="Hello", max_tokens=8, **options)
    return str(result.choices[0].logprobs.tokens)


@pytest.mark.parametrize("ask", [chat, complete])
def test_the_models_own_top_k_is_the_default(engine: MLCEngine, ask) -> None:
    options = {"debug_config": {"ignore_eos": True}, "logprobs": True}
    silent = {ask(engine, seed=seed, **options) for seed in SEEDS}
    assert len(silent) == 1  # the likeliest tokens, whatever the seed
    asked = {ask(engine, seed=seed, top_k=0, temperature=2.0, **options) for seed in SEEDS}
    assert len(asked) == len(SEEDS)

"""Drafts by the MTP layer of tiny models: recurrent layers beside attention (Qwen 3.5), and
attention with experts in four bits (GLM-4.5). The answers are those without drafts.

A bias leaves two letters, so that the guesses of random weights are often right.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import tiny_models
from engine_ways import PROMPT, Model, engine_of
from fixture_models import FixtureModel
from test_experts_engine import compiled

from mlc_llm import MLCEngine, plan
from mlc_llm.errors import UnsupportedError

MODELS = {
    "qwen3_5": (
        FixtureModel(
            "qwen3_5",
            0,
            mtp_num_hidden_layers=1,
            num_hidden_layers=2,
            layer_types=["linear_attention", "full_attention"],
        ),
        "q0f32",
    ),
    "glm4_moe": (
        FixtureModel("glm4_moe", num_nextn_predict_layers=1, num_hidden_layers=2),
        "q4f32_1",
    ),
}
MTP: dict[str, Any] = {"speculative_mode": "mtp", "spec_draft_length": 3}
TIGHT = {"max_total_seq_length": 224, "max_num_sequence": 3, "prefill_chunk_size": 32}
LETTERS: Any = {tiny_models.tokens().index(letter): 60 for letter in "ab"}
SCHEMA = '{"type": "array", "items": {"enum": ["ab", "ba"]}, "minItems": 2, "maxItems": 4}'
ASKED: list[dict[str, Any]] = [
    {"temperature": 0, "logit_bias": LETTERS},
    {"temperature": 1.2, "seed": 5, "logit_bias": LETTERS, "n": 2},
    {"temperature": 0.8, "seed": 6, "repetition_penalty": 1.2},
    {"temperature": 1.0, "seed": 7, "response_format": {"type": "json_object", "schema": SCHEMA}},
]


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Model:
    made, quantization = MODELS[request.param]
    folder = made.written(tmp_path_factory.mktemp(request.param), quantization)
    return folder, compiled(folder, "cpu")


def answer(engine: MLCEngine, fields: dict[str, Any], text: str = PROMPT) -> list[Any]:
    made: Any = engine.chat.completions.create(
        messages=[{"role": "user", "content": text}],
        **{"max_tokens": 24, "logprobs": True, **fields},
        debug_config={"ignore_eos": "response_format" not in fields},
    )
    return [
        [(token.token, token.logprob) for token in choice.logprobs.content]
        for choice in made.choices
    ]


def accepted(engine: MLCEngine) -> int:
    return sum(engine.metrics()["spec_decode"]["accept_count"][1:])


def test_answers_are_those_without_drafts(model: Model) -> None:
    with engine_of(model) as engine:
        expected = [answer(engine, fields) for fields in ASKED]
    for way in ({}, {"prefix_cache_mode": "disable"}, {"prefill_chunk_size": 16}):
        with engine_of(model, **MTP, **way) as engine:
            for _ in range(2):  # again from the prefixes that are kept
                assert [answer(engine, fields) for fields in ASKED] == expected
            assert accepted(engine) > 20


def test_batches_and_preempted_requests_get_the_same(model: Model) -> None:
    texts = [PROMPT, f"b{PROMPT}", f"c{PROMPT}"]
    fields = {**ASKED[1], "n": 1}
    with engine_of(model) as engine:
        alone = [answer(engine, fields, text) for text in texts]
    with engine_of(model, **MTP, **TIGHT) as engine, ThreadPoolExecutor(len(texts)) as pool:
        for _ in range(50):  # in some rounds a busy machine runs one thread after another
            found = pool.map(lambda text: answer(engine, fields, text), texts)
            assert list(found) == alone
            if engine.metrics()["num_preemptions"] > 0:
                break
        assert engine.metrics()["num_preemptions"] > 0
        assert accepted(engine) > 20


def test_only_an_engine_that_drafts_needs_memory_for_the_layer(model: Model) -> None:
    options: Any = {"model_lib": str(model[1]), "device": "cpu"}
    without = plan(str(model[0]), **options)
    drafts = plan(str(model[0]), engine_config=MTP, **options)
    assert drafts.parameter_bytes > without.parameter_bytes
    assert drafts.kv_bytes_per_token > without.kv_bytes_per_token


def test_a_model_without_the_layer_says_so(tiny_model: Any) -> None:
    options: Any = {"model_lib": tiny_model.model_lib, "device": "cpu", "engine_config": MTP}
    for use in (MLCEngine, plan):
        with pytest.raises(UnsupportedError, match="MTP layer") as caught:
            use(tiny_model.folder, **options)
        assert caught.value.param == "speculative_mode"

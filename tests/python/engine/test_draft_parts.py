"""Drafts by parts of tiny models that read hidden states. The answers are those without drafts. MTP
layers: recurrent layers beside attention (Qwen 3.5), and attention with experts in four bits
(GLM-4.5). Medusa's heads and Eagle's layers: with all tokens, and with some in four bits. Gemma 4's
assistant, which reads the model's pages: with all tokens, and with clusters in four bits.

A bias leaves two letters, so that the guesses of random weights are often right.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from engine_ways import PROMPT, Model, engine_of
from fixture_models import FixtureModel
from medusa_files import tensors as medusa_tensors
from medusa_files import write as write_medusa
from published_assistant import recorded as recorded_assistant
from published_assistant import weights as assistant_weights
from published_assistant import write as write_assistant
from published_eagle import config as eagle_config
from published_eagle import first as first_eagle
from published_eagle import third as third_eagle
from published_eagle import write as write_eagle
from test_experts_engine import compiled

from mlc_llm import MLCEngine, plan
from mlc_llm.errors import CorruptFileError, UnsupportedError

FIRST = "qwen3_5, first tokens"
QWEN = FixtureModel(
    "qwen3_5",
    0,
    mtp_num_hidden_layers=1,
    num_hidden_layers=2,
    layer_types=["linear_attention", "full_attention"],
)
MODELS = {
    "qwen3_5": (QWEN, "q0f32"),
    FIRST: (QWEN, "q4f16_0"),
    "glm4_moe": (
        FixtureModel("glm4_moe", num_nextn_predict_layers=1, num_hidden_layers=2),
        "q4f32_1",
    ),
}
MEDUSA: dict[str, tuple[str, str, list[str]]] = {
    "medusa": ("llama_llama3", "q0f32", tiny_models.tokens()),
    "medusa, some tokens": ("qwen2_window", "q4f32_1", [*"abcde", "<|im_end|>"]),
}
EAGLE: dict[str, tuple[str, str]] = {
    "eagle 1": ("llama_llama3", "q4f32_1"),
    "eagle 3": ("qwen2_window", "q0f32"),
    "eagle 3, some tokens": ("qwen3_5", "q4f32_1"),
}
GEMMA = FixtureModel(
    "gemma4_text",
    num_hidden_layers=4,
    layer_types=["sliding_attention", "full_attention"] * 2,
    vocab_size_per_layer_input=len(tiny_models.tokens()),
)
ASSISTANTS = {"assistant": ("all tokens", "q0f32"), "assistant, clusters": ("clusters", "q4f32_1")}
# A part of each kind: first tokens, a table, clusters, states, experts and four bits once.
USUAL = (FIRST, "glm4_moe", "medusa, some tokens", "eagle 1", "eagle 3, some tokens")
USUAL += ("assistant, clusters",)
Drafting = tuple[Model, dict[str, Any]]
OFF = {"speculative_mode": "disable"}
TABLE = 16 << 20  # what a named mode looks up in
TIGHT = {"max_total_seq_length": 224, "max_num_sequence": 3, "prefill_chunk_size": 32}
LETTERS: Any = {tiny_models.tokens().index(letter): 60 for letter in "ab"}
SCHEMA = '{"type": "array", "items": {"enum": ["ab", "ba"]}, "minItems": 2, "maxItems": 4}'
ASKED: list[dict[str, Any]] = [
    {"temperature": 0, "logit_bias": LETTERS},
    {"temperature": 1.2, "seed": 5, "logit_bias": LETTERS, "n": 2},
    {"temperature": 0.8, "seed": 6, "repetition_penalty": 1.2},
    {"temperature": 1.0, "seed": 7, "response_format": {"type": "json_object", "schema": SCHEMA}},
]


@pytest.fixture(scope="module", params=[*MODELS, *MEDUSA, *EAGLE, *ASSISTANTS])
def drafting(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Drafting:
    """A model, and the settings with which it drafts."""
    if request.param not in USUAL and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each part; run with --long")
    folder, draft = tmp_path_factory.mktemp("model"), None
    if request.param in MODELS:
        mode, (made, quantization) = "mtp", MODELS[request.param]
    elif request.param in ASSISTANTS:
        kind, quantization = ASSISTANTS[request.param]
        mode, made = "mtp", GEMMA
        draft = assistant(folder / "assistant", kind)
    elif request.param in EAGLE:
        mode, (name, quantization) = "eagle", EAGLE[request.param]
        made = FixtureModel(name)
        draft = eagle(folder / "eagle", request.param, made)
    else:
        name, quantization, tokens = MEDUSA[request.param]
        mode, made = "medusa", FixtureModel(name)
        draft = heads(folder / "heads", made.typed.hidden_size, tokens)
    model = made.written(folder, quantization, draft)
    some = {"overrides": "draft_vocab_size=112"} if request.param == FIRST else {}
    return (model, compiled(model, "cpu", **some)), {
        "speculative_mode": mode,
        "spec_draft_length": 3,
    }


def heads(folder: Path, hidden: int, tokens: list[str]) -> Path:
    ids = np.array([tiny_models.tokens().index(token) for token in tokens])
    tensors = medusa_tensors(heads=3, hidden=hidden, rows=len(ids))
    tensors["d2t"] = ids - np.arange(len(ids))
    return write_medusa(folder, tensors, heads=3)


def assistant(folder: Path, kind: str) -> Path:
    """The recorded one with the vocabulary of this model."""
    config = recorded_assistant()["kinds"][kind]["config"]
    rows, clusters = GEMMA.typed.vocab_size, 1
    if config["use_ordered_embeddings"]:
        clusters = next(n for n in range(16, 1, -1) if rows % n == 0)
    config["text_config"]["vocab_size"] = rows
    config |= {"num_centroids": clusters, "centroid_intermediate_top_k": max(clusters - 1, 1)}
    target = GEMMA.family.decoder(GEMMA.typed)
    tensors = assistant_weights(config, target, seed=5)
    return write_assistant(folder, tensors, config)


def eagle(folder: Path, kind: str, model: FixtureModel) -> Path:
    hidden, rows = model.typed.hidden_size, model.typed.vocab_size
    config = eagle_config(hidden, vocab_size=rows)
    if kind == "eagle 1":
        # its states have no norm before the head: the bias must stay the largest part of logits
        small = {n: value / 8 for n, value in first_eagle(hidden, vocab_size=rows).items()}
        return write_eagle(folder, small, config)
    some = [tiny_models.tokens().index(token) for token in [*"abcde", "<|im_end|>"]]
    tensors = third_eagle(hidden, some if "some" in kind else None, rows=rows)
    chosen = {"eagle_aux_hidden_state_layer_ids": [1, 2, 3]}
    return write_eagle(folder, tensors, {**config, **chosen})


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


def looked_up(engine: MLCEngine) -> int:
    return engine.metrics().get("prompt_lookup", {}).get("accept_count", 0)


def test_answers_are_those_without_drafts(drafting: Drafting) -> None:
    model, drafts = drafting
    with engine_of(model, **OFF) as engine:
        expected = [answer(engine, fields) for fields in ASKED]
    for way in ({}, {"prefix_cache_mode": "disable"}, {"prefill_chunk_size": 16}):
        with engine_of(model, **drafts, **way) as engine:
            for _ in range(2):  # again from the prefixes that are kept
                assert [answer(engine, fields) for fields in ASKED] == expected
            assert accepted(engine) > 20
            assert accepted(engine) > looked_up(engine) > 0  # the part's drafts, and found ones


def test_trees_give_the_same_where_states_branch(drafting: Drafting) -> None:
    """Whole trees, and those of which the drafter's probabilities choose a part."""
    model, drafts = drafting
    trees = {**drafts, "spec_tree_width": 3}
    config = json.loads((Path(model[0]) / "mlc-chat-config.json").read_text())
    if config["model_type"].startswith("qwen3_5"):
        with pytest.raises(UnsupportedError, match="states do not branch"):
            engine_of(model, **trees)
        return
    with engine_of(model, **OFF) as engine:
        expected = [answer(engine, fields) for fields in ASKED]
    for length in (3, 0):
        with engine_of(model, **{**trees, "spec_draft_length": length}) as engine:
            assert [answer(engine, fields) for fields in ASKED] == expected
            assert length == 0 or accepted(engine) > 10


def test_batches_and_preempted_requests_get_the_same(drafting: Drafting) -> None:
    model, drafts = drafting
    texts = [PROMPT, f"b{PROMPT}", f"c{PROMPT}"]
    fields = {**ASKED[1], "n": 1}
    with engine_of(model, **OFF) as engine:
        alone = [answer(engine, fields, text) for text in texts]
    with engine_of(model, **drafts, **TIGHT) as engine, ThreadPoolExecutor(len(texts)) as pool:
        for _ in range(50):  # in some rounds a busy machine runs one thread after another
            found = pool.map(lambda text: answer(engine, fields, text), texts)
            assert list(found) == alone
            if engine.metrics()["num_preemptions"] > 0:
                break
        assert engine.metrics()["num_preemptions"] > 0
        assert accepted(engine) > 20


def test_only_an_engine_that_drafts_needs_memory_for_it(drafting: Drafting) -> None:
    model, settings = drafting
    options: Any = {"model_lib": str(model[1]), "device": "cpu"}
    without = plan(str(model[0]), engine_config=OFF, **options)
    drafts = plan(str(model[0]), engine_config=settings, **options)
    assert drafts.parameter_bytes > without.parameter_bytes
    config = json.loads((Path(model[0]) / "mlc-chat-config.json").read_text())
    has_pages = settings["speculative_mode"] != "medusa" and config["model_type"] != "gemma4_text"
    assert (drafts.kv_bytes_per_token > without.kv_bytes_per_token) == has_pages


def test_the_part_drafts_where_no_mode_is_named(drafting: Drafting) -> None:
    model, settings = drafting
    options: Any = {"model_lib": str(model[1]), "device": "cpu"}

    def planned(**config: Any) -> Any:
        return plan(str(model[0]), engine_config=config, **options)

    drafts, without = planned(**{**settings, "spec_draft_length": 0}), planned(**OFF)
    assert planned().total_bytes + TABLE == drafts.total_bytes > without.total_bytes + TABLE
    with engine_of(model) as engine:
        answer(engine, ASKED[0])
        assert "spec_decode" in engine.metrics()
    with engine_of(model, spec_draft_length=2) as engine:  # the part's
        answer(engine, ASKED[0])
        assert len(engine.metrics()["spec_decode"]["draft_count"]) == 3
    assert planned(mode="server").parameter_bytes == without.parameter_bytes
    tight = {"memory_limit_bytes": without.total_bytes}  # texts would lose their pages
    assert planned(**tight).total_bytes == without.total_bytes
    shaped = {**tight, "spec_draft_length": 2, "spec_tree_width": 2}  # also left out
    assert planned(**shaped).total_bytes == without.total_bytes
    for options_of_engine in (tight, shaped):
        with engine_of(model, **options_of_engine) as engine:
            answer(engine, ASKED[0])
            assert "spec_decode" not in engine.metrics()


@pytest.mark.parametrize(
    ("mode", "what"), [("mtp", "MTP layer"), ("medusa", "--draft DIR"), ("eagle", "--draft DIR")]
)
def test_a_model_without_the_part_says_so(tiny_model: Any, mode: str, what: str) -> None:
    options: Any = {"model_lib": tiny_model.model_lib, "device": "cpu"}
    options["engine_config"] = {"speculative_mode": mode}
    for use in (MLCEngine, plan):
        with pytest.raises(UnsupportedError, match=what) as caught:
            use(tiny_model.folder, **options)
        assert caught.value.param == "speculative_mode"


def test_heads_of_another_model_are_refused(tmp_path: Path) -> None:
    model = FixtureModel("qwen2_window")
    draft = heads(tmp_path / "heads", model.typed.hidden_size + 8, [*"abc"])
    with pytest.raises(CorruptFileError, match="the config asks for"):
        model.written(tmp_path, draft=draft)

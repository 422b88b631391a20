"""The embedded model in q0f32 against an independent NumPy float64 forward pass.

Logits are recomputed by the reference here, for one prompt and a few steps; the 64-token
continuations of three prompts were recorded by `record.py`.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from record import tokenizer

STEPS = 16  # with --long
SHORT = 6
TOLERANCE = 1e-3  # relative; what is measured is about 1e-6


@pytest.fixture(scope="module")
def model(prepared):
    """The compiled library in the C++ core; `forward(ids)` appends to a sequence."""
    import mlc_core_parts

    folder, library = prepared("q0f32")
    return mlc_core_parts.ModelRunner(str(folder), str(library), num_pages=32)


def logits_of(model, ids, *, all_logits=False) -> np.ndarray:
    raw = model.forward(ids, all_logits)
    return np.frombuffer(raw, np.float32).reshape(-1, model.vocab_size)


def distance(actual, expected) -> float:
    return float(np.linalg.norm(actual - expected) / np.linalg.norm(expected))


@pytest.fixture(scope="module")
def steps(pytestconfig) -> int:
    return STEPS if pytestconfig.getoption("--long") else SHORT


def test_logits_of_a_prompt_and_of_steps_agree(model, reference, recorded, steps):
    case = recorded["cases"][0]
    text = reference.start()
    model.reset()
    ids = case["prompt"]
    assert distance(logits_of(model, ids, all_logits=True), text.append(ids)) < TOLERANCE
    for token in case["greedy"][:steps]:
        expected = text.append([token])
        actual = logits_of(model, [token])
        assert distance(actual, expected) < TOLERANCE
        assert int(actual[-1].argmax()) == int(expected[-1].argmax())


@pytest.mark.parametrize("number", range(3))
def test_greedy_continuations_are_those_of_the_reference(model, recorded, number, request):
    if not request.config.getoption("--long"):
        pytest.skip("the whole engine answers their first 32 tokens below; run with --long")
    case = recorded["cases"][number]
    model.reset()
    logits = logits_of(model, case["prompt"])
    found = []
    while len(found) < len(case["greedy"]):
        found.append(int(logits[-1].argmax()))
        logits = logits_of(model, found[-1:])
    assert found == case["greedy"]


def slide(folder: Path, window: int, sinks: int) -> Path:
    """A model folder with the same weights, whose attention slides."""
    sliding = folder.with_name(f"sliding-{folder.name}")
    shutil.copytree(folder, sliding, copy_function=os.link)
    path = sliding / "mlc-chat-config.json"
    config = json.loads(path.read_text())
    sizes = {"sliding_window_size": window, "attention_sink_size": sinks}
    config |= {**sizes, "model_config": {**config["model_config"], **sizes}}
    path.unlink()  # a link to the file of the other folder
    path.write_text(json.dumps(config))
    return sliding


def test_a_sliding_window_reads_what_the_reference_reads(
    prepared, reference, recorded, steps, pytestconfig
):
    if not pytestconfig.getoption("--long"):
        pytest.skip("compiles the model once more; test_library.py has a tiny one; run with --long")
    import mlc_core_parts

    from mlc_llm.compiler.compile import compile_model, read_chat_config

    window, sinks = 20, 3
    folder = slide(prepared("q0f32")[0], window, sinks)
    library = folder.parent / "sliding.so"
    compile_model(read_chat_config(folder), output=library)
    model = mlc_core_parts.ModelRunner(str(folder), str(library), num_pages=32)
    case = recorded["cases"][0]
    ids = case["prompt"]
    assert len(ids) > window + sinks
    text, whole = reference.sliding(window, sinks).start(), reference.start()
    expected = text.append(ids)
    assert distance(logits_of(model, ids, all_logits=True), expected) < TOLERANCE
    assert distance(whole.append(ids)[-1], expected[-1]) > 10 * TOLERANCE
    for token in case["greedy"][:steps]:
        assert distance(logits_of(model, [token]), text.append([token])) < TOLERANCE


def test_the_whole_engine_answers_with_the_references_tokens(prepared, recorded, gguf, request):
    """Through chat template, tokenizer, scheduler, sampler and stream decoder, three at once."""
    from mlc_llm import MLCEngine

    count = 64 if request.config.getoption("--long") else 32
    folder, library = prepared("q0f32")
    decode = tokenizer(gguf).decode
    with MLCEngine(folder, model_lib=library) as engine:
        streams = [
            engine.chat.completions.create(
                messages=[{"role": "user", "content": case["question"]}],
                temperature=0, repetition_penalty=1, max_tokens=count, stream=True,
            )
            for case in recorded["cases"]
        ]  # fmt: skip
        for case, stream in zip(recorded["cases"], streams, strict=True):
            text = "".join(c.delta.content or "" for chunk in stream for c in chunk.choices)
            assert text == decode(case["greedy"][:count])


@pytest.fixture(scope="module")
def hidden_states(reference, recorded):
    """Of the recorded prompts."""
    return [reference.start().append_hidden(case["prompt"]) for case in recorded["cases"]]


@pytest.mark.parametrize("pooling", ["mean", "last"])
def test_embeddings_are_the_references_hidden_states(prepared, hidden_states, recorded, pooling):
    """Pooled, shortened and of length 1; prompts of several chunks, beside answers."""
    from mlc_llm import MLCEngine

    folder, library = prepared("q0f32")
    prompts = [case["prompt"] for case in recorded["cases"]]
    config = {"embedding_pooling": pooling, "prefill_chunk_size": 16}
    with MLCEngine(folder, model_lib=library, engine_config=config) as engine:
        beside = engine.completions.create(
            prompt="The sea", max_tokens=30, stream=True, debug_config={"ignore_eos": True}
        )
        answer = engine.embeddings.create(input=prompts, dimensions=400)
        assert sum(1 for _ in beside) > 10
    for rows, found in zip(hidden_states, answer.data, strict=True):
        expected = (rows.mean(0) if pooling == "mean" else rows[-1])[:400]
        actual = np.array(found.embedding, np.float64)
        assert abs(np.linalg.norm(actual) - 1) < 1e-6
        assert distance(actual, expected / np.linalg.norm(expected)) < TOLERANCE
    assert answer.usage.prompt_tokens == sum(map(len, prompts))


def test_the_recorded_answers_are_whole(recorded):
    for case in recorded["cases"]:
        assert len(case["greedy"]) == 64 or case["greedy"][-1] == recorded["stop"]

"""16-bit floats through the whole engine: Vulkan against the CPU, which computes with 32 bits.

Keys, values and what layers give each other are float16; sums, the residual and logits float32. Log
probabilities are within TOLERANCE of the CPU's. Where two tokens are nearer to each other than that
the greedy ones may part, and what follows is of another text: the comparison ends there.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from gpu_engines import (
    PROMPTS,
    LibraryOf,
    answer,
    leave_samplers_out,
    opened,
    require,
    require_half,
)

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import resolve_folder, resolve_model

TOLERANCE = 0.02
STEP = {"logprobs": True, "top_logprobs": 5}


@dataclass
class Pair:
    """The same model on both."""

    ours: MLCEngine
    theirs: MLCEngine

    def compare(self, ours: Any, theirs: Any) -> int:
        """How many tokens were the same, until the answers parted."""
        steps = zip(
            ours.choices[0].logprobs.content, theirs.choices[0].logprobs.content, strict=True
        )
        for number, (one, other) in enumerate(steps):
            # By bytes: tokens that are no UTF-8 have one text. A penalty, which the default model
            # has, may choose a token that is none of the likely ones.
            likely = {tuple(entry.bytes): entry.logprob for entry in other.top_logprobs}
            expected = {**likely, tuple(other.bytes): other.logprob}[tuple(one.bytes)]
            assert one.logprob == pytest.approx(expected, abs=TOLERANCE), number
            if one.bytes != other.bytes:
                assert expected == pytest.approx(other.logprob, abs=2 * TOLERANCE)
                return number
        return len(ours.choices[0].logprobs.content)


def pair_of(model: Path, library_of: LibraryOf, overrides: str | None = None) -> Iterator[Pair]:
    engines = []
    for device in ("vulkan", "cpu"):
        opt = "O2" if device == "vulkan" else "activation_bits=32"
        library = library_of(model, device=device, opt=opt, overrides=overrides)
        found = resolve_model(model, device=device, model_lib=library, progress=lambda _: None)
        engines.append(opened(found, device))
    yield Pair(*engines)
    for engine in engines:
        engine.terminate()


@pytest.fixture(scope="module", autouse=True)
def vulkan_is_here() -> None:
    require("vulkan")
    require_half("vulkan")


def scaled_weights() -> dict[str, tiny_models.Array]:
    """Matrices that keep sizes, as trained ones do: with others attention is a choice of one key,
    which a rounding may change. The output layer tells tokens apart."""
    weights = tiny_models.random_weights()
    for name, weight in weights.items():
        if weight.ndim == 2 and "embed" not in name:
            weight *= (4 if "lm_head" in name else 1) * weight.shape[1] ** -0.5
    return weights


@pytest.fixture(scope="module", params=[-1, 40], ids=["whole", "window"])
def pair(
    request: pytest.FixtureRequest,
    library_of: LibraryOf,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Pair]:
    """q4f16_1, prompts of more than 32 tokens in chunks; all is attended to, or 40 tokens and 4."""
    folder = tmp_path_factory.mktemp("half")
    if request.param < 0 and not request.config.getoption("--long"):
        pytest.skip("compiles two more libraries; run with --long")
    window = {"sliding_window": request.param, "attention_sink_size": 4}
    options = window if request.param > 0 else {}
    tiny_models.write_hf_folder(folder / "model", scaled_weights(), **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLC_LLM_HOME", str(folder / "home"))
        leave_samplers_out(patch)
        model = resolve_folder(folder / "model", quantization="q4f16_1", progress=lambda _: None)
        pairs = pair_of(model, library_of, overrides="prefill_chunk_size=32")
        pair = next(pairs)
    yield pair
    next(pairs, None)


def test_log_probabilities(pair: Pair) -> None:
    same = 0
    for prompt in PROMPTS:
        same += pair.compare(*(answer(e, prompt, **STEP) for e in (pair.ours, pair.theirs)))
    assert same > 12


def test_a_shared_beginning(pair: Pair) -> None:
    prompt = "Once upon a time there was a model that ran on every device. " * 2
    found = []
    for engine in (pair.ours, pair.theirs):
        answer(engine, prompt, max_tokens=4)
        found.append(answer(engine, prompt + "The end.", **STEP))
        assert found[-1].usage.prompt_tokens_details.cached_tokens >= 64
    pair.compare(*found)


def test_four_at_once(pair: Pair) -> None:
    prompts = [f"{p} {i}" for i, p in enumerate([*PROMPTS, "Four"])]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda p: answer(pair.ours, p, **STEP), prompts))
    for prompt, ours in zip(prompts, together, strict=True):
        pair.compare(ours, answer(pair.theirs, prompt, **STEP))


def test_an_answer_past_the_window(pair: Pair) -> None:
    options = {**STEP, "max_tokens": 60}
    pair.compare(*(answer(e, PROMPTS[1], **options) for e in (pair.ours, pair.theirs)))


@pytest.mark.skipif("not config.getoption('--long', default=False)")
def test_the_default_model(library_of: LibraryOf) -> None:
    model = resolve_folder(None, quantization="q4f16_1", progress=lambda _: None)
    for pair in pair_of(model, library_of):
        asked = {**STEP, "max_tokens": 64}
        prompt = "What is the capital of France?"
        made = [answer(e, prompt, **asked) for e in (pair.ours, pair.theirs)]
        assert pair.compare(*made) > 16

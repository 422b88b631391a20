"""An engine over layers with experts: a tiny GLM-4.5 from its folder, judged by NumPy.

Answers are the same in chunks, from found prefixes, in a tight pool and with drafts that are taken
back; and on GPUs.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import tiny_models
from gpu_engines import leave_samplers_out, require

from mlc_llm import MLCEngine
from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.compiler.convert import convert_model, open_source

sys.path.insert(0, str(Path(__file__).parents[1] / "compiler" / "support"))

import reference_experts  # noqa: E402
import tiny_experts  # noqa: E402

FAMILY = "glm4_moe"
MAX_TOKENS = 12
PROMPT = "a sea, a sun, a sea, a sun; " * 3
ENGINES: dict[str, dict[str, Any]] = {
    "chunks": {"prefill_chunk_size": 16},
    "no prefixes": {"prefix_cache_mode": "disable"},
    "drafts": {"speculative_mode": "prompt_lookup", "spec_draft_length": 4},
    "trees": {"speculative_mode": "prompt_lookup", "spec_draft_length": 4, "spec_tree_width": 3},
}


def config() -> dict[str, Any]:
    small = {"num_hidden_layers": 2, "vocab_size": len(tiny_models.tokens())}
    return {**tiny_experts.config(FAMILY), **small, "architectures": ["Glm4MoeForCausalLM"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model in q0f32, from safetensors."""
    source = tmp_path_factory.mktemp("experts")
    ids = {"eos_token_id": 2, "bos_token_id": 1, "pad_token_id": 0}
    (source / "config.json").write_text(json.dumps({**config(), **ids}))
    safetensors.numpy.save_file(tiny_experts.weights(config()), source / "model.safetensors")
    (source / "tokenizer.json").write_bytes(tiny_models.tokenizer_json())
    extras = {"chat_template": tiny_models.TEMPLATE}
    (source / "tokenizer_config.json").write_text(json.dumps(extras))
    target = source / "mlc"
    convert_model(open_source(source), target, quantization="q0f32")
    return target


def compiled(folder: Path, device: str) -> Path:
    library = folder / f"{device}.so"
    compile_model(read_chat_config(folder), output=library, device=device)
    return library


@pytest.fixture(scope="module")
def model(folder: Path) -> tuple[Path, Path]:
    return folder, compiled(folder, "cpu")


def engine_of(model: tuple[Path, Path], **options: Any) -> MLCEngine:
    return MLCEngine(str(model[0]), model_lib=str(model[1]), device="cpu", engine_config=options)


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
    """The logprobs of NumPy's greedy answer."""
    ids, found = prompt_ids(PROMPT), []
    weights = tiny_experts.weights(config())
    for _ in range(MAX_TOKENS):
        last = reference_experts.logits(config(), weights, ids)[-1]
        ids.append(int(last.argmax()))
        found.append(float(last.max() - np.log(np.exp(last - last.max()).sum()) - last.max()))
    return found


def test_a_chat_is_what_numpy_says(model: tuple[Path, Path], greedy: list[float]) -> None:
    with engine_of(model) as engine:
        first = ask(engine)
        np.testing.assert_allclose(first, [greedy], atol=1e-3)
        assert ask(engine) == first  # from the prefix that is kept
        assert ask(engine, n=3) == first * 3  # branches share pages, then write their own
        others = [ask(engine, f"{PROMPT}{i}") for i in range(3)]
        assert ask(engine) == first and others[0] != first


@pytest.mark.parametrize("name", ENGINES)
def test_every_way_through_the_engine_gives_the_same(
    name: str, model: tuple[Path, Path], greedy: list[float]
) -> None:
    with engine_of(model) as engine:
        first = ask(engine)
    with engine_of(model, **ENGINES[name]) as engine:
        assert ask(engine) == first
        assert ask(engine, n=2) == first * 2


def test_preempted_chats_go_on(model: tuple[Path, Path]) -> None:
    others = [PROMPT, f"b{PROMPT}", f"c{PROMPT}"]
    with engine_of(model) as engine:
        alone = [ask(engine, text) for text in others]
    tight = {"max_total_seq_length": 224, "max_num_sequence": 3}
    with engine_of(model, **tight) as engine, ThreadPoolExecutor(len(others)) as pool:
        for _ in range(50):  # in some rounds a busy machine runs one thread after another
            assert list(pool.map(lambda text: ask(engine, text), others)) == alone
            if engine.metrics()["num_preemptions"] > 0:
                break
        assert engine.metrics()["num_preemptions"] > 0


@pytest.mark.parametrize("device", ["opencl", "vulkan"])
def test_a_gpu_gives_the_cpus_greedy_answers(
    device: str,
    folder: Path,
    greedy: list[float],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("libraries for GPUs are compiled with --long")
    require(device)
    leave_samplers_out(monkeypatch)
    library = compiled(folder, device)
    with MLCEngine(str(folder), model_lib=str(library), device=device) as engine:
        np.testing.assert_allclose(ask(engine), [greedy], atol=1e-3)
        np.testing.assert_allclose(ask(engine, n=2), [greedy] * 2, atol=1e-3)
    with MLCEngine(
        str(folder),
        model_lib=str(library),
        device=device,
        engine_config={"prefill_chunk_size": 16},
    ) as engine:
        np.testing.assert_allclose(ask(engine), [greedy], atol=1e-3)

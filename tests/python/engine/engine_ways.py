"""What tests of an engine over one tiny compiled model share: the chat, and the ways through the
engine that must not change its answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import tiny_models

from mlc_llm import MLCEngine

MAX_TOKENS = 12
PROMPT = "a sea, a sun, a sea, a sun; " * 3
WAYS: dict[str, dict[str, Any]] = {
    "chunks": {"prefill_chunk_size": 16},
    "no prefixes": {"prefix_cache_mode": "disable"},
    "drafts": {"speculative_mode": "prompt_lookup", "spec_draft_length": 4},
}
TREES = {"speculative_mode": "prompt_lookup", "spec_draft_length": 4, "spec_tree_width": 3}
Model = tuple[Path, Path]  # the folder and the library


class Ask(Protocol):
    def __call__(self, engine: MLCEngine, text: str = ..., n: int = ...) -> list[list[float]]: ...


DEVICE = "cpu"  # of `engine_of`; a process of its own may set another


def engine_of(model: Model, **options: Any) -> MLCEngine:
    return MLCEngine(str(model[0]), model_lib=str(model[1]), device=DEVICE, engine_config=options)


def ask(
    engine: MLCEngine, text: str = PROMPT, n: int = 1, max_tokens: int = MAX_TOKENS
) -> list[list[float]]:
    """The logprobs of greedy answers, which tell two tokens apart in all but a tie."""
    made: Any = engine.chat.completions.create(
        messages=[{"role": "user", "content": text}],
        n=n,
        max_tokens=max_tokens,
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


def check_a_chat(model: Model, greedy: list[float], atol: float, ask: Ask = ask) -> None:
    with engine_of(model) as engine:
        first = ask(engine)
        np.testing.assert_allclose(first, [greedy], atol=atol)
        assert ask(engine) == first  # from the prefix that is kept
        assert ask(engine, n=3) == first * 3  # branches share pages, then write their own
        others = [ask(engine, f"{PROMPT}{i}") for i in range(3)]
        assert ask(engine) == first and others[0] != first


def check_a_way(model: Model, way: dict[str, Any], ask: Ask = ask) -> None:
    with engine_of(model) as engine:
        first = ask(engine)
    with engine_of(model, **way) as engine:
        assert ask(engine) == first
        assert ask(engine, n=2) == first * 2


def check_preemption(model: Model, ask: Ask = ask, tokens: int = 224) -> list[list[list[float]]]:
    """Returns the answers of chats that were alone. `tokens`: two prompts fit, but not their
    answers too."""
    others = [PROMPT, f"b{PROMPT}", f"c{PROMPT}"]
    with engine_of(model) as engine:
        alone = [ask(engine, text) for text in others]
    tight = {"max_total_seq_length": tokens, "max_num_sequence": 3}
    with engine_of(model, **tight) as engine, ThreadPoolExecutor(len(others)) as pool:
        for _ in range(50):  # in some rounds a busy machine runs one thread after another
            assert list(pool.map(lambda text: ask(engine, text), others)) == alone
            if engine.metrics()["num_preemptions"] > 0:
                break
        assert engine.metrics()["num_preemptions"] > 0
    return alone


def check_a_saved_state(
    model: Model, greedy: list[float], atol: float, folder: Path, ask: Ask = ask
) -> None:
    messages: Any = [{"role": "user", "content": PROMPT}]
    with engine_of(model) as engine:
        saved = engine.save_kv(messages, folder / "chat.kv")
    with engine_of(model) as engine:
        assert engine.load_kv(folder / "chat.kv").tokens == saved.tokens
        np.testing.assert_allclose(ask(engine), [greedy], atol=atol)

"""Requests for the default model, and what an engine made of each: texts, tokens and logprobs."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mlc_llm import MLCEngine
from mlc_llm.errors import MLCError

TOPICS = (
    "the sea", "a small town in winter", "how bread is baked", "the history of clocks",
    "why leaves fall", "a journey by train", "the colours of birds", "what a lighthouse is for",
    "music for the violin", "the rules of chess", "how rivers begin", "a letter to a friend",
    "the night sky", "gardening on a balcony", "old maps", "a recipe for soup",
)  # fmt: skip


def user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def greedy_requests(count: int, max_tokens: int) -> list[dict[str, Any]]:
    """Prompts of about 40 to 250 tokens; some ask for what stands in them, which can be drafted."""
    requests = []
    for i in range(count):
        topic = TOPICS[i % len(TOPICS)]
        facts = " ".join(f"Fact {k}: {topic} has {k + i} sides." for k in range(i * 3 % 13))
        ask = ("Repeat the facts word for word.", "Write about it.", "Count the facts.")[i % 3]
        requests.append({
            "messages": user(f"Think of {topic}. {facts} {ask}"),
            "temperature": 0, "max_tokens": max_tokens, "logprobs": True,
            "debug_config": {"ignore_eos": i % 4 == 0},
        })  # fmt: skip
    return requests


def random_request(rng: random.Random) -> dict[str, Any]:
    topic = rng.choice(TOPICS)
    request: dict[str, Any] = {
        "messages": user(f"{'Tell me more. ' * rng.randrange(12)}Write about {topic}."),
        "seed": rng.randrange(1 << 30),
        "temperature": rng.choice([0, 0.3, 0.8, 1.3]),
        "max_tokens": rng.randrange(1, 40),
        "n": rng.choice([1, 1, 1, 2, 3]),
    }
    if rng.random() < 0.3:
        request["stop"] = rng.sample([".", " the", "\n", "and", ",", "is"], rng.randrange(1, 3))
    if rng.random() < 0.3:
        request["top_p"] = rng.uniform(0.2, 1)
    if rng.random() < 0.3:
        request["frequency_penalty"] = rng.uniform(0, 1.5)
    if rng.random() < 0.2:
        request["presence_penalty"] = rng.uniform(0, 1.5)
    return request


@dataclass
class Answer:
    """What came of one request, by choice."""

    texts: dict[int, str] = field(default_factory=dict)
    tokens: dict[int, list[tuple[str, float]]] = field(default_factory=dict)
    finish: dict[int, str] = field(default_factory=dict)
    ended: bool = False
    error: str = ""

    def add(self, chunk: Any) -> None:
        for choice in chunk.choices:
            at = choice.index
            self.texts[at] = self.texts.get(at, "") + (choice.delta.content or "")
            if choice.logprobs is not None:
                tokens = [(t.token, t.logprob) for t in choice.logprobs.content or []]
                self.tokens.setdefault(at, []).extend(tokens)
            if choice.finish_reason:
                self.finish[at] = choice.finish_reason


def ask(engine: MLCEngine, request: dict[str, Any], abort_after: int | None = None) -> Answer:
    """Streams one answer; closes the stream after `abort_after` chunks."""
    answer = Answer()
    try:
        with engine.chat.completions.create(stream=True, **request) as stream:
            for number, chunk in enumerate(stream):
                if abort_after is not None and number >= abort_after:
                    return answer
                answer.add(chunk)
        answer.ended = True
    except MLCError as error:
        answer.error = error.message
    return answer


def wait_for_requests(engine: MLCEngine, count: int) -> None:
    """Until so many wait in an engine that is paused."""
    deadline = time.monotonic() + 60
    while engine.metrics()["num_queued_requests"] < count:
        assert time.monotonic() < deadline, engine.metrics()
        time.sleep(0.005)


def ask_at_once(
    engine: MLCEngine,
    requests: Sequence[dict[str, Any]],
    aborts: Sequence[int | None] | None = None,
    at_once: int = 16,
) -> list[Answer]:
    """All of them, at most `at_once` at a time, each on a thread of its own; the first ones begin
    together."""
    answers: list[Answer] = [Answer()] * len(requests)
    places = threading.Semaphore(at_once)

    def run(i: int) -> None:
        with places:
            answers[i] = ask(engine, requests[i], aborts[i] if aborts else None)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(requests))]
    handle = engine._core._handle
    handle.pause()
    for thread in threads:
        thread.start()
    wait_for_requests(engine, min(at_once, len(requests)))
    handle.resume()
    for thread in threads:
        thread.join()
    return answers

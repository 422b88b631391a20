"""Five easy questions. What is packaged for a browser or a phone must answer them as the default
model does here."""

from __future__ import annotations

from typing import Any

# Of tests/bench/sampling_prompts.txt, with a word of the right answer.
QUESTIONS = {
    "What is the capital of France?": "Paris",
    "Which planet is called the red planet?": "Mars",
    "How many days are in a week?": "7",
    "What is the opposite of hot?": "cold",
    "Which organ pumps blood through the body?": "heart",
}
TOKENS = 12


def requests() -> list[dict[str, Any]]:
    """Greedy, so that equal weights and kernels give equal words."""
    return [
        {
            "messages": [{"role": "user", "content": question}],
            "temperature": 0.0,
            "max_tokens": TOKENS,
        }
        for question in QUESTIONS
    ]


def right(answers: list[str]) -> int:
    """How many have the word of the right answer."""
    return sum(word in answer for word, answer in zip(QUESTIONS.values(), answers, strict=True))

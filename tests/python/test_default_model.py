"""The embedded default model speaks as its float32 weights do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlc_llm import MLCEngine
from mlc_llm.package.devices import DEVICES
from mlc_llm.prepare.model_source import resolve_folder

# Short questions, and what the answer must hold.
QUESTIONS = {
    "What is the capital of France?": "paris",
    "What is the capital of Italy?": "rome",
    "What is the capital of Japan?": "tokyo",
    "What is the capital of Germany?": "berlin",
    "What is the capital of Spain?": "madrid",
    "What is the capital of England?": "london",
    "What is the capital of Russia?": "moscow",
    "What is the capital of Egypt?": "cairo",
    "What is 2 + 2?": "4",
    "How many days are in a week?": "seven|7",
    "How many months are in a year?": "twelve|12",
    "What is the largest planet in our solar system?": "jupiter",
    "What is the chemical formula of water?": "h2o|h₂o",
    "Which star is closest to the Earth?": "sun",
    "Who wrote Romeo and Juliet?": "shakespeare",
    "What colour is the sky on a clear day?": "blue",
    "At what temperature in Celsius does water boil?": "100",
    "What do bees make?": "honey",
    "What is the opposite of hot?": "cold",
    "Which animal says meow?": "cat",
}


def test_it_is_taken_as_its_authors_mean_it() -> None:
    """Its own codes, activations of 16 bits, and the sampling that is recommended."""
    config = json.loads((resolve_folder(None) / "mlc-chat-config.json").read_text())
    assert config["quantization"] == "gguf_q4_1" and config["activation_bits"] == 16
    assert (config["temperature"], config["top_p"]) == (0.2, 0.9)
    assert config["repetition_penalty"] == 1.15
    again = json.loads(
        (resolve_folder("default", quantization="q4f32_1") / "mlc-chat-config.json").read_text()
    )
    assert again["temperature"] == 0.2 and "activation_bits" not in again


@pytest.mark.parametrize("name", DEVICES)
def test_every_package_has_the_weights_that_run_here(name: str) -> None:
    """Not one of the devices of `mlc_llm package` gets it quantized a second time."""
    unread = DEVICES[name].unread
    assert resolve_folder(None, otherwise="q4f16_1", unread=unread) == resolve_folder(None)


# With the authors' sampling alone, these answers had no end (three of eight seeds ended the haiku).
ENDLESS = ("Write a haiku about rain.", "Write a poem about a cat.", "Why do cats purr?")


def test_its_answers_end() -> None:
    """At its own settings, and before the limit that a chat sets."""
    with MLCEngine(device="cpu", mode="server") as engine:
        for question in ENDLESS:
            messages = [{"role": "user", "content": question}]
            result = engine.chat.completions.create(messages=messages, seed=2, max_tokens=1024)
            assert result.choices[0].finish_reason == "stop", result.choices[0].message.content


def right_answers(quantization: str | None) -> tuple[int, dict[str, str]]:
    answers = {}
    with MLCEngine(quantization=quantization, device="cpu") as engine:
        for question in QUESTIONS:
            result = engine.chat.completions.create(
                messages=[{"role": "user", "content": question}], temperature=0, max_tokens=60
            )
            answers[question] = str(result.choices[0].message.content)
    right = [
        any(word in answers[question].lower() for word in wanted.split("|"))
        for question, wanted in QUESTIONS.items()
    ]
    return sum(right), answers


def test_it_answers_as_float32_does(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("compiles two libraries: --long")
    exact, exact_answers = right_answers("q0f32")
    default, answers = right_answers(None)
    print(f"right answers: {default} as it is, {exact} in float32")
    assert exact >= 12, exact_answers
    assert abs(default - exact) <= 1, {q: (answers[q], exact_answers[q]) for q in QUESTIONS}

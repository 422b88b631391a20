"""The loop in which Anthropic's package runs tools."""

from __future__ import annotations

from typing import Literal

from .conftest import KEY


def test_the_tool_loop_of_the_package(url: str) -> None:
    """It asks for a thread first. It is told that there is none, and sends the whole
    conversation."""
    import anthropic

    claude = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)
    called = []

    @anthropic.beta_tool
    def weather(place: Literal["Oslo", "Rome"]) -> str:
        """Says how the weather is.

        Args:
          place: where
        """
        called.append(place)
        return "rain"

    runner = claude.beta.messages.tool_runner(
        model="fake-model",
        messages=[{"role": "user", "content": "Hello"}],
        max_tokens=400,
        tools=[weather],
        tool_choice={"type": "tool", "name": "weather"},
        max_iterations=2,
    )
    answers = list(runner)
    assert len(answers) == 2 and called and answers[0].stop_reason == "tool_use"

"""Programs of other packages, as their users write them, on the default model: whole and streamed.

The packages are large (the extra `clients`), so only `./dev test --long` installs them. The clients
of OpenAI, Anthropic and Ollama have their own tests beside this one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from mlc_llm.prepare.model_source import ResolvedModel

from .conftest import started_server

QUESTION = "What is the capital of France? Answer in one word."
MODEL = "smol"


@pytest.fixture(scope="module")
def base(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server of the default model."""
    if not request.config.getoption("--long"):
        pytest.skip("--long installs the packages of other clients")
    model: ResolvedModel = request.getfixturevalue("default_model")
    arguments = (str(model.folder), "--model-lib", str(model.model_lib))
    with started_server(*arguments, "--served-model-name", MODEL) as server:
        yield server.url


@pytest.fixture(autouse=True)
def no_other_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages that report their use, or look for prices, stay at home."""
    for name in ("LITELLM_LOCAL_MODEL_COST_MAP", "OPENAI_AGENTS_DISABLE_TRACING"):
        monkeypatch.setenv(name, "True")
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def test_litellm(base: str) -> None:
    import litellm

    said: list[Any] = [{"role": "user", "content": QUESTION}]
    for model, place in (
        (f"openai/{MODEL}", f"{base}/v1"),
        (f"anthropic/{MODEL}", base),
        (f"ollama_chat/{MODEL}", base),
    ):
        asked = {"model": model, "api_base": place, "api_key": "none", "temperature": 0}
        whole = litellm.completion(messages=said, max_tokens=20, **asked)
        assert "Paris" in whole.choices[0].message.content, model
        chunks = litellm.completion(messages=said, max_tokens=20, stream=True, **asked)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        assert text == whole.choices[0].message.content, model


def test_pydantic_ai(base: str) -> None:
    from pydantic import BaseModel
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class Answer(BaseModel):
        city: str

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=f"{base}/v1", api_key="none"))
    settings: Any = {"temperature": 0, "max_tokens": 60}
    typed = Agent(model, output_type=NativeOutput(Answer), model_settings=settings)
    assert typed.run_sync(QUESTION).output.city

    async def streamed() -> str:
        async with Agent(model, model_settings=settings).run_stream(QUESTION) as result:
            return "".join([piece async for piece in result.stream_text(delta=True)])

    assert "Paris" in asyncio.run(streamed())


def test_openai_agents(base: str) -> None:
    import agents
    import openai

    agents.set_tracing_disabled(True)
    settings = agents.ModelSettings(temperature=0, max_tokens=30)

    async def ask(kind: Any) -> tuple[str, str]:
        async with openai.AsyncOpenAI(base_url=f"{base}/v1", api_key="none") as client:
            agent = agents.Agent(
                name="Guide",
                instructions="Be brief.",
                model=kind(MODEL, client),
                model_settings=settings,
            )
            whole = (await agents.Runner.run(agent, QUESTION)).final_output
            stream = agents.Runner.run_streamed(agent, QUESTION)
            pieces = [
                event.data.delta
                async for event in stream.stream_events()
                if event.type == "raw_response_event"
                and event.data.type == "response.output_text.delta"
            ]
            return whole, "".join(pieces)

    for kind in (agents.OpenAIChatCompletionsModel, agents.OpenAIResponsesModel):
        whole, streamed = asyncio.run(ask(kind))
        assert "Paris" in whole and streamed == whole

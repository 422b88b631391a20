"""Programs of other packages, as their users write them, on the default model: whole and streamed.

The packages are large (the extra `clients`), so only `./dev test --long` installs them. The clients
of OpenAI, Anthropic and Ollama have their own tests beside this one.
"""

from __future__ import annotations

import asyncio
import subprocess
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlc_llm.prepare.model_source import ResolvedModel

from .conftest import started_server

# They need an older `openai` than ours, so they have an environment of their own.
APART = ("instructor==1.17.0", "llama-index-llms-openai-like==0.8.1")
APART_FOLDER = Path(__file__).parents[3] / "build" / "clients"
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


@pytest.fixture(scope="module")
def apart(base: str) -> str:
    """The Python of an environment that has the packages of APART."""
    python, stamp = APART_FOLDER / "bin" / "python", APART_FOLDER / "stamp"
    if not stamp.exists() or stamp.read_text() != " ".join(APART):
        venv.create(APART_FOLDER, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *APART], check=True)
        stamp.write_text(" ".join(APART))
    return str(python)


def run_apart(python: str, program: str, base: str) -> str:
    command = [python, "-c", program, f"{base}/v1", MODEL, QUESTION]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_llama_index(apart: str, base: str) -> None:
    program = """
import sys
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

place, model, question = sys.argv[1:]
llm = OpenAILike(
    model=model, api_base=place, api_key="none", is_chat_model=True, temperature=0, max_tokens=20
)
messages = [ChatMessage(role="user", content=question)]
print(llm.chat(messages).message.content)
print("".join(piece.delta or "" for piece in llm.stream_chat(messages)))
"""
    whole, streamed = run_apart(apart, program, base).splitlines()
    assert "Paris" in whole and streamed == whole


def test_instructor(apart: str, base: str) -> None:
    program = """
import sys
import instructor, openai
from pydantic import BaseModel

class Answer(BaseModel):
    city: str

place, model, question = sys.argv[1:]
plain = openai.OpenAI(base_url=place, api_key="none")
asked = {"model": model, "messages": [{"role": "user", "content": question}], "max_tokens": 60}
for mode in (instructor.Mode.JSON_SCHEMA, instructor.Mode.TOOLS):
    client = instructor.from_openai(plain, mode=mode)
    whole = client.create(response_model=Answer, temperature=0, **asked)
    *_, last = client.create_partial(response_model=Answer, temperature=0, **asked)
    print(whole.city, last.city, sep="|")
"""
    for line in run_apart(apart, program, base).splitlines():
        whole, streamed = line.split("|")  # a stream has another schema, with optional members
        assert whole and streamed


def test_langchain(base: str) -> None:
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    @tool
    def population(city: str) -> int:
        """How many people live in a city."""
        return 2_100_000

    for responses in (False, True):
        model = ChatOpenAI(
            model=MODEL,
            base_url=f"{base}/v1",
            api_key="none",
            temperature=0,
            max_tokens=60,
            use_responses_api=responses,
        )
        whole = model.invoke(QUESTION)
        assert "Paris" in whole.text
        assert "".join(chunk.text for chunk in model.stream(QUESTION)) == whole.text
        calling = model.bind_tools([population], tool_choice="population")
        (call,) = calling.invoke("How many people live in Paris?").tool_calls
        assert call["name"] == "population" and "city" in call["args"]


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

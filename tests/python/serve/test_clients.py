"""Programs of other packages, as their users write them, on the default model: whole and streamed.

The packages are large (the extra `clients`), so only `./dev test --long` installs them. The clients
of OpenAI, Anthropic and Ollama have their own tests beside this one.
"""

from __future__ import annotations

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
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")


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

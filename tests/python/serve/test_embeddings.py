"""The official `openai` package asks for embeddings."""

from __future__ import annotations

import httpx
import openai
import pytest

MODEL = "fake-model"


def test_embeddings_of_the_official_client(client: openai.OpenAI) -> None:
    """It asks for base64 by itself and unpacks it; a list keeps its order."""
    texts = [f"ba {i}" for i in range(300)]
    answer = client.embeddings.create(model=MODEL, input=texts)
    assert [item.index for item in answer.data] == list(range(300))
    assert all(len(item.embedding) == 16 for item in answer.data)
    alone = client.embeddings.create(model=MODEL, input=texts[7], encoding_format="float")
    assert answer.data[7].embedding == pytest.approx(alone.data[0].embedding)
    assert sum(x * x for x in alone.data[0].embedding) == pytest.approx(1)
    assert answer.usage.prompt_tokens == answer.usage.total_tokens > 300
    short = client.embeddings.create(model=MODEL, input=texts[7], dimensions=4)
    assert len(short.data[0].embedding) == 4


def test_vectors_are_never_streamed(client: openai.OpenAI) -> None:
    asked = {"input": "ba", "stream": True}
    answer = client.post("/embeddings", cast_to=httpx.Response, body=asked)
    assert answer.headers["content-type"] == "application/json"
    assert len(answer.json()["data"]) == 1


def test_refusals_name_the_place(client: openai.OpenAI) -> None:
    for bad, param in ((["a", ""], "input[1]"), ("", "input"), (["a", "b " * 40000], "input[1]")):
        with pytest.raises(openai.BadRequestError) as error:
            client.embeddings.create(model=MODEL, input=bad)
        assert error.value.param == param
    with pytest.raises(openai.BadRequestError) as error:
        client.embeddings.create(model=MODEL, input="a", dimensions=17)
    assert error.value.param == "dimensions"

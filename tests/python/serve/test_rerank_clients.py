"""The official `cohere` package, both its versions, and plain requests as to Jina's API."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from .conftest import KEY, PATIENCE, RERANKS, fake_model, started_server

QUERY = "ba be"
DOCUMENTS = ["ba", "be bi", "", "ba be bi bo", "bo " * 50]


@pytest.fixture(scope="module")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server with the fake model as a reranker."""
    folder = fake_model(tmp_path_factory.mktemp("rerank") / "fake-reranker", config=RERANKS)
    with started_server(str(folder), "--device", "fake", "--api-key", KEY) as server:
        yield server.url
        assert server.stop() == 0 and "Traceback" not in server.errors, server.errors


def ask(url: str, **body: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {KEY}"}
    return httpx.post(f"{url}/v1/rerank", json=body, headers=headers, timeout=PATIENCE)


def test_both_clients_of_cohere(reranker: str) -> None:
    import cohere

    options: Any = {"model": "fake-reranker", "query": QUERY, "documents": DOCUMENTS}
    new = cohere.ClientV2(KEY, base_url=reranker).rerank(**options, top_n=3)
    scores = [item.relevance_score for item in new.results]
    assert scores == sorted(scores, reverse=True) and all(0 < score < 1 for score in scores)
    assert len({item.index for item in new.results}) == 3
    old = cohere.Client(KEY, base_url=reranker).rerank(**options, return_documents=True)
    assert [(item.index, item.relevance_score) for item in old.results[:3]] == [
        (item.index, item.relevance_score) for item in new.results
    ]
    assert sorted(item.index for item in old.results) == list(range(len(DOCUMENTS)))
    assert all(item.document.text == DOCUMENTS[item.index] for item in old.results)


def test_documents_as_objects_and_raw_scores(reranker: str) -> None:
    texts = [{"text": text} for text in DOCUMENTS]
    plain = ask(reranker, query=QUERY, documents=DOCUMENTS).json()
    assert plain["object"] == "list" and plain["model"] == "fake-reranker"
    assert plain["usage"]["prompt_tokens"] == plain["usage"]["total_tokens"] > len(DOCUMENTS)
    assert "document" not in plain["results"][0]
    raw = ask(reranker, query=QUERY, documents=texts, raw_scores=True).json()
    for one, other in zip(plain["results"], raw["results"], strict=True):
        assert one["index"] == other["index"]
        expected = 1 / (1 + math.exp(-other["relevance_score"]))
        assert one["relevance_score"] == pytest.approx(expected, rel=1e-12)


def test_a_document_has_one_score_wherever_it_is(reranker: str) -> None:
    def scores(documents: list[str]) -> dict[str, float]:
        answer = ask(reranker, query=QUERY, documents=documents).json()
        return {documents[r["index"]]: r["relevance_score"] for r in answer["results"]}

    assert scores(DOCUMENTS) == scores(DOCUMENTS[::-1])
    assert scores(DOCUMENTS[:1]) == {DOCUMENTS[0]: scores(DOCUMENTS)[DOCUMENTS[0]]}


def test_a_long_document_loses_its_end(reranker: str) -> None:
    long = "ba be bi " * 4000
    head = ask(reranker, query=QUERY, documents=[long[:-4]]).json()["results"]
    assert ask(reranker, query=QUERY, documents=[long]).json()["results"] == head
    one = ask(reranker, query=QUERY, documents=["ba be bi", "ba bo"], max_tokens_per_doc=1).json()
    assert len({item["relevance_score"] for item in one["results"]}) == 1
    refused = ask(reranker, query=QUERY, documents=["ba", long], truncate=False)
    error = refused.json()["error"]
    assert (refused.status_code, error["param"]) == (400, "documents[1]")
    assert error["code"] == "context_length_exceeded"
    assert ask(reranker, query=long, documents=["ba"]).json()["error"]["param"] == "query"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"documents": ["a"]}, "query"),
        ({"query": "", "documents": ["a"]}, "query"),
        ({"query": "a"}, "documents"),
        ({"query": "a", "documents": []}, "documents"),
        ({"query": "a", "documents": ["a", {}]}, "documents[1].text"),
        ({"query": "a", "documents": ["a", 7]}, "documents[1]"),
        ({"query": "a", "documents": ["a"], "top_n": 0}, "top_n"),
        ({"query": "a", "documents": ["a"], "max_tokens_per_doc": 0}, "max_tokens_per_doc"),
    ],
)
def test_refusals_name_the_place(reranker: str, body: dict[str, Any], param: str) -> None:
    answer = ask(reranker, **body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


def test_each_kind_of_model_refuses_what_is_anothers(reranker: str, http: httpx.Client) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    for route, body in (
        ("embeddings", {"input": "a"}),
        ("completions", {"prompt": "a"}),
        ("chat/completions", {"messages": [{"role": "user", "content": "a"}]}),
    ):
        url = f"{reranker}/v1/{route}"
        answer = httpx.post(url, json=body, headers=headers, timeout=PATIENCE)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["param"]) == (400, "unsupported", "model")
        assert "engine.rerank.create" in error["message"]
    answer = http.post("/v1/rerank", json={"query": "a", "documents": ["a"]})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "unsupported", "model")
    assert "no reranker" in error["message"]

"""`mlc_llm bench serve` on a real server, and its arithmetic."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from mlc_llm.bench import client
from mlc_llm.bench.client import Record
from mlc_llm.bench.dataset import Sample, read_sharegpt, synthetic
from mlc_llm.bench.report import percentile, summarize, table
from mlc_llm.errors import CorruptFileError

from .conftest import KEY


def record(begin: float, *token_times: float, error: str | None = None) -> Record:
    return Record(
        begin=begin,
        end=token_times[-1] if token_times else begin,
        token_times=list(token_times),
        prompt_tokens=10,
        completion_tokens=len(token_times),
        error=error,
    )


def test_times_are_taken_from_each_requests_own_beginning() -> None:
    summary = summarize([record(0.0, 0.5, 0.7, 0.9), record(1.0, 1.1, 1.2), record(2.0, error="x")])
    assert summary["requests"] == 3 and summary["failed"] == 1 and summary["errors"] == ["x"]
    assert summary["duration_s"] == pytest.approx(1.2)
    assert summary["output_tokens_per_s"] == pytest.approx(5 / 1.2)
    assert summary["ttft_s"]["mean"] == pytest.approx(0.3)
    assert summary["tpot_s"]["p50"] == pytest.approx(0.15)
    assert summary["itl_s"]["mean"] == pytest.approx((0.2 + 0.2 + 0.1) / 3)
    assert "time to first token" in table(summary)


def test_percentiles_lie_between_the_ranks() -> None:
    assert percentile([4, 1, 3, 2], 50) == 2.5
    assert percentile([1, 2], 90) == pytest.approx(1.9)
    assert percentile([7], 99) == 7


def test_drawn_lengths_repeat_and_spread() -> None:
    samples = synthetic(200, input_len=50, output_len=20, spread=0.5, seed=1)
    assert samples == synthetic(200, input_len=50, output_len=20, spread=0.5, seed=1)
    lengths = sorted(len(sample.prompt.split()) for sample in samples)
    assert 40 < lengths[100] < 62 and lengths[0] < 30 and lengths[-1] > 90
    assert len({sample.prompt for sample in samples}) == 200
    equal = synthetic(5, input_len=50, output_len=20, spread=0, seed=1)
    assert {sample.max_tokens for sample in equal} == {20}


def test_the_widest_spread_overflows_no_length() -> None:
    samples = synthetic(50, input_len=50, output_len=20, spread=1e9, seed=1)
    assert all(1 <= sample.max_tokens <= 4096 for sample in samples)


@pytest.mark.parametrize("chunk", ["{oops", "[1]", '{"choices": null}', '{"error": "no"}'])
def test_a_chunk_that_is_none_fails_its_request_alone(chunk: str) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text=f"data: {chunk}\n\n")

    async def ask() -> Record:
        transport = httpx.MockTransport(answer)
        async with httpx.AsyncClient(transport=transport, base_url="http://bench.test") as http:
            return await client._ask(http, client.Target(base_url=""), Sample("Hi", 1), 0.0)

    assert "Error: " in (asyncio.run(ask()).error or "")


def test_a_sharegpt_file(tmp_path: Path) -> None:
    path = tmp_path / "chats.json"
    chats = [{"conversations": [{"value": f"q{i}"}, {"value": "a b c"}]} for i in range(5)]
    path.write_text(json.dumps([*chats, {"conversations": []}, 3]))
    samples = read_sharegpt(path, 8, output_len=99, seed=0)
    assert len(samples) == 8 and {sample.max_tokens for sample in samples} == {3}
    path.write_text("[]")
    with pytest.raises(CorruptFileError, match="conversations"):
        read_sharegpt(path, 8, output_len=99, seed=0)


@pytest.mark.parametrize("load", [("--concurrency", "4"), ("--request-rate", "200")])
def test_it_measures_a_server(
    mlc_llm: Callable[..., object], url: str, tmp_path: Path, load: tuple[str, str]
) -> None:
    report = tmp_path / "report.json"
    result = mlc_llm(
        "bench", "serve", "--base-url", f"{url}/v1", "--api-key", KEY, "--num-requests", 12,
        "--output-len", 8, "--spread", 0, "--ignore-eos", "--json", report, *load,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    summary = json.loads(report.read_text())
    assert summary["failed"] == 0 and summary["completion_tokens"] == 12 * 8
    assert 0 < summary["ttft_s"]["p50"] < summary["end_to_end_s"]["p99"]
    assert "12 requests, 0 failed" in result.stdout


def test_a_server_that_is_not_there_is_an_error(mlc_llm: Callable[..., object]) -> None:
    result = mlc_llm("bench", "serve", "--base-url", "http://127.0.0.1:9/v1", "--num-requests", 1)
    assert result.returncode == 1
    assert "every request failed" in result.stderr and "Traceback" not in result.stderr

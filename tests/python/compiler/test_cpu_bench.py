"""What `./dev bench cpu` makes of its figures: comparisons, goals, its text and its page."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from cpu_parts import generators, report, targets, text  # noqa: E402
from cpu_parts.agreement import Comparison, Scores, chance_of  # noqa: E402

OURS, THEIRS = "ours", "llama.cpp Q4_0"


def scores(losses: list[float], best: list[int]) -> Scores:
    return Scores(np.array(losses), np.array(best))


def test_only_tokens_on_which_the_two_differ_count() -> None:
    exact = scores([1, 1, 1, 1, 1], [1, 2, 3, 4, 5])
    ours = scores([1.5, 2, 1, 1, 1], [1, 2, 3, 9, 9])  # right: 0 1 2
    theirs = scores([1, 2, 1, 1, 1.25], [1, 9, 9, 4, 9])  # right: 0 3
    found = Comparison.of(ours, theirs, exact)
    assert (found.tokens, found.only_ours, found.only_theirs) == (5, 2, 1)
    assert found.difference == pytest.approx(0.2)
    low, high = found.difference_interval
    assert (low + high) / 2 == pytest.approx(0.2)
    # The variance of single differences (1, 1, -1 and two zeros) over five tokens.
    assert high - low == pytest.approx(2 * 1.959964 * np.std([1, 1, -1, 0, 0]) / math.sqrt(5))
    assert found.perplexity_ratio == pytest.approx(math.exp((0.5 - 0.25) / 5))
    assert found.perplexity_ratio == pytest.approx(ours.perplexity / theirs.perplexity)
    assert ours.agreement(exact) == 0.6


@pytest.mark.parametrize(
    ("b", "c", "expected"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 2 / 32), (2, 8, 2 * (1 + 10 + 45) / 1024), (4, 4, 1.0)],
)
def test_chance(b: int, c: int, expected: float) -> None:
    assert chance_of(b, c) == pytest.approx(expected)
    assert chance_of(c, b) == chance_of(b, c)


def test_chance_of_thousands_of_throws_is_a_normal_distribution_s() -> None:
    b, c = 2100, 1900
    normal = math.erfc((b - c - 1) / math.sqrt(2 * (b + c)))
    assert chance_of(b, c) == pytest.approx(normal, rel=0.01)


def test_the_text_is_long_and_says_nothing_twice() -> None:
    whole = text.quality_text()
    assert whole.startswith(text.STORY.read_text(encoding="utf-8")[:200])
    assert len(whole) > 250_000 and whole == text.quality_text()
    pieces = [" ".join(p.split()) for p in whole.split("\n\n")]
    long = [p for p in pieces if len(p) > 80]
    assert len(long) == len(set(long)) > 1000


def test_windows_cover_the_text() -> None:
    ids = list(range(10))
    assert text.windows(ids, 4) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert text.windows(ids[:9], 4) == [[0, 1, 2, 3], [4, 5, 6, 7]]  # one alone has no successor


def _figures() -> dict[str, Any]:
    """Of a run in which ours is three times as fast, and everything else as wanted."""
    cases = {case: _speeds(300, 100) for case in targets.FASTER}
    cases |= {f"decode 1, {n} busy neighbours": _speeds(290 / (n + 1), 50) for n in (1, 2)}
    cases["decode 1, 1 busy neighbours"] = _speeds(200, 50)
    run = {
        "cases": cases,
        "read_bandwidth": 30e9,
        "decode_limit": {OURS: 390.0, THEIRS: 380.0},
    }
    memory = {"peak": 140_000_000, "kv": 12_000_000}
    file = {"weight_bytes": 76_000_000, "load_s": 0.04, "memory": memory}
    exact = Scores(np.ones(4), np.arange(4))
    ours = Scores(np.full(4, 1.001), np.array([0, 1, 2, 9]))
    theirs = Scores(np.ones(4), np.array([0, 1, 9, 9]))
    agreement = {"perplexity": 2.7, "top1_agreement": 0.75}
    return {
        "machine": "a machine",
        "rounds": 5,
        "peer": "llama.cpp 1",
        "threads_1": run,
        "threads_2": run,
        "files": {
            OURS: {**file, "library_bytes": 1_000_000},
            THEIRS: {**file, "library_bytes": None},
        },
        "quality": {
            "text": "a text",
            "tokens": 4,
            "schemes": {OURS: agreement},
            "pairs": {OURS: Comparison.of(ours, theirs, exact).record()},
        },
    }


def _speeds(ours: float, theirs: float) -> dict[str, dict[str, float]]:
    return {OURS: {"median": ours}, THEIRS: {"median": theirs}}


def _missed(result: dict[str, Any]) -> set[str]:
    return {goal.what for goal in targets.goals(result) if not goal.met}


def test_a_good_run_meets_every_goal() -> None:
    assert _missed(_figures()) == set()
    page = report.markdown(_figures())
    assert "+25.00 points" in page and "missed" not in page
    assert f"| {OURS} | 76.0 | 12.0 | 1.00 | 40 | 140 | 52 |" in page


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (("threads_2", "cases", "decode 8", "ours", "median"), 199, "decode 8, 2 threads"),
        (("threads_1", "cases", "decode 1", "ours", "median"), 129, "decode 1, 1 thread"),
        (("threads_2", "decode_limit", "ours"), 401, "decode 1, 2 threads, of memory's limit"),
        (("files", "ours", "load_s"), 0.31, "ours: load"),
        (("files", "ours", "library_bytes"), 2_600_000, "ours: library"),
        (("files", "ours", "memory", "peak"), 149_000_000, "ours: memory"),
        (("quality", "pairs", "ours", "perplexity_ratio"), 1.011, "ours: perplexity"),
        (("quality", "pairs", "ours", "difference"), -0.0001, "ours: top-1"),
    ],
)
def test_a_figure_that_falls_short_misses_its_goal(path: tuple, value: float, what: str) -> None:
    result = json.loads(json.dumps(_figures()))
    place = result
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    (missed,) = _missed(result)
    assert missed.startswith(what)
    assert report.markdown(result).count("| missed |") == 1


def test_figures_that_are_not_there_make_no_goals() -> None:
    assert targets.goals({"machine": "", "rounds": 1}) == []
    cases = {"decode 1": _speeds(300, 100)}
    quick = {"threads_1": {**_figures()["threads_1"], "cases": cases}}
    assert [g.what for g in targets.goals(quick)] == ["decode 1, 1 thread, beside llama.cpp"]


def test_the_files_are_written_and_read_back(tmp_path: Path) -> None:
    result = json.loads(json.dumps(_figures()))
    (tmp_path / "performance.md").write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.write(tmp_path, result, report.markdown(result))
    page = (tmp_path / "performance.md").read_text()
    assert page.startswith("before\n") and page.endswith("\nafter\n") and "old" not in page
    assert report.read(tmp_path) == result


class Answering:
    """A program of which a prompt's token takes 1 second and a further token 10."""

    vocab_size = 2000

    def __init__(self) -> None:
        self.now, self.prompts = 0.0, set[tuple[int, ...]]()

    def generate(self, ids: list[int], count: int) -> None:
        assert tuple(ids) not in self.prompts and max(ids) < self.vocab_size
        self.prompts.add(tuple(ids))
        self.now += len(ids) + 10 * (count - 1)


def test_programs_that_answer_whole_prompts_are_timed_by_differences() -> None:
    program = Answering()
    worker = generators.GeneratorWorker(program, lambda: program.now)
    assert worker.prefill(tokens=128, history=0) == 128
    assert worker.decode(batch=1, history=16, steps=24) == 10
    assert worker.decode(batch=1, history=16, steps=24) == 10

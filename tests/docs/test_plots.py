"""The plots of the site: each marker names one, and its bars are the figures of the files."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from unittest.mock import MagicMock
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from devtools import plots  # noqa: E402


def test_every_marker_names_a_plot_and_every_plot_is_shown() -> None:
    pages = [p.read_text(encoding="utf-8") for p in (ROOT / "docs").glob("*.md")]
    assert set(re.findall("<!-- plot (.*?) -->", "\n".join(pages))) == set(plots.PLOTS)


def test_a_marker_becomes_a_picture_for_each_theme() -> None:
    made = plots.on_page_markdown("a\n<!-- plot speed -->\nb\n")
    assert made.splitlines()[1:3] == [
        "![speed](plots/speed-light.svg#only-light)",
        "![speed](plots/speed-dark.svg#only-dark)",
    ]
    with pytest.raises(ValueError, match="no plot 'sped'"):
        plots.on_page_markdown("<!-- plot sped -->")


@pytest.mark.parametrize("name", plots.PLOTS)
def test_the_bars_are_the_figures_of_the_files(name: str) -> None:
    axes = [MagicMock(), MagicMock()]
    plots.PLOTS[name][0](axes)
    values = [value for one in axes for call in one.barh.call_args_list for value in call.args[1]]
    data = {n: plots.figures(n) for n in plots.MACHINES.values()}
    last = data["performance"]
    depths = next(iter(plots.figures("performance-long").values()))[1:]
    expected = {
        "long": [1e3 * d["step"][p] for p in ("ours", "llama.cpp") for d in depths]
        + [1e3 / d["prompt"][p] for p in ("ours", "llama.cpp") for d in depths[:-1]],
        "speed": [
            data[machine]["threads_2"]["cases"][case][program]["median"]
            for machine in plots.MACHINES.values()
            for program in ("gguf_q4_0", "q4f16_1", "llama.cpp Q4_0")
            for case in plots.CASES
        ],
        "memory": [f["memory"]["peak"] / 1e6 for f in last["files"].values()]
        + [f["load_s"] * 1e3 for f in last["files"].values()],
        "quality": [s["perplexity"] for s in last["quality"]["schemes"].values()]
        + [100 * s["top1_agreement"] for s in last["quality"]["schemes"].values()],
    }
    assert values == expected[name]


@pytest.mark.parametrize("theme", plots.INK)
def test_a_drawing_is_the_same_each_time(theme: str) -> None:
    pytest.importorskip("matplotlib", reason="./dev docs installs it")
    first = plots.drawn("memory", theme)
    assert first == plots.drawn("memory", theme)
    assert ElementTree.fromstring(first).tag.endswith("svg") and plots.INK[theme] in first

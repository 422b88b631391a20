"""The plots of the documentation site, drawn by Matplotlib from the figures in docs/*.json.

A page has a line `<!-- plot NAME -->`. This hook of MkDocs draws the plot twice, for light and for
dark pages, and puts both pictures in its place; the theme shows the right one. In other viewers of
Markdown the tables beside it say the same.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
MARKER = re.compile(r"^<!-- plot ([\w-]+) -->$", re.MULTILINE)
MACHINES = {"Zen 5, AVX512-VNNI": "performance-zen5", "Zen 3, AVX2": "performance"}
CASES = ("decode 1", "decode 8", "prefill 512", "decode 1, 2048 before", "prefill 512, 2048 before")
BARS = ("#3f51b5", "#8c9eff", "#9e9e9e")
INK = {"light": "#212121", "dark": "#e0e0e0"}


def figures(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DOCS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def bars(axes: Any, rows: list[str], columns: dict[str, list[float]], title: str) -> None:
    """A group of bars for each row, one bar for each column, with its value."""
    width = 0.8 / len(columns)
    for index, (name, values) in enumerate(columns.items()):
        places = [row + (index - (len(columns) - 1) / 2) * width for row in range(len(rows))]
        drawn = axes.barh(places, values, width, label=name, color=BARS[index % len(BARS)])
        axes.bar_label(drawn, fmt=digits, padding=3, fontsize=8)
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_title(title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def speed(axes: list[Any]) -> None:
    """Tokens per second at two threads."""
    for one, (machine, name) in zip(axes, MACHINES.items(), strict=True):
        cases = figures(name)["threads_2"]["cases"]
        programs = list(cases[CASES[0]])
        columns = {p: [cases[case][p]["median"] for case in CASES] for p in programs}
        bars(one, list(CASES), columns, f"{machine}: tokens per second, 2 threads")
    axes[0].legend(frameon=False, fontsize=8, loc="lower right")


def memory(axes: list[Any]) -> None:
    """Peak memory and load time on the Zen 3."""
    files = figures("performance")["files"]
    names = list(files)
    peak = [file["memory"]["peak"] / 1e6 for file in files.values()]
    load = [file["load_s"] * 1e3 for file in files.values()]
    bars(axes[0], names, {"": peak}, "Peak memory of the process, MB")
    bars(axes[1], names, {"": load}, "Load, ms")


def quality(axes: list[Any]) -> None:
    """What quantization costs, on the long text."""
    schemes = figures("performance")["quality"]["schemes"]
    names = list(schemes)
    bars(axes[0], names, {"": [s["perplexity"] for s in schemes.values()]}, "Perplexity")
    agreement = [100 * s["top1_agreement"] for s in schemes.values()]
    bars(axes[1], names, {"": agreement}, "Tokens that q0f32 would choose, %")


def long(axes: list[Any]) -> None:
    """What a token costs behind long histories, in milliseconds."""
    _, *depths = next(iter(figures("performance-long").values()))  # the first is a short history
    steps = {p: [1e3 * d["step"][p] for d in depths] for p in depths[0]["step"]}
    both = [d for d in depths if set(d["prompt"]) == set(steps)]
    tokens = {p: [1e3 / d["prompt"][p] for d in both] for p in steps}
    title = "Llama 3.2 1B's shape, 2 threads: ms of a decode step"
    bars(axes[0], [f"behind {d['depth']:,}" for d in depths], steps, title)
    bars(axes[1], [f"behind {d['depth']:,}" for d in both], tokens, "ms of a prompt's token")
    axes[0].legend(frameon=False, fontsize=8, loc="lower right")


PLOTS: dict[str, tuple[Callable[[list[Any]], None], tuple[float, float]]] = {
    "speed": (speed, (8, 7)),
    "memory": (memory, (8, 3)),
    "quality": (quality, (8, 3.4)),
    "long": (long, (8, 4.4)),
}


def drawn(name: str, theme: str) -> str:
    """The plot as SVG, the same for the same figures."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    draw, size = PLOTS[name]
    ink = INK[theme]
    colours = dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), ink
    )
    with pyplot.rc_context({**colours, "svg.hashsalt": "mlc_llm", "font.size": 9}):
        figure, axes = pyplot.subplots(2, 1, figsize=size, layout="constrained")
        draw(list(axes))
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
        pyplot.close(figure)
    return out.getvalue()


def address(name: str, theme: str) -> str:
    return f"plots/{name}-{theme}.svg"


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Adds the pictures to the site."""
    from mkdocs.structure.files import File

    for name in PLOTS:
        for theme in INK:
            picture = File.generated(config, address(name, theme), content=drawn(name, theme))
            files.append(picture)
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replaces the markers. Pages in folders have no plots."""
    return MARKER.sub(lambda found: pictures(found[1]), markdown)


def pictures(name: str) -> str:
    if name not in PLOTS:
        raise ValueError(f"no plot {name!r}: there are {', '.join(PLOTS)}")
    return "\n".join(f"![{name}]({address(name, theme)}#only-{theme})" for theme in INK)

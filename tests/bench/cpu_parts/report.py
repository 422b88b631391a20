"""The table, the plot and the file of figures that `./dev bench cpu` leaves in docs/."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- bench cpu: begin -->", "<!-- bench cpu: end -->"
_SVG = "http:" + "//www.w3.org/2000/svg"  # the format's name, no address
_COLOURS = ("#2f6f9f", "#7fb2d0", "#b0b0b0", "#d9a05b")


def markdown(result: dict[str, Any]) -> str:
    """The measured part of docs/performance.md."""
    parts = [
        f"Measured on {result['machine']}; medians of {result['rounds']} rounds in one run, "
        "programs in turn"
        + (f"; peer: {result['peer']}, built for this machine." if result.get("peer") else "."),
    ]
    for threads in (1, 2):
        if f"threads_{threads}" in result:
            parts += ["", _speed_table(result[f"threads_{threads}"], threads)]
    parts += ["", "![tokens a second](performance.svg)", "", _files_table(result["files"])]
    if "quality" in result:
        parts += ["", _quality_table(result["quality"])]
    return "\n".join(parts) + "\n"


def write(docs: Path, result: dict[str, Any], text: str) -> None:
    """Puts the measured part between the marks of docs/performance.md, plot and figures beside."""
    docs.mkdir(exist_ok=True)
    page = docs / "performance.md"
    old = page.read_text(encoding="utf-8") if page.is_file() else f"{BEGIN}\n{END}\n"
    head, rest = old.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    page.write_text(f"{head}{BEGIN}\n\n{text}\n{END}{tail}", encoding="utf-8")
    (docs / "performance.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (docs / "performance.svg").write_text(plot(result), encoding="utf-8")


def _speed_table(run: dict[str, Any], threads: int) -> str:
    names = list(next(iter(run["cases"].values())))
    ours, theirs = names[0], names[-1] if names[-1].startswith("llama.cpp") else None
    head = [f"{threads} thread{'s' if threads > 1 else ''}, tok/s", *names]
    rows = [head + ([f"{ours} / llama.cpp"] if theirs else [])]
    for case, by_name in run["cases"].items():
        row = [case, *(f"{by_name[n]['median']:.1f}" for n in names)]
        if theirs:
            row.append(f"{by_name[ours]['median'] / by_name[theirs]['median']:.2f}")
        rows.append(row)
    limits = [f"{run['decode_limit'][n]:.0f}" for n in names]
    bandwidth = f"limit of decode 1 ({run['read_bandwidth'] / 1e9:.1f} GB/s read)"
    rows.append([bandwidth, *limits, *([""] if theirs else [])])
    return _table(rows)


def _files_table(files: dict[str, Any]) -> str:
    rows = [["program and file", "weights MB", "library MB", "load ms", "peak memory MB"]]
    for name, entry in files.items():
        library = entry["library_bytes"]
        rows.append([
            name,
            f"{entry['weight_bytes'] / 1e6:.1f}",
            f"{library / 1e6:.2f}" if library else "",
            f"{entry['load_s'] * 1e3:.0f}",
            f"{entry['memory']['peak'] / 1e6:.0f}",
        ])  # fmt: skip
    return _table(rows)


def _quality_table(quality: dict[str, Any]) -> str:
    rows = [["scheme", "perplexity", "top-1 agreement with q0f32"]]
    for name, entry in quality.items():
        rows.append([name, f"{entry['perplexity']:.3f}", f"{entry['top1_agreement']:.2%}"])
    tokens = next(iter(quality.values()))["tokens"]
    return _table(rows) + f"\n\nOn the {tokens} tokens of `tests/bench/quality.txt`."


def _table(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


def plot(result: dict[str, Any]) -> str:
    """Bars of each case, one colour a program, at the most threads that were measured."""
    threads = 2 if "threads_2" in result else 1
    cases = result[f"threads_{threads}"]["cases"]
    names = list(next(iter(cases.values())))
    most = max(entry["median"] for by_name in cases.values() for entry in by_name.values())
    height = 14 * len(names) + 14
    parts = [_text(10, 18, f"tokens a second, {threads} threads")]
    for i, name in enumerate(names):
        parts += [_bar(220 + 150 * i, 8, 10, i), _text(235 + 150 * i, 18, name)]
    for number, (case, by_name) in enumerate(cases.items()):
        top = 40 + number * height
        parts.append(_text(10, top + 12, case))
        for i, name in enumerate(names):
            value = by_name[name]["median"]
            width = max(1.0, 400 * value / most)
            parts += [_bar(270, top + 14 * i, width, i)]
            parts += [_text(275 + width, top + 14 * i + 11, f"{value:.0f}")]
    size = f'width="760" height="{50 + height * len(cases)}"'
    body = "\n".join(parts)
    return (
        f'<svg xmlns="{_SVG}" {size} font-family="sans-serif" '
        f'font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _bar(x: float, y: float, width: float, colour: int) -> str:
    fill = _COLOURS[colour % len(_COLOURS)]
    return f'<rect x="{x}" y="{y}" width="{width:.1f}" height="12" fill="{fill}"/>'


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y}">{text}</text>'

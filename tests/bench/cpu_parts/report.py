"""The tables and the file of figures that `./dev bench cpu` leaves in docs/. The site's plots are
drawn from that file (devtools/plots.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cpu_parts import targets

BEGIN, END = "<!-- bench cpu: begin -->", "<!-- bench cpu: end -->"


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
    parts += ["", "<!-- plot quality -->", "", _files_table(result["files"])]
    if "quality" in result:
        parts += ["", _quality_table(result["quality"])]
        if result["quality"]["pairs"]:
            parts += ["", _pairs_table(result["quality"])]
    if goals := targets.goals(result):
        parts += ["", _goals_table(goals)]
    return "\n".join(parts) + "\n"


def read(docs: Path) -> dict[str, Any]:
    """The figures of the last run."""
    found: dict[str, Any] = json.loads((docs / "performance.json").read_text(encoding="utf-8"))
    return found


def write(docs: Path, result: dict[str, Any], text: str) -> None:
    """Puts the measured part between the marks of docs/performance.md, and the figures beside."""
    docs.mkdir(exist_ok=True)
    page = docs / "performance.md"
    old = page.read_text(encoding="utf-8") if page.is_file() else f"{BEGIN}\n{END}\n"
    head, rest = old.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    page.write_text(f"{head}{BEGIN}\n\n{text}\n{END}{tail}", encoding="utf-8")
    (docs / "performance.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


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
    head = ["program and file", "weights MB", "KV MB", "library MB", "load ms", "peak memory MB"]
    rows = [[*head, "beyond weights and KV"]]
    for name, entry in files.items():
        library, memory = entry["library_bytes"], entry["memory"]
        rows.append([
            name,
            f"{entry['weight_bytes'] / 1e6:.1f}",
            f"{memory['kv'] / 1e6:.1f}",
            f"{library / 1e6:.2f}" if library else "",
            f"{entry['load_s'] * 1e3:.0f}",
            f"{memory['peak'] / 1e6:.0f}",
            f"{targets.extra_bytes(entry) / 1e6:.0f}",
        ])  # fmt: skip
    note = "KV: of the 521 tokens that were computed. Memory: the whole process's, Python's too."
    return f"{_table(rows)}\n\n{note}"


def _quality_table(quality: dict[str, Any]) -> str:
    rows = [["scheme", "perplexity", "top-1 agreement with q0f32"]]
    for name, entry in quality["schemes"].items():
        rows.append([name, f"{entry['perplexity']:.3f}", f"{entry['top1_agreement']:.2%}"])
    return _table(rows) + f"\n\nOn {quality['tokens']} tokens: {quality['text']}."


def _pairs_table(quality: dict[str, Any]) -> str:
    head = ["beside llama.cpp on the same file", "perplexity, ours / theirs"]
    rows = [
        [
            *head,
            "top-1, ours - theirs",
            "ours alone right",
            "theirs alone right",
            "chance between equals",
        ]
    ]
    for name, pair in quality["pairs"].items():
        low, high = (100 * (ratio - 1) for ratio in pair["perplexity_interval"])
        left, right = (100 * d for d in pair["difference_interval"])
        rows.append([
            name,
            f"{100 * (pair['perplexity_ratio'] - 1):+.2f} % ({low:+.2f} to {high:+.2f})",
            f"{100 * pair['difference']:+.2f} points ({left:+.2f} to {right:+.2f})",
            str(pair["only_ours"]),
            str(pair["only_theirs"]),
            f"{pair['chance']:.2f}",
        ])  # fmt: skip
    note = (
        "Right: names q0f32's likeliest token. Intervals are of 95 %, over tokens that both saw; "
        "the last column is McNemar's exact test."
    )
    return f"{_table(rows)}\n\n{note}"


def _goals_table(goals: list[targets.Goal]) -> str:
    rows = [["goal", "wanted", "found", ""]]
    for goal in goals:
        rows.append([goal.what, goal.wanted, goal.found, "" if goal.met else "missed"])
    return _table(rows)


def _table(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)

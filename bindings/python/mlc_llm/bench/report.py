"""Turns records into numbers, a table and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlc_llm.bench.client import Record
from mlc_llm.errors import UnsupportedError

PERCENTILES = (50, 90, 95, 99)
_MEASURES = {
    "ttft_s": "time to first token",
    "tpot_s": "time per output token",
    "itl_s": "inter-token latency",
    "end_to_end_s": "end-to-end latency",
}


def percentile(values: Sequence[float], percent: float) -> float:
    """Linear between the ranks, like NumPy's percentile."""
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def summarize(records: Sequence[Record]) -> dict[str, Any]:
    """The report as JSON: counts, throughput, and mean and percentiles of each measure."""
    good = [record for record in records if record.error is None]
    summary: dict[str, Any] = {"requests": len(records), "failed": len(records) - len(good)}
    errors = sorted({record.error for record in records if record.error is not None})
    if errors:
        summary["errors"] = errors[:5]
    if not good:
        return summary
    duration = max(record.end for record in good) - min(record.begin for record in good)
    output = sum(record.completion_tokens for record in good)
    prompt = sum(record.prompt_tokens for record in good)
    summary |= {
        "duration_s": duration,
        "requests_per_s": len(good) / duration,
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "output_tokens_per_s": output / duration,
        "total_tokens_per_s": (output + prompt) / duration,
    }
    measures = {
        "ttft_s": [record.ttft for record in good],
        "tpot_s": [record.tpot for record in good if record.tpot is not None],
        "itl_s": [gap for record in good for gap in record.itl],
        "end_to_end_s": [record.end - record.begin for record in good],
    }
    for name, values in measures.items():
        if values:
            summary[name] = {
                "mean": sum(values) / len(values),
                **{f"p{p}": percentile(values, p) for p in PERCENTILES},
            }
    return summary


def table(summary: dict[str, Any]) -> str:
    """The report as text, in milliseconds."""
    lines = [f"{summary['requests']} requests, {summary['failed']} failed"]
    lines += [f"  {error}" for error in summary.get("errors", [])]
    if "duration_s" in summary:
        lines.append(
            f"{summary['duration_s']:.2f} s: {summary['requests_per_s']:.2f} requests/s, "
            f"{summary['output_tokens_per_s']:.1f} output tokens/s, "
            f"{summary['total_tokens_per_s']:.1f} tokens/s in all"
        )
        columns = ["mean", *(f"p{p}" for p in PERCENTILES)]
        lines.append(f"{'milliseconds':24}" + "".join(f"{column:>10}" for column in columns))
        for name, title in _MEASURES.items():
            if name in summary:
                row = "".join(f"{summary[name][column] * 1e3:10.2f}" for column in columns)
                lines.append(f"{title:24}{row}")
    return "\n".join(lines)


def plot(records: Sequence[Record], path: Path) -> None:
    """Plots the distributions of TTFT and inter-token latency. The file's name decides the
    format."""
    try:
        from matplotlib.figure import Figure  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise UnsupportedError(
            "--plot needs matplotlib: pip install matplotlib", param="plot"
        ) from None
    good = [record for record in records if record.error is None]
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    axes = figure.subplots(1, 2)
    for axis, title, values in (
        (axes[0], "time to first token", [record.ttft * 1e3 for record in good]),
        (axes[1], "inter-token latency", [gap * 1e3 for record in good for gap in record.itl]),
    ):
        axis.hist(values, bins=40)
        axis.set_title(title)
        axis.set_xlabel("milliseconds")
    figure.savefig(path)

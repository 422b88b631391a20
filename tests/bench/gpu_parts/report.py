"""Times of kernels as tables."""

from __future__ import annotations

from typing import Any

Limits = dict[str, float]


def total(rows: list[dict[str, Any]], limits: Limits) -> dict[str, Any]:
    """A step: the sum of its kernels."""
    timed = [row for row in rows if row["seconds"] is not None]
    seconds = sum(row["count"] * row["seconds"] for row in timed)
    moved = sum(row["count"] * row["bytes"] for row in timed)
    operations = sum(row["count"] * row["operations"] for row in timed)
    return {
        "seconds": seconds,
        "bytes": moved,
        "operations": operations,
        "copy_share": moved / seconds / limits["copy_bytes_per_s"],
        "multiply_share": operations / seconds / limits["multiply_per_s"],
        "complete": len(timed) == len(rows),
    }


def table(title: str, rows: list[dict[str, Any]], limits: Limits) -> str:
    """One step's kernels, the slowest first."""
    step = total(rows, limits)
    lines = [
        f"{title}: {step['seconds'] * 1e3:.2f} ms in kernels, {step['copy_share']:.0%} of copy "
        f"bandwidth, {step['multiply_share']:.0%} of multiply-adds"
        + ("" if step["complete"] else " (without what does not fit)"),
        f"  {'kernel':24}{'calls':>6}{'us':>12}{'% time':>8}{'GB/s':>8}{'% copy':>8}"
        f"{'GFLOP/s':>9}{'% mul.':>8}",
    ]
    for row in sorted(rows, key=lambda r: -r["count"] * (r["seconds"] or 0)):
        lines.append(_line(row, step["seconds"], limits))
    return "\n".join(lines)


def _line(row: dict[str, Any], step_s: float, limits: Limits) -> str:
    seconds = row["seconds"]
    head = f"  {row['kernel']:24}{row['count']:6d}"
    if seconds is None:
        return head + "  does not fit"
    bandwidth, rate = row["bytes"] / seconds, row["operations"] / seconds
    return (
        f"{head}{seconds * 1e6:12.1f}{row['count'] * seconds / step_s:8.0%}{bandwidth / 1e9:8.1f}"
        f"{bandwidth / limits['copy_bytes_per_s']:8.0%}{rate / 1e9:9.1f}"
        f"{rate / limits['multiply_per_s']:8.0%}"
    )

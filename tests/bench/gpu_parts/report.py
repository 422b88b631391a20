"""Times of kernels as tables."""

from __future__ import annotations

from typing import Any

# Of the device: what its copies and its multiply-adds reach; "matrix_per_s" where there is a
# library that shows what its matrix units do.
Limits = dict[str, float]
COPY_GOAL = 0.6  # of the copy bandwidth, for a decode step of one sequence
CPU_GOAL = 0.03  # of a decode step, what is not kernels, at a batch of 64


def total(rows: list[dict[str, Any]], limits: Limits, launch_s: float = 0.0) -> dict[str, Any]:
    """A step: the sum of its kernels. `launch_s` is the host's time for one: with it comes the
    host's share, in which a device waits where it has nothing else to do."""
    timed = [row for row in rows if row["seconds"] is not None]
    seconds = sum(row["count"] * row["seconds"] for row in timed)
    moved = sum(row["count"] * row["bytes"] for row in timed)
    operations = sum(row["count"] * row["operations"] for row in timed)
    launches = sum(row["count"] for row in timed)
    return {
        "seconds": seconds,
        "bytes": moved,
        "operations": operations,
        "copy_share": moved / seconds / limits["copy_bytes_per_s"],
        "multiply_share": operations / seconds / limits["multiply_per_s"],
        **(
            {"matrix_share": operations / seconds / limits["matrix_per_s"]}
            if "matrix_per_s" in limits
            else {}
        ),
        "launches": launches,
        "host_share": launches * launch_s / seconds,
        "complete": len(timed) == len(rows),
    }


def table(title: str, rows: list[dict[str, Any]], limits: Limits) -> str:
    """One step's kernels, the slowest first."""
    step = total(rows, limits)
    lines = [
        f"{title}: {step['seconds'] * 1e3:.2f} ms in kernels, {step['copy_share']:.0%} of copy "
        f"bandwidth, {step['multiply_share']:.0%} of multiply-adds"
        + (f", {step['matrix_share']:.0%} of the matrix rate" if "matrix_share" in step else "")
        + ("" if step["complete"] else " (without what does not fit)"),
        f"  {'kernel':24}{'calls':>6}{'us':>12}{'% time':>8}{'GB/s':>8}{'% copy':>8}"
        f"{'GFLOP/s':>9}{'% mul.':>8}{'library us':>12}",
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
        f"{rate / limits['multiply_per_s']:8.0%}{_library(row)}"
    )


def _library(row: dict[str, Any]) -> str:
    seconds = row.get("library_seconds")
    return f"{seconds * 1e6:12.1f}" if seconds is not None else f"{'-':>12}"


def summary(result: dict[str, Any]) -> str:
    """What a model is judged by: decode of one sequence against copies, throughput of many, prompts
    against the matrix rate, and the part of a step that is the host's."""
    lines = [f"summary, {result['quantization']} on {result['device']['name']}"]
    for model, steps in result["models"].items():
        engine = result.get("engine", {}).get(model, {})
        for name, step in steps.items():
            lines.append(f"  {model}, {name}: {_judged(name, step, engine, result['limits'])}")
    return "\n".join(lines)


def _judged(name: str, step: dict[str, Any], engine: dict[str, Any], limits: Limits) -> str:
    kind, _, size = name.partition(" of ")
    rate = int(size) / step["seconds"]
    parts = [f"{step['seconds'] * 1e3:.2f} ms in kernels, {rate:.0f} tokens/s"]
    if kind == "prefill":
        if "matrix_per_s" in limits:
            parts.append(f"{step['matrix_share']:.0%} of the matrix rate")
        else:
            parts.append("no library to show the matrix rate")
        parts.append(f"{step['multiply_share']:.0%} of multiply-adds")
    else:
        goal = f" (goal {COPY_GOAL:.0%})" if size == "1" else ""
        parts.append(f"{step['copy_share']:.0%} of copy bandwidth{goal}")
        goal = f" (goal below {CPU_GOAL:.0%})" if size == "64" else ""
        parts.append(f"{step['launches']} launches, {step['host_share']:.1%} of it the CPU's{goal}")
    if (whole := engine.get(size)) is not None and kind == "decode":
        goal = f" (goal below {CPU_GOAL:.0%})" if size == "64" else ""
        parts.append(
            f"engine {whole['seconds'] * 1e3:.2f} ms, {whole['tokens_per_s']:.0f} tokens/s"
        )
        parts.append(f"{whole['outside_kernels']:.1%} outside kernels{goal}")
    return "; ".join(parts)

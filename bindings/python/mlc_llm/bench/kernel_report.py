"""The times of kernels as a table, and beside what the machine allows: a roofline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT, _MARGIN = 720, 440, 60
_COLOURS = ("#e53935", "#fb8c00", "#43a047", "#8e24aa")
_HEAD = ("kernel", "calls", "us", "%", "MB", "GB/s", "% of memory", "Gop/s", "% of products")


def shares(kernel: Mapping[str, Any], limits: Mapping[str, float]) -> tuple[float, float]:
    """Of what the machine reads in that time, and of what it multiplies."""
    seconds = max(kernel["seconds"], 1e-9)
    most = limits["integer" if kernel["of_integers"] else "float"]
    return (
        kernel["bytes"] / seconds / limits["bytes"],
        kernel["operations"] / seconds / most,
    )


def table(report: Mapping[str, Any]) -> str:
    """Every case, its longest kernels first."""
    limits = report["limits"]
    lines = [
        f"{report['model']}, {report['threads']} threads; limits: memory "
        f"{limits['bytes'] / 1e9:.1f} GB/s, products of bytes {limits['integer'] / 1e9:.0f} and of "
        f"floats {limits['float'] / 1e9:.0f} Gop/s"
    ]
    for name, kernels in report["cases"].items():
        total = sum(one["seconds"] for one in kernels)
        lines += ["", f"{name}: {total * 1e3:.2f} ms in {sum(k['calls'] for k in kernels)} calls"]
        rows = [_HEAD, *(_row(one, total, limits) for one in kernels)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
        for row in rows:
            numbers = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
            lines.append("  ".join([row[0].ljust(widths[0]), *numbers]))
    return "\n".join(lines)


def _row(kernel: Mapping[str, Any], total: float, limits: Mapping[str, float]) -> tuple[str, ...]:
    seconds = max(kernel["seconds"], 1e-9)
    memory, products = shares(kernel, limits)
    has_products = kernel["operations"] > 0
    return (
        kernel["kernel"],
        str(kernel["calls"]),
        f"{kernel['seconds'] * 1e6:.1f}",
        f"{100 * kernel['seconds'] / max(total, 1e-9):.1f}",
        f"{kernel['bytes'] / 1e6:.2f}",
        f"{kernel['bytes'] / seconds / 1e9:.1f}",
        f"{100 * memory:.0f}",
        f"{kernel['operations'] / seconds / 1e9:.0f}" if has_products else "",
        f"{100 * products:.0f}" if has_products else "",
    )


def plot(report: Mapping[str, Any], path: Path) -> None:
    """A roofline as SVG: the operations that each kernel makes of a byte, and in a second; both
    axes are logarithmic."""
    limits, points = report["limits"], _points(report)
    xs = [x for _, _, x, _ in points] or [1.0]
    left, right = min(xs) / 2, max(xs) * 2
    roofs = {
        word: [
            (x, min(limits[name], x * limits["bytes"])) for x in _corners(left, right, limits, name)
        ]
        for name, word in (("integer", "limit of bytes"), ("float", "limit of floats"))
    }
    ys = [y for *_, y in points] + [y for roof in roofs.values() for _, y in roof]
    frame = _Frame((left, right), (min(ys) / 2, max(ys) * 2))
    parts = [frame.axes(f"{report['model']}, {report['threads']} threads")]
    for (word, roof), colour in zip(roofs.items(), ("#3f51b5", "#9e9e9e"), strict=True):
        parts.append(frame.line(roof, colour, word))
    for case, kernel, x, y in points:
        colour = _COLOURS[list(report["cases"]).index(case) % len(_COLOURS)]
        parts.append(frame.dot(x, y, colour, f"{kernel} ({case})"))
    for index, case in enumerate(report["cases"]):
        parts.append(frame.legend(index, case, _COLOURS[index % len(_COLOURS)]))
    body = "\n".join(parts)
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="11"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{body}\n</svg>\n'
    path.write_text(svg, encoding="utf-8")


def _points(report: Mapping[str, Any]) -> list[tuple[str, str, float, float]]:
    """Case, kernel, operations for each byte, operations a second."""
    return [
        (case, k["kernel"], k["operations"] / k["bytes"], k["operations"] / k["seconds"])
        for case, kernels in report["cases"].items()
        for k in kernels
        if k["operations"] and k["bytes"] and k["seconds"] > 0
    ]


def _corners(left: float, right: float, limits: Mapping[str, float], name: str) -> list[float]:
    corner = limits[name] / limits["bytes"]
    return [left, corner, right] if left < corner < right else [left, right]


@dataclass(frozen=True)
class _Frame:
    """Where values of both axes are on the picture."""

    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = math.log(x / self.x[0]) / math.log(self.x[1] / self.x[0])
        up = math.log(y / self.y[0]) / math.log(self.y[1] / self.y[0])
        width, height = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN
        return round(_MARGIN + across * width, 1), round(_HEIGHT - _MARGIN - up * height, 1)

    def axes(self, title: str) -> str:
        parts = [
            _text(_MARGIN, 20, title),
            _text(_MARGIN, _HEIGHT - 10, "operations for each byte"),
        ]
        parts.append(_text(_MARGIN, 38, "Gop/s"))
        for tick in _ticks(*self.x):
            x, y = self.at(tick, self.y[0])
            parts.append(_text(x, y + 14, f"{tick:g}", "middle"))
        for tick in _ticks(*self.y):
            x, y = self.at(self.x[0], tick)
            parts.append(_text(x - 4, y + 4, f"{tick / 1e9:g}", "end"))
        (x, y), (right, top) = self.at(self.x[0], self.y[0]), self.at(self.x[1], self.y[1])
        parts.append(f'<path d="M{x} {top}V{y}H{right}" fill="none" stroke="gray"/>')
        return "\n".join(parts)

    def line(self, points: Sequence[tuple[float, float]], colour: str, word: str) -> str:
        places = [self.at(*point) for point in points]
        path = " ".join(f"{x},{y}" for x, y in places)
        x, y = places[-1]
        drawn = f'<polyline points="{path}" fill="none" stroke="{colour}"/>'
        return f"{drawn}\n{_text(x, y - 5, word, 'end')}"

    def dot(self, x: float, y: float, colour: str, title: str) -> str:
        cx, cy = self.at(x, y)
        drawn = f'<circle cx="{cx}" cy="{cy}" r="4" fill="{colour}">'
        return f"{drawn}<title>{escape(title)}</title></circle>"

    @staticmethod
    def legend(index: int, case: str, colour: str) -> str:
        y = _HEIGHT - _MARGIN - 14 * (index + 1)
        mark = f'<circle cx="{_WIDTH - 150}" cy="{y - 4}" r="4" fill="{colour}"/>'
        return f"{mark}\n{_text(_WIDTH - 140, y, case)}"


def _ticks(low: float, high: float) -> list[float]:
    """The powers of ten between."""
    return [10.0**e for e in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="gray">{escape(text)}</text>'

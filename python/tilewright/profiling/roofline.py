# SPDX-License-Identifier: Apache-2.0
"""A roofline picture: speed over operations per byte, under the machine's limits."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .report import Measured

_WIDTH, _HEIGHT = 900, 560
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 220, 30, 60
_COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2")


class _Axes:
    """Log scales from values to places in the picture."""

    def __init__(self, low_x: float, high_x: float, low_y: float, high_y: float) -> None:
        self.x_range = (math.floor(math.log10(low_x)), math.ceil(math.log10(high_x)))
        self.y_range = (math.floor(math.log10(low_y)), math.ceil(math.log10(high_y)))

    def x(self, value: float) -> float:
        low, high = self.x_range
        share = (math.log10(value) - low) / max(high - low, 1)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        low, high = self.y_range
        share = (math.log10(value) - low) / max(high - low, 1)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def grid(self) -> list[str]:
        parts = []
        for power in range(self.x_range[0], self.x_range[1] + 1):
            at = self.x(10.0**power)
            parts.append(_line(at, _TOP, at, _HEIGHT - _BOTTOM, "#ddd"))
            parts.append(_words(at, _HEIGHT - _BOTTOM + 20, f"{10.0**power:g}", "middle"))
        for power in range(self.y_range[0], self.y_range[1] + 1):
            at = self.y(10.0**power)
            parts.append(_line(_LEFT, at, _WIDTH - _RIGHT, at, "#ddd"))
            parts.append(_words(_LEFT - 8, at + 4, f"{10.0**power:g}", "end"))
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        parts.append(_words(middle, _HEIGHT - 15, "operations per byte", "middle"))
        parts.append(_words(_LEFT, _TOP - 12, "GFLOP/s", "end"))
        return parts


def _line(x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
        f'stroke-width="{width}"/>'
    )


def _words(x: float, y: float, text: str, anchor: str = "start", color: str = "#333") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{escape(text)}</text>'
    )


def _roofs(axes: _Axes, peaks: dict[str, float]) -> list[str]:
    parts = []
    right = 10.0 ** axes.x_range[1]
    left = 10.0 ** axes.x_range[0]
    bandwidth = peaks["bytes"] / 1e9
    kinds = (("float32", "flops"), ("bfloat16", "bfloat16_flops"), ("int8", "byte_operations"))
    roofs = [(name, peaks[key] / 1e9) for name, key in kinds if peaks[key] > 0]
    highest = max(roof for _, roof in roofs)
    ridge = min(max(highest / bandwidth, left), right)
    start = max(left, 10.0 ** axes.y_range[0] / bandwidth)
    parts.append(
        _line(axes.x(start), axes.y(start * bandwidth), axes.x(ridge),
              axes.y(ridge * bandwidth), "#555", 2)
    )  # fmt: skip
    for name, roof in roofs:
        begin = min(max(roof / bandwidth, left), right)
        parts.append(_line(axes.x(begin), axes.y(roof), axes.x(right), axes.y(roof), "#555", 2))
        parts.append(_words(axes.x(right) - 6, axes.y(roof) - 6, f"{name}: {roof:.0f}", "end"))
    return parts


#: What of a name and of shapes fits beside the picture.
_NAME, _SHAPES = 18, 24


def _legend(dots: list[Measured]) -> list[list[str]]:
    """Of each dot the lines that tell it from the others: its name; where others have the same one,
    the shapes that differ, and a number if even that is not enough."""
    names = [one.kernel[:_NAME] for one in dots]
    lines: list[list[str]] = []
    for number, one in enumerate(dots):
        alike = [other for other, name in zip(dots, names, strict=True) if name == names[number]]
        columns = [*zip(*(other.shapes.split(" ") for other in alike), strict=False)]
        own = one.shapes.split(" ")
        differ = [own[i] for i, column in enumerate(columns) if len(set(column)) > 1]
        label = [names[number], *([" ".join(differ)[:_SHAPES]] if differ else [])]
        earlier = sum(other == label for other in (given[: len(label)] for given in lines))
        lines.append(label)
        if earlier:
            lines[-1] = [*label, f"number {earlier + 1}"]
    return lines


def roofline(measured: list[Measured], peaks: dict[str, float]) -> str:
    """An SVG: a dot per kernel whose operations are known, under the lines of the machine."""
    dots = [
        (m, m.flops / m.bytes, m.flops_per_second / 1e9)
        for m in measured
        if m.flops and m.bytes and m.flops_per_second
    ]
    ridge = peaks["flops"] / peaks["bytes"]
    xs = [ridge / 30, ridge * 30, *(x for _, x, _ in dots)]
    highest = max(peaks["flops"], peaks["bfloat16_flops"], peaks["byte_operations"]) / 1e9
    ys = [highest, peaks["bytes"] / 1e9 * ridge / 30, *(y for _, _, y in dots)]
    axes = _Axes(min(xs), max(xs), min(ys), max(ys))
    parts = [*axes.grid(), *_roofs(axes, peaks)]
    dots.sort(key=lambda dot: -dot[0].total)
    label = _TOP + 14
    for number, (lines, (one, x, y)) in enumerate(
        zip(_legend([dot[0] for dot in dots]), dots, strict=True)
    ):
        color = _COLORS[number % len(_COLORS)]
        share = "" if one.fraction is None else f" ({one.fraction:.0%})"
        title = f"{one.kernel} {one.shapes}: {y:.1f} GFLOP/s, {x:.2f} operations per byte{share}"
        parts.append(
            f'<circle cx="{axes.x(x):.1f}" cy="{axes.y(y):.1f}" r="6" fill="{color}">'
            f"<title>{escape(title)}</title></circle>"
        )
        if label + 15 * (len(lines) - 1) < _HEIGHT - 10:
            at = _WIDTH - _RIGHT + 20
            parts.append(f'<circle cx="{at}" cy="{label - 4}" r="5" fill="{color}"/>')
            parts.append(_words(at + 12, label, f"{lines[0]}{share}", color=color))
            for more in lines[1:]:
                label += 15
                parts.append(_words(at + 12, label, more, color=color))
        label += 18
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="13">\n'
        '<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )

# SPDX-License-Identifier: Apache-2.0
"""A picture of a modelled launch: what each pipe of the cores that end last did, over time."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import cycle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_WIDTH, _LEFT, _LANE, _TOP = 860, 70, 26, 34
_COLORS = {  # in the order in which data passes them
    "MTE2": "#2f6db5",
    "MTE1": "#b58a2f",
    "M": "#b5432f",
    "FIX": "#b52f7a",
    "V": "#3a7d44",
    "MTE3": "#7a4fb5",
    "S": "#888888",
}
#: Bars that are closer than this many pixels are drawn as one.
_NEAR = 0.5


@dataclass
class _Bar:
    start: float
    end: float
    names: list[str]
    is_critical: bool


@dataclass
class _Core:
    name: str
    pipes: dict[str, list[_Bar]]

    @property
    def end(self) -> float:
        return max((bar.end for bars in self.pipes.values() for bar in bars), default=0.0)


def _cores(events: Iterable[dict[str, Any]]) -> list[_Core]:
    cores: dict[int, _Core] = {}
    pipes: dict[tuple[int, int], str] = {}
    for event in events:
        if event["name"] == "process_name":
            cores[event["pid"]] = _Core(event["args"]["name"], {})
        elif event["name"] == "thread_name":
            pipes[event["pid"], event["tid"]] = event["args"]["name"]
    for event in events:
        if event["ph"] != "X":
            continue
        pipe = pipes[event["pid"], event["tid"]]
        said = f"{event['name']}, {event['args']['line']}"
        end = event["ts"] + event["dur"]
        bar = _Bar(event["ts"], end, [said], event["args"]["critical"])
        cores[event["pid"]].pipes.setdefault(pipe, []).append(bar)
    return [core for core in cores.values() if core.pipes]


def _shown(cores: list[_Core]) -> list[_Core]:
    """Of each kind of core the one that ends last."""
    last: dict[str, _Core] = {}
    for core in cores:
        kind = core.name.split()[0].rstrip("0123456789")
        if kind not in last or core.end > last[kind].end:
            last[kind] = core
    return list(last.values())


def _lanes(bars: list[_Bar], near: float) -> list[list[_Bar]]:
    """Rows in which no bar lies over another; those that nothing visible parts are joined."""
    rows: list[list[_Bar]] = []
    for bar in sorted(bars, key=lambda each: each.start):
        row = next((row for row in rows if row[-1].end <= bar.start + 1e-6), None)
        if row is None:
            rows.append([bar])
        elif bar.start - row[-1].end < near and bar.end - row[-1].end < near:
            row[-1].end = bar.end
            row[-1].names += bar.names
            row[-1].is_critical |= bar.is_critical
        else:
            row.append(bar)
    return rows


class _Picture:
    def __init__(self, last: float) -> None:
        self.parts: list[str] = []
        self.last = last or 1.0
        self.y = float(_TOP)

    def x(self, time: float) -> float:
        return round(_LEFT + time / self.last * (_WIDTH - _LEFT - 10), 1)

    def text(self, x: float, y: float, words: str, fill: str = "#222222") -> None:
        self.parts.append(f'<text x="{x}" y="{y}" fill="{fill}">{escape(words)}</text>')

    def bar(self, bar: _Bar, color: str) -> None:
        left, right = self.x(bar.start), self.x(bar.end)
        edge = ' stroke="black" stroke-width="1.5"' if bar.is_critical else ""
        more = f" and {len(bar.names) - 1} more" if len(bar.names) > 1 else ""
        said = escape(f"{bar.names[0]}{more}: {bar.start:.2f} to {bar.end:.2f} us")
        self.parts.append(
            f'<rect x="{left}" y="{self.y}" width="{round(max(right - left, 0.3), 1)}" '
            f'height="{_LANE - 8}" fill="{color}"{edge}><title>{said}</title></rect>'
        )
        name = bar.names[0].partition(",")[0]
        if len(bar.names) == 1 and right - left > 8 * len(name) + 8:
            self.text(left + 4, self.y + 13, name, "white")

    def core(self, core: _Core) -> None:
        self.parts.append(  # axis lines end there
            f'<rect x="0" y="{self.y - 2}" width="{_WIDTH}" height="{_LANE - 6}" fill="white"/>'
        )
        self.text(8, self.y + 13, core.name, "#666666")
        self.y += _LANE
        near = _NEAR * self.last / (_WIDTH - _LEFT - 10)
        for pipe, color in _COLORS.items():
            for number, row in enumerate(_lanes(core.pipes.get(pipe, []), near)):
                if number == 0:
                    self.text(8, self.y + 13, pipe)
                for bar in row:
                    self.bar(bar, color)
                self.y += _LANE

    def axis(self) -> list[str]:
        """Lines at about ten round times."""
        step, factors = 1e-3, cycle((2.0, 2.5, 2.0))  # 1, 2, 5, 10, ...
        while self.last / step > 10:
            step *= next(factors)
        lines = []
        for number in range(int(self.last / step) + 1):
            x = self.x(number * step)
            lines.append(f'<line x1="{x}" y1="{_TOP - 14}" x2="{x}" y2="{self.y}" stroke="#ddd"/>')
            words = f"{number * step:g} us"
            left = min(x + 2, _WIDTH - 8 * len(words))
            lines.append(f'<text x="{left}" y="{_TOP - 18}">{words}</text>')
        return lines


def timeline_picture(trace: dict[str, Any]) -> str:
    """The SVG of a trace that the host wrote (docs/ascend-timing.md, `chrome-trace`)."""
    cores = _shown(_cores(trace["traceEvents"]))
    picture = _Picture(max((core.end for core in cores), default=0.0))
    for core in cores:
        picture.core(core)
    words = (
        "of each kind of core the one that ends last; outlined in black is their part of the "
        "critical path, which may lead through other cores"
    )
    picture.text(8, picture.y + 12, words, "#666666")
    height = round(picture.y + 24)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="12">'
    )
    white = f'<rect width="{_WIDTH}" height="{height}" fill="white"/>'
    return "\n".join([head, white, *picture.axis(), *picture.parts, "</svg>", ""])

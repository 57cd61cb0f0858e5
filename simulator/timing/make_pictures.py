# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/ascend-host.md from runs of examples/ascend/relu_custom.cpp.

`--check` compares them with the files instead of writing them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DRIVER = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build")) / "bin" / "tilewright-ascendc"
EXAMPLE = ROOT / "examples" / "ascend" / "relu_custom.cpp"
DOCS = ROOT / "docs"
# As on the timeline's page.
COLORS = {"S": "#888888", "V": "#3a7d44", "MTE2": "#2f6db5", "MTE3": "#7a4fb5"}
WIDTH, LEFT, LANE, TOP = 860, 70, 30, 34


@dataclass(frozen=True)
class Bar:
    """An instruction of one core, in microseconds."""

    pipe: str
    name: str
    line: int
    start: float
    end: float
    critical: bool


def bars_of(folder: Path, name: str, *options: str) -> list[Bar]:
    """Builds the example with `options`, runs it, and returns what core 0 did."""
    program, trace = folder / name, folder / f"{name}.json"
    subprocess.run([DRIVER, "build", EXAMPLE, "-o", program, *options], check=True)
    subprocess.run(
        [program],
        env=os.environ | {"TILEWRIGHT_ASCEND": f"no-check,chrome-trace={trace}"},
        check=True,
        capture_output=True,
    )
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    pipes = {
        event["tid"]: event["args"]["name"]
        for event in events
        if event["name"] == "thread_name" and event["pid"] == 0
    }
    return [
        Bar(
            pipes[event["tid"]],
            event["name"],
            int(event["args"]["line"].rsplit(":", 1)[1]),
            event["ts"],
            event["ts"] + event["dur"],
            event["args"]["critical"],
        )
        for event in events
        if event["ph"] == "X" and event["pid"] == 0
    ]


class Picture:
    """Lanes of bars over a stretch of time."""

    def __init__(self, height: int, first: float, last: float) -> None:
        self.first, self.last, self.height = first, last, height
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        ]

    def x(self, time: float) -> float:
        """Where a time stands."""
        share = (time - self.first) / (self.last - self.first)
        return round(LEFT + share * (WIDTH - LEFT - 10), 1)

    def text(self, x: float, y: float, words: str, fill: str = "#222222") -> None:
        """Writes words."""
        self.parts.append(f'<text x="{x}" y="{y}" fill="{fill}">{escape(words)}</text>')

    def axis(self, step: float, bottom: float) -> None:
        """Lines at multiples of `step` microseconds."""
        number = int(self.first / step) + 1
        while number * step < self.last:
            x = self.x(number * step)
            self.parts.append(
                f'<line x1="{x}" y1="{TOP - 14}" x2="{x}" y2="{bottom}" stroke="#dddddd"/>'
            )
            self.text(x + 2, TOP - 18, f"{number * step:g} us", "#666666")
            number += 1

    def bar(self, bar: Bar, y: float, height: float = LANE - 8) -> None:
        """Draws an instruction, with its name and line where there is room."""
        left, right = max(self.x(bar.start), LEFT), min(self.x(bar.end), WIDTH - 10)
        if right <= left:
            return
        edge = ' stroke="black" stroke-width="1.5"' if bar.critical else ""
        self.parts.append(
            f'<rect x="{left}" y="{y}" width="{round(right - left, 1)}" height="{height}" '
            f'fill="{COLORS[bar.pipe]}"{edge}><title>{escape(bar.name)}, line {bar.line}</title>'
            "</rect>"
        )
        label = f"{bar.name} :{bar.line}"
        if right - left > 7 * len(label):
            self.text(left + 4, y + 15, label, "white")

    def done(self) -> str:
        """The file."""
        return "\n".join([*self.parts, "</svg>", ""])


def side_by_side(bars: list[Bar]) -> list[list[Bar]]:
    """Rows in which no bar lies over another."""
    rows: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda bar: bar.start):
        free = next((row for row in rows if row[-1].end <= bar.start + 1e-6), None)
        if free is None:
            rows.append(free := [])
        free.append(bar)
    return rows


def timeline(bars: list[Bar]) -> str:
    """The whole core: a lane for each pipe, with copies in flight together side by side."""
    lanes = [
        (pipe, row, number)
        for pipe in ("MTE2", "V", "MTE3")
        for number, row in enumerate(side_by_side([bar for bar in bars if bar.pipe == pipe]))
    ]
    bottom = TOP + LANE * len(lanes)
    picture = Picture(bottom + 24, min(b.start for b in bars), max(b.end for b in bars))
    picture.axis(0.2, bottom)
    for height, (pipe, row, number) in enumerate(lanes):
        if number == 0:
            picture.text(8, TOP + LANE * height + 15, pipe)
        for bar in row:
            picture.bar(bar, TOP + LANE * height)
    picture.text(
        LEFT,
        bottom + 16,
        "relu_custom on vector core 0: name and line; outlined in black is the critical path",
        "#666666",
    )
    return picture.done()


def race(right: list[Bar], wrong: list[Bar]) -> str:
    """The vector instructions of the first tile, with the barrier and without."""
    rows = [[bar for bar in bars if bar.pipe == "V"][:3] for bars in (right, wrong)]
    zero = [row[0].start for row in rows]
    rows = [
        [Bar(b.pipe, b.name, b.line, b.start - z, b.end - z, False) for b in row]
        for row, z in zip(rows, zero, strict=True)
    ]
    picture = Picture(TOP + 6 * LANE + 20, 0, max(row[-1].end for row in rows) * 1.02)
    picture.axis(0.02, TOP + 6 * LANE)
    for number, (row, title) in enumerate(zip(rows, ("right", "wrong"), strict=True)):
        top = TOP + number * 3 * LANE
        picture.text(8, top + LANE + 15, title)
        for step, bar in enumerate(row):
            picture.bar(bar, top + LANE * step * 0.9)
        for step, (early, late) in enumerate(zip(row, row[1:], strict=False)):
            if late.start < early.end - 1e-6:
                x, end = picture.x(late.start), picture.x(early.end)
                picture.parts.append(
                    f'<rect x="{x}" y="{top + LANE * step * 0.9}" width="{round(end - x, 1)}" '
                    f'height="{round(LANE * 1.9 - 8, 1)}" fill="none" stroke="#d02020" '
                    'stroke-width="2"/>'
                )
                picture.text(end + 6, top + LANE * step * 0.9 + 15, "not written yet", "#d02020")
    picture.text(
        LEFT,
        TOP + 6 * LANE + 12,
        "one tile on PIPE_V: without the barrier, Relu reads before all of Adds has arrived",
        "#666666",
    )
    return picture.done()


def pictures() -> dict[str, str]:
    """Each file of docs/ and its text."""
    with tempfile.TemporaryDirectory() as folder:
        right = bars_of(Path(folder), "right")
        wrong = bars_of(Path(folder), "wrong", "-DFORGET_BARRIER")
    return {"ascend-timeline.svg": timeline(right), "ascend-race.svg": race(right, wrong)}


def main() -> int:
    """Writes the pictures, or compares them."""
    stale = []
    for name, text in pictures().items():
        path = DOCS / name
        if "--check" in sys.argv:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"docs/{name} is out of date; run simulator/timing/make_pictures.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""`tilelang.tools`: what a kernel has to do, counted without running it; pictures of layouts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _runtime
from .errors import load_compiler

if TYPE_CHECKING:
    from .language.layouts import Layout
    from .language.prim_func import PrimFunc

__all__ = ["AnalysisResult", "Analyzer", "plot_layout"]


@cache
def _peaks() -> dict[str, float]:
    return _runtime.measure_peaks()


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """Operations on floats (None: not known before the kernel runs), and the bytes of all tensors,
    each once for reading and once for writing.

    What this machine may do with them comes from its limits, which are measured at the first use,
    in half a second.
    """

    total_flops: float | None
    total_global_bytes: int
    #: Where the operations depend on data, they are counted as if all branches were taken.
    is_upper_bound: bool
    _work: Any = field(repr=False, compare=False)

    @property
    def expected_tflops(self) -> float:
        """The most float32 operations that this machine does, in 10^12 a second."""
        return _peaks()["flops"] / 1e12

    @property
    def expected_bandwidth_GBps(self) -> float:  # noqa: N802 - TileLang's name
        """The most bytes that this machine reads and writes, in 10^9 a second."""
        return _peaks()["bytes"] / 1e9

    @property
    def estimated_time(self) -> float:
        """The seconds that the kernel takes at least, if its tensors come from memory."""
        from .profiling.report import compute_seconds

        memory = self.total_global_bytes / _peaks()["bytes"]
        return (
            memory
            if self.total_flops is None
            else max(memory, compute_seconds(self._work, _peaks()))
        )


class Analyzer:
    """`Analyzer.analysis(kernel)`, as in TileLang. `device` says nothing here: the device is this
    machine, and the profiler measures (docs/profiling.md)."""

    def __init__(self, fn: PrimFunc, device: Any = None) -> None:
        self.fn = fn
        self.device = device

    def ir_pass(self) -> Analyzer:
        """Nothing: `calculate` counts."""
        return self

    def calculate(self) -> AnalysisResult:
        """Counts the kernel, whose shapes must be known; ValueError for symbols in them."""
        from .jit_factory import compile as compile_kernel
        from .language.dtypes import Dtype

        made = compile_kernel(self.fn, target="reference")
        if made.symbols:
            raise ValueError(
                f"{made.name}: the work depends on {', '.join(made.symbols)}; give numbers for it"
            )
        work = load_compiler().count_work(made.stage("tile"), [None] * len(made.params))
        moved = 0
        for number, param in enumerate(made.params):
            if param["kind"] == "tensor":
                directions = work.is_read[number] + work.is_written[number]
                moved += directions * math.prod(param["shape"]) * Dtype(param["dtype"]).bits // 8
        return AnalysisResult(work.flops, moved, work.is_upper_bound, work)

    @classmethod
    def analysis(cls, fn: PrimFunc, device: Any = None) -> AnalysisResult:
        """`Analyzer(fn, device).calculate()`."""
        return cls(fn, device).calculate()


#: The width and height of an element's cell, and the cells that a picture has at most.
_CELL = (46, 24)
_MOST_CELLS = 65536


def plot_layout(
    layout: Layout, save_directory: str = "./tmp", name: str = "layout", **options: Any
) -> str:
    """Draws where a layout of two dims keeps each element, and gives the path of the SVG.

    A cell shows the element's indices in memory, of a `Fragment` its thread and its place in that
    thread's registers (T3 1); its colour is the thread, or the first index. ValueError for layouts
    of other ranks and for more than 65,536 elements.
    """
    from .language.layouts import Fragment

    shape = layout.get_input_shape()
    if len(shape) != 2 or math.prod(shape) > _MOST_CELLS:
        raise ValueError(
            f"a picture is of a layout of 2 dims and {_MOST_CELLS} elements at most, not of {shape}"
        )
    width, height = _CELL
    cells = []
    for row in range(shape[0]):
        for column in range(shape[1]):
            places = [int(place) for place in layout(row, column)]
            text, kind = ", ".join(map(str, places)), places[0]
            if isinstance(layout, Fragment):
                kind = int(layout.map_forward_thread((row, column)))
                text = f"T{kind} {text}"
            x, y = (column + 1) * width, (row + 1) * height
            cells.append(
                f'<rect x="{x}" y="{y}" width="{width}" height="{height}" stroke="white" '
                f'fill="hsl({kind * 47 % 360},60%,80%)"/>'
                f'<text x="{x + width // 2}" y="{y + 16}">{text}</text>'
            )
    heads = [f'<text x="{(c + 1) * width + width // 2}" y="16">{c}</text>' for c in range(shape[1])]
    heads += [
        f'<text x="{width // 2}" y="{(r + 1) * height + 16}">{r}</text>' for r in range(shape[0])
    ]
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{(shape[1] + 1) * width}" '
        f'height="{(shape[0] + 1) * height}" font-family="sans-serif" font-size="10" '
        'text-anchor="middle">' + "".join(heads + cells) + "</svg>\n"
    )
    path = Path(save_directory) / f"{name}.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(picture, encoding="utf-8")
    return str(path)

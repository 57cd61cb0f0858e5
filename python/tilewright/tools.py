# SPDX-License-Identifier: Apache-2.0
"""`tilelang.tools`: what a kernel has to do, counted without running it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import load_compiler

if TYPE_CHECKING:
    from .language.prim_func import PrimFunc

__all__ = ["AnalysisResult", "Analyzer"]


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """Operations on floats (None: not known before the kernel runs), and the bytes of all tensors,
    each once for reading and once for writing."""

    total_flops: float | None
    total_global_bytes: int
    #: Where the operations depend on data, they are counted as if all branches were taken.
    is_upper_bound: bool


class Analyzer:
    """`Analyzer.analysis(kernel)`, as in TileLang. `device` says nothing here: the profiler
    measures (docs/profiling.md)."""

    @staticmethod
    def analysis(kernel: PrimFunc, device: Any = None) -> AnalysisResult:
        """Counts a kernel whose shapes are known; ValueError for symbols in them."""
        from .jit_factory import compile as compile_kernel
        from .language.dtypes import Dtype

        made = compile_kernel(kernel, target="reference")
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
        return AnalysisResult(work.flops, moved, work.is_upper_bound)

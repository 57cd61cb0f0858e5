# SPDX-License-Identifier: Apache-2.0
"""Layouts for T.annotate_layout: of tiles in an Ascend core's L1, and the swizzles of GPUs.

They choose speed, never results: in L1, zN is what every tile has that nobody annotates; nZ suits
an operand that is transposed on its way to L0. The CPU keeps its own layouts.
"""

from __future__ import annotations

from .language import mma_layouts
from .language.annotate import FractalLayout
from .language.gpu_only import GPU_ONLY
from .language.layouts import get_mma_micro_size, get_swizzle_layout, make_mma_swizzle_layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "get_mma_micro_size",
    "get_swizzle_layout",
    "make_col_major_layout",
    "make_mma_swizzle_layout",
    "make_nz_layout",
    "make_zn_layout",
    *mma_layouts.__all__,
]


def __getattr__(name: str) -> Any:
    if name in mma_layouts.__all__:
        return getattr(mma_layouts, name)
    if name in GPU_ONLY:  # the emitters of GPUs' instructions: importable, not usable on the CPU
        return GPU_ONLY[name]
    raise AttributeError(f"tilewright.intrinsics has no {name!r}")


def make_zn_layout(buffer: Any) -> FractalLayout:
    """Fractals of 16 rows and 32 bytes, columns of fractals one after the other."""
    return FractalLayout("zn")


def make_nz_layout(buffer: Any) -> FractalLayout:
    """The transposed order of zN."""
    return FractalLayout("nz")


def make_col_major_layout(buffer: Any) -> FractalLayout:
    """Column after column."""
    return FractalLayout("col_major")

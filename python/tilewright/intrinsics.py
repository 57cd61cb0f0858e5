# SPDX-License-Identifier: Apache-2.0
"""Layouts of tiles in an Ascend core's L1, for T.annotate_layout.

They choose speed, never results: zN is what every tile has that nobody annotates; nZ suits an
operand that is transposed on its way to L0.
"""

from __future__ import annotations

from .language.annotate import FractalLayout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def make_zn_layout(buffer: Any) -> FractalLayout:
    """Fractals of 16 rows and 32 bytes, columns of fractals one after the other."""
    return FractalLayout("zn")


def make_nz_layout(buffer: Any) -> FractalLayout:
    """The transposed order of zN."""
    return FractalLayout("nz")


def make_col_major_layout(buffer: Any) -> FractalLayout:
    """Column after column."""
    return FractalLayout("col_major")

# SPDX-License-Identifier: Apache-2.0
"""`tilelang.contrib`: of TVM's tools, the questions about a GPU."""

from __future__ import annotations

from . import nvcc

__all__ = ["nvcc"]

# SPDX-License-Identifier: Apache-2.0
"""`tilelang.tileop` and `tilelang.ir`: of the classes behind tile operations, what scripts name."""

from __future__ import annotations

from .language.tile_ops import GemmWarpPolicy

__all__ = ["GemmWarpPolicy"]

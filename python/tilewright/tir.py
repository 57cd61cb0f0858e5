# SPDX-License-Identifier: Apache-2.0
"""The classes of what a kernel's names stand for, for functions that tell their arguments apart.

TileLang takes these from `tvm.tir`.
"""

from __future__ import annotations

from .language.values import BufferRef as Buffer
from .language.values import Element as BufferLoad
from .language.values import Expr as PrimExpr
from .language.values import RegionRef as BufferRegion
from .language.values import Traced as Var

__all__ = ["Buffer", "BufferLoad", "BufferRegion", "PrimExpr", "Var"]

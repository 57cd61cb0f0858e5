# SPDX-License-Identifier: Apache-2.0
"""What functions beside a kernel take from `tvm.tir`: classes that tell their arguments apart, and
arithmetic by TVM's names.

All other names are those of the language: `tir.exp` is `T.exp`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .language import math_ops
from .language.annotations import Var
from .language.math_ops import And, Or, cast, logical_not
from .language.tvm_nodes import FloatImm, IntImm, StringImm
from .language.values import BufferRef as Buffer
from .language.values import Element as BufferLoad
from .language.values import Expr as PrimExpr
from .language.values import RegionRef as BufferRegion

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["Buffer", "BufferLoad", "BufferRegion", "PrimExpr", "Var", "all", "any", "const"]
__all__ += ["FloatImm", "IndexMap", "IntImm", "StringImm"]

#: TVM keeps these functions in a module of their own.
op = sys.modules[__name__]

all, any, Not = And, Or, logical_not
Add, Sub, Mul, Div = math_ops.add, math_ops.sub, math_ops.mul, math_ops.truncdiv
FloorDiv, FloorMod, Mod = math_ops.floordiv, math_ops.floormod, math_ops.truncmod
Min, Max = math_ops.min, math_ops.max
indexdiv, indexmod = math_ops.floordiv, math_ops.floormod


def const(value: bool | int | float, dtype: Any = None, span: object = None) -> Any:
    """A number of a dtype: of a Python number alone int32, float32 or bool."""
    if dtype is None:
        dtype = {bool: "bool", float: "float32"}.get(type(value), "int32")
    return cast(value, dtype)


class IndexMap:
    """A function from indices to indices, as of `IndexMap.from_func(lambda i, j: [j, i])`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @staticmethod
    def from_func(function: Callable[..., Any], *unused: Any, **options: Any) -> IndexMap:
        return IndexMap(function)

    def map_indices(self, indices: Sequence[Any]) -> list[Any]:
        """Where the function puts these indices."""
        found = self._function(*indices)
        return list(found) if isinstance(found, (tuple, list)) else [found]


def __getattr__(name: str) -> Any:
    from . import language
    from .suggestions import did_you_mean

    if name.startswith("__"):
        raise AttributeError(name)
    if hasattr(language, name):
        return getattr(language, name)
    raise AttributeError(f"tvm.tir has no {name!r} here{did_you_mean(name, globals())}")

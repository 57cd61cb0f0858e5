# SPDX-License-Identifier: Apache-2.0
"""`tilelang.jit` as a module: what it offers, and the decorator itself.

Python sets `tilelang.jit` to this module once something imports from it, so it can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .errors import EagerJITBuildError, JITNoBuilderError
from .jit_factory import JITFunction, compile, jit, lazy_jit, par_compile
from .kernel import JITKernel

__all__ = [
    "EagerJITBuildError",
    "JITFunction",
    "JITImpl",
    "JITKernel",
    "JITNoBuilderError",
    "compile",
    "jit",
    "lazy_jit",
    "par_compile",
]

JITImpl = JITFunction


class _Decorator(ModuleType):
    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return jit(*args, **keywords)


sys.modules[__name__].__class__ = _Decorator

# SPDX-License-Identifier: Apache-2.0
"""Tilewright: a language, a compiler and operators for tile kernels.

Importing this loads neither the compiler nor torch or NumPy; each part is loaded when it is used.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

#: Where each public name lives.
_HOMES = {
    "CompileError": "errors",
    "UnsupportedError": "errors",
    "JITNoBuilderError": "errors",
    "EagerJITBuildError": "errors",
}
_MODULES = ("language", "errors", "capture")


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is not None:
        value = getattr(importlib.import_module(f"tilewright.{home}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"tilewright.{name}")
    else:
        raise AttributeError(f"module 'tilewright' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})

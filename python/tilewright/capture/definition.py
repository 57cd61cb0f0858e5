# SPDX-License-Identifier: Apache-2.0
"""What a kernel saw from outside where it was defined.

A kernel is traced when it is first used, but means what it meant at its definition, as in TileLang,
which traces there: in `for n in (1, 2, 3)`, each kernel that is defined keeps its own `n`.
"""

from __future__ import annotations

from collections import ChainMap
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_GLOBALS = "__globals_of_definition__"


def as_defined(function: FunctionType) -> FunctionType:
    """A copy of `function` that keeps the values that its outside names have now. Names without a
    value yet, as of a macro further down in the file, get theirs later."""
    cells = tuple(_copy(cell) for cell in function.__closure__ or ())
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, cells
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__annotations__ = function.__annotations__
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    made.__doc__ = function.__doc__
    made.__dict__.update(function.__dict__)
    made.__dict__[_GLOBALS] = dict(function.__globals__)
    return made


def globals_of(function: FunctionType) -> Mapping[str, Any]:
    """The global names that `function` sees, as they were at its definition if they were there."""
    defined = function.__dict__.get(_GLOBALS)
    return ChainMap(defined, function.__globals__) if defined else function.__globals__


def _copy(cell: CellType) -> CellType:
    try:
        return CellType(cell.cell_contents)
    except ValueError:  # without a value yet
        return cell

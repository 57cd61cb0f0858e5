# SPDX-License-Identifier: Apache-2.0
"""The functions of C's libm that a kernel may call by name, and Python's way to call them.

The compiler's own table (`compiler/base/libm_functions.cpp`) has the same.
"""

from __future__ import annotations

import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

#: Name of the form for double, its arguments and its result, a letter each: r is a real number of
#: the form's width, i an int, l a long. The forms for float have an `f` at the end.
FUNCTIONS: dict[str, str] = {
    **dict.fromkeys(
        (
            *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh"),
            *("erf", "erfc", "exp", "exp10", "exp2", "expm1", "fabs", "floor", "lgamma", "log"),
            *("log10", "log1p", "log2", "logb", "nearbyint", "rint", "round", "roundeven"),
            *("sin", "sinh", "sqrt", "tan", "tanh", "tgamma", "trunc"),
        ),
        "rr",
    ),
    **dict.fromkeys(
        (
            *("atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "nextafter", "pow"),
            "remainder",
        ),
        "rrr",
    ),
    "fma": "rrrr",
    **dict.fromkeys(("ldexp", "scalbn"), "rir"),
    "ilogb": "ri",
    **dict.fromkeys(("llrint", "llround", "lrint", "lround"), "rl"),
}


def _kinds(name: str) -> tuple[str, bool] | None:
    """The letters of a function, and whether it is the form for float."""
    is_float = name not in FUNCTIONS
    if is_float and not name.endswith("f"):
        return None
    kinds = FUNCTIONS.get(name.removesuffix("f") if is_float else name)
    return None if kinds is None else (kinds, is_float)


def dtypes_of_libm(name: str) -> list[str]:
    """The dtypes of a function's arguments; none where libm has no such."""
    found = _kinds(name)
    if found is None:
        return []
    names = {"r": "float32" if found[1] else "float64", "i": "int32", "l": "int64"}
    return [names[kind] for kind in found[0][:-1]]


@cache
def function_of_libm(name: str) -> Any:
    """A Python function that calls one of libm; None if there is no such."""
    import ctypes

    known = _kinds(name)
    if known is None:
        return None
    kinds, is_float = known
    types = {
        "r": ctypes.c_float if is_float else ctypes.c_double,
        "i": ctypes.c_int,
        "l": ctypes.c_longlong,
    }
    try:
        found = getattr(ctypes.CDLL("libm.so.6"), name)
    except (OSError, AttributeError):  # this machine's C library lacks it
        return None
    found.argtypes, found.restype = [types[k] for k in kinds[:-1]], types[kinds[-1]]
    return found


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def defines(sources: Sequence[str], name: str) -> bool:
    """Whether source text in C may define this function, rather than just call it."""
    return any(_may_define(_COMMENT.sub(" ", source), name) for source in sources)


def _may_define(text: str, name: str) -> bool:
    for found in re.finditer(rf"\b{re.escape(name)}\b", text):
        rest = text[found.end() :].lstrip()
        if not rest.startswith("("):
            return True  # a macro may make a function of the name
        depth = 0
        for at, letter in enumerate(rest):
            depth += (letter == "(") - (letter == ")")
            if depth == 0:
                behind = rest[at + 1 :].lstrip()
                break
        else:
            return True
        # A body, or words before it; behind a call or a declaration is punctuation.
        if behind.startswith("{") or behind[:1].isalpha() or behind.startswith("_"):
            return True
    return False

# SPDX-License-Identifier: Apache-2.0
"""Functions of CUDA's that kernels call by name (`T.call_extern("float32", "__fadd_rz", x, y)`)
and that the language has under names of its own."""

from __future__ import annotations

from functools import partial

from . import math_ops, precise_math
from .values import LanguageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_ROUNDED = {
    "add": (precise_math.ieee_add, 2),
    "sub": (precise_math.ieee_sub, 2),
    "mul": (precise_math.ieee_mul, 2),
    "div": (precise_math.ieee_fdiv, 2),
    "rcp": (precise_math.ieee_frcp, 1),
    "sqrt": (precise_math.ieee_fsqrt, 1),
}


class _Function:
    """One of them: what it is here, the dtype of its arguments, and how many there are."""

    def __init__(self, function: Callable[..., Any], dtype: str, count: int) -> None:
        self.function, self.dtype, self.count = function, dtype, count


def _functions() -> dict[str, _Function]:
    found: dict[str, _Function] = {}
    for letter, dtype in (("f", "float32"), ("d", "float64")):
        for mode in ("rn", "rz", "ru", "rd"):
            for name, (function, count) in _ROUNDED.items():
                rounded = partial(function, rounding_mode=mode)
                found[f"__{letter}{name}_{mode}"] = _Function(rounded, dtype, count)
            fma = "__fmaf" if letter == "f" else "__fma"
            rounded = partial(precise_math.ieee_fmaf, rounding_mode=mode)
            found[f"{fma}_{mode}"] = _Function(rounded, dtype, 3)
    fast = {
        "__expf": math_ops.exp,
        "__exp10f": math_ops.exp10,
        "__logf": math_ops.log,
        "__log2f": math_ops.log2,
        "__log10f": math_ops.log10,
        "__sinf": math_ops.sin,
        "__cosf": math_ops.cos,
        "__tanf": math_ops.tan,
        "__frsqrt_rn": precise_math.ieee_frsqrt,
        "rsqrtf": math_ops.rsqrt,
    }
    found |= {name: _Function(function, "float32", 1) for name, function in fast.items()}
    found["rsqrt"] = _Function(math_ops.rsqrt, "float64", 1)
    found["__powf"] = _Function(math_ops.pow, "float32", 2)
    found["__fdividef"] = _Function(precise_math.ieee_fdiv, "float32", 2)
    found["__saturatef"] = _Function(_saturated, "float32", 1)
    return found


def _saturated(value: Any) -> Any:
    """Within 0 and 1; 0 for NaN."""
    return math_ops.min(math_ops.max(value, 0.0), 1.0)


FUNCTIONS = _functions()


def call(dtype: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    """The function of that name on its arguments, converted as C does, to a value of `dtype`."""
    known = FUNCTIONS[name]
    if len(arguments) != known.count:
        raise LanguageError(
            f"CUDA's {name} takes {known.count} argument{'s' * (known.count > 1)} but is called "
            f"with {len(arguments)}"
        )
    made = known.function(*(math_ops.cast(value, known.dtype) for value in arguments))
    return made if str(dtype) in ("handle", "void", "") else math_ops.cast(made, dtype)

# SPDX-License-Identifier: Apache-2.0
"""Functions of CUDA's that kernels call by name (`T.call_extern("float32", "__fadd_rz", x, y)`)
and that the language has under names of its own."""

from __future__ import annotations

from functools import partial

from . import math_ops, precise_math, threads
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
    """One of them: what it is here, the dtype of its arguments (None: theirs stay), how many there
    are, and how many there may be."""

    def __init__(
        self, function: Callable[..., Any], dtype: str | None, count: int, most: int = 0
    ) -> None:
        self.function, self.dtype, self.count = function, dtype, count
        self.most = max(count, most)


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


def _of_integers() -> dict[str, _Function]:
    found: dict[str, _Function] = {}
    for end, bits in (("", 32), ("ll", 64)):
        for name, function in (
            ("__popc", math_ops.popcount),
            ("__clz", math_ops.clz),
            ("__ffs", precise_math.__dict__["__ffs"]),
        ):
            found[name + end] = _Function(function, f"uint{bits}", 1)
    found["__mulhi"] = _Function(partial(_high_half, "int64"), "int32", 2)
    found["__umulhi"] = _Function(partial(_high_half, "uint64"), "uint32", 2)
    return found


def _of_conversions() -> dict[str, _Function]:
    found: dict[str, _Function] = {}
    for name, dtype in (("half", "float16"), ("bfloat16", "bfloat16")):
        to_small = partial(math_ops.cast, dtype=dtype)
        found[f"__float2{name}"] = _Function(to_small, "float32", 1)
        for mode in ("rn", "rz", "ru", "rd"):
            rounded = partial(math_ops.cast, dtype=dtype, round=mode)
            found[f"__float2{name}_{mode}"] = _Function(rounded, "float32", 1)
        found[f"__{name}2float"] = _Function(partial(math_ops.cast, dtype="float32"), dtype, 1)
    for mode, nearest in (
        ("rn", math_ops.nearbyint),
        ("rz", math_ops.trunc),
        ("ru", math_ops.ceil),
        ("rd", math_ops.floor),
    ):
        found[f"__float2int_{mode}"] = _Function(nearest, "float32", 1)
    return found


def _high_half(wide: str, x: Any, y: Any) -> Any:
    return (math_ops.cast(x, wide) * math_ops.cast(y, wide)) >> 32


def _of_threads() -> dict[str, _Function]:
    """Those of warps, whose first argument is the mask of lanes; and barriers."""
    found = {
        f"__{name}_sync": _Function(function, None, 2)
        for name, function in (
            ("match_any", threads.match_any_sync),
            ("ballot", threads.ballot_sync),
            ("any", threads.any_sync),
            ("all", threads.all_sync),
        )
    }
    for name, shuffle in (
        ("", threads.shfl_sync),
        ("_xor", threads.shfl_xor),
        ("_up", threads.shfl_up),
        ("_down", threads.shfl_down),
    ):
        found[f"__shfl{name}_sync"] = _Function(partial(_shuffled, shuffle), None, 3, 4)
    found["__activemask"] = _Function(threads.activemask, None, 0)
    found["__syncwarp"] = _Function(threads.sync_warp, None, 0, 1)
    found["__syncthreads"] = _Function(threads.sync_threads, None, 0)
    return found


def _shuffled(
    shuffle: Callable[..., Any], mask: Any, value: Any, lane: Any, width: Any = 32
) -> Any:
    return shuffle(value, lane, width)


def _saturated(value: Any) -> Any:
    """Within 0 and 1; 0 for NaN."""
    return math_ops.min(math_ops.max(value, 0.0), 1.0)


FUNCTIONS = _functions() | _of_integers() | _of_conversions() | _of_threads()


def call(dtype: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    """The function of that name on its arguments, converted as C does, to a value of `dtype`."""
    known = FUNCTIONS[name]
    if not known.count <= len(arguments) <= known.most:
        counts = f"{known.count}" if known.count == known.most else f"{known.count} or {known.most}"
        raise LanguageError(
            f"CUDA's {name} takes {counts} argument{'s' * (counts != '1')} but is called "
            f"with {len(arguments)}"
        )
    given = arguments
    if known.dtype is not None:
        given = tuple(math_ops.cast(value, known.dtype) for value in arguments)
    made = known.function(*given)
    if made is None or str(dtype) in ("handle", "void", ""):
        return made
    return math_ops.cast(made, dtype)

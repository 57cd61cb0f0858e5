# SPDX-License-Identifier: Apache-2.0
"""Arithmetic with a rounding mode (`ieee_*`), and the names of fast GPU functions.

A mode other than "rn" takes the nearest value and steps to its neighbour where that lies on the
wrong side. For float32 the exact result is known in float64, where sums keep what rounding loses
in the last bit ("round to odd": Boldo and Melquiond, 2008). For float64 `residues` has its side.
"""

from __future__ import annotations

from ..capture.tracer import current, guarded_by_poison
from . import residues
from .dtypes import to_dtype
from .math_ops import Select, cast, exp10, fma, log2, log10, reinterpret, rsqrt, sqrt
from .values import BufferRef, LanguageError, binary, unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MODES = ("rn", "rz", "ru", "rd")


def _operands(what: str, mode: str, *values: Any) -> list[Any]:
    """The values, all of one dtype where the mode asks for more than the operation itself."""
    if mode not in _MODES:
        raise LanguageError(f"{what}: there is no rounding mode {mode!r}; it is rn, rz, ru or rd")
    tracer = current()
    found = [tracer.expression(v) for v in values]
    dtypes = {str(v.dtype) for v in found if hasattr(v, "dtype")} or {"float32"}
    for dtype in ("float32", "float64"):
        if dtypes == {dtype}:
            return [cast(v, dtype) for v in found]
    if mode != "rn":
        raise unsupported(f"{what} with mode {mode!r} is supported for float32 and float64 only")
    return found


def _wide(value: Any) -> Any:
    return cast(value, "float64")


def _is_double(value: Any) -> bool:
    return str(getattr(value, "dtype", "")) == "float64"


def _sum_to_odd(a: Any, b: Any) -> Any:
    """a + b of float64s; where it is not exact, the neighbour whose last bit is odd."""
    total = a + b
    part = total - a
    lost = (a - (total - part)) + (b - part)
    bits = reinterpret(total, "int64")
    outward = (lost > 0) == (total > 0)
    moved = bits + Select(outward, cast(1, "int64"), cast(-1, "int64"))
    stays = (lost == 0) | ((bits & 1) == 1) | (total - total != 0)
    return Select(stays, total, reinterpret(moved, "float64"))


def _step(value: Any, up: bool) -> Any:
    """The next number of the value's dtype above or below."""
    width = to_dtype(value.dtype).bits
    integer = f"int{width}"
    bits = reinterpret(value, integer)
    away = cast(1 if up else -1, integer)
    moved = reinterpret(
        Select(value > 0, cast(bits + away, integer), cast(bits - away, integer)), value.dtype
    )
    least = reinterpret(cast(1 if up else -(2 ** (width - 1)) + 1, integer), value.dtype)
    return Select(value == 0, least, moved)


def _rounded(nearest: Any, above: Any, below: Any, mode: str) -> Any:
    """`nearest`, moved by one where the exact result is above or below and the mode says so."""
    if mode == "rn":
        return nearest
    up = _step(nearest, True)
    down = _step(nearest, False)
    if mode == "ru":
        return Select(above, up, nearest)
    if mode == "rd":
        return Select(below, down, nearest)
    inward = ((nearest > 0) & below) | ((nearest < 0) & above)
    return Select(inward, Select(nearest > 0, down, up), nearest)


def _from_exact(exact: Any, mode: str) -> Any:
    nearest = cast(exact, "float32")
    return _rounded(nearest, exact > _wide(nearest), exact < _wide(nearest), mode)


def _zero_downwards(result: Any, a: Any, b: Any, mode: str) -> Any:
    """The sum of `a` and `b`, where one takes all of the other away: that is -0 rounded down."""
    if mode != "rd":
        return result
    whole = "int64" if _is_double(a) else "int32"
    differ = (reinterpret(a, whole) ^ reinterpret(b, whole)) < 0
    is_exact = (result == 0) & (a == -b)
    return Select(is_exact & differ, cast(-0.0, result.dtype), result)


@guarded_by_poison
def ieee_add(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """x + y, rounded to nearest even (rn), toward zero (rz), up (ru) or down (rd)."""
    x, y = _operands("T.ieee_add", rounding_mode, x, y)
    if rounding_mode == "rn":
        return binary("add", x, y)
    return _add(x, y, rounding_mode)


def _add(x: Any, y: Any, mode: str) -> Any:
    if _is_double(x):
        rounded = _rounded(x + y, *residues.of_sum(x, y), mode)
    else:
        rounded = _from_exact(_sum_to_odd(_wide(x), _wide(y)), mode)
    return _zero_downwards(rounded, x, y, mode)


@guarded_by_poison
def ieee_sub(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """x - y with a rounding mode."""
    x, y = _operands("T.ieee_sub", rounding_mode, x, y)
    if rounding_mode == "rn":
        return binary("sub", x, y)
    return _add(x, -y, rounding_mode)


@guarded_by_poison
def ieee_mul(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """x * y with a rounding mode."""
    x, y = _operands("T.ieee_mul", rounding_mode, x, y)
    if rounding_mode == "rn":
        return binary("mul", x, y)
    if _is_double(x):
        return _rounded(x * y, *residues.of_product(x, y), rounding_mode)
    return _from_exact(_wide(x) * _wide(y), rounding_mode)


@guarded_by_poison
def ieee_fmaf(x: Any, y: Any, z: Any, rounding_mode: str = "rn") -> Any:
    """x * y + z with one rounding, of floats of 16 bits to the nearest alone."""
    x, y, z = _operands("T.ieee_fmaf", rounding_mode, x, y, z)
    if str(x.dtype) not in ("float16", "bfloat16", "float32", "float64"):
        raise unsupported(
            f"T.ieee_fmaf of {x.dtype} is not supported; it is for floats of 16 bits or more"
        )
    if rounding_mode == "rn":
        return fma(x, y, z)
    if _is_double(x):
        nearest = fma(x, y, z)
        rounded = _rounded(nearest, *residues.of_fma(x, y, z, nearest), rounding_mode)
        return _zero_downwards(rounded, x * y, z, rounding_mode)
    product = _wide(x) * _wide(y)
    rounded = _from_exact(_sum_to_odd(product, _wide(z)), rounding_mode)
    return _zero_downwards(rounded, product, _wide(z), rounding_mode)


@guarded_by_poison
def ieee_fdiv(x: Any, y: Any, rounding_mode: str = "rn") -> Any:
    """x / y with a rounding mode."""
    x, y = _operands("T.ieee_fdiv", rounding_mode, x, y)
    nearest = binary("div", x, y)
    if rounding_mode == "rn":
        return nearest
    if _is_double(x):
        return _rounded(nearest, *residues.of_quotient(x, y, nearest), rounding_mode)
    rest = _wide(x) - _wide(nearest) * _wide(y)
    signed = Select(_wide(y) > 0, rest, -rest)
    return _rounded(nearest, signed > 0, signed < 0, rounding_mode)


@guarded_by_poison
def ieee_frcp(x: Any, rounding_mode: str = "rn") -> Any:
    """1 / x with a rounding mode."""
    (x,) = _operands("T.ieee_frcp", rounding_mode, x)
    return ieee_fdiv(cast(1.0, x.dtype), x, rounding_mode)


@guarded_by_poison
def ieee_fsqrt(x: Any, rounding_mode: str = "rn") -> Any:
    """The square root with a rounding mode."""
    (x,) = _operands("T.ieee_fsqrt", rounding_mode, x)
    nearest = sqrt(x)
    if rounding_mode == "rn":
        return nearest
    if _is_double(x):
        return _rounded(nearest, *residues.of_root(x, nearest), rounding_mode)
    rest = _wide(x) - _wide(nearest) * _wide(nearest)
    return _rounded(nearest, rest > 0, rest < 0, rounding_mode)


@guarded_by_poison
def ieee_frsqrt(x: Any) -> Any:
    """1 / sqrt(x), rounded to nearest."""
    (x,) = _operands("T.ieee_frsqrt", "rn", x)
    if str(x.dtype) != "float32":
        return rsqrt(x)
    return cast(1.0 / sqrt(_wide(x)), "float32")


@guarded_by_poison
def fast_rcp(x: Any) -> Any:
    """1 / x; a GPU gives an approximation, the CPU the rounded quotient."""
    value = current().expression(x)
    return cast(1.0, getattr(value, "dtype", "float32")) / value


@guarded_by_poison
def hypot(x: Any, y: Any) -> Any:
    """sqrt(x * x + y * y) without overflow on the way; infinite where one of them is, as in C."""
    a, b = (current().expression(v) for v in (x, y))
    is_double = "float64" in (str(getattr(v, "dtype", "float32")) for v in (a, b))
    a, b = abs(_wide(a)), abs(_wide(b))
    is_infinite = (a == float("inf")) | (b == float("inf"))
    if is_double:  # powers of 2 that keep the squares in range
        up = Select((a < 2.0**-500) & (b < 2.0**-500), _wide(2.0**550), _wide(1.0))
        down = Select((a > 2.0**500) | (b > 2.0**500), _wide(2.0**-550), up)
        a, b = a * down, b * down
        length = sqrt(a * a + b * b) * (_wide(1.0) / down)
    else:
        length = cast(sqrt(a * a + b * b), "float32")
    return Select(is_infinite, cast(float("inf"), length.dtype), length)


@guarded_by_poison
def ldexp(x: Any, exponent: Any) -> Any:
    """x times 2 to the power of an integer, of float32 or float64."""
    tracer = current()
    value = tracer.expression(x)
    power = cast(exponent, "int64")
    # Two steps: 2 ** exponent alone may overflow or vanish.
    half = power >> 1
    wide = cast(value, "float64")
    for part in (half, power - half):
        bounded = Select(part > 1000, cast(1000, "int64"), part)
        bounded = Select(bounded < -1000, cast(-1000, "int64"), bounded)
        wide = wide * reinterpret((bounded + 1023) << 52, "float64")
    return cast(wide, getattr(value, "dtype", "float32"))


@guarded_by_poison
def nextafter(x: Any, y: Any) -> Any:
    """The number next to x on the way to y, in their common dtype (of integers float32)."""
    a, b = (current().expression(v) for v in (x, y))
    common = str(getattr(a + b, "dtype", "float32"))
    dtype = common if common in ("float16", "bfloat16", "float64") else "float32"
    a, b = cast(a, dtype), cast(b, dtype)
    moved = Select(b > a, _step(a, True), _step(a, False))
    return Select(a != a, a, Select((a == b) | (b != b), b, moved))


@guarded_by_poison
def dp4a(A: Any, B: Any, C: Any) -> None:
    """C += the sum of the products of four neighbouring int8 of A and of B: elements, or buffers,
    whose first ones they are."""
    from .values import Element

    tracer = current()
    A, B, C = (
        Element(v, (0,) * len(v.shape)) if isinstance(v, BufferRef) else v for v in (A, B, C)
    )
    if not all(isinstance(v, Element) for v in (A, B, C)):
        raise LanguageError("T.dp4a takes three elements, as in T.dp4a(A[0], B[0], C[0])")
    dtypes = tuple(str(v.buffer.dtype) for v in (A, B, C))
    if dtypes != ("int8", "int8", "int32"):
        raise LanguageError(
            "T.dp4a adds products of int8 to an int32, but its elements are of "
            f"{', '.join(dtypes)}",
            python=TypeError,
        )
    total = tracer.expression(C)
    for step in range(4):
        left, right = (Element(v.buffer, (*v.indices[:-1], v.indices[-1] + step)) for v in (A, B))
        total = total + cast(left, "int32") * cast(right, "int32")
    tracer.store(C, total)


def __ldg(load: Any, index: Any = None) -> Any:
    """An element, read through a GPU's read-only cache; elsewhere a plain read."""
    return current().expression(load if index is None else load[index])


def __ffs(value: Any) -> Any:
    """The number of the lowest bit that is set, counted from 1; 0 if there is none."""
    from .math_ops import popcount

    bits = current().expression(value)
    lowest = bits & -bits
    return Select(bits == 0, cast(0, "int32"), cast(popcount(lowest - 1), "int32") + 1)


def __fns(mask: Any, base: Any, offset: Any) -> Any:
    """The number of the `offset`-th bit that is set, from bit `base` on; up to it if negative.

    As CUDA has it: `offset` 0 asks for bit `base` itself; 0xFFFFFFFF if there is none.
    """
    tracer = current()
    bits, start = cast(mask, "uint32"), cast(base, "int32")
    wanted = cast(offset, "int32")
    found = cast(0xFFFFFFFF, "uint32")
    up, down = cast(0, "int32"), cast(0, "int32")
    for bit in range(32):
        is_set = ((bits >> bit) & 1) == 1
        up = up + Select(is_set & (start <= bit), 1, 0)
        here = is_set & (start <= bit) & (wanted > 0) & (up == wanted)
        here = here | (is_set & (start == bit) & (wanted == 0))
        found = Select(here, cast(bit, "uint32"), found)
    for bit in range(31, -1, -1):
        is_set = ((bits >> bit) & 1) == 1
        down = down + Select(is_set & (start >= bit), 1, 0)
        here = is_set & (start >= bit) & (wanted < 0) & (down == -wanted)
        found = Select(here, cast(bit, "uint32"), found)
    return tracer.expression(found)


__exp10, __log2, __log10 = exp10, log2, log10

__all__ = [
    "__exp10",
    "__ffs",
    "__fns",
    "__ldg",
    "__log10",
    "__log2",
    "dp4a",
    "fast_rcp",
    "hypot",
    "ieee_add",
    "ieee_fdiv",
    "fma",
    "ieee_fmaf",
    "ieee_frcp",
    "ieee_frsqrt",
    "ieee_fsqrt",
    "ieee_mul",
    "ieee_sub",
    "ldexp",
    "nextafter",
]

# SPDX-License-Identifier: Apache-2.0
"""On which side of the nearest float64 an exact result lies.

Each function gives two conditions: the exact result is above, or below. The errors of sums and
products are exact float64s themselves (Muller et al., Handbook of Floating-Point Arithmetic,
chapter 4) as long as nothing leaves the range of float64; so significands are taken instead of
numbers, and the nearest result is brought to their scale.
"""

from __future__ import annotations

from .math_ops import Select, cast, fma, reinterpret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BIAS = 1023


def _long(value: int) -> Any:
    return cast(value, "int64")


def _is_number(*values: Any) -> Any:
    """Neither infinite nor NaN."""
    found = values[0] - values[0] == 0
    for value in values[1:]:
        found = found & (value - value == 0)
    return found


def _sides(rest: Any, holds: Any) -> tuple[Any, Any]:
    return (rest > 0) & holds, (rest < 0) & holds


def _split(value: Any) -> tuple[Any, Any]:
    """The significand, in [1, 2) and of the same sign (0 of 0), and the exponent."""
    is_small = abs(value) < 2.0**-1000
    bits = reinterpret(Select(is_small, value * 2.0**100, value), "int64")
    exponent = ((bits >> 52) & 0x7FF) - _BIAS - Select(is_small, _long(100), _long(0))
    kept = (bits & (2**52 - 1)) | (bits & -(2**63)) | (_BIAS << 52)
    return Select(value == 0, value, reinterpret(kept, "float64")), exponent


def _scaled(value: Any, power: Any) -> Any:
    """value * 2 ** power, in three steps: a factor alone may leave the range."""
    third = power // 3
    for part in (third, third, power - third - third):
        bounded = Select(part > 1000, _long(1000), Select(part < -1000, _long(-1000), part))
        value = value * reinterpret((bounded + _BIAS) << 52, "float64")
    return value


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The sum and what it lacks."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def of_sum(x: Any, y: Any) -> tuple[Any, Any]:
    """Of x + y."""
    total, lost = _two_sum(x, y)
    # Of two numbers an infinite sum is too far out.
    rest = Select(_is_number(total), lost, -total)
    return _sides(rest, _is_number(x, y))


def of_product(x: Any, y: Any) -> tuple[Any, Any]:
    """Of x * y."""
    (a, power_a), (b, power_b) = _split(x), _split(y)
    product = a * b
    lost = fma(a, b, -product)
    rest = (product - _scaled(x * y, -(power_a + power_b))) + lost
    return _sides(rest, _is_number(x, y))


def of_quotient(x: Any, y: Any, nearest: Any) -> tuple[Any, Any]:
    """Of x / y."""
    (a, power_a), (b, power_b) = _split(x), _split(y)
    quotient = _scaled(nearest, power_b - power_a)
    product = quotient * b
    rest = (a - product) - fma(quotient, b, -product)
    rest = Select(_is_number(quotient), Select(b > 0, rest, -rest), -quotient)
    return _sides(rest, _is_number(x, y) & (y != 0))


def of_root(x: Any, nearest: Any) -> tuple[Any, Any]:
    """Of the square root of x."""
    a, power = _split(x)
    odd = power & 1
    a = Select(odd == 1, a * 2.0, a)
    root = _scaled(nearest, -((power - odd) >> 1))
    square = root * root
    rest = (a - square) - fma(root, root, -square)
    return _sides(rest, _is_number(x) & (x > 0))


def of_fma(x: Any, y: Any, z: Any, nearest: Any) -> tuple[Any, Any]:
    """Of x * y + z."""
    (a, power_a), (b, power_b), (c, power_c) = _split(x), _split(y), _split(z)
    none = _long(-10000)
    power = Select((x == 0) | (y == 0), none, power_a + power_b)
    power_c = Select(z == 0, none, power_c)
    unit = Select(power > power_c, power, power_c)
    product = a * b
    lost = fma(a, b, -product)
    # What is 2 ** 300 times smaller decides by its sign alone.
    down, down_c = (Select(p < -300, _long(-300), p) for p in (power - unit, power_c - unit))
    product, lost, c = _scaled(product, down), _scaled(lost, down), _scaled(c, down_c)
    sum_of_small, least = _two_sum(c, lost)
    total, middle = _two_sum(product, sum_of_small)
    rest = ((total - _scaled(nearest, -unit)) + middle) + least
    return _sides(rest, _is_number(x, y, z))

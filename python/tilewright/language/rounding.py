# SPDX-License-Identifier: Apache-2.0
"""`T.cast` with a rounding mode, without saturation, or with random bits.

A conversion rounds to nearest even, and one to a float of less than 16 bits saturates. The others
are written out here, on the bits of the float32: the pattern is cut, and one is added where the
mode says so, which carries into the exponent by itself.
"""

from __future__ import annotations

from ..capture.tracer import current
from .dtypes import Dtype
from .values import LanguageError, unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MODES = {"": "rn", "rn": "rn", "rz": "rz", "ru": "ru", "rp": "ru", "rd": "rd", "rm": "rd"}
_MODES |= {"rs": "rs"}
#: Bits of mantissa, bias, the pattern of the largest value, and that of what lies beyond it.
_FORMATS = {
    "float16": (10, 15, 0x7BFF, 0x7C00),
    "bfloat16": (7, 127, 0x7F7F, 0x7F80),
    "float8_e5m2": (2, 15, 0x7B, 0x7C),
    "float8_e4m3fn": (3, 7, 0x7E, 0x7F),
    # All of their patterns are numbers: nothing lies beyond the largest.
    "float6_e2m3fn": (3, 1, 0x1F, 0x1F),
    "float6_e3m2fn": (2, 3, 0x1F, 0x1F),
    "float4_e2m1fn": (1, 1, 0x7, 0x7),
}


def cast_with_options(value: Any, dtype: Dtype, mode: str, saturate: bool, rbits: Any) -> Any:
    """`value` rounded by `mode`: rn, rz, ru, rd, or rs (up with a chance that the uint32 `rbits`
    decides). Beyond the range of 8 bits the largest value, or, where `saturate` is False, what the
    format has for it (infinity or NaN), as in 16 bits always."""
    rounding = _MODES.get(mode)
    if not isinstance(saturate, bool):
        raise LanguageError(
            f"T.cast: sat must be True or False, not {saturate!r}", python=TypeError
        )
    if rounding is None:
        raise LanguageError(
            f"T.cast: there is no rounding mode {mode!r}; it is rn, rz, ru, rd or rs"
        )
    if (rounding == "rs") != (rbits is not None):
        raise LanguageError("T.cast: rbits go with the rounding mode 'rs', and it with them")
    found = current().expression(value)
    source = str(getattr(found, "dtype", "float32"))
    if str(dtype) not in _FORMATS or source not in ("float32", "float16", "bfloat16"):
        raise unsupported(
            f"round, sat and rbits of T.cast from {source} to {dtype} are not supported; they are "
            f"for float32, float16 and bfloat16, to {', '.join(_FORMATS)}"
        )
    return _rounded(found, dtype, rounding, saturate and dtype.bits < 16, rbits)


def _rounded(value: Any, dtype: Dtype, mode: str, saturate: bool, rbits: Any) -> Any:
    from .math_ops import Select, cast, floor, isnan, reinterpret

    mantissa, bias, largest, beyond = _FORMATS[str(dtype)]
    wide = cast(value, "float32")
    bits = reinterpret(wide, "uint32")
    magnitude, is_negative = bits & 0x7FFFFFFF, bits > 0x7FFFFFFF
    cut = 23 - mantissa
    # Below the least normal value the unit is that of the subnormals; the product is exact.
    units = reinterpret(magnitude, "float32") * 2.0 ** (bias + mantissa - 1)
    is_subnormal = units < 2.0**mantissa
    below = floor(units)
    part = (units - below) * 2.0**cut
    sticky = cast(floor(part), "uint32") | cast(part > floor(part), "uint32")
    kept = Select(
        is_subnormal, cast(below, "uint32"), (magnitude >> cut) - ((127 - bias) << mantissa)
    )
    lost = Select(is_subnormal, sticky, magnitude & ((1 << cut) - 1))
    up = {
        "rn": (lost > (1 << (cut - 1))) | ((lost == (1 << (cut - 1))) & ((kept & 1) == 1)),
        "rz": lost < 0,
        "ru": (lost > 0) & (magnitude == bits),
        "rd": (lost > 0) & is_negative,
        "rs": lost + (cast(0 if rbits is None else rbits, "uint32") & ((1 << cut) - 1))
        >= (1 << cut),
    }[mode]
    rounded = kept + cast(up, "uint32")
    is_infinite = magnitude == 0x7F800000
    goes_on = {
        "rz": is_infinite,
        "ru": is_infinite | (magnitude == bits),
        "rd": is_infinite | is_negative,
    }
    outside = largest if saturate else Select(goes_on.get(mode, True), beyond, largest)
    rounded = Select(rounded > largest, cast(outside, "uint32"), rounded)
    if largest == beyond:
        return _number(rounded, is_negative, wide, dtype)
    pattern = rounded | Select(
        is_negative, cast(1 << (dtype.bits - 1), "uint32"), cast(0, "uint32")
    )
    container = f"uint{dtype.bits}"
    # A NaN keeps its own pattern.
    special = cast(reinterpret(cast(wide, dtype), container), "uint32")
    return reinterpret(cast(Select(isnan(wide), special, pattern), container), dtype)


def _number(pattern: Any, is_negative: Any, wide: Any, dtype: Dtype) -> Any:
    """What a pattern without its sign stands for; the conversion of that is exact."""
    from .math_ops import Select, cast, isnan, reinterpret

    mantissa, bias, _, _ = _FORMATS[str(dtype)]
    normal = reinterpret((pattern + ((127 - bias) << mantissa)) << (23 - mantissa), "float32")
    small = cast(pattern, "float32") * 2.0 ** (1 - bias - mantissa)
    value = Select(pattern < (1 << mantissa), small, normal)
    return cast(Select(isnan(wide), wide, Select(is_negative, -value, value)), dtype)

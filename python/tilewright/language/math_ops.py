# SPDX-License-Identifier: Apache-2.0
"""Scalar functions. On Python numbers they compute at once; on values of a kernel they build."""

from __future__ import annotations

import builtins
import functools
import math

from ..capture.tracer import current, current_or_none
from .dtypes import Dtype, to_dtype
from .values import POISON, Deferred, Expr, LanguageError, RegionRef, binary, has_poison, unary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _combined(op: str, x: Any, y: Any) -> Any:
    """An operation that was called by name: what is no scalar is an error, not NotImplemented."""
    result = binary(op, x, y)
    if result is NotImplemented:
        for operand in (x, y):
            current().value(operand)  # raises with what is wrong
    return result


def _is_plain(*values: object) -> bool:
    return all(isinstance(v, (bool, int, float)) for v in values)


def _unary(op: str, plain: Callable[[float], float] | None) -> Callable[[Any], Any]:
    def function(x: Any, *tiles: Any) -> Any:
        if tiles:
            return _on_tiles(op, x, tiles)
        if plain is not None and _is_plain(x) and current_or_none() is None:
            return plain(x)
        return unary(op, x)

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"{op} of a scalar; the result has its dtype. With (dst, src), of tiles."
    return function


#: T.tile.* whose name differs from that of the function on scalars.
_TILE_NAMES = {"log": "ln", "shl": "bitwise_lshift", "shr": "bitwise_rshift"}
_TILE_NAMES |= {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}


def _on_tiles(op: str, dst: Any, sources: tuple[Any, ...]) -> Any:
    """Seed 004's form, `T.exp(dst, src)`: a function on tiles."""
    from . import tile

    name = _TILE_NAMES.get(op, op)
    if not tile.is_tile(dst) or not hasattr(tile, name):
        count = len(sources) + 1
        raise LanguageError(f"T.{op} with {count} arguments takes tiles, destination first")
    return getattr(tile, name)(dst, *sources)


exp = _unary("exp", math.exp)
exp2 = _unary("exp2", lambda x: 2.0**x)
exp10 = _unary("exp10", lambda x: 10.0**x)
log = _unary("log", math.log)
log2 = _unary("log2", math.log2)
log10 = _unary("log10", math.log10)
log1p = _unary("log1p", math.log1p)
sqrt = _unary("sqrt", math.sqrt)
rsqrt = _unary("rsqrt", lambda x: 1.0 / math.sqrt(x))
sigmoid = _unary("sigmoid", lambda x: 1.0 / (1.0 + math.exp(-x)))
tanh = _unary("tanh", math.tanh)
sinh = _unary("sinh", math.sinh)
cosh = _unary("cosh", math.cosh)
sin = _unary("sin", math.sin)
cos = _unary("cos", math.cos)
tan = _unary("tan", math.tan)
asin = _unary("asin", math.asin)
acos = _unary("acos", math.acos)
atan = _unary("atan", math.atan)
asinh = _unary("asinh", math.asinh)
acosh = _unary("acosh", math.acosh)
atanh = _unary("atanh", math.atanh)
expm1 = _unary("expm1", math.expm1)
erf = _unary("erf", math.erf)
floor = _unary("floor", math.floor)
ceil = _unary("ceil", math.ceil)
trunc = _unary("trunc", math.trunc)
_nearest = _unary("round", None)
nearbyint = _unary("nearbyint", builtins.round)
isnan = _unary("isnan", math.isnan)
isinf = _unary("isinf", math.isinf)
isfinite = _unary("isfinite", math.isfinite)
abs = _unary("abs", builtins.abs)
popcount = _unary("popcount", None)
clz = _unary("clz", None)
__exp = exp
__log = log
__sin, __cos, __tan = sin, cos, tan


#: How `T.round` may round.
_ROUNDINGS = {
    "ties-away-from-zero": _nearest,
    "ties-to-even": nearbyint,
    "toward-zero": trunc,
    "toward-positive": ceil,
    "toward-negative": floor,
}


def round(x: Any, *tiles: Any, rounding_mode: Any = None, span: object = None) -> Any:
    """The nearest integer, ties away from 0, or as `rounding_mode` says, which may also stand
    second; the result has the dtype of x. With (dst, src), of tiles."""
    if len(tiles) == 1 and isinstance(tiles[0], str):
        rounding_mode, tiles = tiles[0], ()
    if rounding_mode is None:
        return _nearest(x, *tiles)
    if rounding_mode not in _ROUNDINGS:
        raise LanguageError(
            f"T.round has no rounding_mode {rounding_mode!r}; it is {', '.join(_ROUNDINGS)}"
        )
    return _ROUNDINGS[rounding_mode](x)


def _binary(op: str, plain: Callable[[Any, Any], Any] | None) -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any, *tiles: Any) -> Any:
        if tiles:
            return _on_tiles(op, x, (y, *tiles))
        if plain is not None and _is_plain(x, y):
            return plain(x, y)
        return _combined(op, x, y)

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"{op} of two scalars; dtypes are promoted by the language's rules."
    return function


def _truncated(a: Any, b: Any) -> Any:
    """a / b without its fraction, exact for integers of any size."""
    if isinstance(a, float) or isinstance(b, float):
        return int(a / b)
    return a // b if (a < 0) == (b < 0) else -(-a // b)


def _refuse_huge(bits: int, written: str) -> None:
    """Python would work on a number as long as all memory, which no dtype holds in the end."""
    if bits > 1 << 16:
        raise LanguageError(f"the number {written} does not fit in 64 bits", python=OverflowError)


def _shifted(a: Any, b: Any) -> Any:
    if isinstance(b, int) and a:
        _refuse_huge(b, f"{a} << {b}")
    return a << b


def _raised(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1:
        _refuse_huge(a.bit_length() * b, f"{a} ** {b}")
    return builtins.pow(a, b)


max = _binary("max", builtins.max)
min = _binary("min", builtins.min)
pow = _binary("pow", _raised)
floordiv = _binary("floordiv", lambda a, b: a // b)
floormod = _binary("floormod", lambda a, b: a % b)
truncdiv = _binary("truncdiv", _truncated)
truncmod = _binary("truncmod", lambda a, b: a - b * _truncated(a, b))
shift_left = _binary("shl", _shifted)
shift_right = _binary("shr", lambda a, b: a >> b)
bitwise_and = _binary("and", lambda a, b: a & b)
bitwise_or = _binary("or", lambda a, b: a | b)
bitwise_xor = _binary("xor", lambda a, b: a ^ b)
fmod = _binary("fmod", math.fmod)
atan2 = _binary("atan2", math.atan2)
copysign = _binary("copysign", math.copysign)
maximum, minimum, power = max, min, pow


def bitwise_not(x: Any) -> Any:
    """All bits of an integer inverted."""
    return ~x if _is_plain(x) else unary("not", x)


def logical_and(x: Any, y: Any) -> Any:
    return (x and y) if _is_plain(x, y) else _combined("logical_and", x, y)


def logical_or(x: Any, y: Any) -> Any:
    return (x or y) if _is_plain(x, y) else _combined("logical_or", x, y)


def logical_not(x: Any) -> Any:
    return (not x) if _is_plain(x) else unary("logical_not", x)


add = _binary("add", lambda a, b: a + b)
sub = _binary("sub", lambda a, b: a - b)
mul = _binary("mul", lambda a, b: a * b)
div = _binary("div", lambda a, b: a / b)


def And(*conditions: Any) -> Any:
    """Whether all hold; all are computed."""
    return functools.reduce(logical_and, conditions, True)


def Or(*conditions: Any) -> Any:
    """Whether one holds; all are computed."""
    return functools.reduce(logical_or, conditions, False)


def ceildiv(x: Any, y: Any) -> Any:
    """x / y, rounded up to an integer."""
    if _is_plain(x, y):
        return -(-x // y)
    return _combined("ceildiv", x, y)


cdiv = ceildiv


def align_up(x: Any, y: Any) -> Any:
    """The smallest multiple of y that is at least x."""
    return ceildiv(x, y) * y


def clamp(dst: Any, min_val: Any, max_val: Any) -> Any:
    """The value `dst`, but at least `min_val` and at most `max_val`."""
    return min(max(dst, min_val), max_val)


def _promoted_choice(condition: Any, when_true: Any, when_false: Any) -> Any:
    """The side that is chosen here and now, in the dtype of both."""
    taken, left = (when_true, when_false) if condition else (when_false, when_true)
    tracer = current_or_none()
    if tracer is None or not isinstance(left, Expr):
        return taken
    return tracer.promoted(taken, left.dtype)


def if_then_else(condition: Any, when_true: Any, when_false: Any) -> Any:
    """A lazy choice where written in a kernel: see docs/python-front-end.md."""
    if has_poison((condition, when_true, when_false)):
        return POISON
    if _is_plain(condition):
        return _promoted_choice(condition, when_true, when_false)
    return current().select(condition, when_true, when_false)


if_then_else.is_lazy_choice = True  # type: ignore[attr-defined]


def Select(condition: Any, true_value: Any, false_value: Any) -> Any:
    """Both sides are evaluated."""
    if has_poison((condition, true_value, false_value)):
        return POISON
    if _is_plain(condition):
        return _promoted_choice(condition, true_value, false_value)
    return current().select(condition, true_value, false_value)


def fma(x: Any, y: Any, z: Any) -> Any:
    """x * y + z with one rounding, of floats of 16 bits or more (literals take the others' dtype);
    of other numbers as the operators do."""
    if has_poison((x, y, z)):
        return POISON
    tracer = current()
    return tracer.wrap(tracer.builder.fma(*(tracer.value(v) for v in (x, y, z))))


def cast(value: Any, dtype: Any, round: str = "", sat: bool = True, rbits: Any = None) -> Any:
    """`value` converted to `dtype`."""
    from .rounding import cast_with_options
    from .vectors import Vector, cast_lanes

    if has_poison((value,)):
        return POISON
    if isinstance(value, (Vector, RegionRef)):
        return cast_lanes(value, dtype, round, sat, rbits)
    if to_dtype(dtype).lanes > 1:  # a scalar for all lanes
        return cast_lanes(Vector([value] * to_dtype(dtype).lanes), dtype, round, sat, rbits)
    if round or rbits is not None or sat is not True:
        return cast_with_options(value, to_dtype(dtype), round, sat, rbits)
    name = str(to_dtype(dtype))
    tracer = current_or_none()
    if tracer is None:
        return Deferred("constant" if _is_plain(value) else "cast", (value, name))
    if _is_plain(value):
        return tracer.wrap(tracer.builder.constant(_literal(value, name), name))
    return tracer.wrap(tracer.builder.cast(tracer.value(value), name))


def _literal(value: bool | int | float, name: str) -> bool | int | float:
    """A Python number as the kind of number that the dtype holds, as a cast would convert it."""
    if Dtype(name).is_float:
        return float(value)
    if name == "bool":
        return bool(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise LanguageError(f"{value} can't be converted to {name}")
    return int(value)


def reinterpret(value: Any, dtype: Any) -> Any:
    """The value of the same bits in another dtype of equal width.

    A "handle", TVM's pointer that nobody follows, is the value itself.
    """
    if has_poison((value,)):
        return POISON
    if isinstance(dtype, str) and dtype == "handle":
        return value
    if _is_dtype_first(value, dtype):  # TVM's order of arguments
        value, dtype = dtype, value
    tracer = current()
    from .vectors import Vector, reinterpret_lanes

    if isinstance(value, (Vector, RegionRef)) or to_dtype(dtype).lanes > 1:
        return reinterpret_lanes(value, dtype)
    return tracer.wrap(tracer.builder.reinterpret(tracer.value(value), str(to_dtype(dtype))))


def _is_dtype_first(first: object, second: object) -> bool:
    return isinstance(first, str) and not isinstance(second, str)


#: What conversions to 8 bits don't give: they saturate.
_INFINITY_BITS = {"float8_e5m2": 0x7C, "float8_e3m4": 0x70}


def infinity(dtype: Any = "float32") -> Any:
    """+inf of a float dtype."""
    name = to_dtype(dtype)
    if name.scalar in _INFINITY_BITS and name.lanes == 1:
        return reinterpret(cast(_INFINITY_BITS[name], "uint8"), name)
    if not name.is_float or name.bits // name.lanes < 16:
        raise LanguageError(f"{name} has no infinity; use T.max_value")
    return cast(math.inf, name)


_FLOAT_MAX = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "tfloat32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e4m3b11fnuz": 30.0,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
    "float8_e3m4": 15.5,
    "float8_e8m0fnu": 2.0**127,
    "float6_e2m3fn": 7.5,
    "float6_e3m2fn": 28.0,
    "float4_e2m1fn": 6.0,
    "float4_e2m1_unpacked": 6.0,
}


def max_value(dtype: Any) -> Any:
    """The largest finite value of a dtype."""
    name = to_dtype(dtype)
    if name.scalar in _FLOAT_MAX:
        return cast(_FLOAT_MAX[name.scalar], name)
    if name == "bool":
        return cast(True, name)
    bits = name.scalar.bits - (0 if name.startswith("u") else 1)
    return cast((1 << bits) - 1, name)


def min_value(dtype: Any) -> Any:
    """The smallest finite value of a dtype."""
    name = to_dtype(dtype)
    if name.scalar == "float8_e8m0fnu":  # without a sign
        return cast(2.0**-127, name)
    if name.scalar in _FLOAT_MAX:
        return cast(-_FLOAT_MAX[name.scalar], name)
    if name == "bool" or name.startswith("u"):
        return cast(0, name)
    return cast(-(1 << (name.scalar.bits - 1)), name)


def likely(condition: Any) -> Any:
    """The condition; a hint that it mostly holds."""
    return condition


__all__ = [
    "And",
    "Or",
    "Select",
    "__cos",
    "__exp",
    "__log",
    "__sin",
    "__tan",
    "abs",
    "acos",
    "acosh",
    "add",
    "align_up",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cast",
    "cdiv",
    "ceil",
    "ceildiv",
    "clamp",
    "clz",
    "copysign",
    "cos",
    "cosh",
    "div",
    "erf",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "floor",
    "floordiv",
    "floormod",
    "fmod",
    "if_then_else",
    "infinity",
    "isfinite",
    "isinf",
    "isnan",
    "likely",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "max",
    "max_value",
    "maximum",
    "min",
    "min_value",
    "minimum",
    "mul",
    "nearbyint",
    "popcount",
    "pow",
    "power",
    "reinterpret",
    "round",
    "rsqrt",
    "shift_left",
    "shift_right",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "sub",
    "tan",
    "tanh",
    "trunc",
    "truncdiv",
    "truncmod",
]

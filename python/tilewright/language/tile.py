# SPDX-License-Identifier: Apache-2.0
"""`T.tile`: functions on tiles in the unified buffer, destination first.

Each is one call of the builder, which checks shapes and dtypes. A source is a buffer, slices of one
or, where noted, a scalar; an element such as `m[i]` is a scalar.
"""

from __future__ import annotations

from ..capture.tracer import current, guarded_by_poison
from .values import BufferRef, LanguageError, RegionRef, UnsupportedName

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Single instructions, in a module that is loaded where they are used.
_RAW = frozenset(
    [
        "brcb",
        "brcb_experiment",
        "sub_experiment",
        "abs_experiment",
        "mins_experiment",
        "reduce_sum_experiment",
        "reduce_sum_mask_experiment",
        "fill_experiment",
        "sum_experiment",
        "datacachecleanandinvalid_experiment",
        "bilinear_interpolation",
        "wholereducemax",
        "wholereducemin",
        "wholereducesum",
        "block_reduce_max",
        "block_reduce_min",
        "block_reduce_sum",
    ]
)

#: Names that earlier releases of TileLang-Ascend had, and what they are now.
_EARLIER = {
    "cast_tl": "cast",
    **{f"{name}_tl": f"bitwise_{name}" for name in ("and", "or", "not")},
    **{f"blockReduce{kind}": f"block_reduce_{kind.lower()}" for kind in ("Max", "Min", "Sum")},
}

#: Here, in earlier releases, with the destination first.
_REDUCTIONS = frozenset(["reduce_sum", "reduce_max", "reduce_min"])


def is_tile(value: object) -> bool:
    return isinstance(value, RegionRef) or (isinstance(value, BufferRef) and not value.is_variable)


def compute(name: str, dst: Any, sources: tuple[Any, ...], **attributes: Any) -> None:
    """One function on tiles, as the builder names it."""
    tracer = current()
    target = tracer.operand(dst, f"the destination of T.tile.{name}")
    given = [
        tracer.operand(source, "a source") if is_tile(source) else tracer.value(source)
        for source in sources
    ]
    known = {key: value for key, value in attributes.items() if value is not None}
    tracer.builder.compute(name, target, given, tracer.attributes(known))


def _check_scratch(name: str, tmp: Any) -> None:
    """Scratch memory by the name of `tmp`, which the compiler doesn't need."""
    if tmp is not None and not is_tile(tmp):
        raise LanguageError(
            f"tmp of T.tile.{name} is a tile of scratch memory, not {type(tmp).__name__}"
        )


def _sources(name: str, known: list[str], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The sources in order, some of which may be given by name."""
    found = dict(zip(known, given, strict=False))
    for key, value in named.items():
        place = "src0" if key == "src" and "src0" in known else key
        if place in found:
            raise LanguageError(f"T.tile.{name} has its argument {key!r} twice")
        if place not in known:
            from ..suggestions import which_exist

            exist = which_exist(key, ["dst", *known])
            raise LanguageError(f"T.tile.{name} has no argument {key!r}{exist}")
        found[place] = value
    if len(given) > len(known) or len(found) < len(known):
        plural = "s" if len(known) > 1 else ""
        count = sorted((len(given), len(found)))[1]
        raise LanguageError(
            f"T.tile.{name} takes a destination and {len(known)} source{plural}, not {count}"
        )
    return tuple(found[key] for key in known)


def _function(
    name: str, sources: str, what: str, *, has_scratch: bool = False
) -> Callable[..., None]:
    known = sources.split()

    @guarded_by_poison
    def function(dst: Any, *given: Any, **named: Any) -> None:
        if has_scratch:
            _check_scratch(name, named.pop("tmp", None))
        compute(name, dst, _sources(name, known, given, named))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"(dst, {', '.join(known)}): {what}"
    return function


_TWO = "src0 src1"
add = _function("add", _TWO, "dst = src0 + src1; src1 may be a scalar.")
sub = _function("sub", _TWO, "dst = src0 - src1; src1 may be a scalar.")
mul = _function("mul", _TWO, "dst = src0 * src1; src1 may be a scalar.")
div = _function("div", _TWO, "dst = src0 / src1; src1 may be a scalar.")
max = _function("max", _TWO, "dst = max(src0, src1); src1 may be a scalar.")
min = _function("min", _TWO, "dst = min(src0, src1); src1 may be a scalar.")
pow = _function("pow", _TWO, "dst = src0 ** src1.", has_scratch=True)
bitwise_and = _function("bitwise_and", _TWO, "dst = src0 & src1.")
bitwise_or = _function("bitwise_or", _TWO, "dst = src0 | src1.")
bitwise_xor = _function("bitwise_xor", _TWO, "dst = src0 ^ src1.", has_scratch=True)
bitwise_lshift = _function("bitwise_lshift", "src0 scalarValue", "dst = src0 << scalarValue.")
bitwise_rshift = _function(
    "bitwise_rshift", "src0 scalarValue", "dst = src0 >> scalarValue; arithmetic if signed."
)
exp = _function("exp", "src0", "dst = e ** src0.")
ln = _function("ln", "src0", "dst = the natural logarithm of src0.")
abs = _function("abs", "src0", "dst = |src0|.")
reciprocal = _function("reciprocal", "src0", "dst = 1 / src0.")
sqrt = _function("sqrt", "src0", "dst = the square root of src0.")
rsqrt = _function("rsqrt", "src0", "dst = 1 / the square root of src0.")
relu = _function("relu", "src0", "dst = max(src0, 0).")
bitwise_not = _function("bitwise_not", "src0", "dst = ~src0.")
sigmoid = _function("sigmoid", "src", "dst = 1 / (1 + e ** -src).", has_scratch=True)
silu = _function("silu", "src", "dst = src * sigmoid(src).")
sin = _function("sin", "src", "dst = sin(src).", has_scratch=True)
cos = _function("cos", "src", "dst = cos(src).", has_scratch=True)
leaky_relu = _function(
    "leaky_relu",
    "src0 scalar_value",
    "dst = src0 where it is positive, else src0 * scalar_value.",
)
axpy = _function("axpy", "src0 scalar_value", "dst += src0 * scalar_value.")
mul_add_dst = _function("mul_add_dst", _TWO, "dst += src0 * src1.")


@guarded_by_poison
def clamp_max(out: Any, buf: Any, bound: Any, count: Any = None, *, tmp: Any = None) -> None:
    """out = min(buf, bound), of the first `count` elements."""
    _check_scratch("clamp_max", tmp)
    compute("clamp_max", out, (buf, bound), count=count)


@guarded_by_poison
def clamp_min(out: Any, buf: Any, bound: Any, count: Any = None, *, tmp: Any = None) -> None:
    """out = max(buf, bound), of the first `count` elements."""
    _check_scratch("clamp_min", tmp)
    compute("clamp_min", out, (buf, bound), count=count)


@guarded_by_poison
def clamp(out: Any, buf: Any, lo: Any, hi: Any, count: Any = None, *, tmp: Any = None) -> None:
    """out = buf within lo and hi, of the first `count` elements."""
    _check_scratch("clamp", tmp)
    compute("clamp", out, (buf, lo, hi), count=count)


@guarded_by_poison
def round(out: Any, buf: Any, count: Any = None, *, tmp: Any = None) -> None:
    """out = the nearest integers, ties to even, of the first `count` elements."""
    _check_scratch("round", tmp)
    compute("round", out, (buf,), count=count)


@guarded_by_poison
def compare(dst: Any, src0: Any, src1: Any, mode: str) -> None:
    """A bit per element in uint8: bit k of byte b says if `src0 mode src1` for element 8 b + k.

    `mode` is EQ, NE, GT, GE, LT or LE; src1 may be a scalar.
    """
    compute("compare", dst, (src0, src1), mode=str(mode))


@guarded_by_poison
def select(dst: Any, selMask: Any, src0: Any, src1: Any, selMode: str, *, tmp: Any = None) -> None:
    """dst = src0 where the mask's bit is 1, else src1, which may be a scalar.

    `selMode` is VSEL_CMPMASK_SPR (one mask for every 256 bytes), VSEL_TENSOR_SCALAR_MODE or
    VSEL_TENSOR_TENSOR_MODE.
    """
    _check_scratch("select", tmp)
    compute("select", dst, (selMask, src0, src1), mode=str(selMode))


@guarded_by_poison
def cast(dst: Any, src: Any, mode: str = "CAST_NONE", count: Any = None) -> None:
    """dst = src in the dtype of dst.

    CAST_NONE and CAST_RINT round to nearest even, CAST_FLOOR down, CAST_CEIL up, CAST_ROUND ties
    away from zero, CAST_TRUNC to zero. CAST_ODD, from float32 to float16, rounds to zero and makes
    the last bit 1 where that lost something.
    """
    compute("cast", dst, (src,), mode=str(mode), count=count)
    tracer = current()
    dtypes = [getattr(side, "dtype", None) for side in (src, dst)]
    is_scaled = not isinstance(tracer.deq_scale, (int, float)) or tracer.deq_scale != 1
    if dtypes == ["int32", "float16"] and is_scaled:
        tracer.report(
            "T.tile.cast from int32 to float16 leaves out the scale of T.set_deq_scale, which "
            "counts in copies from L0C; multiply with T.tile.mul",
            "warning",
        )


@guarded_by_poison
def fill(buffer: Any, value: Any) -> None:
    """All elements become `value`."""
    _fill(buffer, value, "T.tile.fill")


@guarded_by_poison
def clear(buffer: Any) -> None:
    """All elements become 0."""
    _fill(buffer, 0, "T.tile.clear")


def _fill(buffer: Any, value: Any, name: str) -> None:
    tracer = current()
    target = tracer.operand(buffer, f"the target of {name}")
    tracer.builder.fill(target, tracer.value(value), name)


@guarded_by_poison
def createvecindex(dst: Any, first: Any) -> None:
    """dst = first, first + 1, first + 2, ..."""
    compute("createvecindex", dst, (first,))


@guarded_by_poison
def arith_progression(buffer: Any, first: Any, diff: Any, count: Any = None) -> None:
    """buffer = first, first + diff, first + 2 diff, ..., `count` elements of it."""
    compute("arith_progression", buffer, (first, diff), count=count)


@guarded_by_poison
def broadcast(dst: Any, src: Any, axis: Any = None, *, tmp: Any = None) -> None:
    """One number per row (axis 1) or one row for all (axis 0) becomes a tile. Scratch memory may
    stand in the axis's place, as published before the form without it."""
    if tmp is None and is_tile(axis):
        axis, tmp = None, axis
    _check_scratch("broadcast", tmp)
    compute("broadcast", dst, (src,), axis=axis)


@guarded_by_poison
def transpose(dst: Any, src: Any) -> None:
    """dst[j, i] = src[i, j]."""
    tracer = current()
    source = tracer.operand(src, "the source of T.tile.transpose")
    target = tracer.operand(dst, "the destination of T.tile.transpose")
    tracer.builder.copy(source, target, {"transpose": True})


@guarded_by_poison
def atomic_add(dst: Any, src: Any) -> None:
    """dst, in global memory, += src, each element as one indivisible step."""
    tracer = current()
    source = tracer.operand(src, "the source of T.tile.atomic_add")
    target = tracer.operand(dst, "the destination of T.tile.atomic_add")
    tracer.builder.atomic_tile("add", target, source)


@guarded_by_poison
def row_expand_mul(dst: Any, src0: Any, src1: Any, tmp: Any = None) -> None:
    """dst = src0 times one number per row; `tmp` is scratch memory that is not needed here."""
    compute("mul", dst, (src0, src1))


def _row_expand(name: str, suffix: str) -> Callable[..., None]:
    @guarded_by_poison
    def function(dst: Any, src0: Any, src1: Any, tmp: Any = None) -> None:
        from .raw_instructions import row_expand

        if not row_expand(name, dst, src0, src1):
            compute(name, dst, (src0, src1))

    function.__name__ = function.__qualname__ = f"row_expand_{name}{suffix}"
    function.__doc__ = (
        f"dst = src0 {name} src1, which has one number per row, or one block of 32 bytes per row "
        "as T.tile.brcb gives them; `tmp` is scratch memory that is not needed here."
    )
    return function


row_expand_mul_experiment = _row_expand("mul", "_experiment")
row_expand_sub_experiment = _row_expand("sub", "_experiment")
row_expand_div_experiment = _row_expand("div", "_experiment")
row_expand_mul_nd = _row_expand("mul", "_nd")
row_expand_sub = _row_expand("sub", "")
row_expand_div = _row_expand("div", "")


def earlier_function(name: str) -> Callable[..., None] | None:
    """A function by a name that it had as `T.name`, before there was `T.tile`."""
    known = _EARLIER.get(name, name)
    is_public = known in _RAW or getattr(globals().get(known), "__module__", "") == __name__
    if not is_public or known in ("compute", "is_tile", "earlier_function"):
        return None
    return globals().get(known) or __getattr__(known)  # type: ignore[no-any-return]


def __getattr__(name: str) -> Any:
    if name in _RAW:
        from . import raw_instructions

        return getattr(raw_instructions, name)
    if name in _REDUCTIONS:
        from . import reductions

        return getattr(reductions, name)
    if name in _EARLIER:
        return earlier_function(name)
    if name == "set_deq_scale":  # which is of the cube, and here in earlier releases
        from .ascend import set_deq_scale

        return set_deq_scale
    from .unsupported import refusal_of

    if (refused := refusal_of(name, "T.tile")) is not None:
        raise UnsupportedName(refused, "unsupported")
    from ..suggestions import meant_of_tiles

    ours = {n for n, value in globals().items() if getattr(value, "__module__", "") == __name__}
    known = (ours | _RAW) - {"compute", "is_tile", "earlier_function"}
    raise AttributeError(f"T.tile has no {name!r}{meant_of_tiles(name, known)}")

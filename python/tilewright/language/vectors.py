# SPDX-License-Identifier: Apache-2.0
"""Small vectors: `A[i : i + 2]` as one value, `float16x2` in 32 bits, and arithmetic on pairs.

A vector is a list of scalars, one per lane; each operation is one operation per lane. What becomes
of them, on targets that have instructions for pairs, is the target's affair.
"""

from __future__ import annotations

import operator

from ..capture.tracer import current, describe, guarded_by_poison
from .dtypes import Dtype, to_dtype
from .values import (
    BufferRef,
    Element,
    Expr,
    LanguageError,
    RegionRef,
    Traced,
    VectorBuffer,
    assign_region,
    subscript,
    unsupported,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

_LARGEST = 64


class Vector:
    """A value of several lanes of one dtype."""

    __slots__ = ("lanes",)
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, lanes: Sequence[Any]) -> None:
        self.lanes = list(lanes)

    @property
    def dtype(self) -> Dtype:
        first = current().value(self.lanes[0])
        if isinstance(first, (bool, int, float)):
            scalar = to_dtype({bool: "bool", int: "int32", float: "float32"}[type(first)])
        else:
            scalar = Dtype(first.dtype)
        return Dtype(f"{scalar}x{len(self.lanes)}") if len(self.lanes) > 1 else scalar

    def __len__(self) -> int:
        return len(self.lanes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.lanes)

    def __getitem__(self, lane: Any) -> Any:
        if isinstance(lane, slice):
            return self.lanes[lane]
        return self.lanes[lane_number(lane, len(self.lanes))]

    def astype(self, dtype: Any) -> Any:
        return cast_lanes(self, dtype)

    def _with(self, other: object, operation: Callable[[Any, Any], Any], swapped: bool) -> Vector:
        if isinstance(other, RegionRef):
            other = vector_of(other, "arithmetic")
        others = other.lanes if isinstance(other, Vector) else [other] * len(self.lanes)
        if len(others) != len(self.lanes):
            raise LanguageError(
                f"a vector of {len(self.lanes)} lanes meets one of {len(others)} lanes"
            )
        left, right = (others, self.lanes) if swapped else (self.lanes, others)
        return Vector([operation(a, b) for a, b in zip(left, right, strict=True)])

    def __neg__(self) -> Vector:
        return Vector([-lane for lane in self.lanes])


def _add_operators() -> None:
    """Arithmetic on vectors, and on parts of buffers as vectors."""
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and_", "or_", "xor"):
        operation, special = getattr(operator, name), name.rstrip("_")

        def forward(self: Any, other: object, operation: Any = operation) -> Vector:
            return vector_of(self, "arithmetic")._with(other, operation, False)

        def backward(self: Any, other: object, operation: Any = operation) -> Vector:
            return vector_of(self, "arithmetic")._with(other, operation, True)

        for kind in (Vector, RegionRef):
            setattr(kind, f"__{special}__", forward)
            setattr(kind, f"__r{special}__", backward)


_add_operators()


def lane_number(lane: Any, count: int) -> int:
    """Of a vector of `count` lanes the number of one, which counts from the end where it is
    negative."""
    known: Any = current().constant_value(lane) if isinstance(lane, Expr) else lane
    if type(known).__module__ == "numpy" and hasattr(known, "is_integer"):  # a number, not an array
        known = operator.index(known) if hasattr(known, "__index__") else known
    if not isinstance(known, int):
        raise LanguageError(
            "the number of a lane is an integer that is known while compiling, not "
            f"{describe(lane)}",
            python=TypeError,
        )
    if not -count <= known < count:
        raise LanguageError(
            f"there is no lane {known} in a vector of {count} lanes", python=IndexError
        )
    return known % count


def vector_of(value: Any, what: str) -> Vector:
    """A vector, or the elements of a part of a buffer as one."""
    if isinstance(value, Vector):
        return value
    if isinstance(value, BufferRef) and not value.is_variable:
        value = RegionRef(value, [0] * value.ndim, list(value.shape), [False] * value.ndim)
    if isinstance(value, RegionRef):
        return Vector([current().expression(element) for element in _elements(value, what)])
    raise LanguageError(f"{what} takes a vector or a part of a buffer", python=TypeError)


def _elements(region: RegionRef, what: str) -> list[Element]:
    """The elements of a region of one dim, whose extent is known."""
    tracer = current()
    extents = [
        e if isinstance(e, int) else tracer.constant_value(tracer.expression(e))
        for e in region.extents
    ]
    long = [dim for dim, extent in enumerate(extents) if extent != 1]
    count = extents[long[0]] if long else 1
    if len(long) > 1 or count is None or not 1 <= count <= _LARGEST:
        raise LanguageError(
            f"{what} needs a part of {region.buffer.name!r} of one dim and of at most {_LARGEST} "
            "elements, whose number is known while compiling"
        )
    dim = long[0] if long else len(extents) - 1
    beyond, start = region.buffer.shape[dim], region.offsets[dim]
    found = []
    for lane in range(count):
        at = start + lane
        if tracer.is_negative(at):  # where a region starts counts from no end
            at = beyond - at
        place = (at if d == dim else o for d, o in enumerate(region.offsets))
        found.append(Element(region.buffer, tuple(place)))
    return found


def store_vector(target: RegionRef, value: Vector) -> None:
    """`A[i : i + 2] = vector`."""
    _store_lanes(_elements(target, "storing a vector"), value.lanes)


def _store_lanes(elements: list[Element], lanes: list[Any]) -> None:
    if len(elements) != len(lanes):
        raise LanguageError(f"a vector of {len(lanes)} lanes is stored to {len(elements)} elements")
    for element, lane in zip(elements, lanes, strict=True):
        current().store(element, lane)


def elements_at(buffer: BufferRef, index: object) -> list[Element] | None:
    """The elements of `buffer[index]` where an index is a vector, one for each lane; None else."""
    items = list(index) if isinstance(index, tuple) else [index]
    counts = {len(item) for item in items if isinstance(item, Vector)}
    if not counts:
        return None
    if len(counts) > 1:
        raise LanguageError(
            f"the indices of {buffer.name!r} are vectors of {min(counts)} and {max(counts)} lanes"
        )
    if isinstance(buffer, VectorBuffer) or any(isinstance(item, slice) for item in items):
        raise unsupported(
            f"a vector indexes {buffer.name!r} beside a slice, or chooses among vectors; write a "
            "T.vectorized loop"
        )
    items = [_outside_below(buffer, dim, item) for dim, item in enumerate(items)]
    found: list[Element] = []
    for lane in range(counts.pop()):
        at = tuple(item[lane] if isinstance(item, Vector) else item for item in items)
        place = subscript(buffer, at)
        if isinstance(place, Element):
            found.append(place)
    return found


def _outside_below(buffer: BufferRef, dim: int, item: Any) -> Any:
    """An index of `buffer`. One of several lanes counts from the end where all of them are
    negative; else those that are lie outside, as an index of a loop does that is only at first."""
    if not isinstance(item, Vector) or dim >= buffer.ndim:
        return item
    tracer = current()
    negative = [
        lane < 0 if isinstance(lane, int) else tracer.is_negative(lane) for lane in item.lanes
    ]
    if all(negative) or not any(negative):
        return item
    if buffer.scope() != "global":
        raise LanguageError(
            f"lane {negative.index(True)} of index {dim} of {buffer.name!r} is negative but lane "
            f"{negative.index(False)} is not: they count from the end only where all lanes do",
            python=IndexError,
        )
    beyond, pairs = buffer.shape[dim], zip(item.lanes, negative, strict=True)
    return Vector([beyond - lane if is_below else lane for lane, is_below in pairs])


def load_at(buffer: BufferRef, index: object) -> Any:
    """`buffer[index]`, also where an index is a vector: then that of its lanes."""
    elements = elements_at(buffer, index)
    if elements is None:
        return subscript(buffer, index)
    return Vector([current().expression(element) for element in elements])


def store_at(buffer: BufferRef, index: object, value: Any) -> None:
    """`buffer[index] = value`, also where an index is a vector."""
    elements = elements_at(buffer, index)
    if elements is None:
        place = subscript(buffer, index)
        if isinstance(place, RegionRef):
            assign_region(place, value)
        elif isinstance(place, Element):
            current().store(place, value)
        return
    _store_lanes(elements, value.lanes if isinstance(value, Vector) else [value] * len(elements))


def cast_lanes(value: Any, dtype: Any, *options: Any) -> Vector:
    """Each lane converted; `dtype` may name the lanes or the vector."""
    from .math_ops import cast

    value = vector_of(value, "T.cast")
    scalar = _scalar_of(to_dtype(dtype), len(value.lanes))
    return Vector([cast(lane, scalar, *options) for lane in value.lanes])


@guarded_by_poison
def vector_made_of(dtype: Dtype, values: Sequence[Any]) -> Vector:
    """`T.float16x2(a, b)`: a value for each lane."""
    from .math_ops import cast

    if dtype.lanes != len(values):
        lanes = "1 lane" if dtype.lanes == 1 else f"{dtype.lanes} lanes"
        raise LanguageError(
            f"T.{dtype!s} has {lanes} but {len(values)} values are given", python=TypeError
        )
    return Vector([cast(value, dtype.scalar) for value in values])


def _scalar_of(dtype: Dtype, lanes: int) -> Dtype:
    """The dtype of one of `lanes` lanes."""
    if dtype.lanes not in (1, lanes):
        raise LanguageError(f"a vector of {lanes} lanes can't become {dtype}")
    return dtype.scalar


def reinterpret_lanes(value: Any, dtype: Any) -> Any:
    """The same bits as other lanes, or as one scalar."""
    from .math_ops import reinterpret

    target = to_dtype(dtype)
    is_vector = isinstance(value, (Vector, RegionRef))
    lanes = vector_of(value, "T.reinterpret") if is_vector else [current().expression(value)]
    given = Vector(list(lanes))
    source = given.dtype
    if source.bits != target.bits:
        raise LanguageError(
            f"T.reinterpret can't make {target} of {target.bits} bits from {source} of "
            f"{source.bits} bits; they must be as many",
            python=TypeError,
        )
    narrow, wide = source.bits // len(given.lanes), target.bits // target.lanes
    scalar = _scalar_of(target, target.lanes)
    words = _joined(given.lanes, narrow, wide) if narrow < wide else given.lanes
    if narrow > wide:
        words = [part for lane in given.lanes for part in _split(lane, narrow, wide)]
    made = [reinterpret(word, scalar) for word in words]
    return made[0] if target.lanes == 1 else Vector(made)


def _joined(lanes: list[Any], narrow: int, wide: int) -> list[Any]:
    """Unsigned words of `wide` bits, each of neighbouring lanes; the first one lowest."""
    from .math_ops import cast, reinterpret

    whole, count = f"uint{wide}", wide // narrow
    words = []
    for first in range(0, len(lanes), count):
        bits = cast(0, whole)
        for number, lane in enumerate(lanes[first : first + count]):
            part = cast(reinterpret(lane, f"uint{narrow}"), whole)
            bits = bits | (part << cast(narrow * number, whole))
        words.append(bits)
    return words


def _split(lane: Any, wide: int, narrow: int) -> list[Any]:
    """A lane as unsigned words of `narrow` bits, the lowest one first."""
    from .math_ops import cast, reinterpret

    whole = f"uint{wide}"
    bits = reinterpret(lane, whole)
    return [
        cast(bits >> cast(narrow * number, whole), f"uint{narrow}")
        for number in range(wide // narrow)
    ]


@guarded_by_poison
def Shuffle(vectors: Any, indices: Any) -> Any:
    """The lanes of all vectors and scalars one after the other; of these the ones that `indices`
    name: a vector, or a scalar for one index."""
    lanes: list[Any] = []
    for vector in vectors if isinstance(vectors, (list, tuple)) else [vectors]:
        is_scalar = isinstance(vector, (Traced, Element, int, float))
        lanes.extend(
            [current().expression(vector)] if is_scalar else vector_of(vector, "T.Shuffle")
        )
    numbers = [int(i) for i in (indices if isinstance(indices, (list, tuple)) else [indices])]
    wrong = [i for i in numbers if not 0 <= i < len(lanes)]
    if wrong or not numbers:
        raise LanguageError(
            f"T.Shuffle: there is no lane {wrong} among {len(lanes)} lanes", python=IndexError
        )
    return lanes[numbers[0]] if len(numbers) == 1 else Vector([lanes[i] for i in numbers])


@guarded_by_poison
def extract_lane(vector: Any, lane: Any) -> Any:
    """One lane of a vector, or of the 32-bit value that holds a pair."""
    from .math_ops import Select

    lanes = vector_of(vector, "T.extract_lane").lanes
    if not isinstance(lane, int):
        known = current().constant_value(lane)
        if known is None:
            chosen = lanes[0]
            for number, value in enumerate(lanes[1:], 1):
                chosen = Select(lane == number, value, chosen)
            return chosen
        lane = known
    if not 0 <= lane < len(lanes):
        raise LanguageError(
            f"T.extract_lane: there is no lane {lane} among {len(lanes)} lanes", python=IndexError
        )
    return lanes[lane]


@guarded_by_poison
def vectorlow(dtype: Any, vector: Any) -> Any:
    """The first half of a vector."""
    lanes = vector_of(vector, "T.vectorlow").lanes
    return cast_lanes(Vector(lanes[: len(lanes) // 2]), dtype)


@guarded_by_poison
def vectorhigh(dtype: Any, vector: Any) -> Any:
    """The second half of a vector."""
    lanes = vector_of(vector, "T.vectorhigh").lanes
    return cast_lanes(Vector(lanes[len(lanes) // 2 :]), dtype)


@guarded_by_poison
def vectorcombine(dtype: Any, low: Any, high: Any) -> Any:
    """Two vectors, one after the other."""
    lanes = [*vector_of(low, "T.vectorcombine").lanes, *vector_of(high, "T.vectorcombine").lanes]
    return cast_lanes(Vector(lanes), dtype)


def _pairs(what: str, *values: Any) -> list[Vector]:
    """Vectors of two lanes."""
    vectors = [vector_of(value, what) for value in values]
    for vector in vectors:
        if len(vector.lanes) != 2:
            raise LanguageError(f"{what} takes pairs, not a vector of {len(vector.lanes)} lanes")
    return vectors


@guarded_by_poison
def add2(x: Any, y: Any) -> Any:
    """x + y of two pairs."""
    x, y = _pairs("T.add2", x, y)
    return x + y


@guarded_by_poison
def sub2(x: Any, y: Any) -> Any:
    """x - y of two pairs."""
    x, y = _pairs("T.sub2", x, y)
    return x - y


@guarded_by_poison
def mul2(x: Any, y: Any) -> Any:
    """x * y of two pairs."""
    x, y = _pairs("T.mul2", x, y)
    return x * y


@guarded_by_poison
def fma2(x: Any, y: Any, z: Any) -> Any:
    """x * y + z of pairs, each lane rounded once, as `T.fma`."""
    from .math_ops import fma

    x, y, z = _pairs("T.fma2", x, y, z)
    return Vector([fma(a, b, c) for a, b, c in zip(x, y, z, strict=True)])


def _smaller(x: Any, y: Any) -> Any:
    from .math_ops import min as smaller

    return smaller(x, y)


def _larger(x: Any, y: Any) -> Any:
    from .math_ops import max as larger

    return larger(x, y)


@guarded_by_poison
def max2(x: Any, y: Any) -> Any:
    """The larger ones of two pairs."""
    x, y = _pairs("T.max2", x, y)
    return x._with(y, _larger, False)


@guarded_by_poison
def min2(x: Any, y: Any) -> Any:
    """The smaller ones of two pairs."""
    x, y = _pairs("T.min2", x, y)
    return x._with(y, _smaller, False)


@guarded_by_poison
def abs2(x: Any) -> Any:
    """The magnitudes of a pair."""
    (x,) = _pairs("T.abs2", x)
    return Vector([abs(lane) for lane in x])

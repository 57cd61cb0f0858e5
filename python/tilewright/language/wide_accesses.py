# SPDX-License-Identifier: Apache-2.0
"""Loads and stores of 32 to 256 bits: neighbouring elements as words of 32 bits.

On a GPU each is one instruction. Here they are what they mean: the elements from the given one on,
read one by one, as one uint32 or a vector of them; and back.
"""

from __future__ import annotations

from ..capture.tracer import current, guarded_by_poison
from .math_ops import cast
from .values import BufferRef, Element, LanguageError, RegionRef, Traced
from .vectors import Vector, reinterpret_lanes, vector_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_WORD = 32


def _elements(what: str, place: Any, width: int, scope: str) -> list[Element]:
    """The elements that `width` bits hold, from the first one of `place` on."""
    if isinstance(place, Traced) and place.origin is not None:
        place = place.origin
    if isinstance(place, BufferRef) and not place.is_variable:
        place = Element(place, (0,) * place.ndim)
    if isinstance(place, RegionRef):
        place = Element(place.buffer, tuple(place.offsets))
    if not isinstance(place, Element):
        raise LanguageError(f"{what} takes a buffer, a part of one or an element", python=TypeError)
    buffer = place.buffer
    if buffer.scope() != scope:
        raise LanguageError(
            f"{what} is for {scope} memory, but {buffer.name!r} is in {buffer.scope()}"
        )
    bits = buffer.dtype.bits
    if bits < 8 or width % bits != 0:
        raise LanguageError(
            f"{what} moves {width} bits, which are no whole elements of {buffer.dtype}"
        )
    count, row = width // bits, buffer.shape[-1] if buffer.shape else 1
    if isinstance(row, int) and row < count:
        raise LanguageError(
            f"{what} moves {count} elements of {buffer.dtype}, but a row of {buffer.name!r} has "
            f"{row}"
        )
    *outer, last = place.indices
    return [Element(buffer, (*outer, last + step)) for step in range(count)]


def _load(what: str, src: Any, width: int, scope: str, pred: Any) -> Any:
    tracer = current()
    elements = _elements(what, src, width, scope)
    lanes = []
    for element in elements:
        if pred is None:
            lanes.append(tracer.expression(element))
            continue
        lanes.append(
            tracer.choose(
                tracer.expression(pred),
                lambda element=element: tracer.expression(element),  # type: ignore[misc]
                lambda element=element: cast(0, element.dtype),  # type: ignore[misc]
            )
        )
    words = width // _WORD
    return reinterpret_lanes(Vector(lanes), "uint32" if words == 1 else f"uint32x{words}")


def _store(what: str, dst: Any, value: Any, width: int, scope: str, pred: Any) -> None:
    tracer = current()
    elements = _elements(what, dst, width, scope)
    if isinstance(value, int):
        value = cast(value, "uint32")
    if isinstance(value, RegionRef):
        value = vector_of(value, what)
    given = value if isinstance(value, Vector) else tracer.expression(value)
    bits = given.dtype.bits
    if bits != width:
        raise LanguageError(f"{what} stores {width} bits, but the value has {bits}")
    dtype, count = elements[0].dtype, len(elements)
    lanes = reinterpret_lanes(given, dtype if count == 1 else f"{dtype}x{count}")
    if pred is not None:
        tracer.builder.begin_if(tracer.value(pred))
    for element, lane in zip(elements, lanes if count > 1 else [lanes], strict=True):
        tracer.store(element, lane)
    if pred is not None:
        tracer.builder.end_if()


def _loading(name: str, width: int, scope: str) -> Callable[..., Any]:
    @guarded_by_poison
    def load(src: Any, pred: Any = None) -> Any:
        return _load(f"T.{name}", src, width, scope, pred)

    load.__name__ = load.__qualname__ = name
    lanes = "one uint32" if width == _WORD else f"a vector of {width // _WORD} uint32"
    load.__doc__ = (
        f"The {width} bits from an element of {scope} memory on, as {lanes}; 0 where `pred` is "
        "given and doesn't hold."
    )
    return load


def _storing(name: str, width: int, scope: str) -> Callable[..., None]:
    @guarded_by_poison
    def store(dst: Any, value: Any, pred: Any = None) -> None:
        _store(f"T.{name}", dst, value, width, scope, pred)

    store.__name__ = store.__qualname__ = name
    store.__doc__ = (
        f"Writes the {width} bits of a value or vector from an element of {scope} memory on; "
        "nothing where `pred` is given and doesn't hold."
    )
    return store


ldg32 = _loading("ldg32", 32, "global")
ldg64 = _loading("ldg64", 64, "global")
ldg128 = _loading("ldg128", 128, "global")
ldg256 = _loading("ldg256", 256, "global")
lds32 = _loading("lds32", 32, "shared")
lds64 = _loading("lds64", 64, "shared")
lds128 = _loading("lds128", 128, "shared")
stg32 = _storing("stg32", 32, "global")
stg64 = _storing("stg64", 64, "global")
stg128 = _storing("stg128", 128, "global")
stg256 = _storing("stg256", 256, "global")
sts32 = _storing("sts32", 32, "shared")
sts64 = _storing("sts64", 64, "shared")
sts128 = _storing("sts128", 128, "shared")

__all__ = [
    "ldg32",
    "ldg64",
    "ldg128",
    "ldg256",
    "lds32",
    "lds64",
    "lds128",
    "stg32",
    "stg64",
    "stg128",
    "stg256",
    "sts32",
    "sts64",
    "sts128",
]

# SPDX-License-Identifier: Apache-2.0
"""T.reduce_argmax and T.reduce_argmin: where a tile's largest or least elements are."""

from __future__ import annotations

from ..capture.tracer import current, guarded_by_poison
from .frames import Loop
from .math_ops import if_then_else
from .memory import alloc_local
from .values import BufferRef, LanguageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _checked(src: Any, dst: Any, dim: Any, name: str) -> tuple[int, list[int], bool]:
    """The dim, the source's extents, and whether the result keeps the dim."""
    for buffer in (src, dst):
        if not isinstance(buffer, BufferRef) or buffer.scope() == "global":
            raise LanguageError(f"{name} takes whole tiles, of a block or in T.alloc_fragment")
    extents = current().integers(list(src.shape), f"the shape of the source of {name}")
    if not isinstance(dim, int) or not -len(extents) <= dim < len(extents):
        raise LanguageError(f"{name} has dim {dim} but the source has {len(extents)} dims")
    if str(dst.dtype) not in ("int32", "int64"):
        raise LanguageError(f"{name} gives int32 or int64, but the target holds {dst.dtype}")
    at = dim % len(extents)
    left, kept = [*extents[:at], *extents[at + 1 :]], [*extents[:at], 1, *extents[at + 1 :]]
    if list(dst.shape) not in (left, kept):
        raise LanguageError(f"{name} gives {left} or {kept}, but the target has {list(dst.shape)}")
    return at, extents, len(dst.shape) == len(extents)


def _find(src: Any, dst: Any, dim: Any, name: str) -> None:
    at, extents, is_kept = _checked(src, dst, dim, name)
    tracer = current()
    others = [*extents[:at], *extents[at + 1 :]]
    outer = Loop("parallel", [(0, extent, 1) for extent in others or [1]])
    where = outer.enter(tracer, ())[: len(others)]
    best, place = alloc_local((1,), src.dtype), alloc_local((1,), dst.dtype)
    best[0], place[0] = src[(*where[:at], 0, *where[at:])], 0
    inner = Loop("serial", [(1, extents[at], 1)])
    (k,) = inner.enter(tracer, ("k",))
    found, known = src[(*where[:at], k, *where[at:])], best[0]
    wins = found > known if name.endswith("max") else found < known
    if src.dtype.is_float:  # the first NaN wins, as in torch
        wins = wins | ((found != found) & (known == known))  # noqa: PLR0124
    best[0], place[0] = if_then_else(wins, found, known), if_then_else(wins, k, place[0])
    inner.leave(tracer)
    dst[(*where[:at], 0, *where[at:]) if is_kept else tuple(where)] = place[0]
    outer.leave(tracer)


@guarded_by_poison
def reduce_argmax(src: Any, dst: Any, dim: int = -1) -> None:
    """Where the largest elements along a dim are: of equal ones the first, of NaNs, too."""
    _find(src, dst, dim, "T.reduce_argmax")


@guarded_by_poison
def reduce_argmin(src: Any, dst: Any, dim: int = -1) -> None:
    """Where the least elements along a dim are: of equal ones the first, of NaNs, too."""
    _find(src, dst, dim, "T.reduce_argmin")

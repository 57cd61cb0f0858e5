# SPDX-License-Identifier: Apache-2.0
"""Operations on whole tiles: copy, gemm, fill, atomics, and block barriers."""

from __future__ import annotations

from enum import IntEnum

from ..capture.tracer import current, describe, guarded_by_poison, plain_text
from .annotate import as_annotations, check_hint
from .atomics import DOES_NOTHING, element_of, warn_outside
from .frames import Loop
from .values import (
    BufferRef,
    Element,
    LanguageError,
    RegionRef,
    Traced,
    VectorElement,
    check_loop_layout,
    unsupported,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class GemmWarpPolicy(IntEnum):
    """How the warps of a block tile the result of a gemm."""

    Square = 0
    FullRow = 1
    FullCol = 2


#: What a copy may ask of a GPU's cache.
_EVICTIONS = ("evict_normal", "evict_first", "evict_last")


def first_of(operand: Any, rows: Any, columns: Any) -> Any:
    """The first rows and columns of a tile, of its last two dims; None: all of them."""
    if isinstance(operand, Traced) and operand.origin is not None:
        operand = operand.origin
    if isinstance(operand, BufferRef):
        shape = list(operand.shape)
        part = RegionRef(operand, [0] * len(shape), shape, [False] * len(shape))
    elif isinstance(operand, RegionRef):
        part = RegionRef(operand.buffer, operand.offsets, list(operand.extents), operand.dropped)
    else:
        return operand
    if (rows is None and columns is None) or len(part.extents) < 2:
        return operand
    for place, extent in ((-2, rows), (-1, columns)):
        if extent is not None:
            part.extents[place] = extent
    return part


def check_unit_flag(unit_flag: object, name: str) -> None:
    """Bits by which T.mma and the copy of what it makes order themselves; flags do it here."""
    if isinstance(unit_flag, bool) or not isinstance(unit_flag, int) or unit_flag not in (0, 2, 3):
        raise LanguageError(
            f"unit_flag of {name} must be 0, 0b10 or 0b11, not {describe(unit_flag)}"
        )


def _loaded_part(src: Any, dst: Any, transpose: bool, k: Any, n: Any) -> tuple[Any, Any]:
    """The parts that `real_k` and `real_n` of a copy to L0A or L0B mean."""
    target = dst.origin if isinstance(dst, Traced) and dst.origin is not None else dst
    buffer = target if isinstance(target, BufferRef) else getattr(target, "buffer", None)
    scope = buffer.scope() if isinstance(buffer, BufferRef) else ""
    if scope not in ("L0A", "L0B") or (scope == "L0A" and n is not None):
        raise LanguageError(
            "real_k of T.copy counts columns of a tile in L0A or rows of one in L0B, and real_n "
            "columns of one in L0B"
        )
    rows, columns = (None, k) if scope == "L0A" else (k, n)
    source = first_of(src, *((columns, rows) if transpose else (rows, columns)))
    return source, first_of(dst, rows, columns)


def _given(**attributes: Any) -> dict[str, Any]:
    return {key: value for key, value in attributes.items() if value not in (None, False)}


@guarded_by_poison
def copy(
    src: Any,
    dst: Any,
    enable_relu: bool = False,
    transpose: bool = False,
    pad_value: Any = None,
    *,
    coalesced_width: int | None = None,
    disable_tma: bool = False,
    eviction_policy: str | None = None,
    prefer_instruction: str | None = None,
    annotations: dict[str, Any] | None = None,
    loop_layout: Any = None,
    real_k: Any = None,
    real_n: Any = None,
    unit_flag: int = 0,
    tmp: Any = None,
) -> None:
    """Copies a tile, converting dtypes; reads past the end of a tensor give `pad_value` or 0,
    writes there are dropped.

    `A[i, j]` means the tile that starts there, with the extents of the other side. `enable_relu`
    clamps at 0; `transpose` exchanges the last two dims. `loop_layout`, a `T.Fragment`, says which
    thread of a GPU moves what. Of a copy to L0A or L0B, `real_k` and `real_n` are for slices: the
    first so many of k and of n. `unit_flag` is a hint, and so is `tmp`, a tile of scratch memory
    that other chips need.
    """
    check_loop_layout(loop_layout, "T.copy")
    if tmp is not None and not isinstance(tmp, (BufferRef, RegionRef, Element)):
        raise LanguageError(f"tmp of T.copy is a tile of scratch memory, not {describe(tmp)}")
    check_unit_flag(unit_flag, "T.copy")
    for name, given in {"enable_relu": enable_relu, "transpose": transpose}.items():
        if not isinstance(given, (bool, int)):
            raise LanguageError(
                f"{name} of T.copy must be True or False, not {describe(given)}; T.copy takes one "
                "source and one target",
                python=TypeError,
            )
    check_hint("eviction_policy of T.copy", eviction_policy, _EVICTIONS)
    check_hint("prefer_instruction of T.copy", prefer_instruction, ("tma", "cp_async", "sync"))
    tracer = current()
    attributes = _given(
        enable_relu=bool(enable_relu),
        transpose=bool(transpose),
        coalesced_width=coalesced_width,
        disable_tma=disable_tma,
        eviction_policy=eviction_policy,
        prefer_instruction=prefer_instruction,
    )
    attributes.update(as_annotations("T.copy", annotations))
    if real_k is not None or real_n is not None:
        src, dst = _loaded_part(src, dst, bool(transpose), real_k, real_n)
    source = tracer.operand(src, "the source of T.copy")
    target = tracer.operand(dst, "the target of T.copy")
    pad = () if pad_value is None else (tracer.value(pad_value),)
    tracer.builder.copy(source, target, tracer.attributes(attributes), *pad)


def _warp_policy(policy: object) -> int:
    if isinstance(policy, bool) or not hasattr(policy, "__index__"):
        raise LanguageError(
            f"policy of T.gemm must be a T.GemmWarpPolicy, as in T.GemmWarpPolicy.Square, not "
            f"{policy!r}",
            python=TypeError,
        )
    return int(policy.__index__())


def _checked_k_pack(k_pack: object) -> int:
    """Instructions of AMD's GPUs that are made one: a matter of speed there, of nothing here."""
    number = k_pack.__index__() if hasattr(k_pack, "__index__") else None  # NumPy's, too
    if isinstance(k_pack, bool) or number not in (1, 2):
        raise LanguageError(f"k_pack of T.gemm is {k_pack!r} but must be 1 or 2")
    return int(number)


@guarded_by_poison
def gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy | int = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    k_pack: int = 1,
    mbar: Any = None,
    annotations: dict[str, Any] | None = None,
    wg_wait: int = 0,
) -> None:
    """C += op(A) op(B), on the last two dimensions; `clear_accum` may be a value of the kernel.

    It is complete when it returns, whatever `wg_wait`, which earlier releases of TileLang had.
    """
    if isinstance(wg_wait, bool) or not isinstance(wg_wait, int):
        raise LanguageError(
            f"wg_wait of T.gemm must be an integer, not {wg_wait!r}", python=TypeError
        )
    if mbar is not None:
        raise unsupported(
            "mbar of T.gemm is unsupported on cpu and ascend: a gemm is complete when it returns; "
            "call T.mbarrier_arrive(mbar) after it"
        )
    k_pack = _checked_k_pack(k_pack)
    tracer = current()
    a, b, c = (
        tracer.operand(operand, f"operand {name} of T.gemm")
        for operand, name in ((A, "A"), (B, "B"), (C, "C"))
    )
    attributes = _given(policy=_warp_policy(policy), k_pack=None if k_pack == 1 else k_pack)
    attributes.update(as_annotations("T.gemm", annotations))
    clear = tracer.value(clear_accum)
    clear = int(clear) if isinstance(clear, bool) else clear
    transposed = (bool(transpose_A), bool(transpose_B))
    tracer.builder.gemm(a, b, c, *transposed, clear, tracer.attributes(attributes))


@guarded_by_poison
def fill(buffer: Any, value: Any, annotations: dict[str, Any] | None = None) -> None:
    """Sets all elements of a buffer or region."""
    _fill(buffer, value, "T.fill")


@guarded_by_poison
def clear(buffer: Any, annotations: dict[str, Any] | None = None) -> None:
    """Sets all elements of a buffer or region to 0."""
    _fill(buffer, 0, "T.clear")


def _fill(buffer: Any, value: Any, name: str) -> None:
    tracer = current()
    target = tracer.operand(buffer, f"the target of {name}")
    tracer.builder.fill(target, tracer.value(value), name)


def _atomic(
    kind: str, dst: Any, value: Any, memory_order: str | None, return_prev: bool, use_tma: bool
) -> Any:
    tracer = current()
    target = tracer.operand(dst, f"the target of T.atomic_{kind}")
    attributes = _given(memory_order=memory_order, use_tma=use_tma, return_prev=return_prev)
    if isinstance(value, RegionRef) or (isinstance(value, BufferRef) and not value.is_variable):
        if return_prev:
            raise LanguageError(f"return_prev of T.atomic_{kind} needs a scalar, not a tile")
        source = tracer.operand(value, f"the value of T.atomic_{kind}")
        tracer.builder.atomic_tile(kind, target, source, tracer.attributes(attributes))
        return None
    if _is_tile(dst):
        if return_prev:
            raise LanguageError(f"return_prev of T.atomic_{kind} needs one element, as A[i]")
        extents = tracer.integers_if_known(dst.shape if isinstance(dst, BufferRef) else dst.extents)
        if extents is not None:
            source = _tile_of(value, dst, extents, f"T.atomic_{kind}")
            tracer.builder.atomic_tile(kind, target, source, tracer.attributes(attributes))
        else:
            _atomic_on_each(kind, dst, tracer.value(value), tracer.attributes(attributes))
        return None
    warn_outside(tracer, element_of(dst), DOES_NOTHING)
    previous = tracer.builder.atomic(
        kind, target, tracer.value(value), tracer.attributes(attributes)
    )
    return tracer.wrap(previous) if return_prev else None


def _is_tile(target: Any) -> bool:
    """Whether it is a part of a buffer, or a whole one, not an element."""
    if isinstance(target, BufferRef):
        return not target.is_variable and len(target.shape) > 0
    return isinstance(target, RegionRef) and not isinstance(target, VectorElement)


def _tile_of(value: Any, target: Any, extents: Any, name: str) -> Any:
    """A tile of one number, for a part of `target`: all threads of the block agree on both."""
    from .memory import alloc_fragment

    buffer = target if isinstance(target, BufferRef) else target.buffer
    tile = alloc_fragment(tuple(extents), buffer.dtype)
    _fill(tile, value, name)
    return current().operand(tile, f"the value of {name}")


def _atomic_on_each(kind: str, target: Any, value: Any, attributes: dict[str, Any]) -> None:
    """One number for each element of a tile: iterations that the block's threads share."""
    tracer = current()
    is_whole = isinstance(target, BufferRef)
    buffer = target if is_whole else target.buffer
    offsets = [0] * len(target.shape) if is_whole else target.offsets
    loop = Loop("parallel", [(0, e, 1) for e in (target.shape if is_whole else target.extents)])
    at = [offset + step for offset, step in zip(offsets, loop.enter(tracer, ()), strict=True)]
    place = tracer.operand(Element(buffer, tuple(at)), f"the target of T.atomic_{kind}")
    tracer.builder.atomic(kind, place, value, attributes)
    loop.leave(tracer)


@guarded_by_poison
def atomic_add(
    dst: Any,
    value: Any,
    memory_order: str | None = None,
    return_prev: bool = False,
    use_tma: bool = False,
    annotations: dict[str, Any] | None = None,
) -> Any:
    """dst += value, as one indivisible step; gives the previous value if `return_prev`."""
    return _atomic("add", dst, value, memory_order, return_prev, use_tma)


@guarded_by_poison
def atomic_max(
    dst: Any,
    value: Any,
    memory_order: str | None = None,
    return_prev: bool = False,
    annotations: dict[str, Any] | None = None,
) -> Any:
    """dst = max(dst, value), as one indivisible step; gives the previous value if `return_prev`."""
    return _atomic("max", dst, value, memory_order, return_prev, False)


@guarded_by_poison
def atomic_min(
    dst: Any,
    value: Any,
    memory_order: str | None = None,
    return_prev: bool = False,
    annotations: dict[str, Any] | None = None,
) -> Any:
    """dst = min(dst, value), as one indivisible step; gives the previous value if `return_prev`."""
    return _atomic("min", dst, value, memory_order, return_prev, False)


@guarded_by_poison
def atomic_or(dst: Any, value: Any, memory_order: str | None = None) -> Any:
    """dst |= value, of integers, as one indivisible step."""
    return _atomic("or", dst, value, memory_order, False, False)


@guarded_by_poison
def print(obj: Any = None, msg: str = "", warp_group_id: int = 0, warp_id: int = 0) -> None:
    """Prints a value or a buffer of the running kernel.

    A tile of the block is printed by one thread (of warp `warp_id` in `warp_group_id`), all else by
    every thread that comes here.
    """
    tracer = current()
    if isinstance(obj, str):
        obj, msg = None, obj
    if isinstance(obj, BufferRef) and not obj.is_variable:
        what: Any = tracer.buffer_handle(obj)
    elif isinstance(obj, (bool, int, float)):
        what = tracer.builder.constant(obj)
    else:
        what = None if obj is None else tracer.value(obj)
    thread = warp_group_id * 128 + warp_id * 32
    tracer.builder.print(what, plain_text(msg), {"thread": thread} if thread else {})


@guarded_by_poison
def device_assert(cond: Any, msg: str = "", no_stack_info: bool = False) -> None:
    """Ends the running kernel with an error where `cond` does not hold."""
    tracer = current()
    tracer.builder.device_assert(tracer.value(cond), plain_text(msg))


def loop_break() -> None:
    """Leaves the innermost loop."""
    tracer = current()
    tracer.builder.break_loop()
    for frame in reversed(tracer.frames):
        if frame.is_loop:
            frame.may_not_run = True  # the rest of its body
            break

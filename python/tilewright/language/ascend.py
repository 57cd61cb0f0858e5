# SPDX-License-Identifier: Apache-2.0
"""The expert's words for an Ascend core: its memories, scopes, flags and cube operations.

They stand in `with T.Kernel(n, is_npu=True)`; the builder checks that.
"""

from __future__ import annotations

import re

from ..capture.tracer import current, describe, guarded_by_poison, plain_text
from .dtypes import is_dtype
from .frames import RunTimeContext
from .memory import allocate, view
from .tile_ops import check_unit_flag, first_of
from .values import BufferRef, LanguageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..capture.tracer import Tracer


class Scope(RunTimeContext):
    """What only the cube core ("C") or only the vector cores ("V") of a block run."""

    kind = "the T.Scope"

    def __init__(self, name: str) -> None:
        super().__init__()
        current()
        self.name = name

    def enter(self, tracer: Tracer) -> None:
        tracer.builder.begin_scope(str(self.name))

    def leave(self, tracer: Tracer) -> None:
        tracer.builder.end_scope()


@guarded_by_poison
def alloc_L1(shape: Any, dtype: Any) -> Any:
    """A tile in the cube core's L1."""
    return allocate(shape, dtype, "L1")


@guarded_by_poison
def alloc_L0A(shape: Any, dtype: Any) -> Any:
    """A left operand of T.mma."""
    return allocate(shape, dtype, "L0A")


@guarded_by_poison
def alloc_L0B(shape: Any, dtype: Any) -> Any:
    """A right operand of T.mma."""
    return allocate(shape, dtype, "L0B")


@guarded_by_poison
def alloc_L0C(shape: Any, dtype: Any) -> Any:
    """An accumulator of T.gemm_v0 and T.mma."""
    return allocate(shape, dtype, "L0C")


@guarded_by_poison
def alloc_ub(shape: Any, dtype: Any) -> Any:
    """A tile in the unified buffer; each vector core has its own."""
    return allocate(shape, dtype, "UB")


alloc_UB = alloc_ub


def annotate_address(addresses: dict[Any, Any]) -> None:
    """Fixed byte offsets of allocations in their memories; they may overlap."""
    tracer = current()
    items = addresses.items() if isinstance(addresses, dict) else [(addresses, None)]
    for buffer, offset in items:
        if not isinstance(buffer, BufferRef) or not isinstance(addresses, dict):
            raise LanguageError(
                "T.annotate_address takes buffers and their byte offsets, {buffer: 0}, not "
                f"{describe(buffer)}",
                python=TypeError,
            )
        (address,) = tracer.integers([offset], "an address")
        tracer.builder.annotate_address(tracer.buffer_handle(buffer), address)


# Flags -----------------------------------------------------------------------------------------


@guarded_by_poison
def set_flag(src: str, dst: str, eventId: Any) -> None:
    """Queued on pipe `src`: when it gets there, `dst` may pass its wait for this event."""
    tracer = current()
    tracer.builder.set_flag(str(src), str(dst), tracer.index(eventId))


@guarded_by_poison
def wait_flag(src: str, dst: str, eventId: Any) -> None:
    """Holds up pipe `dst` until the event is set."""
    tracer = current()
    tracer.builder.wait_flag(str(src), str(dst), tracer.index(eventId))


def pipe_barrier(pipe: str) -> None:
    """What was queued on the pipe is done before what is queued after."""
    current().builder.pipe_barrier(str(pipe))


def barrier_all() -> None:
    """A barrier of all pipes of the core."""
    pipe_barrier("all")


@guarded_by_poison
def set_cross_flag(pipe: str, flag: Any, mode: int = 2) -> None:
    """Queued on `pipe`: sets a flag of other cores.

    Mode 2: of the block's other kind of cores; 1: of the block's vector cores; 0: of all cores of
    the same kind.
    """
    tracer = current()
    (number,) = tracer.integers([mode], "the mode of T.set_cross_flag")
    tracer.builder.set_cross_flag(str(pipe), tracer.index(flag), number)


@guarded_by_poison
def wait_cross_flag(flag: Any, pipe: str = "") -> None:
    """The core waits until the flag is set; from the vector cores of a block, until all set it."""
    tracer = current()
    tracer.builder.wait_cross_flag(tracer.index(flag), str(pipe))


def sync_all() -> None:
    """All cores of the grid wait for each other."""
    current().builder.sync_all()


@guarded_by_poison
def set_deq_scale(scale: Any) -> None:
    """Copies from an int32 accumulator to float16 that follow multiply by `scale` (float32)."""
    tracer = current()
    tracer.deq_scale = scale
    tracer.builder.set_deq_scale(tracer.value(scale))


@guarded_by_poison
def init_flag(fmap: dict[str, dict[str, list[Any]]]) -> None:
    """Sets many flags, as at a kernel's start: {source pipe: {target pipe: events}}."""
    tracer = current()
    for source, target, event in _flags_of("T.init_flag", fmap):
        tracer.builder.set_flag(str(source), str(target), tracer.index(event), "T.init_flag")


@guarded_by_poison
def clear_flag(fmap: dict[str, dict[str, list[Any]]]) -> None:
    """Waits for many flags, as at a kernel's end: {source pipe: {target pipe: events}}."""
    tracer = current()
    for source, target, event in _flags_of("T.clear_flag", fmap):
        tracer.builder.wait_flag(str(source), str(target), tracer.index(event), "T.clear_flag")


def _flags_of(name: str, fmap: object) -> Iterator[tuple[Any, Any, Any]]:
    for source, targets in fmap.items() if isinstance(fmap, dict) else [(None, None)]:
        for target, events in targets.items() if isinstance(targets, dict) else [(None, None)]:
            if not isinstance(events, (list, tuple, range)):
                raise LanguageError(
                    f'{name} takes {{source pipe: {{target pipe: [events]}}}}, as in {{"mte2": '
                    f'{{"v": [0, 1]}}}}, not {describe(fmap)}',
                    python=TypeError,
                )
            for event in events:
                yield source, target, event


# Views and debugging ---------------------------------------------------------------------------


@guarded_by_poison
def reinterpretcast(dst: Any, src: Any, casttype: Any) -> None:
    """`dst` becomes a view of the bits of `src`, of dtype `casttype`, which may have its name in
    C++ (`"uint32_t"`), and with its own shape."""
    if not isinstance(dst, BufferRef) or not isinstance(src, BufferRef):
        raise LanguageError("T.reinterpretcast takes two buffers and a dtype")
    is_of_cxx = isinstance(casttype, str) and is_dtype(casttype.removesuffix("_t"))
    dst.become(view(src, dst.shape, casttype.removesuffix("_t") if is_of_cxx else casttype))


@guarded_by_poison
def printf(fmt: str, *args: Any) -> None:
    """Prints numbers as printf of C does: `T.printf("block %d: %5.2f\\n", cid, x[0])`.

    `%s` takes a string that is known while compiling. A buffer that is given for `%p` or `%x` has
    no address yet: its name is printed.
    """
    tracer = current()
    if not isinstance(fmt, str):
        raise LanguageError(f"T.printf takes a format first, not {describe(fmt)}", python=TypeError)
    words, *rest = re.split(r"(%%|%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[diouxXfFeEgGcsp])", fmt)
    text = words.replace("%", "%%")
    values: list[Any] = []
    holders = [holder for holder in rest[::2] if holder != "%%"]
    if len(holders) != len(args):
        raise LanguageError(f"T.printf has {len(args)} arguments for {len(holders)} place holders")
    given = iter(args)
    for holder, after in zip(rest[::2], rest[1::2], strict=True):
        if holder == "%%":
            text += holder
        elif isinstance(value := next(given), BufferRef) and not value.is_variable:
            if holder[-1] not in "pxX":
                raise LanguageError(f"{holder} of T.printf does not print {describe(value)}")
            text += value.name
        elif isinstance(value, str) != holder.endswith("s"):
            raise LanguageError(f"{holder} of T.printf does not print {value!r}")
        elif isinstance(value, str):
            text += (holder % value).replace("%", "%%")
        else:
            text += re.sub("[hlz]", "", holder).replace("p", "x")
            constant = isinstance(value, (bool, int, float))
            values.append(tracer.builder.constant(value) if constant else tracer.value(value))
        text += after.replace("%", "%%")
    tracer.builder.print_formatted(plain_text(text), values)


@guarded_by_poison
def dump_tensor(tensor: Any, desc: int, dump_size: int, shape_info: Any = ()) -> None:
    """Prints the first `dump_size` elements of a buffer with the number `desc` before them."""
    tracer = current()
    (count,) = tracer.integers([dump_size], "the dump_size of T.dump_tensor")
    if not isinstance(tensor, BufferRef) or tensor.is_variable:
        raise LanguageError("T.dump_tensor takes a buffer")
    handle = tracer.buffer_handle(tensor)
    tracer.builder.print(handle, str(desc), {"count": count}, "T.dump_tensor")


# The cube --------------------------------------------------------------------------------------


def _multiply(name: str, operands: tuple[Any, Any, Any], more: tuple[Any, ...]) -> None:
    transpose_a, transpose_b, init, attributes = more
    tracer = current()
    a, b, c = (
        tracer.operand(operand, f"operand {letter} of T.{name}")
        for operand, letter in zip(operands, "ABC", strict=True)
    )
    clear = tracer.value(init)
    clear = int(clear) if isinstance(clear, bool) else clear
    tracer.builder.gemm(a, b, c, bool(transpose_a), bool(transpose_b), clear, attributes)


@guarded_by_poison
def gemm_v0(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    init: Any = False,
    *,
    kL0Size: int | None = None,
    n_actual: Any = None,
) -> None:
    """C += op(A) op(B) from L1 to L0C, or C = op(A) op(B) where `init` is true.

    It moves what it needs to L0A and L0B, and synchronises itself at both ends. Two hints are
    accepted: of `kL0Size` the compiler chooses its own, and behind the first `n_actual` columns of
    C, which are what is asked for, it computes the others, too.
    """
    _multiply("gemm_v0", (A, B, C), (transpose_A, transpose_B, init, {}))


@guarded_by_poison
def mma(
    A: Any,
    B: Any,
    C: Any,
    init: Any = False,
    *,
    k_actual: Any = None,
    n_actual: Any = None,
    unit_flag: int = 0,
) -> None:
    """C += A B from L0A and L0B to L0C as one instruction, or C = A B where `init` is true.

    `k_actual` and `n_actual` are for slices: the first `k_actual` columns of A and rows of B, the
    first `n_actual` columns of B and C. Of extents that the kernel knows as it runs, what C has
    behind them is undefined afterwards. `unit_flag` is a hint.
    """
    check_unit_flag(unit_flag, "T.mma")
    operands = (
        first_of(A, None, k_actual),
        first_of(B, k_actual, n_actual),
        first_of(C, None, n_actual),
    )
    _multiply("mma", operands, (False, False, init, {"mma": True}))

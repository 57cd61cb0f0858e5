# SPDX-License-Identifier: Apache-2.0
"""TVM's nodes by their names: arithmetic, vectors of lanes, accesses, blocks and threads."""

from __future__ import annotations

import operator

from ..capture.tracer import current, guarded_by_poison
from . import math_ops
from .frames import RunTimeContext
from .loops import thread_binding
from .math_ops import cast
from .memory import alloc_buffer
from .threads import activemask, shfl_down, shfl_sync, shfl_up, sync_threads, sync_warp
from .tvm_forms import let
from .values import BufferRef, Expr, LanguageError, subscript
from .vectors import Vector, store_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..capture.tracer import Tracer
    from .frames import Loop

#: The most lanes of a vector.
_LARGEST = 64


def _node(function: Callable[[Any, Any], Any], name: str) -> Callable[..., Any]:
    @guarded_by_poison
    def node(a: Any, b: Any, span: object = None) -> Any:
        return function(a, b)

    node.__name__ = node.__qualname__ = name
    node.__doc__ = f"TVM's name of {getattr(function, '__name__', name)!r}."
    return node


Add, Sub, Mul = (_node(getattr(operator, n), n.title()) for n in ("add", "sub", "mul"))
FloorDiv, FloorMod = _node(math_ops.floordiv, "FloorDiv"), _node(math_ops.floormod, "FloorMod")
Mod = _node(math_ops.truncmod, "Mod")
Max, Min = _node(math_ops.max, "Max"), _node(math_ops.min, "Min")
EQ, NE, LT = (_node(getattr(operator, n), n.upper()) for n in ("eq", "ne", "lt"))
LE, GT, GE = (_node(getattr(operator, n), n.upper()) for n in ("le", "gt", "ge"))


@guarded_by_poison
def Div(a: Any, b: Any, span: object = None) -> Any:
    """The quotient; of integers as in C, towards 0."""
    is_real = [
        "float" in str(x.dtype) if isinstance(x, Expr) else isinstance(x, float) for x in (a, b)
    ]
    return math_ops.div(a, b) if any(is_real) else math_ops.truncdiv(a, b)


@guarded_by_poison
def Not(value: Any, span: object = None) -> Any:
    """Whether a condition does not hold."""
    return math_ops.logical_not(value)


def IntImm(dtype: Any, value: int, span: object = None) -> Any:
    """An integer of a dtype."""
    return cast(value, dtype)


def FloatImm(dtype: Any, value: float, span: object = None) -> Any:
    """A real number of a dtype."""
    return cast(float(value), dtype)


def StringImm(value: str, span: object = None) -> str:
    """A string."""
    return value


# Vectors ---------------------------------------------------------------------------------------


def _count(lanes: object, what: str) -> int:
    if isinstance(lanes, bool) or not isinstance(lanes, int) or not 1 <= lanes <= _LARGEST:
        raise LanguageError(f"lanes of {what} must be from 1 to {_LARGEST}, not {lanes!r}")
    return lanes


@guarded_by_poison
def Broadcast(value: Any, lanes: Any, span: object = None) -> Vector:
    """A vector of `lanes` lanes, each of which is `value`."""
    return Vector([current().expression(value)] * _count(lanes, "T.Broadcast"))


@guarded_by_poison
def Ramp(base: Any, stride: Any, lanes: Any, span: object = None) -> Vector:
    """The vector base, base + stride, base + 2 * stride and so on, also as an index."""
    count, first = _count(lanes, "T.Ramp"), current().expression(base)
    return Vector([first + stride * lane if lane else first for lane in range(count)])


# Accesses --------------------------------------------------------------------------------------


def _at(indices: Any) -> Any:
    return tuple(indices) if isinstance(indices, (list, tuple)) else indices


@guarded_by_poison
def BufferLoad(buffer: Any, indices: Any, predicate: object = None) -> Any:
    """`buffer[indices]`."""
    if not isinstance(buffer, BufferRef):
        raise LanguageError("T.BufferLoad needs a buffer", python=TypeError)
    return current().expression(subscript(buffer, _at(indices)))


@guarded_by_poison
def buffer_store(buffer: Any, value: Any, indices: Any, predicate: object = None) -> None:
    """`buffer[indices] = value`."""
    if not isinstance(buffer, BufferRef):
        raise LanguageError("T.buffer_store needs a buffer", python=TypeError)
    store_at(buffer, _at(indices), value)


@guarded_by_poison
def decl_buffer(
    shape: Any, dtype: Any = "float32", data: object = None, *, scope: str = "shared", **unused: Any
) -> Any:
    """A buffer of the kernel's own, as of `T.alloc_buffer`."""
    if data is not None:
        raise LanguageError(
            "T.decl_buffer with data is a view of memory, which T.view(buffer, shape, dtype) gives"
        )
    return alloc_buffer(shape, dtype, scope)


# Blocks and threads ----------------------------------------------------------------------------


class _Block(RunTimeContext):
    """To its end holds what annotations of blocks say in it."""

    kind = "the block"

    def enter(self, tracer: Tracer) -> None:
        tracer.begin_said()
        tracer.builder.begin_block()

    def leave(self, tracer: Tracer) -> None:
        tracer.builder.end_block()
        tracer.end_said()


def sblock(name: str = "", no_realize: bool = False) -> RunTimeContext:
    """A block of TVM's schedules: what stands in it runs as it stands."""
    return _Block()


block = sblock


def reads(*regions: Any) -> None:
    """What a block reads, for TVM's schedules: without effect."""
    current()


def writes(*regions: Any) -> None:
    """What a block writes, for TVM's schedules: without effect."""
    current()


class axis:
    """The variables of a block, each of which has the value that it is bound to."""

    @staticmethod
    def spatial(dom: Any, value: Any, dtype: str = "int32") -> Any:
        return value

    reduce = scan = opaque = spatial
    S = R = spatial

    @staticmethod
    def remap(kinds: str, bindings: Sequence[Any], dtype: str = "int32") -> Any:
        """The values of `bindings`, one for each letter of `kinds`, as "SSR"."""
        if len(kinds) != len(bindings):
            raise LanguageError(
                f"T.axis.remap has {len(kinds)} kinds {kinds!r} for {len(bindings)} bindings"
            )
        return bindings[0] if len(bindings) == 1 else list(bindings)


@guarded_by_poison
def launch_thread(thread: Any, extent: Any) -> Loop:
    """The number of the thread or block that runs, `tx = T.launch_thread("threadIdx.x", 32)`;
    T.Kernel says how many there are."""
    if not isinstance(thread, str):
        raise LanguageError(
            'T.launch_thread takes the name of a dim of the launch, as in "threadIdx.x"',
            python=TypeError,
        )
    if current().launch is None:
        raise LanguageError(
            "T.launch_thread stands outside of T.Kernel, which says how many threads there are",
            python=RuntimeError,
        )
    return thread_binding(0, extent, thread)


def tvm_storage_sync(scope: str = "shared") -> None:
    """Waits for the threads that share a memory: of the block, or of the warp."""
    if scope == "warp":
        sync_warp()
    elif scope in ("shared", "shared.dyn"):
        sync_threads()
    else:
        raise LanguageError(
            f"T.tvm_storage_sync has no scope {scope!r}; it is shared or warp, and T.sync_grid "
            "waits for all blocks"
        )


@guarded_by_poison
def LetStmt(value: Any, type_annotation: object = None, *, var: object = None) -> Any:
    """The value, computed here: `x = T.LetStmt(value)`. With `var`, as `T.let(var, value)`."""
    if var is not None:
        return let(var, value)
    return cast(value, type_annotation) if type_annotation else current().expression(value)


fabs = math_ops.abs


@guarded_by_poison
def q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> Any:
    """x * y / 2**(q + s) of integers of 32 bits, halves rounded up: numbers with q bits behind the
    point are multiplied and shifted by s."""
    wide = cast(x, "int64") * cast(y, "int64")
    by = cast(q, "int64") + cast(s, "int64")
    half = math_ops.shift_left(cast(1, "int64"), by - 1)
    return cast(math_ops.shift_right(wide + half, by), "int32")


@guarded_by_poison
def q_multiply_shift_per_axis(
    x: Any, y: Any, ls: Any, rs: Any, q: Any, is_lshift_required: Any, is_rshift_required: Any
) -> Any:
    """(x << ls) * y / 2**(q + rs) of integers of 32 bits, halves rounded up; each shift where a
    flag, which may be an integer, says that it is required."""
    left, right = (
        (shift if required else 0)
        if isinstance(required, int)
        else math_ops.Select(required != 0, cast(shift, "int64"), cast(0, "int64"))
        for shift, required in ((ls, is_lshift_required), (rs, is_rshift_required))
    )
    wide = math_ops.shift_left(cast(x, "int64"), cast(left, "int64")) * cast(y, "int64")
    by = cast(q, "int64") + cast(right, "int64")
    half = math_ops.shift_left(cast(1, "int64"), by - 1)
    return cast(math_ops.shift_right(wide + half, by), "int32")


@guarded_by_poison
def tvm_warp_shuffle(mask: Any, value: Any, warp_id: Any, width: int, warp_size: int = 32) -> Any:
    """As `T.shfl_sync(value, warp_id, width)`."""
    return shfl_sync(value, warp_id, width)


@guarded_by_poison
def tvm_warp_shuffle_up(mask: Any, value: Any, offset: Any, width: int, warp_size: int = 32) -> Any:
    """As `T.shfl_up(value, offset, width)`."""
    return shfl_up(value, offset, width)


@guarded_by_poison
def tvm_warp_shuffle_down(
    mask: Any, value: Any, offset: Any, width: int, warp_size: int = 32
) -> Any:
    """As `T.shfl_down(value, offset, width)`."""
    return shfl_down(value, offset, width)


def tvm_warp_activemask() -> Any:
    """As `T.activemask()`, of 32 bits."""
    return cast(activemask(), "uint32")


__all__ = [
    *("Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Max", "Min", "Not"),
    *("EQ", "NE", "LT", "LE", "GT", "GE", "Broadcast", "Ramp", "BufferLoad", "buffer_store"),
    *("decl_buffer", "sblock", "block", "reads", "writes", "axis", "launch_thread"),
    *("tvm_storage_sync", "LetStmt", "IntImm", "FloatImm", "StringImm", "fabs"),
    *("q_multiply_shift", "q_multiply_shift_per_axis", "tvm_warp_shuffle"),
    *("tvm_warp_shuffle_up", "tvm_warp_shuffle_down", "tvm_warp_activemask"),
]

# SPDX-License-Identifier: Apache-2.0
"""Pointers and calls by name: what wrappers around Ascend C are written with (seed 004's recipe).

`T.call_extern` knows what those functions of Ascend C mean for which there is a `T.tile` function,
and `tl::ascend::gemm_v0` and `copy_ub_to_ub`; such a call is that function. Any other name is a
function of the user's own, whose source `T.import_source` gives. On a CPU these are functions in C.
"""

from __future__ import annotations

import math
import re

from ..capture.tracer import current, describe, guarded_by_poison
from .dtypes import is_dtype
from .values import BufferRef, Element, LanguageError, RegionRef, Traced, unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: AscendC::NAME(dst, sources..., count) with as many sources, and its T.tile function.
_ELEMENT_WISE: dict[str, tuple[str, int]] = {
    **dict.fromkeys(("Exp", "Abs", "Reciprocal", "Sqrt", "Rsqrt", "Relu"), ("", 1)),
    **dict.fromkeys(("Sigmoid", "Silu", "Sin", "Cos"), ("", 1)),
    "Ln": ("ln", 1),
    "Not": ("bitwise_not", 1),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Max", "Min"), ("", 2)),
    "And": ("bitwise_and", 2),
    "Or": ("bitwise_or", 2),
    "Adds": ("add", 2),
    "Muls": ("mul", 2),
    "Maxs": ("max", 2),
    "Mins": ("min", 2),
    "ShiftLeft": ("bitwise_lshift", 2),
    "ShiftRight": ("bitwise_rshift", 2),
    "LeakyRelu": ("leaky_relu", 2),
    "Axpy": ("axpy", 2),
    "MulAddDst": ("mul_add_dst", 2),
}
_GEMM = re.compile(
    r"tl::ascend::gemm_v0<\s*\w+,\s*\w+,\s*(\d+),\s*(\d+),\s*(\d+),\s*(true|false),\s*(true|false)\s*>"
)
_COPY_IN_UB = re.compile(r"tl::ascend::copy_ub_to_ub<\s*\w+,\s*\w+,\s*(\d+)\s*>")

#: `tools::affine<float, 32>`: a name of C++, with template arguments or without.
_FUNCTION = re.compile(r"(::)?[^\W\d]\w*(<[^;{}]*>)?(::[^\W\d]\w*(<[^;{}]*>)?)*")


class Pointer:
    """`buffer.access_ptr("r", offset=n)`: a buffer from element n on, and what is done with it.

    `rows`, where it is known: (count, elements, pitch), the rows that are touched."""

    def __init__(
        self,
        buffer: BufferRef,
        access: str,
        offset: Any,
        rows: tuple[int, int, int] = (0, 0, 0),
    ) -> None:
        if access not in ("r", "w", "rw"):
            raise LanguageError(f"an access mask is r, w or rw, not {access!r}")
        self.buffer, self.access, self.offset, self.rows = buffer, access, offset, rows

    def elements(self, count: Any) -> RegionRef:
        """So many elements from here on, as a region of a buffer of one dim."""
        from .memory import reshape

        size = math.prod(self.buffer.shape)
        flat = self.buffer if self.buffer.ndim == 1 else reshape(self.buffer, [size])
        return RegionRef(flat, [self.offset], [count], [False])

    def matrix(self, rows: int, columns: int) -> RegionRef:
        """So many rows and columns from here on."""
        from .memory import reshape

        size, total = rows * columns, math.prod(self.buffer.shape)
        offset = self.offset
        if not isinstance(offset, int):
            offset = current().constant_value(offset)
        if offset is None or offset % size or total % size:
            raise unsupported(
                f"a matrix of {rows} x {columns} elements that doesn't start at a multiple of its "
                f"size in {self.buffer.name!r} is not supported"
            )
        tiles = reshape(self.buffer, [total // size, rows, columns])
        return RegionRef(tiles, [offset // size, 0, 0], [1, rows, columns], [True, False, False])

    def rows_of(self, rows: int, columns: int, pitch: int) -> RegionRef:
        """So many rows from here on, of so many elements each, `pitch` from start to start."""
        from .memory import reshape

        total = math.prod(self.buffer.shape)
        if columns > pitch or total % pitch:
            raise unsupported(
                f"rows of {columns} elements that begin {pitch} elements apart in "
                f"{self.buffer.name!r}, which has {total}: its size must be a multiple of the "
                "distance, and the rows no longer than that"
            )
        view = reshape(self.buffer, [total // pitch, pitch])
        offsets = [self.offset // pitch, self.offset % pitch]
        return RegionRef(view, offsets, [rows, columns], [False, False])


class Range:
    """One dim of a region: `min` and `extent`."""

    def __init__(self, min: Any, extent: Any) -> None:
        self.min, self.extent = min, extent


def has_let_value(var: object) -> bool:
    """Whether a name stands for an element of a buffer, as after `x = A[i, j]`."""
    return isinstance(var, Traced) and var.origin is not None


def get_let_value(var: Traced) -> Element:
    """The element that a name stands for."""
    if not isinstance(var, Traced) or var.origin is None:
        raise LanguageError("T.get_let_value takes a name that stands for an element of a buffer")
    return var.origin


def _called(
    arguments: tuple[Any, ...], dtype: Any, named: dict[str, Any]
) -> tuple[Any, str, tuple[Any, ...]]:
    """The dtype, the name and the arguments of a call in either order."""
    given = list(arguments)
    name = named.pop("func_name", None)
    is_twice = dtype is not None
    if named:
        raise LanguageError(
            f"T.call_extern has no argument {next(iter(named))!r}; it has dtype, func_name, the "
            "function's arguments by place, and reference"
        )
    if dtype is None and given:
        dtype = given.pop(0)
    if name is None and given:
        name = given.pop(0)
    if dtype is None or not isinstance(name, str):
        raise LanguageError(
            "T.call_extern needs a dtype and the name of a function: "
            'T.call_extern("float32", "sqrtf", x), or T.call_extern("sqrtf", x, dtype="float32")'
        )
    if is_dtype(name):
        other = given[0] if is_twice and given else dtype
        forms = f"T.call_extern({name!r}, {other!r}, ...)"
        wrong = "has its dtype twice" if is_twice else "has the name before the dtype"
        raise LanguageError(f"T.call_extern {wrong}: write {forms}")
    return dtype, name, tuple(given)


@guarded_by_poison
def call_extern(*arguments: Any, dtype: Any = None, reference: Any = None, **named: Any) -> Any:
    """`T.call_extern(dtype, name, ...)` or `T.call_extern(name, ..., dtype=dtype)` calls a function
    of Ascend C: one that is known (see above), or the user's own. Elsewhere it is a function in C,
    of libm or of `T.import_source` (`pointers.call_extern`), or one of CUDA's (`cuda_functions`).

    `reference` is a Python function of the same arguments, with addresses as integers: the
    reference interpreter calls it instead. Functions of libm need none.
    """
    from . import cuda_functions, pointers
    from .libm import defines

    dtype, name, args = _called(arguments, dtype, named)
    short = name.rpartition("::")[2]
    tracer = current()
    is_ascend = name.startswith(("AscendC::", "tl::ascend::"))
    is_npu = tracer.launch is not None and bool(tracer.launch.attributes.get("npu"))
    if reference is not None:
        tracer.references[name] = reference
    if not is_ascend and (not is_npu or not any(isinstance(a, Pointer) for a in args)):
        if name in cuda_functions.FUNCTIONS and not defines(tracer.sources, name):
            return cuda_functions.call(dtype, name, args)
        return pointers.call_extern(dtype, name, *args)
    gemm, copied = _GEMM.fullmatch(name), _COPY_IN_UB.fullmatch(name)
    if gemm is not None:
        _call_gemm(gemm, args)
    elif copied is not None and len(args) in (2, 8):
        _call_copy(int(copied[1]), args)
    elif name.startswith("AscendC::") and short in _ELEMENT_WISE:
        _call_element_wise(name, args)
    elif name.startswith("AscendC::") and short == "Duplicate" and len(args) == 3:
        from .tile_ops import fill

        fill(_pointer(args[0], name).elements(args[2]), args[1])
    else:
        call_own(dtype, name, args)
    return None


call_pure_extern = call_extern


def _pointer(argument: object, name: str) -> Pointer:
    if isinstance(argument, Pointer):
        return argument
    raise LanguageError(f"{name} takes a pointer here; use the buffer's access_ptr")


def _call_element_wise(name: str, args: tuple[Any, ...]) -> None:
    from .tile import compute

    short = name.rpartition("::")[2]
    function, sources = _ELEMENT_WISE[short]
    if len(args) != sources + 2:
        raise LanguageError(f"{name} takes {sources + 2} arguments, not {len(args)}")
    target, *given, count = args
    operands = [s.elements(count) if isinstance(s, Pointer) else s for s in given]
    compute(function or short.lower(), _pointer(target, name).elements(count), tuple(operands))


def _call_gemm(match: re.Match[str], args: tuple[Any, ...]) -> None:
    from .ascend import gemm_v0

    name = "tl::ascend::gemm_v0"
    if len(args) != 4:
        raise LanguageError(f"{name} takes 4 arguments, not {len(args)}")
    m, n, k = (int(match[number]) for number in (1, 2, 3))
    transposed_a, transposed_b = match[4] == "true", match[5] == "true"
    a = _pointer(args[0], name).matrix(*((k, m) if transposed_a else (m, k)))
    b = _pointer(args[1], name).matrix(*((n, k) if transposed_b else (k, n)))
    c = _pointer(args[2], name).matrix(m, n)
    gemm_v0(a, b, c, transposed_a, transposed_b, args[3])


def _call_copy(count: int, args: tuple[Any, ...]) -> None:
    """Of `count` elements in a row, or, with the source's rows, columns and pitch and the target's,
    of rows. The masks of the pointers say which is the source; in C++ the target is the first."""
    from .tile_ops import copy

    name = "tl::ascend::copy_ub_to_ub"
    first, second = (_pointer(each, name) for each in args[:2])
    source, target = (first, second) if first.access == "r" else (second, first)
    if len(args) == 2:
        copy(source.elements(count), target.elements(count))
        return
    known = [n if isinstance(n, int) else current().constant_value(n) for n in args[2:]]
    rows, columns, pitch, *others = [n or 0 for n in known]
    if min(rows, columns, pitch, *others) < 1:
        raise unsupported(
            f"{name} copies rows whose numbers are known while compiling, and above 0"
        )
    if others[:2] != [rows, columns] or rows * columns != count:
        raise LanguageError(
            f"{name} of {count} elements takes {rows} x {columns} of them and gives "
            f"{others[0]} x {others[1]}"
        )
    copy(source.rows_of(rows, columns, pitch), target.rows_of(rows, columns, others[2]))


def call_own(dtype: str, name: str, args: tuple[Any, ...], called_as: str = "") -> None:
    """A call of a function of Ascend C, which messages call what the language calls it, if it has a
    name for it."""
    tracer = current()
    if not _FUNCTION.fullmatch(name):
        raise LanguageError(f"T.call_extern calls a function by its name, and {name!r} is none")
    if dtype not in ("handle", "void"):
        raise unsupported(f"T.call_extern of a function that gives a {dtype} is not supported")
    given = [
        (tracer.buffer_handle(a.buffer), tracer.index(a.offset), a.access, a.rows)
        if isinstance(a, Pointer)
        else tracer.value(a)
        for a in args
    ]
    tracer.builder.call_external(name, given, called_as)


def import_source(source: str | None) -> None:
    """Source text that stands before the kernel: Ascend C for an NPU, C for the CPU (or C++, where
    it says `extern "C"`), which the system's C compiler makes machine code of. T.call_extern calls
    its functions. None is no source."""
    from .gpu_only import refuse_source_of_gpus
    from .pointers import refuse_late_source

    tracer = current()
    if source is None:
        return
    refuse_source_of_gpus(source)
    if not isinstance(source, str):
        raise LanguageError(f"T.import_source takes text, not {describe(source)}", python=TypeError)
    refuse_late_source(source)
    tracer.sources.append(source)
    tracer.builder.import_source(source)

# SPDX-License-Identifier: Apache-2.0
"""What a kernel computes with, as Python objects: scalars, buffers and parts of buffers.

Scalars overload Python's operators, so that ordinary Python functions called while a kernel is
traced work on them too. Nothing here knows a rule of the language: every operator is one call of
the builder. Outside a trace, operators on symbols (`T.dynamic("m") // 2`) make a small tree that is
handed to the builder when a kernel uses it.
"""

from __future__ import annotations

from ..errors import also
from .dtypes import Dtype

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

    from tilewright import _compiler

    from ..capture.tracer import Tracer
    from .extern import Pointer, Range


class LanguageError(Exception):
    """A wrong use of the language that the front end itself can see; becomes a diagnostic.

    `kind` is "error" or "unsupported"; `notes` are (place or None, text); `python` is the class
    that it has beside this one, so that outside of a kernel it can be caught as Python's.
    """

    #: The value that is wrong, where it is one that the kernel's text gives.
    operand: object = None

    def __new__(
        cls,
        message: str,
        kind: str = "error",
        notes: tuple[Any, ...] = (),
        python: type[BaseException] = ValueError,
    ) -> LanguageError:
        made = also(cls, NotImplementedError if kind == "unsupported" else python)
        return super().__new__(made, message)

    def __init__(
        self,
        message: str,
        kind: str = "error",
        notes: tuple[Any, ...] = (),
        python: type[BaseException] = ValueError,
    ) -> None:
        super().__init__(message)
        self.python = python
        self.message = message
        self.kind = kind
        self.notes = notes

    def __str__(self) -> str:  # KeyError's would quote it
        return self.message


class UnsupportedName(LanguageError, AttributeError):
    """A name of the language that is not carried out yet; `hasattr` says that it is absent."""


def check_loop_layout(layout: object, call: str) -> None:
    """Refuses what is no layout; a layout says where an element is computed, never what it is."""
    if layout is None:
        return
    from .layouts import Layout

    if not isinstance(layout, Layout):
        raise LanguageError(
            f"loop_layout of {call} must be a T.Fragment, not {layout!r}", python=TypeError
        )


def unsupported(message: str) -> LanguageError:
    """The error for something that is valid elsewhere but not here (yet)."""
    return LanguageError(message, "unsupported")


class Expr:
    """A scalar of the kernel."""

    __slots__ = ()
    __array_priority__ = 1000  # NumPy scalars leave operators to us
    __hash__ = object.__hash__

    @property
    def dtype(self) -> Dtype:
        from ..capture.tracer import current

        return Dtype(current().value(self).dtype)

    def __add__(self, other: object) -> Any:
        return binary("add", self, other)

    def __radd__(self, other: object) -> Any:
        return binary("add", other, self)

    def __sub__(self, other: object) -> Any:
        return binary("sub", self, other)

    def __rsub__(self, other: object) -> Any:
        return binary("sub", other, self)

    def __mul__(self, other: object) -> Any:
        return binary("mul", self, other)

    def __rmul__(self, other: object) -> Any:
        return binary("mul", other, self)

    def __truediv__(self, other: object) -> Any:
        return binary("div", self, other)

    def __rtruediv__(self, other: object) -> Any:
        return binary("div", other, self)

    def __floordiv__(self, other: object) -> Any:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: object) -> Any:
        return binary("floordiv", other, self)

    def __matmul__(self, other: object) -> NoReturn:
        raise LanguageError(
            "numbers have no '@'; '*' multiplies them, T.gemm(A, B, C) multiplies tiles",
            python=TypeError,
        )

    def __mod__(self, other: object) -> Any:
        return binary("floormod", self, other)

    def __rmod__(self, other: object) -> Any:
        return binary("floormod", other, self)

    def __divmod__(self, other: object) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> Any:
        return other // self, other % self

    def __pow__(self, other: object) -> Any:
        return binary("pow", self, other)

    def __rpow__(self, other: object) -> Any:
        return binary("pow", other, self)

    def __lshift__(self, other: object) -> Any:
        return binary("shl", self, other)

    def __rlshift__(self, other: object) -> Any:
        return binary("shl", other, self)

    def __rshift__(self, other: object) -> Any:
        return binary("shr", self, other)

    def __rrshift__(self, other: object) -> Any:
        return binary("shr", other, self)

    def __and__(self, other: object) -> Any:
        return binary("and", self, other)

    def __rand__(self, other: object) -> Any:
        return binary("and", other, self)

    def __or__(self, other: object) -> Any:
        return binary("or", self, other)

    def __ror__(self, other: object) -> Any:
        return binary("or", other, self)

    def __xor__(self, other: object) -> Any:
        return binary("xor", self, other)

    def __rxor__(self, other: object) -> Any:
        return binary("xor", other, self)

    def __lt__(self, other: object) -> Any:
        return binary("lt", self, other)

    def __le__(self, other: object) -> Any:
        return binary("le", self, other)

    def __gt__(self, other: object) -> Any:
        return binary("gt", self, other)

    def __ge__(self, other: object) -> Any:
        return binary("ge", self, other)

    def __eq__(self, other: object) -> Any:
        return binary("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return binary("ne", self, other)

    def __neg__(self) -> Any:
        return unary("neg", self)

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return unary("not", self)

    def __abs__(self) -> Any:
        return unary("abs", self)

    def __bool__(self) -> bool:
        return bool(self._known("a condition"))

    def __int__(self) -> int:
        return self._known("an integer", "; T.cast(x, 'int32') converts it there")

    def __index__(self) -> int:
        return self._known("an integer")

    def __float__(self) -> float:
        raise LanguageError(
            "a float that is known only in the running kernel can't be used here; "
            "T.cast(x, 'float32') converts it there",
            python=TypeError,
        )

    def __iter__(self) -> NoReturn:
        raise LanguageError(
            "a scalar of the kernel can't be iterated or unpacked", python=TypeError
        )

    def __len__(self) -> NoReturn:
        raise LanguageError("a scalar of the kernel has no length", python=TypeError)

    def __getitem__(self, index: object) -> NoReturn:
        raise LanguageError("a scalar of the kernel can't be indexed", python=TypeError)

    def astype(self, dtype: object) -> Any:
        from .math_ops import cast

        return cast(self, dtype)

    def _known(self, what: str, hint: str = "") -> int:
        from ..capture.tracer import current_or_none

        tracer = current_or_none()
        value = None if tracer is None else tracer.constant_value(self)
        if value is None:
            if what == "a condition":
                hint = " in a plain Python function; make it a @T.macro"
            raise LanguageError(
                f"{what} that is known only in the running kernel can't be used here{hint}",
                python=TypeError,
            )
        return value


class Traced(Expr):
    """A value that the builder made. `origin` is the element that it was loaded from, if any."""

    __slots__ = ("handle", "tracer", "origin", "extent")

    def __init__(
        self,
        handle: _compiler.Value,
        tracer: Tracer,
        origin: Element | None = None,
        extent: int | None = None,
    ) -> None:
        self.handle = handle
        self.tracer = tracer
        self.origin = origin
        #: For a loop variable that counts from 0: the known number of its values.
        self.extent = extent

    @property
    def dtype(self) -> Dtype:
        return Dtype(self.handle.dtype)

    def __repr__(self) -> str:
        return f"<kernel value {self.handle.dtype}>"


class AccessPointer(Traced):
    """An address of `T.access_ptr`, and the element that lies there."""

    __slots__ = ("element",)

    def __init__(self, address: Traced, element: Element) -> None:
        super().__init__(address.handle, address.tracer)
        self.element = element


class Deferred(Expr):
    """An operation on symbols, made outside a trace (or before a kernel's launch)."""

    __slots__ = ("name", "op", "operands")

    def __init__(self, op: str, operands: tuple[Any, ...]) -> None:
        self.op = op
        self.operands = operands
        #: The variable that it is bound to, where one is known.
        self.name: str | None = None

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(repr, self.operands))})"


class Symbol(Expr):
    """An integer that is bound from the shapes of the arguments at each call (`T.dynamic`)."""

    __slots__ = ("name", "symbol_dtype")

    def __init__(self, name: str, dtype: str = "int32") -> None:
        self.name = name
        self.symbol_dtype = dtype

    def __repr__(self) -> str:
        return self.name


class Element(Expr):
    """`A[i, j]`: an element, loaded when used; in a copy, the tile that starts there."""

    __slots__ = ("buffer", "indices")

    def __init__(self, buffer: BufferRef, indices: tuple[Any, ...]) -> None:
        self.buffer = buffer
        self.indices = indices

    @property
    def dtype(self) -> Dtype:
        return self.buffer.dtype

    def __repr__(self) -> str:
        return f"{self.buffer.name}[{', '.join(map(repr, self.indices))}]"


class RegionRef:
    """`A[i, 0:n]`: a rectangular part of a buffer."""

    __slots__ = ("buffer", "offsets", "extents", "dropped")

    def __init__(
        self,
        buffer: BufferRef,
        offsets: list[Any],
        extents: list[Any],
        dropped: list[bool],
    ) -> None:
        self.buffer = buffer
        self.offsets = offsets
        self.extents = extents
        self.dropped = dropped

    @property
    def dtype(self) -> Dtype:
        return self.buffer.dtype

    @property
    def region(self) -> list[Range]:
        """The range of each dim, as TVM's buffer regions have it."""
        from .extern import Range

        pairs = zip(self.offsets, self.extents, strict=True)
        return [Range(offset, extent) for offset, extent in pairs]

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(e for e, d in zip(self.extents, self.dropped, strict=True) if not d)

    def __bool__(self) -> bool:
        raise LanguageError(
            f"a region of {self.buffer.name!r} can't be a condition", python=TypeError
        )


class VectorElement(RegionRef):
    """`A[i]` of a buffer of vectors: the lanes there, as one value; `A[i][0]` is one of them."""

    __slots__ = ()

    def __getitem__(self, lane: Any) -> Element:
        from .vectors import lane_number

        *before, first = self.offsets
        return Element(self.buffer, (*before, first + lane_number(lane, self.extents[-1])))

    def __setitem__(self, lane: Any, value: Any) -> None:
        self.buffer.tracer.store(self[lane], value)


class Shape(tuple):  # type: ignore[type-arg]
    """Extents, which equal a list of the same ones, too, as those of TVM's buffers do."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


class BufferRef:
    """A buffer of the kernel: a tensor argument, an allocation, or a view of one."""

    __slots__ = ("handle", "tracer", "is_variable", "shape", "dtype")

    def __init__(self, handle: _compiler.Buffer, tracer: Tracer, is_variable: bool = False) -> None:
        self.handle = handle
        self.tracer = tracer
        #: Made by T.alloc_var: reading the name loads, assigning to it stores.
        self.is_variable = is_variable
        # Asked now: behind the trace, the builder knows its buffers no more.
        dims = tracer.builder.shape(handle)
        self.shape: tuple[Any, ...] = Shape(
            d if isinstance(d, int) else Traced(d, tracer) for d in dims
        )
        self.dtype = Dtype(tracer.builder.dtype(handle))

    def access_ptr(
        self,
        access_mask: str,
        ptr_type: str = "handle",
        content_lanes: int = 1,
        offset: Any = 0,
        extent: Any = None,
    ) -> Pointer:
        """A pointer to this buffer from element `offset` on, for T.call_extern. `extent`, a number:
        how many elements the function touches, which are else all up to the buffer's end."""
        from .extern import Pointer

        rows = (1, extent, extent) if isinstance(extent, int) and extent > 0 else (0, 0, 0)
        return Pointer(self, access_mask, offset, rows)

    @property
    def data(self) -> BufferRef:
        """The memory behind the buffer, for `T.Tensor(shape, dtype, A.data)`: a view of it."""
        return self

    def become(self, other: BufferRef) -> None:
        """Stands for another buffer from now on."""
        self.handle, self.shape, self.dtype = other.handle, other.shape, other.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def name(self) -> str:
        return str(self.tracer.builder.name(self.handle))

    @property
    def _scope(self) -> str:
        return str(self.tracer.builder.scope(self.handle))

    def scope(self) -> str:
        return self._scope

    def element(self) -> Any:
        """The one element of a variable or of a one-element buffer; of vectors, their lanes."""
        return Element(self, (0,) * self.ndim)

    def __getitem__(self, index: object) -> Element | RegionRef | Poison:
        return subscript(self, index)

    def __setitem__(self, index: object, value: object) -> None:
        target = subscript(self, index)
        if isinstance(target, RegionRef):
            assign_region(target, value)
        if isinstance(target, Element):
            self.tracer.store(target, value)

    def __bool__(self) -> bool:
        raise LanguageError(
            f"buffer {self.name!r} can't be a condition; index it", python=TypeError
        )

    def __call__(self, *indices: object) -> NoReturn:
        raise LanguageError(
            f"buffer {self.name!r} is no function; its elements are {self.name}[...]",
            python=TypeError,
        )

    def __iter__(self) -> Iterator[Any]:
        raise LanguageError(f"buffer {self.name!r} can't be iterated or unpacked", python=TypeError)

    def __len__(self) -> int:
        first = self.shape[0]
        if not isinstance(first, int):
            raise LanguageError(
                f"the length of {self.name!r} is known only in the running kernel", python=TypeError
            )
        return first

    def __repr__(self) -> str:
        return f"<buffer {self.name}>"

    def first_element(self, name: str | None = None) -> str:
        """How a user writes it."""
        return f"{name or self.name}[{', '.join('0' for _ in self.shape) or '()'}]"

    def _no_operator(self, other: object) -> NoReturn:
        if self.is_variable:
            raise LanguageError(
                f"variable {self.name!r} is used in a plain Python function; make it a @T.macro",
                python=TypeError,
            )
        raise LanguageError(
            f"buffer {self.name!r} has no arithmetic; index it, as in {self.first_element()}",
            python=TypeError,
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_operator
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __pow__ = _no_operator

    def __matmul__(self, other: object) -> NoReturn:
        raise LanguageError(
            f"buffer {self.name!r} has no '@'; T.gemm(A, B, C) adds the product of two tiles to a "
            "third",
            python=TypeError,
        )

    __lt__ = __le__ = __gt__ = __ge__ = _no_operator


class VectorBuffer(BufferRef):
    """A buffer whose elements are vectors, as `float32x4`: one of their lanes, with one dim more,
    behind the shape that the user gave."""

    __slots__ = ("lanes",)

    def __init__(self, lanes: BufferRef, dtype: Dtype, is_variable: bool = False) -> None:
        super().__init__(lanes.handle, lanes.tracer, is_variable)
        self.lanes = lanes
        self.shape, self.dtype = self.shape[:-1], dtype

    def element(self) -> RegionRef:
        return _lanes_of(self, [0] * self.ndim)


class Poison:
    """What a failed statement leaves: it silences everything that follows from it."""

    __slots__ = ()
    __hash__ = object.__hash__

    def _same(self, *args: object, **kwargs: object) -> Poison:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _same
    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _same
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __and__ = __rand__ = __or__ = _same
    __ror__ = __xor__ = __rxor__ = __neg__ = __pos__ = __invert__ = __abs__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = __call__ = __getitem__ = _same
    __eq__ = __ne__ = _same  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Poison:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __setitem__(self, index: object, value: object) -> None:
        return None

    def __bool__(self) -> bool:
        raise PoisonUsed

    def __iter__(self) -> Iterator[Poison]:
        raise PoisonUsed

    def __int__(self) -> int:
        raise PoisonUsed

    __index__ = __len__ = __int__

    def __repr__(self) -> str:
        return "<poison>"


class PoisonUsed(Exception):
    """Poison reached a place that needs a real value; the statement fails silently."""


POISON = Poison()

Operand = Expr | bool | int | float | Poison


def is_kernel_value(value: object) -> bool:
    return isinstance(value, (Expr, Poison))


def has_poison(values: object) -> bool:
    if isinstance(values, Poison):
        return True
    if isinstance(values, (tuple, list)):
        return any(has_poison(v) for v in values)
    return False


def binary(op: str, left: object, right: object) -> Any:
    """`left op right`, now in the builder where there is a trace, else as a tree."""
    from ..capture.tracer import current_or_none

    if isinstance(left, Poison) or isinstance(right, Poison):
        return POISON
    if not _is_scalar(left) or not _is_scalar(right):
        if op not in ("eq", "ne"):
            return NotImplemented
        for other in (left, right):
            if isinstance(other, str):
                raise LanguageError(
                    f"a number of the kernel is compared with the text {other!r}, which it never "
                    "equals; where its dtype is meant, write `.dtype`",
                    python=TypeError,
                )
        return op == "ne"
    tracer = current_or_none()
    if tracer is None:
        return Deferred(op, (left, right))
    return tracer.binary(op, left, right)


def unary(op: str, operand: object) -> Any:
    from ..capture.tracer import current_or_none

    if isinstance(operand, Poison):
        return POISON
    tracer = current_or_none()
    if tracer is None:
        return Deferred(op, (operand,))
    return tracer.unary(op, operand)


def _is_scalar(value: object) -> bool:
    return (
        isinstance(value, (Expr, bool, int, float))
        or (isinstance(value, BufferRef) and value.is_variable)
        or type(value).__module__ == "numpy"
    )


def subscript(buffer: BufferRef, index: object) -> Element | RegionRef | Poison:
    """`buffer[index]`: an element where all indices are integers, else a region."""
    items = list(index) if isinstance(index, tuple) else [index]
    if has_poison(items):
        return POISON
    from ..capture.tracer import current

    current().buffer_handle(buffer)
    rank = buffer.ndim
    if Ellipsis in [i for i in items if not isinstance(i, (Expr, BufferRef))]:
        items = _expand_ellipsis(items, rank)
    if (
        buffer.is_variable
        and rank == 0
        and [type(i) for i in items] == [int]
        and items[0] in (0, -1)
    ):
        items = []  # in TileLang, a variable is a buffer of one element
    if len(items) != rank:
        what = "this view of" if buffer.handle in buffer.tracer.views else "buffer"
        raise LanguageError(
            f"{what} {buffer.name!r} has {rank} dimension{'s' * (rank != 1)} but is indexed with "
            f"{len(items)}",
            python=IndexError,
        )
    if isinstance(buffer, VectorBuffer):
        return _lanes_of(buffer, items)
    if not any(isinstance(i, slice) for i in items):
        return Element(buffer, tuple(_index(i, buffer) for i in items))
    region = RegionRef(buffer, [], [], [])
    for dim, item in enumerate(items):
        offset, extent = _range(item, buffer, dim)
        region.offsets.append(offset)
        region.extents.append(extent)
        region.dropped.append(not isinstance(item, slice))
    return region


def _lanes_of(buffer: VectorBuffer, items: list[Any]) -> RegionRef:
    """An element of a buffer of vectors, or a part of one: all lanes of it."""
    is_element = not any(isinstance(i, slice) for i in items)
    region = (VectorElement if is_element else RegionRef)(buffer.lanes, [], [], [])
    for dim, item in enumerate([*items, slice(None)]):
        offset, extent = _range(item, buffer.lanes, dim)
        region.offsets.append(offset)
        region.extents.append(extent)
        region.dropped.append(not isinstance(item, slice))
    return region


def assign_region(target: RegionRef, value: object) -> None:
    """`A[i : i + 2] = vector`; anything else can't be assigned to a part of a buffer. An element of
    a buffer of vectors also takes a scalar, for all lanes, or a part of a buffer."""
    from .vectors import Vector, store_vector, vector_of

    is_vector = isinstance(target, VectorElement) and isinstance(value, RegionRef)
    if is_vector or isinstance(value, VectorElement):
        value = vector_of(value, "storing a vector")
    if isinstance(target, VectorElement) and _is_scalar(value):
        from ..capture.tracer import current

        value = Vector([current().expression(value)] * target.extents[-1])
    if isinstance(value, Vector):
        store_vector(target, value)
    elif not isinstance(value, Poison):
        name = target.buffer.name
        raise LanguageError(
            f"a slice of {name!r} can't be assigned; use T.copy or T.fill", python=TypeError
        )


def _expand_ellipsis(items: list[Any], rank: int) -> list[Any]:
    at = next(k for k, item in enumerate(items) if item is Ellipsis)
    missing = rank - (len(items) - 1)
    return items[:at] + [slice(None)] * max(missing, 0) + items[at + 1 :]


def _index(item: object, buffer: BufferRef) -> Any:
    if isinstance(item, Expr) or (isinstance(item, BufferRef) and item.is_variable):
        return item
    if isinstance(item, tuple):
        raise LanguageError(
            f"an index of {buffer.name!r} must be an integer or a slice, not {len(item)} of them; "
            "a loop over several extents gives as many numbers: for i, j in T.Parallel(m, n)",
            python=TypeError,
        )
    if isinstance(item, list) and item and all(isinstance(number, Expr) for number in item):
        from .launch_numbers import LaunchNumbers

        held = item if isinstance(item, LaunchNumbers) else LaunchNumbers(item, of_npu=False)
        raise LanguageError(
            f"an index of {buffer.name!r} must be an integer or a slice, not {held.advice()}",
            python=TypeError,
        )
    if isinstance(item, (bool, float, str)) or not hasattr(item, "__index__"):
        raise LanguageError(
            f"an index of {buffer.name!r} must be an integer or a slice, not {type(item).__name__}",
            python=TypeError,
        )
    return item.__index__()


def _range(item: object, buffer: BufferRef, dim: int) -> tuple[Any, Any]:
    """Offset and extent of one index or slice."""
    if not isinstance(item, slice):
        return _index(item, buffer), 1
    if item.step is not None and item.step != 1:
        raise unsupported(f"a slice of {buffer.name!r} with a step is not supported")
    size = buffer.shape[dim]
    start = _from_end(0 if item.start is None else _index(item.start, buffer), size)
    stop = _from_end(size if item.stop is None else _index(item.stop, buffer), size)
    if isinstance(start, int) and start == 0:
        return 0, stop
    return start, stop - start


def _from_end(bound: Any, size: Any) -> Any:
    """A negative slice bound that is known counts from the end, as in Python."""
    return size + bound if isinstance(bound, int) and bound < 0 else bound

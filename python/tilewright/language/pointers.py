# SPDX-License-Identifier: Apache-2.0
"""Addresses: tensors that are given by one, addresses of elements, functions in C."""

from __future__ import annotations

from itertools import chain, repeat

from ..capture.tracer import current, guarded_by_poison
from ..options import traced_for
from .annotations import TensorAnnotation
from .dtypes import to_dtype
from .gpu_only import NOT_ON_NPUS
from .libm import defines, dtypes_of_libm, function_of_libm
from .values import AccessPointer, BufferRef, Element, LanguageError, RegionRef, Traced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def _list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (tuple, list)) else [values]


@guarded_by_poison
def make_tensor(ptr: Any, shape: Any, dtype: Any = "float32", strides: Any = None) -> Any:
    """The tensor at an address (a `T.ptr` argument, or a 64-bit integer of the kernel).

    It is global memory like a tensor argument, but nobody knows how much of it there is.
    """
    tracer = current()
    name = tracer.take_name("tensor")
    address = tracer.expression(ptr)
    if not isinstance(address, Traced):
        raise LanguageError("T.make_tensor needs a T.ptr argument or an address of the kernel")

    def make(extents: list[Any], dtype: str, steps: list[Any]) -> Any:
        return tracer.builder.tensor_at(address.handle, extents, dtype, steps, name)

    return tracer.made(
        make, _list(shape), to_dtype(dtype), () if strides is None else _list(strides)
    )


def make_tensor_from_addr(
    addr: Any,
    shape: Any,
    dtype: Any = "float32",
    strides: Any = None,
    storage_scope: str = "global",
) -> Any:
    """The same as `T.make_tensor`."""
    return make_tensor(addr, shape, dtype, strides)


def match_buffer(
    param: Any,
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    scope: str = "global",
    *,
    elem_offset: Any = None,
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Any = None,
) -> Any:
    """The tensor that a `T.handle` argument is: TVM's way to declare one, before the launch.

    What stands behind `scope` says how TVM lays it out in memory, and means nothing here.
    """
    from ..capture.kernel import Handle, declare_parameter

    if not isinstance(param, Handle):
        raise LanguageError("T.match_buffer needs an argument that is declared as T.handle")
    steps = None if strides is None else tuple(_list(strides))
    annotation = TensorAnnotation(tuple(_list(shape)), to_dtype(dtype), steps, scope)
    return declare_parameter(current(), param.name, annotation)


@guarded_by_poison
def address_of(element: Any) -> Any:
    """The address of an element or of a buffer's first one, as uint64, for functions in C."""
    tracer = current()
    if isinstance(element, Traced) and element.origin is not None:
        element = element.origin
    if isinstance(element, BufferRef):
        element = Element(element, (0,) * element.ndim)
    if isinstance(element, RegionRef):
        element = Element(element.buffer, tuple(element.offsets))
    if not isinstance(element, Element):
        raise LanguageError("T.address_of needs an element or a buffer", python=TypeError)
    indices = [tracer.index(i) for i in element.indices]
    return tracer.wrap(tracer.builder.address(tracer.buffer_handle(element.buffer), indices))


@guarded_by_poison
def access_ptr(
    base: Any,
    access_type: str = "r",
    *extents: Any,
    offset: Any = 0,
    extent: Any = None,
    ignore_last_ndim: int = 0,
) -> Any:
    """The address of a buffer or element, `offset` elements on. What is accessed and how much of it
    is not checked on the CPU."""
    tracer = current()
    if isinstance(base, Traced) and base.origin is not None:
        base = base.origin
    address = address_of(base)
    bits = base.dtype.bits if hasattr(base, "dtype") else 8
    if not (isinstance(offset, int) and offset == 0):
        address = tracer.expression(address) + (offset * bits) // 8
    element = _first_element(base)
    if element is None or not isinstance(address, Traced):
        return address
    *outer, last = element.indices or (0,)
    return AccessPointer(address, Element(element.buffer, (*outer, last + offset)))


def _first_element(base: Any) -> Element | None:
    if isinstance(base, BufferRef):
        return Element(base, (0,) * base.ndim)
    if isinstance(base, RegionRef):
        return Element(base.buffer, tuple(base.offsets))
    return base if isinstance(base, Element) else None


@guarded_by_poison
def ptx_cp_async(
    dst_access_ptr: Any, src_access_ptr: Any, num_elems: Any, predicate: Any = None
) -> None:
    """The thread copies neighbouring elements from where one `T.access_ptr` is to where another is;
    zeros where `predicate` doesn't hold. They are there when it returns."""
    from .loops import serial

    tracer = current()
    if traced_for.get() == "ascend":
        NOT_ON_NPUS["ptx_cp_async"]()
    pointers = (dst_access_ptr, src_access_ptr)
    if not all(isinstance(each, AccessPointer) for each in pointers):
        raise LanguageError("T.ptx_cp_async copies between two of T.access_ptr", python=TypeError)
    loop = serial(num_elems)
    [step] = loop.enter(tracer, ["i"])
    target, source = (
        Element(each.element.buffer, (*each.element.indices[:-1], each.element.indices[-1] + step))
        for each in pointers
    )
    value: Any = source
    if predicate is not None:
        value = tracer.select(predicate, tracer.expression(source), 0)
    tracer.store(target, value)
    loop.leave(tracer)


def isnullptr(pointer: Any) -> Any:
    """Whether a `T.ptr` argument is 0."""
    return current().expression(pointer) == 0


def _argument(value: Any) -> Any:
    from .extern import Pointer

    tracer = current()
    if isinstance(value, Pointer):
        bits = value.buffer.dtype.bits
        first = tracer.expression(address_of(value.buffer))
        return tracer.value(first + (tracer.expression(value.offset) * bits) // 8)
    if isinstance(value, (BufferRef, RegionRef)) and not getattr(value, "is_variable", False):
        return tracer.value(address_of(value))
    return tracer.value(value)


@guarded_by_poison
def call_extern(dtype: Any, name: str, *arguments: Any) -> Any:
    """Calls the function `name` in C with numbers and addresses.

    The CPU has the functions of libm (`cbrtf`, `erfc`, ...) and those of `T.import_source`. A
    `dtype` of "handle" or "void" is for functions that give nothing.
    """
    tracer = current()
    known = function_of_libm(str(name))
    if known is not None:
        tracer.of_libm[str(name)] = known
    result = None if str(dtype) in ("handle", "void", "") else str(to_dtype(dtype))
    dtypes = _dtypes(str(name), arguments)
    values = [_typed(a, of) for a, of in zip(arguments, dtypes, strict=False)]
    made = tracer.builder.call_extern(str(name), values, result)
    return None if result is None else tracer.wrap(made)


def _dtypes(name: str, arguments: tuple[Any, ...]) -> Iterator[str | None]:
    """What the function's arguments are, as far as that is known."""
    tracer = current()
    known = [] if defines(tracer.sources, name) else dtypes_of_libm(name)
    if known and any(isinstance(a, (int, float)) and not isinstance(a, bool) for a in arguments):
        tracer.typed_by_libm.add(name)
    return chain(known, repeat(None))


def refuse_late_source(source: str) -> None:
    """An own function must be known before a call whose numbers take libm's dtypes by its name."""
    for name in sorted(current().typed_by_libm):
        if defines([source], name):
            raise LanguageError(
                f"this source has a function {name!r}, but a call before was taken for libm's: "
                "write T.import_source before that"
            )


def _typed(value: Any, dtype: str | None) -> Any:
    """A literal has the argument's dtype or one of its own: no operand gives it one."""
    tracer = current()
    handle = _argument(value)
    if isinstance(handle, bool):
        return handle
    if isinstance(handle, int):
        own = "int32" if -(2**31) <= handle < 2**31 else "int64" if handle < 2**63 else "uint64"
        return tracer.builder.constant(handle, dtype or own)
    if isinstance(handle, float):
        is_real = dtype is None or dtype.startswith("float")
        return tracer.builder.constant(handle, dtype if dtype and is_real else "float32")
    return handle


call_pure_extern = call_extern

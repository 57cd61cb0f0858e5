# SPDX-License-Identifier: Apache-2.0
"""Buffers of a kernel: allocations and views."""

from __future__ import annotations

from ..capture.tracer import current, guarded_by_poison
from ..suggestions import did_you_mean
from .dtypes import is_dtype, to_dtype
from .values import (
    BufferRef,
    Element,
    Expr,
    LanguageError,
    RegionRef,
    assign_region,
    unsupported,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


#: TileLang's names of memories.
_SCOPES = {
    "shared": "shared",
    "shared.dyn": "shared",
    "local.fragment": "fragment",
    "local": "local",
    "global": "global",
}


def _scope(function: str, scope: Any, *more: str) -> str:
    """The builder's name of a scope."""
    known = _SCOPES | {name: name for name in more}
    if scope not in known:
        hint = did_you_mean(str(scope), known) or f"; there are: {', '.join(known)}"
        raise LanguageError(f"{function} has no scope {scope!r}{hint}")
    return known[scope]


def _refuse_spread_shape(function: str, shape: Any, dtype: Any, scope: Any) -> None:
    """`T.alloc_shared(64, 64, 'float32')`: the shape is one argument."""
    is_spread = isinstance(shape, int) and isinstance(dtype, int) and is_dtype(scope)
    if is_spread:
        raise LanguageError(
            f"the shape of {function} is one argument, a tuple: "
            f"{function}(({shape}, {dtype}), {str(to_dtype(scope))!r})",
            python=TypeError,
        )


def _shape(shape: Any) -> list[Any]:
    return list(shape) if isinstance(shape, (tuple, list)) else [shape]


def _may_be_of_call(extent: Any) -> bool:
    """Whether it may be made of arguments; the builder knows."""
    is_load = isinstance(extent, Element) or getattr(extent, "origin", None) is not None
    return isinstance(extent, Expr) and not is_load


def allocate(shape: Any, dtype: Any, scope: str, is_variable: bool = False) -> Any:
    """A buffer in a scope of the builder. A tile of the block may have extents of the call."""
    tracer = current()
    name = tracer.take_name(scope)
    is_sized = scope in ("shared", "fragment")
    extents = [
        extent
        if is_sized and _may_be_of_call(extent) and tracer.constant_value(extent) is None
        else tracer.integers([extent], "the shape of an allocation")[0]
        for extent in _shape(shape)
    ]
    is_sized = any(isinstance(extent, Expr) for extent in extents)
    alloc = tracer.builder.alloc_sized if is_sized else tracer.builder.alloc

    def make(shape: list[Any], dtype: str, strides: list[Any]) -> Any:
        return alloc(shape, dtype, scope, name)

    return tracer.made(make, extents, to_dtype(dtype), is_variable=is_variable)


@guarded_by_poison
def alloc_shared(shape: Any, dtype: Any, scope: str = "shared.dyn") -> Any:
    """Memory that all threads of a block share, or of the scope that is named."""
    _refuse_spread_shape("T.alloc_shared", shape, dtype, scope)
    return allocate(shape, dtype, _scope("T.alloc_shared", scope))


@guarded_by_poison
def alloc_fragment(shape: Any, dtype: Any, scope: str = "local.fragment") -> Any:
    """A tile that is distributed over the registers of a block's threads; with the scope "local"
    an array of each thread."""
    _refuse_spread_shape("T.alloc_fragment", shape, dtype, scope)
    return allocate(shape, dtype, _scope("T.alloc_fragment", scope))


@guarded_by_poison
def alloc_local(shape: Any, dtype: Any, scope: str = "local") -> Any:
    """An array of each thread, or of the scope that is named."""
    _refuse_spread_shape("T.alloc_local", shape, dtype, scope)
    return allocate(shape, dtype, _scope("T.alloc_local", scope))


@guarded_by_poison
def alloc_global(shape: Any, dtype: Any, scope: str = "global") -> Any:
    """A workspace in global memory. Before a `T.Kernel` its extents may be symbols."""
    if scope != "global":
        raise LanguageError(f"a workspace of T.alloc_global lies in 'global', not in {scope!r}")
    tracer = current()
    extents = _shape(shape)
    is_open = tracer.launch is None and any(isinstance(e, Expr) for e in extents)
    if is_open and tracer.integers_if_known(extents) is None:
        return _workspace(extents, dtype)
    return allocate(shape, dtype, "global")


def _workspace(extents: list[Any], dtype: Any) -> Any:
    """One whose size each call knows: a parameter that calls make and drop."""
    from ..kernel import WORKSPACE

    tracer = current()
    name = f"{WORKSPACE}{len(tracer.made_parameters)}_{tracer.take_name('global')}"
    tracer.made_parameters.append(name)
    return tracer.tensor(name, extents, to_dtype(dtype))


@guarded_by_poison
def alloc_buffer(shape: Any, dtype: Any = "float32", scope: str = "") -> Any:
    """An allocation in the named scope; without one in "shared", or before a `T.Kernel` in
    "global", as of `T.alloc_global`."""
    if not scope and current().launch is None:
        return alloc_global(shape, dtype)
    return allocate(shape, dtype, _SCOPES.get(scope, scope or "shared"))


@guarded_by_poison
def alloc_var(dtype: Any, *args: Any, init: Any = None, scope: str = "local.var") -> Any:
    """A mutable scalar: reading its name loads it, assigning to its name stores."""
    for argument in args:
        if isinstance(argument, str) and not is_dtype(argument):
            scope = argument
            continue
        if init is None:
            init = argument
        else:
            raise LanguageError("T.alloc_var takes a dtype, an initial value and a scope")
    tracer = current()
    if _scope("T.alloc_var", scope, "local.var") not in ("local", "local.var"):
        tracer.report(  # and is made, so that assignments to it aren't wrong, too
            "a variable has the scope local.var only, one of each thread; use "
            f"T.alloc_{_SCOPES[scope]}((1,), {str(dtype)!r}) for one element of {scope!r}"
        )
    if to_dtype(dtype).lanes > 1:
        made = allocate((), dtype, "local", is_variable=True)
        if init is not None and isinstance(made, BufferRef):
            assign_region(made.element(), init)
        return made
    name = tracer.take_name("var")
    value = None if init is None else tracer.value(init)
    handle = tracer.builder.alloc_var(str(to_dtype(dtype)), value, name)
    return tracer.buffer(handle, is_variable=True)


@guarded_by_poison
def empty(*shape: Any, dtype: Any = "float32") -> Any:
    """An output tensor of an eager kernel, which the kernel must return."""
    from ..capture.kernel import current_signature

    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        extents: list[Any] = list(shape[0])
    elif len(shape) == 2 and isinstance(shape[0], (tuple, list)):
        extents, dtype = list(shape[0]), shape[1]
    else:
        extents = list(shape)
    return current_signature("T.empty").output(extents, to_dtype(dtype))


def _whole_buffer(source: Any, what: str) -> BufferRef:
    if isinstance(source, BufferRef):
        return source
    if isinstance(source, (Element, RegionRef)):
        raise unsupported(f"{what} of a part of a buffer is not supported")
    raise LanguageError(f"{what} needs a buffer", python=TypeError)


@guarded_by_poison
def view(src: Any, shape: Any = None, dtype: Any = None) -> Any:
    """The same memory under another shape or dtype, with the same number of bits."""
    buffer = _whole_buffer(src, "T.view")
    tracer = current()
    handle = tracer.buffer_handle(buffer)

    def make(extents: list[Any], dtype: str, strides: list[Any]) -> Any:
        return tracer.builder.view(handle, extents, dtype)

    extents = _shape(shape) if shape is not None else buffer.shape
    made = tracer.made(make, extents, to_dtype(buffer.dtype if dtype is None else dtype))
    if isinstance(made, BufferRef):
        tracer.views.add(made.handle)
    return made


@guarded_by_poison
def reshape(src: Any, shape: Any) -> Any:
    """The same memory under another shape with as many elements."""
    return view(src, shape)


def index_to_coordinates(index: Any, shape: Any) -> list[Any]:
    """The coordinates of the element with this row-major number."""
    coordinates: list[Any] = []
    for extent in reversed(_shape(shape)):
        coordinates.insert(0, index % extent)
        index = index // extent
    return coordinates


def is_buffer(value: object) -> bool:
    return isinstance(value, BufferRef)


__all__ = [
    "Expr",
    "alloc_buffer",
    "alloc_fragment",
    "alloc_global",
    "alloc_local",
    "alloc_shared",
    "alloc_var",
    "empty",
    "index_to_coordinates",
    "reshape",
    "view",
]

# SPDX-License-Identifier: Apache-2.0
"""Layouts: where a GPU keeps the elements of a tile. The CPU accepts them and keeps its own."""

from __future__ import annotations

import math
from types import FunctionType

from ..captured_state import is_ours
from .dtypes import to_dtype

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


class Layout:
    """A map from the indices of a tile to the indices of its memory: `T.Layout(shape, function)`.

    `layout(i, j)` evaluates it.
    """

    #: Of sparsity metadata, in an order that T.gemm_sp doesn't read.
    is_of_metadata = False

    def __init__(self, shape: Sequence[int], forward_fn: Callable[..., Any]) -> None:
        self.shape = self._extents(shape)
        self._forward = self._function("forward_fn", forward_fn)

    def _extents(self, shape: Any) -> tuple[Any, ...]:
        try:
            extents = tuple(shape)
        except TypeError:
            extents = ("",)  # of none
        is_shape = not any(isinstance(extent, (bool, float, str)) for extent in extents)
        if not is_shape or any(isinstance(extent, int) and extent < 1 for extent in extents):
            kind = ValueError if is_shape else TypeError
            name = type(self).__name__
            raise kind(f"the shape of a T.{name} is a list of positive integers, not {shape!r}")
        return extents

    def _function(self, name: str, given: Any) -> Any:
        if not callable(given):
            raise TypeError(
                f"{name} of a T.{type(self).__name__} is a function of the indices, not {given!r}"
            )
        return given

    def __call__(self, *indices: Any) -> list[Any]:
        return self.map_forward_index(indices)

    def map_forward_index(self, indices: Sequence[Any]) -> list[Any]:
        """The indices in memory of an element."""
        if len(indices) != len(self.shape):
            raise ValueError(
                f"the layout has {len(self.shape)} dims but got {len(indices)} indices"
            )
        found = self._forward(*indices)
        return list(found) if isinstance(found, (tuple, list)) else [found]

    def get_input_shape(self) -> list[int]:
        """The tile's shape."""
        return list(self.shape)

    def get_output_shape(self) -> list[int]:
        """The memory's shape: one more than the largest index of each dim."""
        largest: list[int] = []
        for number in range(math.prod(self.shape)):
            found = self(*_coordinates(number, self.shape))
            largest = [max(a, b) for a, b in zip(largest or found, found, strict=True)]
        return [index + 1 for index in largest]

    def is_equal(self, other: Layout) -> bool:
        """Whether both put every element at the same place."""
        if self.shape != other.shape:
            return False
        every = (_coordinates(n, self.shape) for n in range(math.prod(self.shape)))
        return all(self(*indices) == other(*indices) for indices in every)

    def repeat(self, dim: int, factor: int) -> Layout:
        """This layout `factor` times along a dim; which of them is a first index in memory."""
        dims = len(self.shape)
        if not -dims <= dim < dims or factor < 1:
            raise ValueError(f"a layout of {dims} dims can't be repeated {factor} times on {dim}")
        if factor == 1:
            return self
        extent, at = self.shape[dim], dim % dims

        def forward(*indices: Any) -> list[Any]:
            inside = [i % extent if d == at else i for d, i in enumerate(indices)]
            return [indices[at] // extent, *self.map_forward_index(inside)]

        shape = [e * factor if d == at else e for d, e in enumerate(self.shape)]
        return Layout(shape, forward)

    def expand(self, leading_shape: int | Sequence[int]) -> Layout:
        """This layout with more dims in front, which are the first indices in memory, too."""
        if isinstance(self, Fragment):
            raise ValueError("a fragment can't be expanded; repeat makes a larger one")
        given = [leading_shape] if isinstance(leading_shape, int) else list(leading_shape)
        if any(not isinstance(extent, int) or extent < 1 for extent in given):
            raise ValueError(f"a layout is expanded by positive integers, not by {given}")
        if not given:
            return self
        count = len(given)

        def forward(*indices: Any) -> list[Any]:
            return [*indices[:count], *self.map_forward_index(indices[count:])]

        return Layout([*given, *self.shape], forward)

    def inverse(self) -> Layout:
        """From memory to tile; ValueError where two elements share a place."""
        places = {}
        for number in range(math.prod(self.shape)):
            indices = _coordinates(number, self.shape)
            places[tuple(self(*indices))] = list(indices)
        if len(places) != math.prod(self.shape):
            raise ValueError("a layout that puts two elements at one place has no inverse")
        return Layout(self.get_output_shape(), lambda *at: places[at])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape})"


#: Layouts of more elements are believed.
_MOST_COMPARED = 1 << 14


def shared_place(layout: Layout) -> tuple[list[int], list[int]] | None:
    """Two elements that a user's layout puts at one place; None where it is known to have none."""
    count = math.prod(layout.shape) if all(isinstance(e, int) for e in layout.shape) else 0
    forward = layout._forward
    is_known = isinstance(forward, FunctionType) and is_ours(forward.__module__)
    if count > _MOST_COMPARED or is_known:
        return None
    places: dict[tuple[Any, ...], list[int]] = {}
    for number in range(count):
        indices = list(_coordinates(number, layout.shape))
        place = tuple(layout(*indices))
        if place in places:
            return places[place], indices
        places[place] = indices
    return None


class Fragment(Layout):
    """A map from the indices of a tile to a thread and to the registers of that thread.

    With `replicate` copies of each element, the functions of the thread (`forward_fn`,
    `forward_thread_fn`) take the copy's number behind the indices.
    """

    def __init__(
        self,
        shape: Sequence[int],
        forward_fn: Callable[..., Any] | None = None,
        forward_thread_fn: Callable[..., Any] | None = None,
        replicate: int = 1,
        forward_index_fn: Callable[..., Any] | None = None,
    ) -> None:
        functions = {
            "forward_fn": forward_fn,
            "forward_thread_fn": forward_thread_fn,
            "forward_index_fn": forward_index_fn,
        }
        for name, given in functions.items():
            if given is not None:
                self._function(name, given)
        if not isinstance(replicate, int) or replicate < 1:
            raise ValueError(f"replicate of a T.Fragment is a positive integer, not {replicate!r}")
        if forward_fn is not None and forward_thread_fn is None:
            both, copy = forward_fn, (0,) if replicate > 1 else ()
            forward_thread_fn = lambda *i: both(*i)[0]  # noqa: E731
            forward_index_fn = lambda *i: both(*i, *copy)[1]  # noqa: E731
        super().__init__(
            shape, (lambda *i: list(i)) if forward_index_fn is None else forward_index_fn
        )
        self._thread = forward_thread_fn
        self.replicate_size = replicate

    def map_forward_thread(self, indices: Sequence[Any], copy: Any = 0) -> Any:
        """The thread that holds an element, or one of its copies."""
        if self._thread is None:
            return 0
        return self._thread(*indices, *((copy,) if self.replicate_size > 1 else ()))

    def get_thread_size(self) -> int:
        """The number of threads that hold elements."""
        places = (_coordinates(number, self.shape) for number in range(math.prod(self.shape)))
        copies = range(self.replicate_size)
        return 1 + max(int(self.map_forward_thread(at, copy)) for at in places for copy in copies)

    def is_equal(self, other: Layout) -> bool:
        """Whether both put every element at the same place of the same threads."""
        if not isinstance(other, Fragment) or self.replicate_size != other.replicate_size:
            return False
        every = [_coordinates(n, self.shape) for n in range(math.prod(self.shape))]
        return super().is_equal(other) and all(
            self.map_forward_thread(at, copy) == other.map_forward_thread(at, copy)
            for at in every
            for copy in range(self.replicate_size)
        )

    def repeat(  # type: ignore[override]
        self, repeats: Sequence[int], repeat_on_thread: bool = False, lower_dim_first: bool = True
    ) -> Fragment:
        """A tile of this one `repeats` times along each dim, the last dim first: in more registers
        of the same threads, or in as many of more threads."""
        if len(repeats) != len(self.shape):
            raise ValueError(f"the fragment has {len(self.shape)} dims but got {list(repeats)}")
        dims = range(len(repeats))
        order = reversed(dims) if lower_dim_first else dims
        strides, size = {}, 1
        for dim in order:
            strides[dim] = size
            size *= repeats[dim]
        registers = self.get_output_shape()
        if not repeat_on_thread and len(registers) != 1:
            raise ValueError("a fragment with several dims of registers is repeated on threads")
        threads = self.get_thread_size() if repeat_on_thread else 0

        def number(at: Sequence[Any]) -> Any:
            return sum(at[dim] // self.shape[dim] * strides[dim] for dim in dims)

        def inside(at: Sequence[Any]) -> list[Any]:
            return [at[dim] % self.shape[dim] for dim in dims]

        def index(*at: Any) -> list[Any]:
            found = self.map_forward_index(inside(at))
            return found if repeat_on_thread else [found[0] + registers[0] * number(at)]

        return Fragment(
            [extent * times for extent, times in zip(self.shape, repeats, strict=True)],
            forward_thread_fn=lambda *at: (
                self.map_forward_thread(inside(at), *at[len(dims) :]) + threads * number(at)
            ),
            replicate=self.replicate_size,
            forward_index_fn=index,
        )

    def replicate(self, replicate: int) -> Fragment:
        """The tile `replicate` times, each in threads of its own."""
        threads, copies = self.get_thread_size(), self.replicate_size

        def thread(*at: Any) -> Any:
            *indices, copy = at if replicate * copies > 1 else (*at, 0)
            return self.map_forward_thread(indices, copy % copies) + threads * (copy // copies)

        return Fragment(
            self.shape,
            forward_thread_fn=thread,
            replicate=replicate * copies,
            forward_index_fn=self._forward,
        )

    def condense_rep_var(self) -> Fragment:
        """The same fragment: copies are counted here, never symbols."""
        return self


class PartialFragment(Fragment):
    """A fragment of partial results, for a `T.alloc_reducer`: `combine` copies of an element (by
    default all of them) are parts of its result, which T.finalize_reducer puts together."""

    def __init__(
        self,
        shape: Sequence[int],
        forward_fn: Callable[..., Any] | None = None,
        forward_thread_fn: Callable[..., Any] | None = None,
        replicate: int = 1,
        forward_index_fn: Callable[..., Any] | None = None,
        combine: int | None = None,
    ) -> None:
        super().__init__(shape, forward_fn, forward_thread_fn, replicate, forward_index_fn)
        self.combine_size = replicate if combine is None else combine
        if self.combine_size < 1 or replicate % self.combine_size:
            raise ValueError(
                f"combine of T.PartialFragment must divide replicate, {replicate}, "
                f"but it is {combine}"
            )


def _coordinates(number: int, shape: Sequence[int]) -> tuple[int, ...]:
    found: list[int] = []
    for extent in reversed(shape):
        found.insert(0, number % extent)
        number //= extent
    return tuple(found)


def make_linear_layout(*shape: Any) -> Layout:
    """Row-major."""
    extents = _shape_of(shape[0]) if len(shape) == 1 else tuple(shape)

    def forward(*indices: Any) -> Any:
        at: Any = 0
        for index, extent in zip(indices, extents, strict=True):
            at = at * extent + index
        return at

    return Layout(extents, forward)


def _shape_of(given: Any) -> tuple[int, ...]:
    """The shape of a buffer, of a list of extents, or of a single one."""
    if hasattr(given, "shape"):
        return tuple(given.shape)
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def _bits_of(buffer: Any) -> int:
    dtype = getattr(buffer, "dtype", None)
    return int(dtype.bits) if dtype is not None else 16


def _swizzled(buffer: Any, row_bytes: int) -> Layout:
    """Groups of 16 bytes of a row of `row_bytes` are exchanged by the row's number, as shared
    memory of a GPU likes it."""
    shape = _shape_of(buffer)
    vector = max(128 // _bits_of(buffer), 1)
    per_row = max(row_bytes // 16, 1)

    def forward(*indices: Any) -> list[Any]:
        *outer, row, column = indices
        group, inside = column // vector, column % vector
        moved = group - group % per_row + (group % per_row ^ row % per_row)
        return [*outer, row, moved * vector + inside]

    return Layout(shape, forward)


def make_swizzled_layout(buffer: Any, k_major: bool = True, allow_pad: bool = True) -> Layout:
    """The widest swizzle that the rows allow."""
    row_bytes = _shape_of(buffer)[-1] * _bits_of(buffer) // 8
    for width in (128, 64, 32):
        if row_bytes % width == 0:
            return _swizzled(buffer, width)
    return make_linear_layout(_shape_of(buffer))


def make_full_bank_swizzled_layout(buffer: Any) -> Layout:
    """A swizzle over rows of 128 bytes."""
    return _swizzled(buffer, 128)


def make_half_bank_swizzled_layout(buffer: Any) -> Layout:
    """A swizzle over rows of 64 bytes."""
    return _swizzled(buffer, 64)


def make_quarter_bank_swizzled_layout(buffer: Any) -> Layout:
    """A swizzle over rows of 32 bytes."""
    return _swizzled(buffer, 32)


def make_wgmma_swizzled_layout(
    buffer: Any, continuity: int | None = None, k_major: bool = True
) -> Layout:
    """The same as `make_swizzled_layout`."""
    return make_swizzled_layout(buffer, k_major)


make_tcgen05mma_swizzled_layout = make_wgmma_swizzled_layout


def make_volta_swizzled_layout(buffer: Any, is_a: bool = True, k_inner: bool = True) -> Layout:
    """The same as `make_swizzled_layout`."""
    return make_swizzled_layout(buffer, k_inner)


def get_swizzle_layout(
    row_idx: Any, col_idx: Any, row_size: int, dtype: Any, swizzle_bytes: int | None = None
) -> tuple[Any, Any]:
    """Where the swizzle of rows of `row_size` elements puts an element: its row and column.

    `swizzle_bytes` is 128, 64 or 32; by default the widest that the rows allow. ValueError for rows
    of another length.
    """
    bits = to_dtype(dtype).bits
    row_bytes = row_size * bits // 8
    width = swizzle_bytes or next((w for w in (128, 64, 32) if row_bytes % w == 0), 0)
    if width not in (128, 64, 32) or row_bytes % width != 0:
        raise ValueError(
            f"a swizzle is of 128, 64 or 32 bytes, and rows of {row_bytes} bytes have no whole "
            f"number of {width or 32}"
        )
    vector, groups = 128 // bits, width // 16
    group = col_idx // vector
    moved = group - group % groups + (group % groups ^ row_idx % groups)
    return row_idx, moved * vector + col_idx % vector


def make_mma_swizzle_layout(shared_buf: Any, is_smooth: bool = False) -> Layout:
    """The swizzle of rows of whole 64 bytes, as loads of a warp's matrices like it; else
    row-major."""
    shape, bits = _shape_of(shared_buf), _bits_of(shared_buf)
    if is_smooth or shape[-1] * bits % 512 != 0:
        return Layout(shape, lambda *indices: list(indices))

    def swizzled(*indices: Any) -> list[Any]:
        *outer, row, column = indices
        return [*outer, *get_swizzle_layout(row, column, shape[-1], shared_buf.dtype)]

    return Layout(shape, swizzled)


def get_mma_micro_size(dtype: Any) -> tuple[int, int, int]:
    """Rows, columns and depth of the matrices that a GPU's warp multiplies, by dtype."""
    return 16, 16, 32 if to_dtype(dtype).bits == 8 else 16


def make_gemm_fragment_8x8() -> Fragment:
    """Two neighbouring elements per thread, as the GPU's 8 x 8 matrices lie."""
    return Fragment((8, 8), lambda i, j: (i * 4 + j // 2, j % 2))


def make_gemm_fragment_8x8_transposed() -> Fragment:
    """The transpose of `make_gemm_fragment_8x8`."""
    return Fragment((8, 8), lambda i, j: (j * 4 + i // 2, i % 2))


def make_fully_replicated_layout_fragment(buffer: Any, threads: int) -> Fragment:
    """Every thread holds the whole tile."""
    shape = _shape_of(buffer)
    linear = make_linear_layout(shape)
    if threads == 1:
        return Fragment(shape, lambda *i: (0, linear(*i)[0]))
    return Fragment(shape, lambda *i: (i[-1], linear(*i[:-1])[0]), replicate=threads)


def make_fully_replicated_partial_fragment(shape: Any, thread_extent: int) -> PartialFragment:
    """Every thread holds a part of each element of the tile."""
    whole = make_fully_replicated_layout_fragment(shape, thread_extent)
    return PartialFragment(
        whole.shape,
        forward_thread_fn=lambda *at: at[-1] if thread_extent > 1 else 0,
        replicate=thread_extent,
        forward_index_fn=lambda *at: whole(*at),
    )


def make_cutlass_metadata_layout(buffer: Any, *args: Any, **keywords: Any) -> Layout:
    """The layout of sparsity metadata that T.gemm_sp had before it took them row by row."""
    layout = make_linear_layout(_shape_of(buffer))
    layout.is_of_metadata = True
    return layout

# SPDX-License-Identifier: Apache-2.0
"""Operations on tiles that are made of others: transpose, im2col, any_of, copies of GPUs."""

from __future__ import annotations

from ..capture.tracer import current, describe, guarded_by_poison
from .loops import Parallel, serial
from .math_ops import Select, cast
from .memory import alloc_var
from .tile_ops import copy
from .values import BufferRef, Element, LanguageError, RegionRef

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


@guarded_by_poison
def transpose(src: Any, dst: Any, annotations: dict[str, Any] | None = None) -> None:
    """dst[j, i] = src[i, j], of tiles on the chip."""
    tracer = current()
    source = tracer.operand(src, "the source of T.transpose")
    target = tracer.operand(dst, "the target of T.transpose")
    tracer.builder.copy(source, target, {"transpose": True})


@guarded_by_poison
def async_copy(
    src: Any,
    dst: Any,
    *,
    coalesced_width: int | None = None,
    annotations: dict[str, Any] | None = None,
    loop_layout: Any = None,
) -> None:
    """A copy that a GPU completes by `T.ptx_wait_group`; on the CPU it is complete at once."""
    copy(
        src,
        dst,
        coalesced_width=coalesced_width,
        annotations=annotations,
        loop_layout=loop_layout,
    )


def ptx_commit_group() -> None:
    """Ends a group of asynchronous copies; they are complete on the CPU."""
    current()


def ptx_wait_group(count: int = 0) -> None:
    """Waits for groups of asynchronous copies; they are complete on the CPU."""
    current()


def _for_each(extents: list[Any], body: Callable[[list[Any]], None], parallel: bool) -> None:
    """Runs `body` for each position of a box."""
    tracer = current()
    names = [f"i{n}" for n in range(len(extents))]
    if parallel:
        loop = Parallel(*extents)
        variables = loop.enter(tracer, names)
        body(variables)
        loop.leave(tracer)
        return
    loops = []
    variables = []
    for extent, name in zip(extents, names, strict=True):
        loops.append(serial(extent))
        variables += loops[-1].enter(tracer, [name])
    body(variables)
    for loop in reversed(loops):
        loop.leave(tracer)


def _fold(buffer: Any, start: bool, what: str) -> Any:
    """Whether any (or, from True, all) elements are not 0."""
    if isinstance(buffer, BufferRef):
        source, offsets, extents = buffer, [0] * buffer.ndim, list(buffer.shape)
    elif isinstance(buffer, RegionRef):
        source, offsets, extents = buffer.buffer, buffer.offsets, buffer.extents
    else:
        raise LanguageError(f"{what} needs a buffer or a part of one")
    tracer = current()
    tracer.pending_name = what.removeprefix("T.")
    found = alloc_var("bool", init=start)

    def visit(position: list[Any]) -> None:
        at = tuple(o + p for o, p in zip(offsets, position, strict=True))
        holds = Element(source, at) != 0
        before = tracer.expression(found)
        tracer.store(
            found.element(),
            Select(holds, True if not start else before, before if not start else False),
        )

    _for_each(extents, visit, parallel=False)
    return tracer.expression(found)


@guarded_by_poison
def any_of(buffer: Any) -> Any:
    """Whether any element of a buffer or region is not 0."""
    return _fold(buffer, False, "T.any_of")


@guarded_by_poison
def all_of(buffer: Any) -> Any:
    """Whether all elements of a buffer or region are not 0."""
    return _fold(buffer, True, "T.all_of")


@guarded_by_poison
def im2col(
    img: Any,
    col: Any,
    nhw_step: Any,
    c_step: Any,
    kernel: int,
    stride: int,
    dilation: int,
    pad: int,
    eviction_policy: str | None = None,
    annotations: dict[str, Any] | None = None,
) -> None:
    """A tile of the matrix that makes a convolution of [N, H, W, C] images a product.

    Its rows are output positions (n, y, x), its columns (kernel row, kernel column, channel); tile
    `nhw_step`, `c_step` of them is written to `col`. Outside of an image there are zeros.
    """
    tracer = current()
    for buffer, what, least, most in (
        (img, "img of T.im2col must be a tensor of 4 dims, [N, H, W, C]", 4, 4),
        (col, "col of T.im2col must be a tile of 2 dims", 2, 99),
    ):
        if not isinstance(buffer, BufferRef):
            raise LanguageError(f"{what}, not {describe(buffer)}", python=TypeError)
        if not least <= buffer.ndim <= most:
            raise LanguageError(f"{what}, but {describe(buffer)} has {buffer.ndim}")
    images, height, width, channels = img.shape
    rows, columns = col.shape[-2:]
    reach = (kernel - 1) * dilation + 1
    out_height = (height + 2 * pad - reach) // stride + 1
    out_width = (width + 2 * pad - reach) // stride + 1
    first_row, first_column = nhw_step * rows, c_step * columns

    def visit(position: list[Any]) -> None:
        row, column = first_row + position[0], first_column + position[1]
        x, y = row % out_width, row // out_width % out_height
        channel, tap = column % channels, column // channels
        at_y = y * stride + tap // kernel * dilation - pad
        at_x = x * stride + tap % kernel * dilation - pad
        image = row // (out_width * out_height)
        inside = (at_y >= 0) & (at_y < height) & (at_x >= 0) & (at_x < width)
        inside = inside & (image < images)  # the last tile may go on behind them
        value = tracer.expression(Element(img, (image, at_y, at_x, channel)))
        target = (*([0] * (col.ndim - 2)), *position)
        tracer.store(Element(col, target), Select(inside, value, cast(0, value.dtype)))

    _for_each([rows, columns], visit, parallel=True)


c2d_im2col = im2col

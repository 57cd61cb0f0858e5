# SPDX-License-Identifier: Apache-2.0
"""Single instructions of an NPU's vector unit with their masks, repeats and strides: the raw
wrappers of TileLang-Ascend's `T.tile`, and those that it calls deprecated.

Each is a call of Ascend C; beside it stands what the call means, for the reference interpreter.
Strides count blocks of 32 bytes unless it says otherwise. Sizes are constants, so that what an
instruction reads and writes is checked against its buffers when the kernel is built.
"""

from __future__ import annotations

import ctypes
import math
import struct

from ..capture.tracer import current, guarded_by_poison
from .extern import Pointer, call_own
from .memory import allocate, reshape
from .values import BufferRef, LanguageError, RegionRef

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BLOCK_BYTES, _REPEAT_BYTES, _BLOCKS = 32, 256, 8
_C_NAMES = {"float16": "half", "float32": "float", "int16": "int16_t", "int32": "int32_t"}
_FORMATS = {"float16": "e", "float32": "f", "int16": "h", "int32": "i", "uint32": "I"}


class Memory:
    """Elements of a dtype at an address, as the interpreter lends it."""

    def __init__(self, address: int, dtype: str) -> None:
        self.address, self.format = address, _FORMATS[dtype]
        self.size = struct.calcsize(self.format)

    def __getitem__(self, number: int) -> Any:
        data = ctypes.string_at(self.address + number * self.size, self.size)
        return struct.unpack(self.format, data)[0]

    def __setitem__(self, number: int, value: Any) -> None:
        try:
            data = struct.pack(self.format, value)
        except OverflowError:  # beyond float16's or float32's range
            data = struct.pack(self.format, math.copysign(math.inf, value))
        ctypes.memmove(self.address + number * self.size, data, self.size)

    def set_bits(self, number: int, value: int) -> None:
        """An integer in the place of an element."""
        self.write(number * self.size, value, self.size)

    def write(self, offset: int, value: int, size: int) -> None:
        """An integer of `size` bytes, `offset` bytes on."""
        ctypes.memmove(self.address + offset, value.to_bytes(size, "little"), size)


class Operand:
    """A buffer in UB, or a part of one from its first element on."""

    def __init__(self, function: str, role: str, value: Any, access: str) -> None:
        if isinstance(value, RegionRef):
            buffer, offsets, extents = value.buffer, value.offsets, value.extents
        elif isinstance(value, BufferRef):
            buffer, offsets, extents = value, [0] * value.ndim, list(value.shape)
        else:
            raise LanguageError(f"{function} takes a buffer or slices of one as {role}")
        self.function, self.role, self.buffer = function, role, buffer
        self.dtype = str(buffer.dtype)
        self.bytes = buffer.dtype.bits // 8
        #: Elements of a block.
        self.block = _BLOCK_BYTES // max(self.bytes, 1)
        self.extents = list(extents)
        shape = list(buffer.shape)
        strides = [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
        self.offset = sum(o * s for o, s in zip(offsets, strides, strict=True))
        self.pitch = shape[-1]
        self._check_rows(shape)
        self.pointer = Pointer(buffer, access, self.offset)

    def _check_rows(self, shape: list[int]) -> None:
        row = shape[-1] * self.bytes
        if math.prod(shape) > shape[-1] > 1 and row % _BLOCK_BYTES != 0:
            raise LanguageError(
                f"{self.function} counts whole blocks of 32 bytes, but a row of {self.name} has "
                f"{row} bytes"
            )

    @property
    def name(self) -> str:
        return f"{self.role} '{self.buffer.name}'"

    def need(self, elements: int) -> None:
        """So many elements from the first one on must be there."""
        first = self.offset if isinstance(self.offset, int) else None
        left = math.prod(self.extents)
        if first is not None:
            left = math.prod(self.buffer.shape) - first
        if elements > left:
            raise LanguageError(
                f"{self.function} goes through {elements} elements of {self.name}, which has {left}"
            )

    def rows_of(self, count: int, elements: int, pitch: int) -> Pointer:
        """A pointer of which only some rows are touched."""
        pointer = self.pointer
        return Pointer(pointer.buffer, pointer.access, pointer.offset, (count, elements, pitch))

    def take(self, *dtypes: str) -> None:
        """LanguageError for any other dtype."""
        if self.dtype not in dtypes:
            raise LanguageError(
                f"{self.function} takes {' or '.join(dtypes)}, but {self.name} is {self.dtype}"
            )


def _integers(function: str, *values: Any) -> list[int]:
    given = [int(v) if isinstance(v, bool) else v for v in values]
    return current().integers(given, f"a size or stride of {function}")


def _call(function: str, name: str, arguments: list[Any], meaning: Callable[..., None]) -> None:
    """A function of Ascend C as what the kernel calls `function`, and what it does to addresses and
    numbers."""
    current().references[name] = meaning
    call_own("handle", name, tuple(arguments), called_as=function)


def _vector(function: str, dst: Any, *sources: Any) -> tuple[list[Operand], str]:
    """The operands, of one dtype of floats, and that in C."""
    operands = [Operand(function, "destination", dst, "rw")]
    operands += [Operand(function, f"source {n}", s, "r") for n, s in enumerate(sources)]
    for operand in operands:
        operand.take("float16", "float32")
        if operand.dtype != operands[0].dtype:
            raise LanguageError(
                f"{function} has {operands[0].name} of {operands[0].dtype} but {operand.name} of "
                f"{operand.dtype}"
            )
    return operands, _C_NAMES[operands[0].dtype]


def _lane(repeat: int, lane: int, block: int, block_stride: int, repeat_stride: int) -> int:
    """The element of a lane."""
    return (repeat * repeat_stride + lane // block * block_stride) * block + lane % block


def _reach(mask: int, repeats: int, block: int, block_stride: int, repeat_stride: int) -> int:
    """Elements up to the last one of the last repeat."""
    last = mask - 1 if block_stride else min(mask, block) - 1
    return _lane(max(repeats, 1) - 1, last, block, block_stride, repeat_stride) + 1


def _check_mask(operand: Operand, mask: int) -> None:
    most = _REPEAT_BYTES // operand.bytes
    if not 1 <= mask <= most:
        raise LanguageError(
            f"{operand.function} has a mask of {mask} elements; a repeat of {operand.dtype} has 1 "
            f"to {most}"
        )


# Element by element, a count of them -------------------------------------------------------------


def _first(function: str, role: str, value: Any, access: str, count: Any) -> RegionRef:
    return Operand(function, role, value, access).pointer.elements(count)


def _counted(name: str, function: str, dst: Any, sources: list[Any], count: Any) -> None:
    from .tile import compute

    target = _first(function, "destination", dst, "w", count)
    given = [
        _first(function, f"source {n}", s, "r", count)
        if isinstance(s, (BufferRef, RegionRef))
        else s
        for n, s in enumerate(sources)
    ]
    compute(name, target, tuple(given))


@guarded_by_poison
def sub_experiment(dst: Any, src0: Any, src1: Any, count: Any) -> None:
    """dst = src0 - src1, of the first `count` elements."""
    _counted("sub", "T.tile.sub_experiment", dst, [src0, src1], count)


@guarded_by_poison
def abs_experiment(dst: Any, src: Any, count: Any) -> None:
    """dst = |src|, of the first `count` elements."""
    _counted("abs", "T.tile.abs_experiment", dst, [src], count)


@guarded_by_poison
def mins_experiment(dst: Any, src: Any, scalarValue: Any, count: Any) -> None:
    """dst = min(src, scalarValue), of the first `count` elements."""
    _counted("min", "T.tile.mins_experiment", dst, [src, scalarValue], count)


# Sums --------------------------------------------------------------------------------------------


def _scratch(like: Operand, elements: int) -> Pointer:
    count = -(-max(elements, 1) // like.block) * like.block
    return Pointer(allocate([count], like.dtype, "UB"), "rw", 0)


@guarded_by_poison
def reduce_sum_experiment(dst: Any, src: Any, *more: Any) -> None:
    """dst[0] = the sum of the first `count` elements. Before `count`, a buffer for what is in
    between may be given; else there is one."""
    function = "T.tile.reduce_sum_experiment"
    if len(more) not in (1, 2):
        raise LanguageError(f"{function} takes dst, src, a buffer that may be left out, and count")
    (to, source), kind = _vector(function, dst, src)
    (count,) = _integers(function, more[-1])
    source.need(count)
    lanes = _REPEAT_BYTES // source.bytes
    given = len(more) == 2
    space = (
        Operand(function, "the buffer", more[0], "rw").pointer
        if given
        else _scratch(source, -(-count // lanes))
    )
    _call(
        function,
        f"AscendC::ReduceSum<{kind}>",
        [to.pointer, source.pointer, space, count],
        _sum_meaning(source.dtype),
    )


@guarded_by_poison
def reduce_sum_mask_experiment(dst: Any, src: Any, *more: Any) -> None:
    """dst[0] = the sum of `mask` elements of each repeat; repeats begin srcRepStride blocks apart.
    Before these three, a buffer for what is in between may be given."""
    function = "T.tile.reduce_sum_mask_experiment"
    if len(more) not in (3, 4):
        raise LanguageError(
            f"{function} takes dst, src, a buffer that may be left out, mask, repeatTime and "
            "srcRepStride"
        )
    (to, source), kind = _vector(function, dst, src)
    mask, repeats, stride = _integers(function, *more[-3:])
    _check_mask(source, mask)
    source.need(_reach(mask, repeats, source.block, 1, stride))
    given = len(more) == 4
    space = (
        Operand(function, "the buffer", more[0], "rw").pointer
        if given
        else _scratch(source, repeats)
    )
    _call(
        function,
        f"AscendC::ReduceSum<{kind}>",
        [to.pointer, source.pointer, space, mask, repeats, stride],
        _sum_meaning(source.dtype),
    )


def _sum_meaning(dtype: str) -> Callable[..., None]:
    """Of AscendC::ReduceSum in both forms."""

    def meaning(dst: int, src: int, space: int, count: int, *repeats: int) -> None:
        memory = Memory(src, dtype)
        times, stride = repeats or (1, 0)
        step = stride * (_BLOCK_BYTES // memory.size)
        Memory(dst, dtype)[0] = math.fsum(
            memory[repeat * step + lane] for repeat in range(times) for lane in range(count)
        )

    return meaning


@guarded_by_poison
def sum_experiment(dst: Any, src: Any, sumParams: Any) -> None:
    """dst[r] = the sum of the first n elements of row r; sumParams are rows, the elements from one
    row to the next, and n."""
    from .reductions import reduce_sum
    from .tile_ops import copy

    function = "T.tile.sum_experiment"
    (to, source), _ = _vector(function, dst, src)
    rows, pitch, columns = _integers(function, *sumParams)
    source.need((rows - 1) * pitch + columns)
    total = math.prod(source.buffer.shape)
    sums, column = to.pointer.elements(rows), source.offset % pitch
    wraps = isinstance(column, int) and column + columns > pitch
    if total % pitch == 0 and not wraps:
        tile = reshape(source.buffer, [total // pitch, pitch])
        first = [source.offset // pitch, column]
        reduce_sum(RegionRef(tile, first, [rows, columns], [False, False]), sums, dim=-1)
        return
    # Rows that no view of the buffer in two dims has.
    made = allocate([rows, pitch], source.dtype, "UB")
    line = source.pointer.elements(total).buffer
    for row in range(rows):
        part = RegionRef(line, [source.offset + row * pitch], [columns], [False])
        copy(part, RegionRef(made, [row, 0], [1, columns], [True, False]))
    reduce_sum(RegionRef(made, [0, 0], [rows, columns], [False, False]), sums, dim=-1)


# Reductions of a repeat and of its blocks --------------------------------------------------------

_ORDERS = ("ORDER_VALUE_INDEX", "ORDER_INDEX_VALUE", "ORDER_ONLY_VALUE", "ORDER_ONLY_INDEX")


def _best(values: list[float], kind: str) -> int:
    pick = max if kind == "Max" else min
    return values.index(pick(values))


def _whole_meaning(kind: str, dtype: str, order: str) -> Callable[..., None]:
    def meaning(
        dst: int, src: int, mask: int, repeats: int, dst_rep: int, src_blk: int, src_rep: int
    ) -> None:
        to, memory = Memory(dst, dtype), Memory(src, dtype)
        block = _BLOCK_BYTES // memory.size
        for repeat in range(repeats):
            lanes = [memory[_lane(repeat, lane, block, src_blk, src_rep)] for lane in range(mask)]
            if kind == "Sum":
                to[repeat * dst_rep] = math.fsum(lanes)
                continue
            index = _best(lanes, kind)
            if order == "ORDER_ONLY_VALUE":
                to[repeat * dst_rep] = lanes[index]
            elif order == "ORDER_ONLY_INDEX":
                to.write(repeat * dst_rep * 4, index, 4)
            else:
                is_value_first = order == "ORDER_VALUE_INDEX"
                first = repeat * dst_rep * 2
                to[first + (not is_value_first)] = lanes[index]
                to.set_bits(first + is_value_first, index)

    return meaning


def _whole(kind: str, dst: Any, src: Any, sizes: tuple[Any, ...], order: str) -> None:
    function = f"T.tile.wholereduce{kind.lower()}"
    if order not in _ORDERS:
        raise LanguageError(f"{function} has no order {order!r}; there are {', '.join(_ORDERS)}")
    (to, source), c_name = _vector(function, dst, src)
    mask, repeats, dst_rep, src_blk, src_rep = _integers(function, *sizes)
    _check_mask(source, mask)
    source.need(_reach(mask, repeats, source.block, src_blk, src_rep))
    unit = 1 if kind == "Sum" or order == "ORDER_ONLY_VALUE" else 2
    to.need((repeats - 1) * dst_rep * unit + unit)
    name = f"tilewright::wholeReduce{kind}<AscendC::ReduceOrder::{order}, {c_name}>"
    if kind == "Sum":
        name = f"AscendC::WholeReduceSum<{c_name}>"
    _call(
        function,
        name,
        [to.pointer, source.pointer, mask, repeats, dst_rep, src_blk, src_rep],
        _whole_meaning(kind, source.dtype, order),
    )


@guarded_by_poison
def wholereducemax(
    dst: Any,
    src: Any,
    mask: Any,
    repeattimes: Any,
    dstrepstride: Any,
    srcblkstride: Any,
    srcrepstride: Any,
    ReduceOrder: str = "ORDER_VALUE_INDEX",
) -> None:
    """The largest of each repeat's `mask` elements and its number, which is stored as an integer;
    in dst they are dstrepstride pairs (or single values) apart."""
    sizes = mask, repeattimes, dstrepstride, srcblkstride, srcrepstride
    _whole("Max", dst, src, sizes, ReduceOrder)


@guarded_by_poison
def wholereducemin(
    dst: Any,
    src: Any,
    mask: Any,
    repeattimes: Any,
    dstrepstride: Any,
    srcblkstride: Any,
    srcrepstride: Any,
    ReduceOrder: str = "ORDER_VALUE_INDEX",
) -> None:
    """As wholereducemax, the smallest."""
    sizes = mask, repeattimes, dstrepstride, srcblkstride, srcrepstride
    _whole("Min", dst, src, sizes, ReduceOrder)


@guarded_by_poison
def wholereducesum(
    dst: Any,
    src: Any,
    mask: Any,
    repeattimes: Any,
    dstrepstride: Any,
    srcblkstride: Any,
    srcrepstride: Any,
) -> None:
    """The sum of each repeat's `mask` elements; in dst they are dstrepstride elements apart."""
    sizes = mask, repeattimes, dstrepstride, srcblkstride, srcrepstride
    _whole("Sum", dst, src, sizes, "ORDER_ONLY_VALUE")


def _blocks_meaning(kind: str, dtype: str) -> Callable[..., None]:
    reduce: Any = {"Max": max, "Min": min, "Sum": math.fsum}[kind]

    def meaning(
        dst: int, src: int, repeats: int, mask: int, dst_rep: int, src_blk: int, src_rep: int
    ) -> None:
        to, memory = Memory(dst, dtype), Memory(src, dtype)
        block = _BLOCK_BYTES // memory.size
        for repeat in range(repeats):
            lanes = [memory[_lane(repeat, lane, block, src_blk, src_rep)] for lane in range(mask)]
            for number in range(-(-mask // block)):
                part = lanes[number * block : (number + 1) * block]
                to[repeat * dst_rep * _BLOCKS + number] = reduce(part)

    return meaning


def _block_reduce(kind: str) -> Callable[..., None]:
    @guarded_by_poison
    def function(
        dst: Any,
        src: Any,
        repeat: Any,
        mask: Any,
        dstPepStride: Any,
        srcBlkStride: Any,
        srcRepStride: Any,
    ) -> None:
        name = f"T.tile.block_reduce_{kind.lower()}"
        (to, source), c_name = _vector(name, dst, src)
        sizes = _integers(name, repeat, mask, dstPepStride, srcBlkStride, srcRepStride)
        repeats, lanes, dst_rep, src_blk, src_rep = sizes
        _check_mask(source, lanes)
        source.need(_reach(lanes, repeats, source.block, src_blk, src_rep))
        to.need((repeats - 1) * dst_rep * _BLOCKS + -(-lanes // source.block))
        _call(
            name,
            f"AscendC::BlockReduce{kind}<{c_name}>",
            [to.pointer, source.pointer, *sizes],
            _blocks_meaning(kind, source.dtype),
        )

    function.__name__ = function.__qualname__ = f"block_reduce_{kind.lower()}"
    function.__doc__ = (
        f"One {kind.lower()} per block of a repeat's `mask` elements; in dst, repeats begin 8 "
        "dstPepStride elements apart."
    )
    return function


block_reduce_max = _block_reduce("Max")
block_reduce_min = _block_reduce("Min")
block_reduce_sum = _block_reduce("Sum")


# What spreads and fills --------------------------------------------------------------------------


def _spread_meaning(dtype: str) -> Callable[..., None]:
    def meaning(dst: int, src: int, repeats: int, block_stride: int, repeat_stride: int) -> None:
        to, memory = Memory(dst, dtype), Memory(src, dtype)
        block = _BLOCK_BYTES // memory.size
        for number in range(repeats * _BLOCKS):
            repeat, at = divmod(number, _BLOCKS)
            first = (repeat * repeat_stride + at * block_stride) * block
            for lane in range(block):
                to[first + lane] = memory[number]

    return meaning


@guarded_by_poison
def brcb(dst: Any, src: Any, repeat: Any, blk_stride: Any, rep_stride: Any) -> None:
    """Each of 8 elements per repeat fills a block of 32 bytes."""
    function = "T.tile.brcb"
    to, source = Operand(function, "destination", dst, "w"), Operand(function, "source", src, "r")
    for operand in (to, source):
        operand.take("float16", "float32", "int16", "int32")
    if to.dtype != source.dtype:
        raise LanguageError(
            f"{function} has {to.name} of {to.dtype} but {source.name} of {source.dtype}"
        )
    repeats, block_stride, repeat_stride = _integers(function, repeat, blk_stride, rep_stride)
    source.need(repeats * _BLOCKS)
    last = (repeats - 1) * repeat_stride + (_BLOCKS - 1) * block_stride
    to.need((last + 1) * to.block)
    _call(
        function,
        f"tilewright::spreadToBlocks<{_C_NAMES[to.dtype]}>",
        [to.pointer, source.pointer, repeats, block_stride, repeat_stride],
        _spread_meaning(to.dtype),
    )


brcb_experiment = brcb


@guarded_by_poison
def fill_experiment(
    dst: Any, value: Any, mask: Any, repeatTimes: Any, dstBlockStride: Any, dstRepeatStride: Any
) -> None:
    """The elements of each repeat whose bit is set in `mask` (a list of one or two integers of 64
    bits) become `value`."""
    function = "T.tile.fill_experiment"
    to = Operand(function, "destination", dst, "rw")
    to.take("float16", "float32", "int16", "int32")
    words = current().integers(mask, f"a word of the mask of {function}", signed=False)
    sizes = _integers(function, repeatTimes, dstBlockStride, dstRepeatStride)
    repeats, block_stride, repeat_stride = sizes
    lanes = [n for n in range(64 * len(words)) if words[n // 64] >> n % 64 & 1]
    if not lanes:
        raise LanguageError(f"{function} has a mask without a bit")
    _check_mask(to, lanes[-1] + 1)
    to.need(_reach(lanes[-1] + 1, repeats, to.block, block_stride, repeat_stride))

    def meaning(address: int, given: float, times: int, block: int, stride: int) -> None:
        memory = Memory(address, to.dtype)
        for repeat in range(times):
            for lane in lanes:
                memory[_lane(repeat, lane, to.block, block, stride)] = given

    bits = [f"0x{word & (1 << 64) - 1:x}ull" for word in (*words, 0)[:2]]
    name = f"tilewright::fillRepeats<{', '.join(bits)}, {_C_NAMES[to.dtype]}>"
    _call(function, name, [to.pointer, value, *sizes], meaning)


def row_expand(name: str, dst: Any, src0: Any, src1: Any) -> bool:
    """dst = src0 (add, sub, ...) one block of src1 per row; False where src1 has no blocks."""
    function = f"T.tile.row_expand_{name}_experiment"
    if not isinstance(dst, (BufferRef, RegionRef)) or not isinstance(src1, (BufferRef, RegionRef)):
        return False
    last = list(src1.shape)[-1] if len(src1.shape) > 0 else None
    rows = list(dst.shape)[-2] if len(dst.shape) > 1 else 1
    if last != _BLOCK_BYTES * 8 // dst.dtype.bits or math.prod(src1.shape) != rows * last:
        return False
    (to, a, b), c_name = _vector(function, dst, src0, src1)
    columns = to.extents[-1]
    if a.extents[-2:] != to.extents[-2:]:
        raise LanguageError(f"{function} has {to.name} of {to.extents} but {a.name} of {a.extents}")
    dtype = to.dtype
    combine: Callable[[float, float], float] = {
        "mul": lambda x, y: x * y,
        "sub": lambda x, y: x - y,
        "div": lambda x, y: x / y if y else math.copysign(math.inf, x) if x else math.nan,
    }[name]

    def meaning(
        target: int, left: int, right: int, lines: int, width: int, pitch: int, other: int
    ) -> None:
        c, x, y = (Memory(address, dtype) for address in (target, left, right))
        block = _BLOCK_BYTES // c.size
        for row in range(lines):
            for column in range(width):
                made = combine(x[row * other + column], y[row * block + column % block])
                c[row * pitch + column] = made

    call = f"tilewright::rowExpand<tilewright::Expand::{name.capitalize()}, {c_name}>"
    pointers = [
        to.rows_of(rows, columns, to.pitch),
        a.rows_of(rows, columns, a.pitch),
        b.rows_of(1, rows * last, rows * last),
    ]
    _call(f"T.tile.row_expand_{name}", call, [*pointers, rows, columns, to.pitch, a.pitch], meaning)
    return True


# Others ------------------------------------------------------------------------------------------


@guarded_by_poison
def bilinear_interpolation(
    dst: Any,
    src0: Any,
    src0_offset: Any,
    src1: Any,
    mask: Any,
    h_repeat: Any,
    repeat_mode: Any,
    dst_blk_stride: Any,
    v_r_offset: Any,
    v_repeat: Any,
    shared_tmp_buffer: Any = None,
) -> None:
    """v_repeat results, v_r_offset elements apart: each the sum of h_repeat times 8 blocks of src0,
    which begin at the byte offsets, with weights of src1: one a time or, with repeat_mode, one a
    block."""
    function = "T.tile.bilinear_interpolation"
    (to, source, weights), _ = _vector(function, dst, src0, src1)
    to.take("float16")
    offsets = Operand(function, "the offsets", src0_offset, "r")
    offsets.take("uint32")
    numbers = _integers(function, mask, h_repeat, repeat_mode, dst_blk_stride, v_r_offset, v_repeat)
    lanes, times, is_each, block_stride, step, results = numbers
    _check_mask(to, lanes)
    offsets.need(times * results * _BLOCKS)
    weights.need(times * results * (_BLOCKS if is_each else 1))
    to.need((results - 1) * step + _reach(lanes, 1, to.block, block_stride, 0))
    tmp_bytes = (math.prod(offsets.extents) + math.prod(weights.extents)) * _BLOCK_BYTES
    space = allocate([tmp_bytes], "uint8", "UB") if shared_tmp_buffer is None else shared_tmp_buffer
    most = source.bytes * (math.prod(source.buffer.shape) - (source.offset or 0)) - _BLOCK_BYTES

    def meaning(target: int, left: int, at: int, right: int, *_: Any) -> None:
        c, y, starts = Memory(target, "float16"), Memory(right, "float16"), Memory(at, "uint32")
        for result in range(results):
            for lane in range(lanes):
                block, in_block = divmod(lane, to.block)
                total = 0.0
                for time in range(times):
                    number = result * times + time
                    start = starts[number * _BLOCKS + block]
                    if start > most:
                        raise ValueError(f"offset {start} is behind the end of the source")
                    weight = y[number * _BLOCKS + block if is_each else number]
                    total += Memory(left + start, "float16")[in_block] * weight
                c[result * step + _lane(0, lane, to.block, block_stride, 0)] = total

    pointers = [to.pointer, source.pointer, offsets.pointer, weights.pointer]
    sizes = [lanes, times, bool(is_each), block_stride, step, results]
    name = "AscendC::BilinearInterpolation<half>"
    _call(function, name, [*pointers, *sizes, Pointer(space, "rw", 0)], meaning)


_CACHE_LINES = ("SINGLE_CACHE_LINE", "ENTIRE_DATA_CACHE")
_CACHES = ("CACHELINE_ALL", "CACHELINE_UB", "CACHELINE_OUT", "CACHELINE_ATOMIC")


@guarded_by_poison
def datacachecleanandinvalid_experiment(dst: Any, CacheLine: str, DcciDst: str) -> None:
    """What the scalar unit's cache holds of `dst` goes to memory and is forgotten: one line (of 64
    bytes), or all. The reference interpreter has no such cache."""
    function = "T.tile.datacachecleanandinvalid_experiment"
    for given, known in ((CacheLine, _CACHE_LINES), (DcciDst, _CACHES)):
        if given not in known:
            raise LanguageError(f"{function} has no {given!r}; there are {', '.join(known)}")
    operand = Operand(function, "destination", dst, "rw")
    kind = _C_NAMES.get(operand.dtype, f"{operand.dtype}_t")
    parts = f"{kind}, AscendC::CacheLine::{CacheLine}, AscendC::DcciDst::{DcciDst}"
    name = f"AscendC::DataCacheCleanAndInvalid<{parts}>"
    _call(function, name, [operand.pointer], lambda address: None)

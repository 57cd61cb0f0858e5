# SPDX-License-Identifier: Apache-2.0
"""Gemm whose left operand has two numbers of every four (of float32: one of every two).

The others are 0 and aren't stored. Metadata says which are there, row by row: four bits for each
group, the first one in the lowest bits of a word. Of 2:4 these are the places of the two numbers
in their group, two bits each, the first number's below; of 1:2 they are 4 for the first place and
14 for the second (PTX ISA, "Sparse matrix storage").
"""

from __future__ import annotations

from ..capture.tracer import current, guarded_by_poison
from .loops import Parallel
from .math_ops import Select, cast
from .memory import alloc_shared
from .tile_ops import GemmWarpPolicy, gemm
from .values import BufferRef, Element, LanguageError, RegionRef, unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BITS_OF_GROUP = 4


def group_of(dtype: Any) -> tuple[int, int]:
    """How many numbers are stored of how many."""
    return (1, 2) if dtype.bits == 32 else (2, 4)


def metadata_factor(dtype: Any, metadata_dtype: Any) -> int:
    """How many numbers, those that are 0 included, one word of metadata describes."""
    return int(metadata_dtype.bits) // _BITS_OF_GROUP * group_of(dtype)[1]


class _Matrix:
    """The last two dims of an operand, as it is or transposed."""

    def __init__(self, given: Any, what: str, transposed: bool) -> None:
        if isinstance(given, BufferRef):
            given = RegionRef(given, [0] * given.ndim, list(given.shape), [False] * given.ndim)
        if not isinstance(given, RegionRef) or len(given.extents) < 2:
            raise LanguageError(f"{what} of T.gemm_sp needs a buffer of two dims, or a part of one")
        self.buffer, self.offsets = given.buffer, given.offsets
        self.transposed = transposed
        rows, columns = given.extents[-2:]
        self.rows, self.columns = (columns, rows) if transposed else (rows, columns)
        if not all(isinstance(extent, int) for extent in (rows, columns)):
            raise unsupported(f"{what} of T.gemm_sp has extents that aren't known: write numbers")

    def at(self, row: Any, column: Any) -> Element:
        inner = (column, row) if self.transposed else (row, column)
        shifts = [*([0] * (len(self.offsets) - 2)), *inner]
        return Element(self.buffer, tuple(o + s for o, s in zip(self.offsets, shifts, strict=True)))


@guarded_by_poison
def gemm_sp(
    A_sparse: Any,
    E: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_E: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy | int = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    k_pack: int = 1,
    wg_wait: int = 0,
    annotations: dict[str, Any] | None = None,
) -> None:
    """C += A op(B), of which A has two numbers of every four (of float32 one of every two).

    `A_sparse` holds these, [M, K / 2], and `E` which they are, [M, K / (words' bits)] for 2:4 as
    `tilelang.utils.sparse.compress` makes it. A is unpacked to a tile of its own for `T.gemm`.
    """
    sparse = _Matrix(A_sparse, "A", bool(transpose_A))
    words = _Matrix(E, "E", bool(transpose_E))
    dtype = sparse.buffer.dtype
    _check(sparse, words)
    stored, of = group_of(dtype)
    covered = metadata_factor(dtype, words.buffer.dtype)
    depth = sparse.columns // stored * of
    tracer = current()
    tracer.pending_name = "unpacked"
    dense = alloc_shared((sparse.rows, depth), dtype)
    loop = Parallel(sparse.rows, depth)
    row, column = loop.enter(tracer, ["row", "column"])
    group, place = column // of, column % of
    word = tracer.expression(words.at(row, column // covered))
    bits = word >> (column % covered // of * _BITS_OF_GROUP)
    value = cast(0, dtype)
    for number in reversed(range(stored)):
        here = (bits >> (2 * number)) & 3 if stored > 1 else (bits >> 1) & 1
        held = tracer.expression(sparse.at(row, group * stored + number))
        value = Select(here == place, held, value)
    tracer.store(Element(dense, (row, column)), value)
    loop.leave(tracer)
    gemm(dense, B, C, False, transpose_B, policy, clear_accum, k_pack)


def _check(sparse: _Matrix, words: _Matrix) -> None:
    dtype, kind = sparse.buffer.dtype, words.buffer.dtype
    if dtype.bits not in (8, 16, 32) or (dtype.bits == 32 and str(dtype) != "float32"):
        raise unsupported(f"T.gemm_sp of {dtype} is not supported; use 8 or 16 bits, or float32")
    if str(kind).removeprefix("u") not in ("int8", "int16", "int32"):
        raise LanguageError(f"E of T.gemm_sp holds integers of 8 to 32 bits, not {kind}")
    stored, of = group_of(dtype)
    depth, covered = sparse.columns // stored * of, metadata_factor(dtype, kind)
    if (
        sparse.columns % stored
        or depth % covered
        or (words.rows, words.columns)
        != (
            sparse.rows,
            depth // covered,
        )
    ):
        raise LanguageError(
            f"T.gemm_sp: A has {sparse.rows} rows of {sparse.columns} numbers, which stand for "
            f"{depth}; a word of {kind} describes {covered} of these, but E has "
            f"{words.rows} rows of {words.columns} words"
        )
    if any(words.buffer is buffer for buffer in current().hints.get("metadata layout", ())):
        raise unsupported(
            f"the order of CUTLASS's metadata, which '{words.buffer.name}' is annotated with, is "
            "not supported; T.gemm_sp takes it row by row, as tilelang.utils.sparse.compress does"
        )

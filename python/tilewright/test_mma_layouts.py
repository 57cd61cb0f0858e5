# SPDX-License-Identifier: Apache-2.0
"""The index maps of GPUs' matrix instructions, against PTX's description of the fragments."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.intrinsics as maps
import tilewright.language as T


def fragment(bits: int) -> dict[tuple[int, int], tuple[int, int]]:
    """(row, column) of the first operand to (thread, number), as PTX says: a thread of group
    thread / 4 has elements of the rows `group` and `group + 8`, neighbours in one register."""
    each = 32 // bits
    found = {}
    for thread in range(32):
        group, within = divmod(thread, 4)
        for number in range(4 * each):
            row = group if number // each % 2 == 0 else group + 8
            column = within * each + number % each + (4 * each if number >= 2 * each else 0)
            found[row, column] = (thread, number)
    return found


def test_first_operands():
    for bits, width, forwards in (
        (16, 16, maps.shared_16x16_to_mma_32x8_layout),
        (8, 32, maps.shared_16x32_to_mma_32x16_layout),
    ):
        expected = fragment(bits)
        assert len(expected) == 16 * width
        for i, j in np.ndindex(16, width):
            assert forwards(i, j) == expected[i, j]


def test_second_operands():
    """Of 16 bits the transposed tile; of 8 bits 8 columns after the other, 16 rows below 16."""
    for i, j in np.ndindex(16, 16):
        assert maps.shared_16x16_to_mma_32x8_layout_rs(i, j) == fragment(16)[j, i]
    seen = set()
    for thread, number in np.ndindex(32, 16):
        group, within = divmod(thread, 4)
        block, number_there = divmod(number, 8)
        row = within * 4 + number_there % 4 + (16 if number_there >= 4 else 0)
        place = (row, group + 8 * block)
        assert maps.shared_32x16_to_mma_32x16_layout(*place) == (thread, number)
        seen.add(place)
    assert len(seen) == 512


def test_ways_back():
    for i, j in np.ndindex(16, 16):
        thread, number = maps.shared_16x16_to_mma_32x8_layout_sr(i, j)
        assert maps.mma_32x8_to_shared_16x16_layout(thread, number) == (i, j)
        assert maps.mma_store_index_map(thread, number) == (i, j)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("ldmatrix_32x8_to_shared_16x16_layout", 8),
        ("ldmatrix_trans_32x8_to_shared_16x16_layout", 8),
        ("ldmatrix_32x16_to_shared_16x32_layout_a", 16),
        ("ldmatrix_32x16_to_shared_16x32_layout_b", 16),
        ("ldmatrix_16x32_to_shared_16x32_layout_a", 16),
        ("ldmatrix_16x32_to_shared_16x32_layout_b", 16),
    ],
)
def test_rows_for_ldmatrix(name, numbers):
    """Each thread names one of 32 rows of 16 bytes; threads 0 to 7 those of the first matrix."""
    layout = getattr(maps, name)
    places = {layout(thread, number) for thread, number in np.ndindex(32, numbers)}
    assert places == set(np.ndindex(16, 2 * numbers))
    is_second = "trans" in name or name.endswith("_b")
    for thread in range(32):
        halves = thread // 16, thread // 8 % 2
        lower, right = halves if is_second else halves[::-1]
        expected = [(8 * lower + thread % 8, numbers * right + n) for n in range(numbers)]
        assert [layout(thread, n) for n in range(numbers)] == expected


def test_offsets_for_ldmatrix():
    assert maps.get_ldmatrix_offset("A", 17, 0, 64) == 1 * 64 + 8
    assert maps.get_ldmatrix_offset("B", 17, 0, 64, transposed=True) == 9 * 64
    assert maps.get_ldmatrix_offset("A", 17, 3, 64, "int8") == 1 * 64 + 19
    assert maps.get_ldmatrix_offset("B", 9, 3, 64, "int8", transposed=True) == 1 * 64 + 19
    allowed = (
        ": it is of A or B of 16 bits, of A of 8 bits as it lies, and of B of 8 bits transposed"
    )
    with pytest.raises(ValueError, match="of 'B' of int8 as it lies" + allowed):
        maps.get_ldmatrix_offset("B", 0, 0, 64, "int8")
    with pytest.raises(ValueError, match="of 'A' of float32 transposed" + allowed):
        maps.get_ldmatrix_offset("A", 0, 0, 64, "float32", transposed=True)


def test_smooth_layouts():
    for i, j in np.ndindex(16, 16):
        assert maps.shared_16x16_to_mma_32x8_smoothlayout(i, j) == divmod(i * 16 + j, 8)
    for i, j in np.ndindex(16, 32):
        assert maps.shared_16x32_to_mma_32x16_smoothlayout(i, j) == divmod(i * 32 + j, 16)


def test_in_a_kernel():
    """A tile, and its fragments as they would lie, by the names of TileLang's module."""
    from tilelang.intrinsics.mma_layout import shared_16x16_to_mma_32x8_layout as to_mma

    @T.prim_func
    def kernel(A: T.Tensor((16, 16), "float16"), B: T.Tensor((32, 8), "float16")):
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(16, 16):
                thread, number = to_mma(i, j)
                B[thread, number] = A[i, j]

    given = np.arange(256, dtype=np.float16).reshape(16, 16)
    result = np.zeros((32, 8), np.float16)
    tilewright.compile(kernel)(given, result)
    for place, (thread, number) in fragment(16).items():
        assert result[thread, number] == given[place]


@pytest.mark.parametrize("width", [32, 64, 96, 256])
def test_swizzle_of_an_operand(width):
    """Of rows of whole 64 bytes; groups of 16 bytes change places in a row."""

    class Tile:
        shape, dtype = (2, 16, width), tilewright.DataType("float16")

    layout = maps.make_mma_swizzle_layout(Tile)
    groups = 8 if width % 64 == 0 else 4
    for i, j in np.ndindex(16, width):
        moved = (j // 8 ^ i % groups) * 8 + j % 8
        assert layout(1, i, j) == [1, i, moved]

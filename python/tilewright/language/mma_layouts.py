# SPDX-License-Identifier: Apache-2.0
"""How the 32 threads of a GPU's warp hold the matrices that they multiply together (PTX's mma and
ldmatrix): index maps, of numbers or of values of a kernel. A map `shared_.._to_mma_..` gives the
thread and the place among its elements of the element (i, j) of a tile; the others go back.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Pair = tuple[Any, Any]


def shared_16x16_to_mma_32x8_layout_sr(i: Any, j: Any) -> Pair:
    """Of elements of 16 bits: four threads share a row of 8, two elements each."""
    return i % 8 * 4 + j % 8 // 2, j // 8 * 4 + i // 8 * 2 + j % 2


def shared_16x16_to_mma_32x8_layout_rs(i: Any, j: Any) -> Pair:
    """The same of the transposed tile."""
    return shared_16x16_to_mma_32x8_layout_sr(j, i)


shared_16x16_to_mma_32x8_layout = shared_16x16_to_mma_32x8_layout_sr
shared_16x16_to_mma_32x8_layout_trans = shared_16x16_to_mma_32x8_layout_rs


def mma_32x8_to_shared_16x16_layout(thread_id: Any, local_id: Any) -> Pair:
    """Back from `shared_16x16_to_mma_32x8_layout`."""
    upper, right = local_id // 2 % 2, local_id // 4
    return upper * 8 + thread_id // 4, right * 8 + thread_id % 4 * 2 + local_id % 2


mma_store_32x8_to_shared_16x16_layout = mma_32x8_to_shared_16x16_layout


def shared_16x32_to_mma_32x16_layout(i: Any, j: Any) -> Pair:
    """Of elements of 8 bits: four threads share a row of 16, four elements each."""
    return i % 8 * 4 + j % 16 // 4, j // 16 * 8 + i // 8 * 4 + j % 4


def shared_32x16_to_mma_32x16_layout(i: Any, j: Any) -> Pair:
    """Of elements of 8 bits, columns of 16: the second operand as it lies."""
    return j % 8 * 4 + i % 16 // 4, j // 8 * 8 + i // 16 * 4 + i % 4


def shared_16x16_to_mma_32x8_smoothlayout(i: Any, j: Any) -> Pair:
    """Half of a row to each thread."""
    return i * 2 + j // 8, j % 8


def shared_16x32_to_mma_32x16_smoothlayout(i: Any, j: Any) -> Pair:
    """Half of a row to each thread."""
    return i * 2 + j // 16, j % 16


shared_32x16_to_mma_32x16_smoothlayout = shared_16x32_to_mma_32x16_smoothlayout


def ldmatrix_32x8_to_shared_16x16_layout(thread_id: Any, local_id: Any) -> Pair:
    """What each thread names for ldmatrix: a row of 8, all 16 rows of the left half first."""
    return thread_id % 16, thread_id // 16 * 8 + local_id % 8


def ldmatrix_trans_32x8_to_shared_16x16_layout(thread_id: Any, local_id: Any) -> Pair:
    """The same, the 8 upper rows of both halves first."""
    return thread_id // 16 * 8 + thread_id % 8, thread_id % 16 // 8 * 8 + local_id % 8


def ldmatrix_32x16_to_shared_16x32_layout_a(thread_id: Any, local_id: Any) -> Pair:
    """As `ldmatrix_32x8_to_shared_16x16_layout`, of elements of 8 bits."""
    return thread_id % 16, thread_id // 16 * 16 + local_id


def ldmatrix_32x16_to_shared_16x32_layout_b(thread_id: Any, local_id: Any) -> Pair:
    """As `ldmatrix_trans_32x8_to_shared_16x16_layout`, of elements of 8 bits."""
    return thread_id // 16 * 8 + thread_id % 8, thread_id % 16 // 8 * 16 + local_id


def ldmatrix_16x32_to_shared_16x32_layout_a(thread_id: Any, local_id: Any) -> Pair:
    """As `ldmatrix_32x16_to_shared_16x32_layout_a`, of any number."""
    return ldmatrix_32x16_to_shared_16x32_layout_a(thread_id, local_id % 16)


def ldmatrix_16x32_to_shared_16x32_layout_b(thread_id: Any, local_id: Any) -> Pair:
    """As `ldmatrix_32x16_to_shared_16x32_layout_b`, of any number."""
    return ldmatrix_32x16_to_shared_16x32_layout_b(thread_id, local_id % 16)


def mma_store_index_map(thread_id: Any, local_id: Any) -> Pair:
    """Where a thread's results lie in a tile of 16 x 16."""
    return mma_32x8_to_shared_16x16_layout(thread_id, local_id)


def get_ldmatrix_offset(
    matrix: str,
    row_idx: Any,
    col_idx: Any,
    stride: Any,
    dtype: Any = "float16",
    transposed: bool = False,
) -> Any:
    """Where what a thread (`row_idx`) names begins, in a tile of rows of `stride` elements of 16 or
    8 bits; of 8 bits only A as it lies and B transposed."""
    from .dtypes import to_dtype

    bits = to_dtype(dtype).bits
    forms: dict[Any, Any] = {
        (16, False): ldmatrix_32x8_to_shared_16x16_layout,
        (16, True): ldmatrix_trans_32x8_to_shared_16x16_layout,
        (8, False): ldmatrix_32x16_to_shared_16x32_layout_a if matrix == "A" else None,
        (8, True): ldmatrix_32x16_to_shared_16x32_layout_b if matrix == "B" else None,
    }
    form = forms.get((bits, bool(transposed)))
    if matrix not in ("A", "B") or form is None:
        way = "transposed" if transposed else "as it lies"
        raise ValueError(
            f"get_ldmatrix_offset of {matrix!r} of {dtype} {way}: it is of A or B of 16 bits, of A "
            "of 8 bits as it lies, and of B of 8 bits transposed"
        )
    row, column = form(row_idx, col_idx)
    return row * stride + column


__all__ = [name for name in dir() if "_to_" in name and not name.startswith("_")]
__all__ += ["get_ldmatrix_offset", "mma_store_index_map"]

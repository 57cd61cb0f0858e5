# SPDX-License-Identifier: Apache-2.0
"""What functions of T.tile become: Ascend C's own instructions, without tiles besides."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T

Array = np.ndarray[Any, Any]
random = np.random.default_rng(41)
AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}


def built(function: Any) -> Any:
    return tilewright.compile(function, target="ascend", pass_configs=AUTOMATIC)


def statements(kernel: Any) -> list[str]:
    """Calls of the vector unit, without barriers."""
    calls = re.findall(r"^ +(\w+\(.*\));$", kernel.get_kernel_source(), re.MULTILINE)
    return [call for call in calls if not re.match("copy|KERNEL|[A-Za-z]*Flag|PipeBarrier", call)]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("columns", [64, 20])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_broadcast_is_made_in_its_destination(dtype: str, columns: int, axis: int) -> None:
    rows = 9
    size = columns if axis == 0 else rows

    @T.prim_func
    def main(A: T.Tensor((size,), dtype), C: T.Tensor((rows, columns), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            m = T.alloc_ub((size,), dtype)
            b = T.alloc_ub((rows, columns), dtype)
            T.copy(A, m)
            T.tile.broadcast(b, m, axis=axis)
            T.copy(b, C)

    kernel = built(main)
    assert [call.split("(")[0] for call in statements(kernel)][-1] == (
        "broadcastColumns" if axis == 0 else "broadcastRows"
    )
    assert " t = " not in kernel.get_kernel_source()
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    a = (random.integers(-100, 100, size) / 4).astype(kind)
    c = np.zeros((rows, columns), a.dtype)
    kernel(a, c)
    np.testing.assert_array_equal(c, np.broadcast_to(a if axis == 0 else a[:, None], c.shape))


def test_a_broadcast_needs_no_second_tile() -> None:
    """Two tiles of 64 KiB and one number for each row leave room for no third."""

    @T.prim_func
    def main(A: T.Tensor((64, 256), "float32"), C: T.Tensor((64, 256), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((64, 256), "float32")
            b = T.alloc_ub((64, 256), "float32")
            m = T.alloc_ub((64,), "float32")
            T.copy(A, a)
            T.reduce_max(a, m, dim=-1)
            T.tile.broadcast(b, m)
            T.tile.sub(a, a, b)
            T.copy(a, C)

    a = random.standard_normal((64, 256)).astype(np.float32)
    c = np.zeros_like(a)
    built(main)(a, c)
    np.testing.assert_array_equal(c, a - a.max(axis=1, keepdims=True))


def test_a_broadcast_over_rows_longer_than_a_stride() -> None:
    """Instructions count at most 255 blocks from one row to the next."""

    @T.prim_func
    def main(A: T.Tensor((3,), "float32"), C: T.Tensor((3, 4100), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            m = T.alloc_ub((3,), "float32")
            b = T.alloc_ub((3, 4100), "float32")
            T.copy(A, m)
            T.tile.broadcast(b, m)
            T.copy(b, C)

    a = random.standard_normal(3).astype(np.float32)
    c = np.zeros((3, 4100), np.float32)
    built(main)(a, c)
    np.testing.assert_array_equal(c, np.broadcast_to(a[:, None], c.shape))

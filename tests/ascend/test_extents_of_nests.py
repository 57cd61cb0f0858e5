# SPDX-License-Identifier: Apache-2.0
"""What is told of nests whose extents no vector instruction has."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import tilewright
import tilewright.language as T

CONFIGS = {tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
SCALAR = "this nest runs element by element on the scalar unit: "


@T.prim_func
def of_one(A: T.Tensor((64,), "float32"), n: T.int32):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((64,), "float32")
        T.copy(A, a)
        for i in T.Parallel(n):
            a[i] = a[i] + 1.0
        T.copy(a, A)


@T.prim_func
def of_two(A: T.Tensor((4, 64), "float32"), n: T.int32):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((4, 64), "float32")
        T.copy(A, a)
        for i, j in T.Parallel(4, n):
            a[i, j] = a[i, j] + 1.0
        T.copy(a, A)


@pytest.mark.parametrize("kernel", [of_one, of_two])
def test_the_reason(kernel: Any) -> None:
    """Of the second one the rows are a loop's."""
    reason = "its extent is known at run time only"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tilewright.compile(kernel, target="ascend", pass_configs=CONFIGS)
    assert [str(each.message) for each in told if SCALAR in str(each.message)] == [SCALAR + reason]

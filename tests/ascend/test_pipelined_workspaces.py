# SPDX-License-Identifier: Apache-2.0
"""What the cores hand to each other in a pipelined loop goes through several tiles in turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.profiling.ascend_time import modelled_time

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
SIDE, PARTS = 64, 6


def sum_of_products(stages: int) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((PARTS, SIDE, SIDE), "float16"), C: T.Tensor((SIDE, SIDE), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_shared((SIDE, SIDE), "float16")
            product = T.alloc_fragment((SIDE, SIDE), "float32")
            part = T.alloc_ub((SIDE, SIDE), "float32")
            total = T.alloc_ub((SIDE, SIDE), "float32")
            T.tile.fill(total, 0.0)
            for k in T.Pipelined(PARTS, num_stages=stages):
                T.copy(A[k, 0, 0], a)
                T.gemm_v0(a, a, product, init=True)
                T.copy(product, part)
                for i, j in T.Parallel(SIDE, SIDE):
                    total[i, j] = total[i, j] + T.exp(part[i, j] * 0.0) * part[i, j]
            T.copy(total, C)

    return tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)


@pytest.mark.parametrize("stages", [1, 2])
def test_numbers(stages: int) -> None:
    kernel = sum_of_products(stages)
    a = np.random.default_rng(2).integers(-3, 4, (PARTS, SIDE, SIDE)).astype(np.float16)
    result = np.zeros((SIDE, SIDE), np.float32)
    kernel(a, result)
    wide = a.astype(np.float64)
    np.testing.assert_array_equal(result, (wide @ wide).sum(0))
    assert f"workspace_0[cid * {stages * SIDE * SIDE}" in kernel.get_kernel_source()


def test_the_cores_overlap() -> None:
    a = np.zeros((PARTS, SIDE, SIDE), np.float16)
    result = np.zeros((SIDE, SIDE), np.float32)
    times = [modelled_time(sum_of_products(stages), a, result) for stages in (1, 2)]
    assert times[0] is not None and times[1] is not None
    assert times[1].core < 0.9 * times[0].core

# SPDX-License-Identifier: Apache-2.0
"""A scope of the cube core that only stores elements of tensors: it is work, too."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.testing import interpret

LINES = 4 * 16 * np.arange(4)[:, None] + np.arange(16)


def stores(threads):
    """Each block has cache lines of its own: (4, 16) elements of 4 bytes."""
    keywords = {} if threads is None else {"threads": threads}

    @T.prim_func
    def main(O: T.Tensor((4, 16), "int32")):  # noqa: E741
        with T.Kernel(4, is_npu=True, **keywords) as block:
            cid = block[0] if threads is None else block
            with T.Scope("C"):
                for j in T.serial(16):
                    O[cid, j] = cid * 64 + j

    return main


@pytest.mark.parametrize("threads", [None, 1])
def test_a_scope_of_element_stores_runs_on_the_cube_core(threads):
    kernel = tilewright.compile(stores(threads), target="ascend")
    assert "KERNEL_TYPE_AIC_ONLY" in kernel.get_kernel_source()
    ours, interpreted = np.zeros((4, 16), np.int32), np.zeros((4, 16), np.int32)
    kernel(ours)
    interpret(stores(threads), interpreted)
    assert np.array_equal(ours, LINES) and np.array_equal(interpreted, LINES)


@T.prim_func
def beside(
    A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32"), C: T.Tensor((16,), "int32")
):
    with T.Kernel(1, is_npu=True) as (_, vid):
        tile = T.alloc_ub((16,), "float32")
        with T.Scope("C"):
            C[3] = 5
        with T.Scope("V"):
            if vid == 0:
                T.copy(A, tile)
                T.tile.add(tile, tile, 1.0)
                T.copy(tile, B)


@pytest.mark.parametrize("configs", [{}, {"tl.ascend_auto_sync": True}])
def test_such_a_scope_beside_vector_work(configs):
    if not configs:

        @T.prim_func
        def main(C: T.Tensor((16,), "int32"), D: T.Tensor((16,), "int32")):
            with T.Kernel(1, is_npu=True, threads=1):
                with T.Scope("C"):
                    C[3] = 5
                with T.Scope("V"):
                    D[2] = 7

        c, d = np.zeros(16, np.int32), np.zeros(16, np.int32)
        tilewright.compile(main, target="ascend", pass_configs=configs)(c, d)
        assert c.tolist() == [0, 0, 0, 5] + [0] * 12 and d.tolist() == [0, 0, 7] + [0] * 13
        return
    a, b, c = np.arange(16, dtype=np.float32), np.zeros(16, np.float32), np.zeros(16, np.int32)
    kernel = tilewright.compile(beside, target="ascend", pass_configs=configs)
    assert "KERNEL_TYPE_MIX_AIC_1_2" in kernel.get_kernel_source()
    kernel(a, b, c)
    assert np.array_equal(b, a + 1) and c.tolist() == [0, 0, 0, 5] + [0] * 12

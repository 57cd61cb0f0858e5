# SPDX-License-Identifier: Apache-2.0
"""Meetings of all cores beside flags between them: what the checker can't follow is the host's."""

from __future__ import annotations

import tilewright
import tilewright.language as T

KEYS = tilewright.PassConfigKey
CONFIGS = {KEYS.TL_ASCEND_AUTO_SYNC: True, KEYS.TL_ASCEND_MEMORY_PLANNING: True}


def test_each_kind_of_core_meets_in_its_own_scope() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((64,), "float32"),
        C: T.Tensor((64,), "float32"),
        E: T.Tensor((32, 32), "float16"),
    ):
        with T.Kernel(1, is_npu=True, threads=1):
            part = T.alloc_ub((64,), "float32")
            after = T.alloc_ub((64,), "float32")
            tile = T.alloc_L1((32, 32), "float16")
            with T.Scope("V"):
                T.copy(A, part)
                T.copy(part, C)
                T.sync_all()
                T.sync_all()
                T.copy(C, after)
                T.copy(after, A)
                T.wait_cross_flag(0)
            with T.Scope("C"):
                T.sync_all()
                T.copy(E, tile)
                T.set_cross_flag("FIX", 0)
                T.sync_all()

    source = tilewright.compile(main, target="ascend", pass_configs=CONFIGS).get_kernel_source()
    assert source.count("SyncAll") == 4

# SPDX-License-Identifier: Apache-2.0
"""What the kernel gives no name is called by its use in the text."""

from __future__ import annotations

import re

import tilewright
import tilewright.language as T


@T.prim_func
def main(  # type: ignore[no-untyped-def]
    A: T.Tensor((100, 64), "float32"),
    P: T.Tensor((16,), "int32"),
    C: T.Tensor((100, 64), "float32"),
    n: T.int32,
):
    with T.Kernel(4, is_npu=True, threads=1) as cid:
        a = T.alloc_ub((32, 64), "float32")
        p = T.alloc_ub((16,), "int32")
        T.copy(A[cid * 32, 0], a)
        T.copy(P, p)
        for i in T.serial(16):
            T.copy(a[p[i], 0:64], a[p[i] + 1, 0:64])
        if n * 3 + cid > 7:
            T.tile.add(a, a, 1.0)
        T.copy(a, C[cid * 32, 0])


def test_names() -> None:
    configs = {tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
    text = tilewright.compile(main, target="ascend", pass_configs=configs).get_kernel_source()
    names = re.findall(r"^ +const \w+ (\w+) = ", text, re.M)
    assert "rows" in names
    assert "p_value" in names
    assert [name for name in names if re.fullmatch(r"v(_\d+)?", name)] == []
    assert "C[cid * 32 * 64]" in text

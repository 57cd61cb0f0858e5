# SPDX-License-Identifier: Apache-2.0
"""Names in the text: what the kernel gives no name is called by its use, and no name of the
kernel's means something else in C++."""

from __future__ import annotations

import re

import numpy as np

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


@T.prim_func
def reserved(  # type: ignore[no-untyped-def]
    A: T.Tensor((32,), "float32"),
    C: T.Tensor((32,), "float32"),
    half: T.float32,
    min: T.int32,  # noqa: A002
    max: T.int32,  # noqa: A002
    new: T.float32,
    default: T.float32,
    double: T.float32,
    Add: T.float32,
    main: T.float32,
    unix: T.float32,
    NULL: T.float32,
    slots: T.int32,
    workspace: T.float32,
    int64_t: T.int32,
    A_gm: T.float32,
):
    with T.Kernel(slots, is_npu=True, threads=1) as cid:
        a = T.alloc_ub((8,), "float32")
        T.copy(A[cid * 8], a)
        T.tile.mul(a, a, half + new + default + double + Add + main + unix + NULL + workspace)
        T.tile.add(a, a, A_gm)
        if cid > min:
            T.tile.add(a, a, 10.0)
        if cid > max + int64_t:
            T.tile.add(a, a, 100.0)
        T.copy(a, C[cid * 8])


def test_scalar_arguments() -> None:
    """One by one in the text's signature, in its body and in what the host makes of the grid."""
    a, c = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    numbers = [0.5, 0, 1, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 4, 8.0, 1, 0.25]
    configs = {tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
    tilewright.compile(reserved, target="ascend", pass_configs=configs)(a, c, *numbers)
    block = np.arange(32) // 8
    np.testing.assert_array_equal(c, a * 36.5 + 0.25 + 10 * (block > 0) + 100 * (block > 2))


@T.prim_func
def divided(  # type: ignore[no-untyped-def]
    A: T.Tensor((4, 8, 16), "float32"), C: T.Tensor((4, 8, 16), "float32"), n: T.int32
):
    with T.Kernel(32, is_npu=True, threads=1) as cid:
        a = T.alloc_ub((16,), "float32")
        T.copy(A[cid // 8, cid % 8, 0], a)
        T.tile.add(a, a, T.cast((n - cid) // 4 * 100 + (n - cid) % 4, "float32"))
        T.copy(a, C[cid // 8, cid % 8, 0])


def test_divisions() -> None:
    """By powers of two they stay what they are; of numbers below 0 they round down, by a shift."""
    a = np.random.default_rng(0).standard_normal((4, 8, 16)).astype(np.float32)
    c = np.zeros_like(a)
    configs = {tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
    kernel = tilewright.compile(divided, target="ascend", pass_configs=configs)
    kernel(a, c, 10)
    left = 10 - np.arange(32).reshape(4, 8, 1)
    expected = a.astype(np.float64) + left // 4 * 100 + left % 4
    np.testing.assert_allclose(c, expected, rtol=1e-5)
    text = kernel.get_kernel_source()
    assert "cid / 8" in text
    assert "cid % 8" in text
    assert ">> 2" in text

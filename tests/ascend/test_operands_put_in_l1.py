# SPDX-License-Identifier: Apache-2.0
"""Tiles of T.alloc_L1 with which something is done that only vector cores can: it is done in UB,
and all of the tile goes on to L1, as for T.alloc_shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning, UnsupportedError

random = np.random.default_rng(47)
GROUP = KernelGroup(tolerance=5e-3)

FORMS = (
    "columns",
    "rows",
    "number",
    "part",
    "below",
    "beside",
    "nest",
    "turned",
    "relu",
    "converted",
)


def operand(form: str, product: str = "gemm", alloc: str = "L1", threads: int | None = 1) -> Any:
    """C = a W, where `a` becomes in one of these ways what it is."""
    allocate = T.alloc_L1 if alloc == "L1" else T.alloc_shared

    @T.prim_func
    def main(
        A: T.Tensor((64, 20), "float16"),
        B: T.Tensor((32, 64), "float16"),
        W: T.Tensor((64, 32), "float16"),
        I: T.Tensor((32,), "int32"),  # noqa: E741
        Z: T.Tensor((64, 32), "float16"),
        F: T.Tensor((32, 64), "float32"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=threads) as _:
            a = allocate((32, 64), "float16")
            w = allocate((64, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            T.copy(W, w)
            if form == "columns":
                T.copy(B, a)
                T.copy(A[0:32, 0:20], a[:, 0:20])
            elif form == "rows":
                picked = T.alloc_ub((32,), "int32")
                T.copy(I, picked)
                for i in T.serial(32):
                    T.copy(B[picked[i], :], a[i, :])
            elif form == "nest":
                indices = T.alloc_ub((32,), "int32")
                T.copy(I, indices)
                for i, j in T.Parallel(32, 64):
                    a[i, j] = B[indices[i], j] * 2
            elif form == "number":
                T.fill(a, 1.5)
            elif form == "part":
                T.copy(B, a)
                T.clear(a[8:24, :])
            elif form == "turned":
                T.copy(Z, a, transpose=True)
            elif form == "relu":
                T.copy(B, a, enable_relu=True)
            elif form == "converted":
                T.copy(F, a)
            elif form == "below":
                T.copy(B[16:48, :], a, pad_value=2.0)
            else:
                T.copy(B[:, 32:96], a, pad_value=2.0)
            if product == "gemm":
                T.gemm_v0(a, w, c, init=True)
            else:
                a0 = T.alloc_L0A((32, 64), "float16")
                b0 = T.alloc_L0B((64, 32), "float16")
                T.copy(a, a0)
                T.copy(w, b0)
                T.mma(a0, b0, c, init=True)
            T.copy(c, C)

    return main


def made(form: str, a: Any, b: Any, picked: Any) -> Any:
    tile = b.astype(np.float64)
    if form == "columns":
        tile[:, :20] = a[:32]
    elif form == "rows":
        tile = tile[picked]
    elif form == "turned":
        tile = W.T.astype(np.float64)
    elif form == "relu":
        tile = np.maximum(tile, 0)
    elif form == "converted":
        tile = np.float16(F).astype(np.float64)
    elif form == "nest":
        tile = tile[picked] * 2
    elif form == "number":
        tile[:] = 1.5
    elif form == "part":
        tile[8:24] = 0
    elif form == "below":
        tile = np.concatenate([tile[16:], np.full((16, 64), 2.0)])
    else:
        tile = np.concatenate([tile[:, 32:], np.full((32, 32), 2.0)], axis=1)
    return tile


A = random.uniform(-1, 1, (64, 20)).astype(np.float16)
B = random.uniform(-1, 1, (32, 64)).astype(np.float16)
W = random.uniform(-1, 1, (64, 32)).astype(np.float16)
PICKED = random.integers(0, 32, 32).astype(np.int32)
F = random.uniform(-1, 1, (32, 64)).astype(np.float32)
WAYS = (("gemm", "L1", 1), ("mma", "L1", 1), ("gemm", "shared", 2), ("mma", "shared", 1))
for form in FORMS:
    for product, alloc, threads in WAYS:
        GROUP.add(
            f"{form} {product} {alloc}",
            operand(form, product, alloc, threads),
            [A, B, W, PICKED, W, F, np.zeros((32, 32), np.float32)],
            made(form, A, B, PICKED) @ W.astype(np.float64),
        )


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    case = GROUP.check(name)
    assert [each for each in case.told if "columns" in each] == []
    assert "copyGmToL1(" in case.ascendc  # W, at least


def test_a_pad_that_is_never_read_needs_no_vector_core() -> None:
    @T.prim_func
    def main(
        B: T.Tensor((32, 64), "float16"),
        W: T.Tensor((64, 32), "float16"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((32, 64), "float16")
            w = T.alloc_L1((64, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            T.copy(W, w)
            T.copy(B, a, pad_value=2.0)
            T.gemm_v0(a, w, c, init=True)
            T.copy(c, C)

    assert (
        "Ub("
        not in tilewright.compile(
            main, target="ascend", pass_configs=GROUP.configs
        ).get_kernel_source()
    )


IN_SCOPE = {
    "number": "unsupported on ascend: a fill of a buffer in L1, but of all of it with 0; fill a "
    "tile of T.alloc_ub and copy it to L1, which vector cores do",
    "below": "unsupported on ascend: a load to L1 that is cut by the tensor's edge is padded with "
    "0 only; load to a tile of T.alloc_ub and copy it to L1, which vector cores do",
}


@pytest.mark.parametrize("form", IN_SCOPE)
def test_by_hand_the_way_out_is_named(form: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        tilewright.compile(operand(form), target="ascend")
    assert IN_SCOPE[form] in str(caught.value)


def test_without_a_split_a_product_of_these_columns_is_right() -> None:
    """Vector cores have no part in such a kernel; the columns behind are none of the product's."""

    @T.prim_func
    def main(
        A: T.Tensor((32, 84), "float16"),
        B: T.Tensor((84, 32), "float16"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((32, 64), "float16")
            b = T.alloc_L1((64, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            T.copy(A[:, 0:64], a)
            T.copy(B[0:64, :], b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(A[:, 64:84], a[:, 0:20])
            T.copy(B[64:84, :], b[0:20, :])
            T.gemm_v0(a[:, 0:20], b[0:20, :], c)
            T.copy(c, C)

    configs = {tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
    with pytest.warns(TilewrightWarning, match="this copy of 20 columns writes 0 to the next 12"):
        kernel = tilewright.compile(main, out_idx=[2], target="ascend", pass_configs=configs)
    a = random.uniform(-1, 1, (32, 84)).astype(np.float16)
    b = random.uniform(-1, 1, (84, 32)).astype(np.float16)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(kernel(a, b), wanted, rtol=1e-3, atol=1e-3)
    assert "Ub(" not in kernel.get_kernel_source()

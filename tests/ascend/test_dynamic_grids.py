# SPDX-License-Identifier: Apache-2.0
"""Kernels whose extents, grids and loops are known when they are called, on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning
from tilewright.testing import interpret

random = np.random.default_rng(23)

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
BLOCK, K, N = 32, 48, 32


def gemm_add() -> Any:
    """From the cube core straight to a tile of the vector cores, in a grid of unknown extent."""
    M = T.symbolic("M")

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        D: T.Tensor((M, N), "float32"),
        C: T.Tensor((M, N), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(T.ceildiv(M, BLOCK), threads=2, is_npu=True) as cid:
            a = T.alloc_shared((BLOCK, K), "float16")
            b = T.alloc_shared((K, N), "float16")
            c = T.alloc_fragment((BLOCK, N), "float32")
            x = T.alloc_shared((BLOCK, N), "float32")
            y = T.alloc_shared((BLOCK, N), "float32")
            T.copy(A[cid * BLOCK, 0], a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, x)
            T.copy(D[cid * BLOCK, 0], y)
            T.tile.add(x, x, y)
            T.copy(x, C[cid * BLOCK, 0])

    return main


def test_workspace_of_each_block() -> None:
    kernel = tilewright.compile(gemm_add(), out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
    b = random.standard_normal((K, N)).astype(np.float16)
    for rows in (32, 100, 7):
        a = random.standard_normal((rows, K)).astype(np.float16)
        d = random.standard_normal((rows, N)).astype(np.float32)
        made = np.asarray(kernel(a, b, d))
        expected = a.astype(np.float64) @ b.astype(np.float64) + d
        np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-4)
        same = np.zeros_like(d)
        interpret(gemm_add(), a, b, d, same)
        np.testing.assert_allclose(made, same, rtol=1e-5, atol=1e-5)
    source = kernel.get_kernel_source()
    assert "workspace + cid * 4096 + 0" in source
    assert "return 0 + grid[0] * grid[1] * grid[2] * 4096;" in source


def test_user_events_six_and_seven() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((64,), "float32")
            T.copy(A, x)
            T.set_flag("mte2", "mte3", 7)
            T.wait_flag("mte2", "mte3", 7)
            T.copy(x, B)

    with pytest.warns(TilewrightWarning, match="event 7 may be taken"):
        kernel = tilewright.compile(main, out_idx=[-1], target="ascend")
    a = random.standard_normal(64).astype(np.float32)
    np.testing.assert_array_equal(kernel(a), a)


def test_dtype_that_the_chip_lacks() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float64")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((64,), "float64")
            T.copy(A, x)
            T.copy(x, A)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    messages = [error.message for error in caught.value.errors]
    assert (
        "unsupported on ascend: 'A' has elements of float64, which 910B2 does not have" in messages
    )
    assert (
        "unsupported on ascend: 'x' has elements of float64, which 910B2 does not have" in messages
    )
    line = main.__wrapped__.__code__.co_firstlineno if hasattr(main, "__wrapped__") else 0
    assert line == 0 or caught.value.errors[-1].place.line == line + 3


def divided(extent: str) -> Any:
    def build(find: Any) -> Any:  # noqa: ANN401
        @T.prim_func
        def main(C: T.Tensor((8,), "int32"), n: T.int32, m: T.int32):  # type: ignore[no-untyped-def]
            with T.Kernel(find(n, m), threads=1, is_npu=True) as cid:
                C[cid] = cid + 1

        return main

    return build(
        {
            "n // m": lambda n, m: n // m,
            "n % m": lambda n, m: n % m,
            "ceildiv(n, m)": T.ceildiv,
            "n // (m - m % 2)": lambda n, m: n // (m - m % 2),
            "n // max(m, 1)": lambda n, m: n // T.max(m, 1),
            "m > 0 ? n // m : 2": lambda n, m: T.if_then_else(m > 0, n // m, 2),
        }[extent]
    )


@pytest.mark.parametrize(
    ("extent", "m", "blocks"),
    [
        ("n // m", 3, 2),
        ("n // m", 0, None),
        ("n % m", 4, 3),
        ("n % m", 0, None),
        ("ceildiv(n, m)", 3, 3),
        ("ceildiv(n, m)", 0, None),
        ("n // (m - m % 2)", 1, None),
        ("n // (m - m % 2)", 3, 3),
        ("n // max(m, 1)", 0, 7),
        ("m > 0 ? n // m : 2", 0, 2),
    ],
)
def test_grid_that_divides(extent: str, m: int, blocks: int | None) -> None:
    """By zero is an error: it was the end of the process."""
    kernel = tilewright.compile(divided(extent), target="ascend", pass_configs=AUTOMATIC)
    made = np.zeros(8, np.int32)
    if blocks is None:
        with pytest.raises(RuntimeError, match="an extent of the grid divides an integer by zero"):
            kernel(made, 7, m)
    else:
        kernel(made, 7, m)
    expected = [i + 1 if i < (blocks or 0) else 0 for i in range(8)]
    np.testing.assert_array_equal(made, expected)

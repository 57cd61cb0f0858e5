# SPDX-License-Identifier: Apache-2.0
"""T.Parallel and T.tile as vector instructions: the host's numbers against NumPy in float64 and the
interpreter's, in rows that are padded in UB too. No hazard is found: a finding would raise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning
from tilewright.testing import interpret

Array = np.ndarray[Any, Any]
random = np.random.default_rng(17)

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}


def on_host(function: Any, *arrays: Array, remark: str = "") -> Array:
    """The last array after the kernel, on the host and on the interpreter alike. With a remark it
    runs element by element."""

    def compiled() -> Any:
        return tilewright.compile(function, target="ascend", pass_configs=AUTOMATIC)

    if remark:
        with pytest.warns(TilewrightWarning, match=remark):
            kernel = compiled()
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kernel = compiled()
    made, same = ([array.copy() for array in arrays] for _ in range(2))
    kernel(*made)
    interpret(function, *same)
    np.testing.assert_allclose(made[-1], same[-1], rtol=1e-5, atol=1e-5)
    assert ("GetValue" in kernel.get_kernel_source()) == bool(remark)
    return made[-1]


FLOAT_RESULTS: list[Callable[[Array, Array], Array]] = [
    lambda a, b: np.where(a > b, a, b * 2),
    lambda a, b: np.where((a >= 0.5) & (b < 0), a, -1.0),
    lambda a, b: np.where(~(a == b) | (b < 0.0), 1.0, b),
    lambda a, b: a + 10 * np.arange(a.shape[0])[:, None] + np.arange(a.shape[1]),
    lambda a, b: np.trunc(a * 10),
    lambda a, b: np.sin(a) + np.cos(b) * np.tanh(a),
    lambda a, b: np.abs(a) ** b,
    lambda a, b: np.floor(a) + np.ceil(b) + np.rint(a * 3),
    lambda a, b: np.exp2(a) + np.log2(np.abs(a)),
    lambda a, b: np.where(a > 0, 1.0, 0.0) + (3.0 - b),
]


@pytest.mark.parametrize("shape", [(16, 64), (6, 20)])
def test_floats(shape: tuple[int, int]) -> None:
    M, N = shape
    number = len(FLOAT_RESULTS)

    @T.prim_func
    def main(
        A: T.Tensor((M, N), "float32"),
        B: T.Tensor((M, N), "float32"),
        C: T.Tensor((number, M, N), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((M, N), "float32")
            b = T.alloc_ub((M, N), "float32")
            c = T.alloc_ub((M, N), "float32")
            n = T.alloc_ub((M, N), "int32")
            T.copy(A, a)
            T.copy(B, b)
            for i, j in T.Parallel(M, N):
                c[i, j] = T.if_then_else(a[i, j] > b[i, j], a[i, j], b[i, j] * 2.0)
            T.copy(c, C[0, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = T.if_then_else(T.And(a[i, j] >= 0.5, b[i, j] < 0.0), a[i, j], -1.0)
            T.copy(c, C[1, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = T.if_then_else(T.Or(a[i, j] != b[i, j], b[i, j] < 0.0), 1.0, b[i, j])
            T.copy(c, C[2, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = a[i, j] + T.cast(i * 10 + j, "float32")
            T.copy(c, C[3, 0, 0])
            for i, j in T.Parallel(M, N):
                n[i, j] = T.cast(a[i, j] * 10.0, "int32")
            for i, j in T.Parallel(M, N):
                c[i, j] = T.cast(n[i, j], "float32")
            T.copy(c, C[4, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = T.sin(a[i, j]) + T.cos(b[i, j]) * T.tanh(a[i, j])
            T.copy(c, C[5, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = T.pow(T.abs(a[i, j]), b[i, j])
            T.copy(c, C[6, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = T.floor(a[i, j]) + T.ceil(b[i, j]) + T.nearbyint(a[i, j] * 3.0)
            T.copy(c, C[7, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = T.exp2(a[i, j]) + T.log2(T.abs(a[i, j]))
            T.copy(c, C[8, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = T.cast(a[i, j] > 0.0, "float32") + (3.0 - b[i, j])
            T.copy(c, C[9, 0, 0])

    a, b = (random.standard_normal(shape).astype(np.float32) for _ in range(2))
    b[0, :8] = a[0, :8]
    made = on_host(main, a, b, np.zeros((number, M, N), np.float32))
    for result, expected in zip(made, FLOAT_RESULTS, strict=True):
        np.testing.assert_allclose(
            result, expected(a.astype(np.float64), b.astype(np.float64)), rtol=2e-5, atol=2e-5
        )


INTEGER_RESULTS: list[Callable[[Array, Array, Array], Array]] = [
    lambda a, b, m: np.where(a < b, a, b),
    lambda a, b, m: np.where(a <= b, 1, 2),
    lambda a, b, m: np.where((a > b) ^ (a != m), a, 7),
    lambda a, b, m: (a & b) | (~a ^ 5),
    lambda a, b, m: (a << 3) + (b >> 2),
    lambda a, b, m: np.abs(a) * 3 - m,
    lambda a, b, m: a + m + np.arange(a.shape[1]) * 2 - np.arange(a.shape[0])[:, None],
]


@pytest.mark.parametrize("shape", [(16, 64), (5, 24)])
def test_integers(shape: tuple[int, int]) -> None:
    M, N = shape
    number = len(INTEGER_RESULTS)

    @T.prim_func
    def main(
        A: T.Tensor((M, N), "int32"),
        B: T.Tensor((M, N), "int32"),
        S: T.Tensor((M,), "int32"),
        C: T.Tensor((number, M, N), "int32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((M, N), "int32")
            b = T.alloc_ub((M, N), "int32")
            c = T.alloc_ub((M, N), "int32")
            m = T.alloc_ub((M,), "int32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(S, m)
            for i, j in T.Parallel(M, N):
                c[i, j] = T.if_then_else(a[i, j] < b[i, j], a[i, j], b[i, j])
            T.copy(c, C[0, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = T.if_then_else(a[i, j] <= b[i, j], 1, 2)
            T.copy(c, C[1, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = T.if_then_else((a[i, j] > b[i, j]) ^ (a[i, j] != m[i]), a[i, j], 7)
            T.copy(c, C[2, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = (a[i, j] & b[i, j]) | (~a[i, j] ^ 5)
            T.copy(c, C[3, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = (a[i, j] << 3) + (b[i, j] >> 2)
            T.copy(c, C[4, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = T.abs(a[i, j]) * 3 - m[i]
            T.copy(c, C[5, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = a[i, j] + m[i] + j * 2 - i
            T.copy(c, C[6, 0, 0])

    a, b = (random.integers(-(2**28), 2**28, shape).astype(np.int32) for _ in range(2))
    b[:, :7] = a[:, :7]
    m = a[:, 3].copy()
    made = on_host(main, a, b, m, np.zeros((number, M, N), np.int32))
    for result, expected in zip(made, INTEGER_RESULTS, strict=True):
        np.testing.assert_array_equal(result, expected(a, b, m[:, None]).astype(np.int32))


def test_conversions() -> None:
    """Bytes, halves and integers, in rows that have other paddings in other types."""
    M, N = 4, 40

    @T.prim_func
    def main(
        A: T.Tensor((M, N), "int8"),
        U: T.Tensor((M, N), "uint8"),
        H: T.Tensor((M, N), "float16"),
        C: T.Tensor((4, M, N), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((M, N), "int8")
            u = T.alloc_ub((M, N), "uint8")
            h = T.alloc_ub((M, N), "float16")
            s = T.alloc_ub((M, N), "int16")
            c = T.alloc_ub((M, N), "float32")
            T.copy(A, a)
            T.copy(U, u)
            T.copy(H, h)
            for i, j in T.Parallel(M, N):
                c[i, j] = T.cast(a[i, j], "float32") * 0.5
            T.copy(c, C[0, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = T.cast(u[i, j], "float32") + 1.0
            T.copy(c, C[1, 0, 0])
            for i, j in T.Parallel(M, N):
                s[i, j] = T.cast(h[i, j] * T.float16(8.0), "int16")
            for i, j in T.Parallel(M, N):
                c[i, j] = T.cast(s[i, j], "float32")
            T.copy(c, C[2, 0, 0])
            for i, j in T.Parallel(M, N):
                c[i, j] = T.if_then_else(h[i, j] > T.float16(0.0), T.cast(h[i, j], "float32"), 0.0)
            T.copy(c, C[3, 0, 0])

    a = random.integers(-128, 128, (M, N)).astype(np.int8)
    u = random.integers(0, 256, (M, N)).astype(np.uint8)
    h = random.standard_normal((M, N)).astype(np.float16)
    made = on_host(main, a, u, h, np.zeros((4, M, N), np.float32))
    np.testing.assert_array_equal(made[0], a * 0.5)
    np.testing.assert_array_equal(made[1], u.astype(np.float32) + 1)
    np.testing.assert_array_equal(made[2], np.trunc(h * np.float16(8)))
    np.testing.assert_array_equal(made[3], np.maximum(h.astype(np.float32), 0))


def test_slices_and_parts() -> None:
    """Parts of rows, of buffers of one dim, and rows that a loop picks."""

    @T.prim_func
    def main(A: T.Tensor((8, 64), "float32"), C: T.Tensor((8, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((8, 64), "float32")
            c = T.alloc_ub((8, 64), "float32")
            T.copy(A, a)
            T.tile.fill(c, 0.0)
            for i, j in T.Parallel(8, 32):
                c[i, j] = a[i, j + 32] * 2.0
            T.tile.add(c[2:4, :], a[2:4, :], a[4:6, :])
            for row in T.serial(6, 8):
                for j in T.Parallel(64):
                    c[row, j] = a[row - 1, j] + 1.0
                T.tile.mul(c[row, :], c[row, :], 3.0)
            T.copy(c, C)

    a = random.standard_normal((8, 64)).astype(np.float32)
    expected = np.zeros((8, 64))
    expected[:, :32] = a[:, 32:] * 2
    expected[2:4] = a[2:4] + a[4:6]
    expected[6:8] = (a[5:7] + np.float32(1)) * 3
    np.testing.assert_allclose(on_host(main, a, np.zeros((8, 64), np.float32)), expected, rtol=1e-6)


def test_gathers_stay_scalar() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((64,), "float32")
            c = T.alloc_ub((64,), "float32")
            T.copy(A, a)
            for i in T.Parallel(64):
                c[i] = a[63 - i]
            T.copy(c, C)

    a = random.standard_normal(64).astype(np.float32)
    made = on_host(main, a, a * 0, remark="element by element.*it walks through a buffer in steps")
    np.testing.assert_array_equal(made, a[::-1])


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_masks(dtype: str) -> None:
    """T.tile.compare and T.tile.select in their modes."""
    N = 256

    @T.prim_func
    def main(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype), C: T.Tensor((4, N), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((N,), dtype)
            b = T.alloc_ub((N,), dtype)
            c = T.alloc_ub((N,), dtype)
            mask = T.alloc_ub((N // 8,), "uint8")
            T.copy(A, a)
            T.copy(B, b)
            T.tile.compare(mask, a, b, "LE")
            T.tile.select(c, mask, a, b, "VSEL_TENSOR_TENSOR_MODE")
            T.copy(c, C[0, 0])
            T.tile.select(c, mask, b, 2.0, "VSEL_TENSOR_SCALAR_MODE")
            T.copy(c, C[1, 0])
            T.tile.compare(mask, a, 0.25, "GT")
            T.tile.select(c, mask, a, 0.0, "VSEL_TENSOR_SCALAR_MODE")
            T.copy(c, C[2, 0])
            T.tile.select(c, mask, a, b, "VSEL_CMPMASK_SPR")
            T.copy(c, C[3, 0])

    a, b = (random.standard_normal(N).astype(dtype) for _ in range(2))
    made = on_host(main, a, b, np.zeros((4, N), dtype))
    repeat = 256 // a.itemsize
    once = np.tile((a > 0.25)[:repeat], N // repeat)
    expected = [np.minimum(a, b), np.where(a <= b, b, 2), np.where(a > 0.25, a, 0)]
    np.testing.assert_array_equal(made[:3], np.stack(expected).astype(dtype))
    np.testing.assert_array_equal(made[3], np.where(once, a, b))


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
def test_transpose(dtype: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 48), dtype), C: T.Tensor((48, 32), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((32, 48), dtype)
            c = T.alloc_ub((48, 32), dtype)
            T.copy(A, a)
            T.tile.transpose(c, a)
            T.copy(c, C)

    a = (random.standard_normal((32, 48)) * 1000).astype(dtype)
    np.testing.assert_array_equal(on_host(main, a, np.zeros((48, 32), dtype)), a.T)


def test_stores_to_one_element_keep_their_order() -> None:
    """Of two numbers the last stays; what is added comes to it."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((48, 20), "float32"), C: T.Tensor((48, 20), "float32")
    ):
        with T.Kernel(3, threads=64) as block:
            for i, j in T.Parallel(16, 20):
                C[block * 16 + i, j] = A[block * 16 + i, j]
                C[block * 16 + i, j] = A[block * 16 + i, j] * 2.0
                T.atomic_add(C[block * 16 + i, j], 1.0)

    a = np.arange(48 * 20).reshape(48, 20).astype(np.float32)
    made, same = np.zeros((48, 20), np.float32), np.zeros((48, 20), np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # none of it runs on the scalar unit
        kernel = tilewright.compile(main, target="ascend")
    kernel(a, made)
    interpret(main, a, same)
    np.testing.assert_array_equal(made, a * 2 + 1)
    np.testing.assert_array_equal(same, made)

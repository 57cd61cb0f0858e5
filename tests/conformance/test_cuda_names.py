# SPDX-License-Identifier: Apache-2.0
"""CUDA's functions of warps and of integers by name, and arithmetic that TVM has names for."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T


def test_functions_of_warps(agree, random):
    @T.prim_func
    def kernel(A: T.Tensor((32,), "int32"), B: T.Tensor((9, 32), "uint32")):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            x = A[t]
            mask = 0xFFFFFFFF
            T.call_extern("handle", "__syncwarp")
            B[0, t] = T.call_extern(T.uint32, "__match_any_sync", mask, x)
            B[1, t] = T.call_extern("uint32", "__ballot_sync", mask, x > 2)
            B[2, t] = T.call_extern("int32", "__any_sync", mask, x > 6)
            B[3, t] = T.call_extern("int32", "__shfl_sync", mask, x, 3)
            B[4, t] = T.call_extern("int32", "__shfl_xor_sync", mask, x, 1, 8)
            B[5, t] = T.call_extern("int32", "__shfl_down_sync", mask, x, 1, 8)
            B[6, t] = T.tvm_warp_shuffle(mask, x, 5, 32, 32)
            B[7, t] = T.tvm_warp_shuffle_up(mask, x, 1, 32, 32)
            B[8, t] = T.tvm_warp_activemask() + T.cast(
                T.tvm_warp_shuffle_down(mask, x, 1, 32, 32), "uint32"
            )

    x = random.integers(0, 6, 32).astype(np.int32)
    lanes = np.arange(32)
    bits = np.uint32(1) << lanes.astype(np.uint32)
    expected = np.stack(
        [
            [(bits[x == each]).sum() for each in x],
            np.full(32, bits[x > 2].sum()),
            np.zeros(32),
            np.full(32, x[3]),
            x[lanes ^ 1],
            np.where(lanes % 8 == 7, x, x[(lanes + 1) % 32]),
            np.full(32, x[5]),
            x[np.maximum(lanes - 1, 0)],
            (x[np.minimum(lanes + 1, 31)].astype(np.int64) - 1) % 2**32,
        ]
    ).astype(np.uint32)
    agree(kernel, [x, np.zeros((9, 32), np.uint32)], {1: expected})


def test_functions_of_integers(agree, random):
    @T.prim_func
    def kernel(
        A: T.Tensor((64,), "int32"), W: T.Tensor((64,), "int64"), B: T.Tensor((8, 64), "int32")
    ):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                B[0, i] = T.call_extern("int32", "__popc", A[i])
                B[1, i] = T.call_extern("int32", "__popcll", W[i])
                B[2, i] = T.call_extern("int32", "__clz", A[i])
                B[3, i] = T.call_extern("int32", "__ffs", A[i])
                B[4, i] = T.call_extern("int32", "__ffsll", W[i])
                B[5, i] = T.call_extern("int32", "__mulhi", A[i], 1000003)
                B[6, i] = T.cast(T.call_extern("uint32", "__umulhi", A[i], A[i]), "int32")
                B[7, i] = T.q_multiply_shift(A[i], 1518500250, 31, 3)

    a = random.integers(-(2**31), 2**31, 64).astype(np.int32)
    w = random.integers(-(2**63), 2**63, 64, dtype=np.int64)
    a[:2], w[:2] = (0, 8), (0, 2**40)

    def lowest(value):
        return (value & -value).bit_length()

    def unsigned(value, width):
        return int(value) & (2**width - 1)

    expected = np.stack(
        [
            [unsigned(v, 32).bit_count() for v in a],
            [unsigned(v, 64).bit_count() for v in w],
            [32 - unsigned(v, 32).bit_length() for v in a],
            [lowest(unsigned(v, 32)) for v in a],
            [lowest(unsigned(v, 64)) for v in w],
            [int(v) * 1000003 >> 32 for v in a],
            np.array([unsigned(v, 32) ** 2 >> 32 for v in a], np.uint32).astype(np.int32),
            [int(v) * 1518500250 + (1 << 33) >> 34 for v in a],
        ]
    ).astype(np.int32)
    agree(kernel, [a, w, np.zeros((8, 64), np.int32)], {2: expected})


def test_conversions(agree, random):
    @T.prim_func
    def kernel(
        A: T.Tensor((64,), "float32"),
        H: T.Tensor((4, 64), "float16"),
        B: T.Tensor((5, 64), "int32"),
    ):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                H[0, i] = T.call_extern(T.float16, "__float2half_rz", A[i])
                H[1, i] = T.call_extern(T.float16, "__float2half_ru", A[i])
                H[2, i] = T.call_extern(T.float16, "__float2half", A[i])
                H[3, i] = T.call_extern("float16", "__half2float", H[2, i])
                B[0, i] = T.call_extern("int32", "__float2int_rn", A[i])
                B[1, i] = T.call_extern("int32", "__float2int_rz", A[i])
                B[2, i] = T.call_extern("int32", "__float2int_ru", A[i])
                B[3, i] = T.call_extern("int32", "__float2int_rd", A[i])
                B[4, i] = T.cast(T.call_extern("float32", "__bfloat162float", A[i]), "int32")

    a = (random.standard_normal(64) * 50).astype(np.float32)
    near = a.astype(np.float16)
    below = np.where(near > a, np.nextafter(near, np.float16(-np.inf)), near)
    above = np.where(near < a, np.nextafter(near, np.float16(np.inf)), near)
    halves = np.stack([np.where(a > 0, below, above), above, near, near])
    bits = a.view(np.uint32)
    kept = ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
    whole = [np.rint(a), np.trunc(a), np.ceil(a), np.floor(a), np.trunc(kept)]
    outputs = [np.zeros((4, 64), np.float16), np.zeros((5, 64), np.int32)]
    agree(kernel, [a, *outputs], {1: halves, 2: np.stack(whole).astype(np.int32)})


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32"])
def test_fma_rounds_once(agree, numpy_dtypes, random, dtype):
    """Of factors whose product nearly cancels the sum: its rounding would be all that is left."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), dtype), B: T.Tensor((64,), dtype), C: T.Tensor((64,), dtype)):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                C[i] = T.fma(A[i], B[i], -(A[i] * B[i]))

    kind = numpy_dtypes[dtype] if dtype in numpy_dtypes else np.dtype(dtype).type
    a, b = ((random.standard_normal(64) * 8).astype(kind) for _ in range(2))
    if dtype == "float64":  # what is left of a product of two halves of the digits is exact
        a = a.astype(np.float32).astype(kind)
        exact = np.array([float(x) * float(y) for x, y in zip(a, b, strict=True)])
        from fractions import Fraction

        left = [
            float(Fraction(x) * Fraction(y) - Fraction(e))
            for x, y, e in zip(a.tolist(), b.tolist(), exact.tolist(), strict=True)
        ]
        expected = np.array(left)
    else:
        wide = a.astype(np.float64) * b.astype(np.float64)
        expected = (wide - (a * b).astype(np.float64)).astype(kind)
    agree(kernel, [a, b, np.zeros(64, kind)], {2: expected})


def test_fabs_is_abs(agree, random):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8):
            for i in T.Parallel(8):
                B[i] = T.fabs(A[i])

    a = random.standard_normal(8).astype(np.float32)
    agree(kernel, [a, np.zeros_like(a)], {1: np.abs(a)})


def test_shuffles_take_three_or_four():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=32):
            A[0] = T.call_extern("int32", "__shfl_sync", A[1])

    with pytest.raises(tilewright.CompileError) as caught:
        kernel.capture()
    message = "CUDA's __shfl_sync takes 3 or 4 arguments but is called with 1"
    assert [d.message for d in caught.value.errors] == [message]


@pytest.mark.parametrize("flag", [0, 1, False, True])
def test_products_shifted_per_axis(agree, random, flag):
    """The flags may be numbers, and known in the kernel only."""

    @T.prim_func
    def kernel(
        X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32"), B: T.Tensor((2, 64), "int32"),
        asked: T.int32,
    ):  # fmt: skip
        with T.Kernel(1, threads=64, cpu_num_threads=2):
            for i in T.Parallel(64):
                B[0, i] = T.q_multiply_shift_per_axis(X[i], Y[i], 2, 7, 15, flag, 1)
                B[1, i] = T.q_multiply_shift_per_axis(X[i], Y[i], 3, i % 5, 9, 1, asked)

    x = random.integers(-1000, 1001, 64).astype(np.int32)
    y = random.integers(1, 1 << 20, 64).astype(np.int32)
    for asked in (0, 5):
        product = x.astype(np.int64) * y
        first = ((product << 2 if flag else product) + (1 << 21)) >> 22
        by = 9 + (np.arange(64) % 5 if asked else 0)
        second = ((product << 3) + (1 << (by - 1))) >> by
        expected = np.stack([first, second]).astype(np.int32)
        agree(kernel, [x, y, np.zeros((2, 64), np.int32), asked], {2: expected})

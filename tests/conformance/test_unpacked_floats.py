# SPDX-License-Identifier: Apache-2.0
"""`float4_e2m1_unpacked`: the numbers of `float4_e2m1fn`, each in a byte of its own."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T

UNPACKED = "float4_e2m1_unpacked"
POSITIVE = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
#: What each of the 16 patterns says.
VALUES = np.concatenate([POSITIVE, -POSITIVE])
CODES = np.arange(16, dtype=np.uint8)


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("upper", [0, 0xA0, 0xF0])
def test_each_value_up_and_down(target, upper):
    """The upper half of a byte isn't looked at, and is written as 0."""

    @T.prim_func
    def kernel(
        A: T.Tensor((16,), UNPACKED), B: T.Tensor((16,), "float32"), C: T.Tensor((16,), UNPACKED)
    ):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((16,), UNPACKED)
            T.copy(A, tile)
            for i in T.Parallel(16):
                B[i] = tile[i]
            for i in T.serial(16):
                C[i] = B[i]

    b, c = np.zeros(16, np.float32), np.full(16, 0xFF, np.uint8)
    tilewright.compile(kernel, target=target)(CODES + np.uint8(upper), b, c)
    np.testing.assert_array_equal(b, VALUES)
    assert np.signbit(b[8]) and not np.signbit(b[0])
    np.testing.assert_array_equal(c, CODES)


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("source", ["float32", "float64", "float16", "bfloat16", "int32"])
def test_rounds_to_nearest_even_and_saturates(target, source):
    """Around each value, and each middle between two, where one rounding makes the difference."""
    kind = ml_dtypes.bfloat16 if source == "bfloat16" else np.dtype(source)
    near = np.concatenate([POSITIVE, (POSITIVE[1:] + POSITIVE[:-1]) / 2, [5, 7, 100, 1e4]])
    x = np.concatenate([near, near * (1 + 2.0**-7), near * (1 - 2.0**-7)])
    if source == "float64":
        x = np.concatenate([x, near * (1 + 2.0**-50), near * (1 - 2.0**-50)])
    x = np.concatenate([x, -x]).astype(kind)
    if source != "int32":
        x = np.concatenate([x, np.array([np.inf, -np.inf, -0.0], kind)])
    n = len(x)

    @T.prim_func
    def kernel(A: T.Tensor((n,), source), B: T.Tensor((n,), UNPACKED), C: T.Tensor((n,), UNPACKED)):
        with T.Kernel(1, threads=32):
            T.copy(A, B)
            for i in T.Parallel(n):
                C[i] = A[i]

    codes, again = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    tilewright.compile(kernel, target=target)(x, codes, again)
    wide = np.clip(x.astype(np.float64), -6, 6)
    # One rounding: ml_dtypes goes from float64 by way of float32.
    distance = np.abs(np.abs(wide)[:, None] - POSITIVE.astype(np.float64))
    least = distance.min(axis=1)
    expected = np.array(
        [
            next(c for c in sorted(range(8), key=lambda c: c % 2) if d[c] == m)
            for d, m in zip(distance, least, strict=True)
        ]
    ) | np.where(np.signbit(wide), 8, 0)
    np.testing.assert_array_equal(codes, expected)
    np.testing.assert_array_equal(again, expected)


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_a_byte_each(target):
    """A view of bytes has as many elements; what is packed is half as long."""

    @T.prim_func
    def kernel(
        A: T.Tensor((4, 6), UNPACKED), P: T.Tensor((4, 6), "float4_e2m1fn"),
        B: T.Tensor((4, 6), "uint8"), C: T.Tensor((4, 6), UNPACKED),
    ):  # fmt: skip
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((4, 6), UNPACKED)
            own = T.alloc_local((6,), UNPACKED)
            T.copy(A, tile)
            bytes_ = T.view(tile, (4, 6), "uint8")
            for i, j in T.Parallel(4, 6):
                B[i, j] = bytes_[i, j]
            T.copy(tile, P)  # packs
            for i in T.serial(4):
                for j in T.serial(6):
                    own[j] = P[i, j]
                for j in T.serial(6):
                    C[i, j] = own[j]

    assert T.float4_e2m1_unpacked == UNPACKED and T.float4_e2m1_unpacked != T.float4_e2m1fn
    assert (T.float4_e2m1_unpacked.bits, T.float4_e2m1_unpacked.bytes) == (8, 1)
    a = np.arange(24, dtype=np.uint8).reshape(4, 6) % 16
    packed, b, c = (
        np.zeros((4, 3), np.uint8),
        np.zeros((4, 6), np.uint8),
        np.zeros((4, 6), np.uint8),
    )
    compiled = tilewright.compile(kernel, target=target)
    compiled(a, packed, b, c)
    np.testing.assert_array_equal(packed, a[:, ::2] | (a[:, 1::2] << 4))
    np.testing.assert_array_equal(b, a)
    np.testing.assert_array_equal(c, a)
    with pytest.raises(ValueError, match=r"'A' has shape \(4, 3\) but \(4, 6\) was expected"):
        compiled(packed, packed, b, c)


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_arguments(target):
    """Bytes of either sign, and float4_e2m1fn of ml_dtypes, which takes one; outputs are bytes."""
    torch = pytest.importorskip("torch")

    @T.prim_func
    def kernel(A: T.Tensor((16,), UNPACKED), B: T.Tensor((16,), UNPACKED)):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(16):
                B[i] = A[i] * 2 - 1

    expected = np.clip(VALUES * 2 - 1, -6, 6).astype(ml_dtypes.float4_e2m1fn).view(np.uint8) & 15
    compiled = tilewright.compile(kernel, out_idx=[1], target=target)
    numpy = compiled(VALUES.astype(ml_dtypes.float4_e2m1fn))
    for given in (torch.from_numpy(CODES), torch.from_numpy(CODES.view(np.int8))):
        result = compiled(given)
        assert result.dtype == torch.uint8 == T.float4_e2m1_unpacked.as_torch()
        np.testing.assert_array_equal(result.numpy(), expected)
    assert numpy.dtype == np.uint8
    np.testing.assert_array_equal(numpy, expected)
    with pytest.raises(ValueError, match=f"'A' has dtype float32 but {UNPACKED} was expected"):
        compiled(torch.from_numpy(VALUES))


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_bits(target):
    """Reinterpreted as a byte and back; beside other small floats the wider dtype counts."""

    @T.prim_func
    def kernel(
        A: T.Tensor((16,), UNPACKED), B: T.Tensor((16,), "uint8"), C: T.Tensor((16,), "float32"),
        D: T.Tensor((16,), "float6_e2m3fn"),
    ):  # fmt: skip
        with T.Kernel(1, threads=32):
            for i in T.Parallel(16):
                B[i] = T.reinterpret(A[i], "uint8")
                C[i] = T.reinterpret(T.uint8(0xF0) | T.reinterpret(A[i], "uint8"), UNPACKED)
                D[i] = T.max(A[i], T.cast(1.125, "float6_e2m3fn"))

    b, c, d = np.zeros(16, np.uint8), np.zeros(16, np.float32), np.zeros(16, np.uint8)
    tilewright.compile(kernel, target=target)(CODES, b, c, d)
    np.testing.assert_array_equal(b, CODES)
    np.testing.assert_array_equal(c, VALUES)
    floats = d.view(ml_dtypes.float6_e2m3fn).astype(np.float32)
    np.testing.assert_array_equal(floats, np.maximum(VALUES, 1.125))


def test_reductions(agree):
    @T.prim_func
    def kernel(
        A: T.Tensor((4, 16), UNPACKED), B: T.Tensor((4,), "float32"), C: T.Tensor((4,), "float32")
    ):
        with T.Kernel(1, threads=32):
            tile = T.alloc_fragment((4, 16), UNPACKED)
            sums = T.alloc_fragment((4,), "float32")
            most = T.alloc_fragment((4,), UNPACKED)
            T.copy(A, tile)
            T.reduce_sum(tile, sums, dim=1)
            T.reduce_max(tile, most, dim=1)
            T.copy(sums, B)
            T.copy(most, C)

    codes = np.stack([np.roll(CODES, i)[np.arange(16) % (5 + i)] for i in range(4)])
    values, empty = VALUES[codes], np.zeros(4, np.float32)
    agree(kernel, [codes, empty, empty.copy()], {1: values.sum(1), 2: values.max(1)}, 0)


def test_atomic_updates_are_refused():
    @T.prim_func
    def kernel(A: T.Tensor((16,), UNPACKED)):
        with T.Kernel(1, threads=32):
            T.atomic_add(A[0], 1)

    message = f"atomic updates of {UNPACKED} are not supported by the cpu target; use float32"
    with pytest.raises(tilewright.CompileError, match=message):
        tilewright.compile(kernel, target="cpu")


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_packed_outputs_for_torch(target):
    """Pairs, in a last dim of half the extent, as PyTorch has them."""
    torch = pytest.importorskip("torch")
    if not hasattr(torch, "float4_e2m1fn_x2"):
        pytest.skip("this PyTorch has no float4_e2m1fn_x2")

    @T.prim_func
    def kernel(A: T.Tensor((2, 16), "float32"), B: T.Tensor((2, 16), "float4_e2m1fn")):
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(2, 16):
                B[i, j] = A[i, j]

    values = np.stack([VALUES, -VALUES]).astype(np.float32)
    codes = values.astype(ml_dtypes.float4_e2m1fn).view(np.uint8) & 15
    compiled = tilewright.compile(kernel, out_idx=[1], target=target)
    result = compiled(torch.from_numpy(values))
    assert (result.dtype, tuple(result.shape)) == (torch.float4_e2m1fn_x2, (2, 8))
    packed = result.view(torch.uint8).numpy()
    np.testing.assert_array_equal(packed, codes[:, ::2] | codes[:, 1::2] << 4)
    # As an argument, and for the profiler, which PyTorch gives no numbers of it.
    assert compiled(values).dtype == np.uint8
    profiler = compiled.get_profiler()
    profiler.assert_allclose(lambda a: torch.from_numpy(values), [torch.from_numpy(values)], 0, 0)
    with pytest.raises(AssertionError, match="differs at 1 of 32 elements"):
        changed = torch.from_numpy(values).clone()
        changed[1, 3] += 1
        profiler.assert_allclose(lambda a: changed, [torch.from_numpy(values)], 0, 0, 0)


@pytest.mark.parametrize("name", ["float6_e2m3fn", "float6_e3m2fn"])
def test_arrays_of_six_bits(name):
    """Those of ml_dtypes take a byte each, as ours do."""

    @T.prim_func
    def kernel(
        A: T.Tensor((4, 8), name), B: T.Tensor((4, 8), "float32"), C: T.Tensor((4, 8), name)
    ):
        with T.Kernel(4) as bx:
            for i in T.Parallel(8):
                B[bx, i] = A[bx, i]
                C[bx, i] = B[bx, i] * 0.5

    dtype = getattr(ml_dtypes, name)
    a = np.random.default_rng(3).standard_normal((4, 8)).astype(dtype)
    b, c = np.zeros((4, 8), np.float32), np.zeros((4, 8), dtype)
    tilewright.compile(kernel)(a, b, c)
    np.testing.assert_array_equal(b, a.astype(np.float32))
    np.testing.assert_array_equal(c, (b * 0.5).astype(dtype))
    with pytest.raises(ValueError, match=f"dtype {name} but float32 was expected"):
        tilewright.compile(kernel)(a, a, c)


@pytest.mark.parametrize("name", ["int4", "uint4"])
def test_arrays_of_four_bits_must_be_packed(name):
    @T.prim_func
    def kernel(A: T.Tensor((8,), name), B: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(8):
                B[i] = A[i]

    a, b = np.arange(8).astype(getattr(ml_dtypes, name)), np.zeros(8, np.int32)
    message = (
        f"its NumPy dtype '{name}' takes a byte for each element, but kernels take two elements in "
        "a byte, as int8 or uint8 of half as many"
    )
    with pytest.raises(TypeError, match=message):
        tilewright.compile(kernel)(a, b)

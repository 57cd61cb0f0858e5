# SPDX-License-Identifier: Apache-2.0
"""What implementations of the language get wrong, one test a trap: copies, fragments, reductions,
scans, gemms, pipelines, Python semantics, integers, host side, atomics, views."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T


@pytest.fixture
def floats(random):
    def make(*shape):
        return random.standard_normal(shape).astype(np.float32)

    return make


# 1. Extents of copies


def test_trap_01_copy_extents(agree, floats):
    """An element takes the other side's extents from the right; units may be anywhere."""

    @T.prim_func
    def kernel(A: T.Tensor((2, 3, 8, 16), "float32"), B: T.Tensor((8, 1, 16), "float16")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((8, 16), "float32")
            one = T.alloc_shared((1, 8, 1, 16), "float32")
            T.copy(A[1, 2, 0, 0], tile)
            T.copy(tile, one[0:1, 0:8, 0:1, 0:16])
            T.copy(one[0:1, 0:8, 0:1, 0:16], B)

    a = floats(2, 3, 8, 16)
    expected = a[1, 2].astype(np.float16)[:, None, :]
    agree(kernel, [a, np.zeros((8, 1, 16), np.float16)], {1: expected})


@pytest.mark.parametrize("size", [1, 31, 32, 33, 65])
def test_trap_01_copy_at_ragged_edges(agree, floats, size):
    """Beyond the edge there are zeros, and nothing is stored."""

    @T.prim_func
    def kernel(A: T.Tensor((size, size), "float32"), B: T.Tensor((size, size), "float32")):
        with T.Kernel(T.ceildiv(size, 32), T.ceildiv(size, 32), threads=32) as (bx, by):
            tile = T.alloc_shared((32, 32), "float32")
            total = T.alloc_fragment((32,), "float32")
            T.copy(A[by * 32, bx * 32], tile)
            T.reduce_sum(tile, total, dim=1)
            for i, j in T.Parallel(32, 32):
                tile[i, j] = tile[i, j] + total[i]
            T.copy(tile, B[by * 32, bx * 32])

    a = floats(size, size)
    blocks = [a[:, c : c + 32].astype(np.float64) for c in range(0, size, 32)]
    expected = np.hstack([b + b.sum(1, keepdims=True) for b in blocks]).astype(np.float32)
    agree(kernel, [a, np.full((size, size), 7, np.float32)], {1: expected})


def test_trap_01_negative_indices(agree, floats):
    @T.prim_func
    def kernel(A: T.Tensor((6, 4), "float32"), B: T.Tensor((3, 4), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((2, 4), "float32")
            T.copy(A[-2:, :], tile)
            T.copy(tile, B[0:2, :])
            for j in T.Parallel(4):
                B[-1, j] = A[-6, -1]

    a = floats(6, 4)
    expected = np.vstack([a[-2:], np.full((1, 4), a[0, 3])])
    agree(kernel, [a, np.zeros((3, 4), np.float32)], {1: expected})


# 2. Synchrony


def test_trap_02_copy_is_synchronous(agree, floats):
    """The source of a copy may be written again at once."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((2, 8), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((8,), "float32")
            T.copy(A, tile)
            T.copy(tile, B[0, 0:8])
            T.fill(tile, 1.0)
            T.copy(tile, B[1, 0:8])

    a = floats(8)
    agree(kernel, [a, np.zeros((2, 8), np.float32)], {1: np.stack([a, np.ones(8, np.float32)])})


# 3. Fragments


def test_trap_03_fragments_of_odd_extents(agree, floats):
    """Extents that are no multiple of the threads; several loops and reductions on one fragment."""

    @T.prim_func
    def kernel(A: T.Tensor((13, 7), "float32"), B: T.Tensor((13, 7), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_fragment((13, 7), "float32")
            rows = T.alloc_fragment((13,), "float32")
            columns = T.alloc_fragment((7,), "float32")
            T.copy(A, tile)
            T.reduce_max(tile, rows, dim=1)
            T.reduce_sum(tile, columns, dim=0)
            for i, j in T.Parallel(13, 7):
                tile[i, j] = tile[i, j] * columns[j] + rows[i]
            T.copy(tile, B)

    a = floats(13, 7)
    wide = a.astype(np.float64)
    expected = wide * wide.sum(0) + wide.max(1)[:, None]
    agree(kernel, [a, np.zeros_like(a)], {1: expected.astype(np.float32)})


def test_trap_03_chained_gemms(agree, floats):
    """The result of a gemm is an operand of the next, also transposed."""

    @T.prim_func
    def kernel(
        A: T.Tensor((16, 24), "float32"),
        B: T.Tensor((24, 16), "float32"),
        C: T.Tensor((16, 16), "float32"),
    ):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((16, 24), "float32")
            b = T.alloc_shared((24, 16), "float32")
            first = T.alloc_fragment((16, 16), "float32")
            second = T.alloc_fragment((16, 16), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, first, clear_accum=True)
            T.gemm(first, first, second, transpose_A=True, transpose_B=True, clear_accum=True)
            T.copy(second, C)

    a, b = floats(16, 24), floats(24, 16)
    product = a.astype(np.float64) @ b
    expected = (product.T @ product.T).astype(np.float32)
    agree(kernel, [a, b, np.zeros((16, 16), np.float32)], {2: expected})


# 4. Reductions


def test_trap_04_reduction_without_clear(agree, random):
    """The old value takes part once; the kept dim may be there as 1."""

    @T.prim_func
    def kernel(A: T.Tensor((5, 11), "int32"), B: T.Tensor((5, 1), "int32")):
        with T.Kernel(1, threads=64):
            a = T.alloc_fragment((5, 11), "int32")
            b = T.alloc_fragment((5, 1), "int32")
            T.copy(A, a)
            T.copy(B, b)
            T.reduce_sum(a, b, dim=1, clear=False)
            T.copy(b, B)

    a = random.integers(-9, 9, (5, 11)).astype(np.int32)
    b = np.arange(5, dtype=np.int32)[:, None]
    agree(kernel, [a, b], {1: b + a.sum(1, keepdims=True, dtype=np.int32)})


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32"])
def test_trap_04_identities_of_integers(agree, numpy_dtypes, dtype):
    """max of all negative, min of all large."""

    @T.prim_func
    def kernel(A: T.Tensor((3, 5), dtype), B: T.Tensor((2, 3), dtype)):
        with T.Kernel(1, threads=32):
            a = T.alloc_fragment((3, 5), dtype)
            b = T.alloc_fragment((3,), dtype)
            T.copy(A, a)
            T.reduce_max(a, b, dim=1)
            T.copy(b, B[0, 0:3])
            T.reduce_min(a, b, dim=1)
            T.copy(b, B[1, 0:3])

    limits = np.iinfo(numpy_dtypes[dtype])
    a = np.array([[limits.min] * 5, [limits.max] * 5, range(5)], numpy_dtypes[dtype])
    agree(kernel, [a, np.zeros((2, 3), a.dtype)], {1: np.stack([a.max(1), a.min(1)])})


def test_trap_04_nan_in_reductions(agree, floats):
    """A NaN is skipped, unless nan_propagate asks for it."""

    @T.prim_func
    def kernel(A: T.Tensor((3, 8), "float32"), B: T.Tensor((2, 3), "float32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_fragment((3, 8), "float32")
            b = T.alloc_fragment((3,), "float32")
            T.copy(A, a)
            T.reduce_max(a, b, dim=1)
            T.copy(b, B[0, 0:3])
            T.reduce_max(a, b, dim=1, nan_propagate=True)
            T.copy(b, B[1, 0:3])

    a = floats(3, 8)
    a[1, 3] = np.nan
    agree(kernel, [a, np.zeros((2, 3), np.float32)], {1: np.stack([np.nanmax(a, 1), a.max(1)])})


def test_trap_04_sum_of_float16(agree):
    """2,048 ones and more would stick at 2048 in float16."""

    @T.prim_func
    def kernel(A: T.Tensor((1, 4096), "float16"), B: T.Tensor((1,), "float16")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((1, 4096), "float16")
            b = T.alloc_fragment((1,), "float16")
            T.copy(A, a)
            T.reduce_sum(a, b, dim=1)
            T.copy(b, B)

    agree(
        kernel, [np.ones((1, 4096), np.float16), np.zeros(1, np.float16)], {1: np.float16([4096])}
    )


# 5. Scans


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_trap_05_scans(agree, random, dim, reverse):
    @T.prim_func
    def kernel(A: T.Tensor((7, 13), "int32"), B: T.Tensor((7, 13), "int32")):
        with T.Kernel(1, threads=64):
            a = T.alloc_fragment((7, 13), "int32")
            T.copy(A, a)
            T.cumsum(a, dim=dim, reverse=reverse)
            T.copy(a, B)

    a = random.integers(-9, 9, (7, 13)).astype(np.int32)
    flipped = np.flip(a, dim) if reverse else a
    expected = np.cumsum(flipped, axis=dim, dtype=np.int32)
    agree(kernel, [a, np.zeros_like(a)], {1: np.flip(expected, dim) if reverse else expected})


# 6. Gemm


def test_trap_06_gemm_accumulates(agree, floats):
    """By default C is added to; clear_accum may be a value of the kernel."""

    @T.prim_func
    def kernel(
        A: T.Tensor((3, 8, 8), "float32"),
        B: T.Tensor((8, 8), "float32"),
        C: T.Tensor((8, 8), "float32"),
    ):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((8, 8), "float32")
            b = T.alloc_shared((8, 8), "float32")
            c = T.alloc_fragment((8, 8), "float32")
            T.copy(B, b)
            for k in T.serial(3):
                T.copy(A[k, 0:8, 0:8], a)
                T.gemm(a, b, c, clear_accum=k == 0)
            T.copy(c, C)

    a, b = floats(3, 8, 8), floats(8, 8)
    expected = (a.astype(np.float64).sum(0) @ b).astype(np.float32)
    agree(kernel, [a, b, np.zeros((8, 8), np.float32)], {2: expected})


def test_trap_06_gemm_of_slices(agree, floats):
    @T.prim_func
    def kernel(A: T.Tensor((2, 8, 32), "float32"), C: T.Tensor((8, 8), "float32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((2, 8, 32), "float32")
            c = T.alloc_fragment((8, 8), "float32")
            T.copy(A, a)
            T.gemm(a[1, 0:8, 8:24], a[0, 0:8, 0:16], c, transpose_B=True, clear_accum=True)
            T.copy(c, C)

    a = floats(2, 8, 32)
    expected = (a[1, :, 8:24].astype(np.float64) @ a[0, :, :16].T).astype(np.float32)
    agree(kernel, [a, np.zeros((8, 8), np.float32)], {1: expected})


# 7. Pipelines


@pytest.mark.parametrize("stages", [0, 1, 3])
@pytest.mark.parametrize("steps", [0, 1, 5])
def test_trap_07_pipelines(agree, floats, stages, steps):
    """No or one iteration, a condition in the body, a buffer that is read after the loop."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 16), "float32"), n: T.int32, B: T.Tensor((2, 16), "float32")):
        with T.Kernel(1, threads=32):
            row = T.alloc_shared((16,), "float32")
            total = T.alloc_fragment((16,), "float32")
            T.clear(total)
            T.clear(row)
            for k in T.Pipelined(n, num_stages=stages):
                T.copy(A[k, 0:16], row)
                if k != 2:
                    for j in T.Parallel(16):
                        total[j] += row[j]
            T.copy(total, B[0, 0:16])
            T.copy(row, B[1, 0:16])

    a = floats(8, 16)
    used = [k for k in range(steps) if k != 2]
    last = a[steps - 1] if steps else np.zeros(16, np.float32)
    expected = np.stack([a[used].astype(np.float64).sum(0).astype(np.float32), last])
    agree(kernel, [a, steps, np.zeros((2, 16), np.float32)], {2: expected})


# 10. Python semantics


def test_trap_10_bindings_and_variables(agree):
    """A name is a value at its time; a variable is stored to; a swap takes both values first."""

    @T.prim_func
    def kernel(B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=1):
            v = T.alloc_var("int32", init=1)
            before = v
            v = v + 4
            B[0] = before
            B[1] = v
            w = T.alloc_var("int32", init=9)
            v, w = w, v
            B[2] = v
            B[3] = w
            x = y = B[1]
            B[4] = x + y
            a, b = 1, 2
            a, b = b, a
            B[5] = a * 10 + b
            B[6] = 1 if 0 < v <= 9 < 10 else 0
            B[7] = 3 if w > 100 or (v == 9 and w != 6) else 4

    expected = np.array([1, 5, 9, 5, 10, 21, 1, 3], np.int32)
    agree(kernel, [np.zeros(8, np.int32)], {0: expected})


def test_trap_10_constant_conditions_fold(agree):
    """The branch that is not taken is not even looked at, not even for names that there aren't."""

    def folded(debug):
        @T.prim_func
        def kernel(B: T.Tensor((4,), "int32")):
            with T.Kernel(1, threads=1):
                if debug:
                    B["no"] = T.nothing_like_this  # noqa: F821
                else:
                    B[0] = 1
                B[1] = 2 if not debug else B["no"]
                if debug and B["no"]:
                    B[2] = 3

        return kernel

    with pytest.raises(tilewright.CompileError, match="T has no 'nothing_like_this'"):
        folded(True).capture()
    agree(folded(False), [np.zeros(4, np.int32)], {0: np.array([1, 2, 0, 0], np.int32)})


def test_trap_10_lazy_choices(agree, random):
    """`and`, `or` and choices look at their right side only where they must."""

    @T.prim_func
    def kernel(
        K: T.Tensor((8,), "int32"), A: T.Tensor((4,), "int32"), B: T.Tensor((2, 8), "int32")
    ):
        with T.Kernel(1, threads=1):
            tile = T.alloc_shared((4,), "int32")
            T.copy(A, tile)
            for i in T.serial(8):
                k = K[i]
                B[0, i] = tile[k] if k >= 0 and k < 4 else -1
                B[1, i] = 1 if k != 0 and 12 // k == 4 else 0

    index = np.array([0, 3, -1, 4, 100, 2, 1, -7], np.int32)
    a = random.integers(0, 50, 4).astype(np.int32)
    inside = (index >= 0) & (index < 4)
    first = np.where(inside, a[np.clip(index, 0, 3)], -1)
    agree(kernel, [index, a, np.zeros((2, 8), np.int32)], {2: np.stack([first, index == 3])})


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 10, 3), (2, 2, 1), (5, 17, 4), (9, 8, 2)])
def test_trap_10_range_with_step(agree, start, stop, step):
    @T.prim_func
    def kernel(B: T.Tensor((20,), "int32")):
        with T.Kernel(1, threads=1):
            for i in range(start, stop, step):
                B[i] = i + 1

    expected = np.zeros(20, np.int32)
    for i in range(start, stop, step):
        expected[i] = i + 1
    agree(kernel, [np.zeros(20, np.int32)], {0: expected})


def test_trap_10_scopes_of_names():
    """A value made in a loop ends with it."""

    @T.prim_func
    def kernel(B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=1):
            for i in T.serial(4):
                last = B[i]
            B[0] = last

    with pytest.raises(tilewright.CompileError, match="'last' is used outside the serial loop"):
        kernel.capture()


def test_trap_10_macro_hygiene(agree):
    """A macro's names are its own; it sees those of where it was written."""
    offset = 100

    @T.macro
    def shifted(x):
        y = x + offset
        return y

    @T.prim_func
    def kernel(B: T.Tensor((3,), "int32")):
        with T.Kernel(1, threads=1):
            offset = 1
            y = 5
            B[0] = shifted(y)
            B[1] = y
            B[2] = offset

    agree(kernel, [np.zeros(3, np.int32)], {0: np.array([105, 5, 1], np.int32)})


# 11. Integers and casts


def test_trap_11_integer_arithmetic(agree):
    """Floor and truncation, arithmetic shifts, widths that stay."""

    @T.prim_func
    def kernel(A: T.Tensor((6,), "int32"), B: T.Tensor((6, 6), "int32")):
        with T.Kernel(1, threads=1):
            for i in T.serial(6):
                B[0, i] = A[i] // 4
                B[1, i] = A[i] % 4
                B[2, i] = T.truncdiv(A[i], 4)
                B[3, i] = A[i] >> 1
                B[4, i] = T.cast(T.cast(A[i], "int8") + T.cast(100, "int8"), "int32")
                B[5, i] = T.cast(A[i], "uint8") // 3

    a = np.array([-9, -4, -1, 0, 7, 100], np.int32)
    with np.errstate(over="ignore"):
        small = (a.astype(np.int8) + np.int8(100)).astype(np.int32)
    rows = [a // 4, a % 4, np.trunc(a / 4), a >> 1, small, a.astype(np.uint8) // 3]
    agree(kernel, [a, np.zeros((6, 6), np.int32)], {1: np.stack(rows).astype(np.int32)})


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_trap_11_fp8_rounding(agree, numpy_dtypes, random, dtype):
    """To nearest even, subnormals too."""

    @T.prim_func
    def kernel(A: T.Tensor((512,), "float32"), B: T.Tensor((512,), dtype)):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(512):
                B[i] = A[i]

    a = (random.standard_normal(512) * 2.0 ** random.integers(-9, 8, 512)).astype(np.float32)
    a = np.clip(a, -440, 440)
    agree(kernel, [a, np.zeros(512, numpy_dtypes[dtype])], {1: a.astype(numpy_dtypes[dtype])}, 0.0)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_trap_11_copies_of_fp8_keep_infinities(agree, numpy_dtypes, dtype):
    """A conversion to 8 bits saturates; a copy of what has 8 bits converts nothing."""

    @T.prim_func
    def kernel(A: T.Tensor((256,), dtype), B: T.Tensor((256,), dtype)):
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((256,), dtype)
            y = T.alloc_shared((256,), dtype)
            T.copy(A, x)
            T.copy(x, y)
            T.copy(y, B)

    a = np.arange(256, dtype=np.uint8).view(numpy_dtypes[dtype])
    agree(kernel, [a, np.zeros_like(a)], {1: a}, 0.0)


def test_trap_11_bool_storage(agree):
    """A bool is a byte; what is not 0 is true."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "bool"), C: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                B[i] = A[i]
                C[i] = T.cast(B[i], "int32") + T.cast(B[i], "int32")

    a = np.array([0, -0.0, 0.5, -3, np.nan, 1e-40, 2, 0], np.float32)
    truth = a != 0
    agree(kernel, [a, np.zeros(8, np.bool_), np.zeros(8, np.int32)], {1: truth, 2: truth * 2})


def test_trap_11_float_to_integer(agree):
    """Toward zero, and to the nearest there is."""

    @T.prim_func
    def kernel(
        A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "int32"), C: T.Tensor((8,), "uint8")
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                B[i] = T.cast(A[i], "int32")
                C[i] = T.cast(A[i], "uint8")

    a = np.array([1.9, -1.9, 3e9, -3e9, np.nan, np.inf, 300, -5], np.float32)
    signed = np.array([1, -1, 2**31 - 1, -(2**31), 0, 2**31 - 1, 300, -5], np.int32)
    unsigned = np.array([1, 0, 255, 0, 0, 255, 255, 0], np.uint8)
    agree(kernel, [a, np.zeros(8, np.int32), np.zeros(8, np.uint8)], {1: signed, 2: unsigned})


def test_trap_11_index_beyond_32_bits(agree):
    """Offsets are computed in 64 bits: rows that are 2^31 elements apart."""

    @T.prim_func
    def kernel(A: T.ptr, B: T.Tensor((2,), "int8")):
        with T.Kernel(1, threads=1):
            rows = T.make_tensor(A, (3, 4), "int8", strides=(2**31, 1))
            for i in T.serial(1):
                B[i] = rows[i, 1]
                B[i + 1] = rows[i * 2, 3]

    a = np.arange(4, dtype=np.int8)
    agree(kernel, [a.ctypes.data, np.zeros(2, np.int8)], {1: np.array([1, 3], np.int8)})


# 12. Host side


def test_trap_12_empty_grid():
    """A grid without blocks is not launched."""
    n = T.dynamic("n")

    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 4), threads=32) as bx:
            A[bx * 4] = 1.0

    tilewright.compile(kernel)(np.zeros(0, np.float32))


def test_trap_12_order_of_outputs(floats):
    """Negative numbers in out_idx; several outputs in their order."""

    @T.prim_func
    def kernel(
        A: T.Tensor((4,), "float32"), B: T.Tensor((4,), "float32"), C: T.Tensor((4,), "int32")
    ):
        with T.Kernel(1, threads=4):
            for i in T.Parallel(4):
                B[i] = A[i] + 1.0
                C[i] = i

    b, c = tilewright.compile(kernel, out_idx=[-2, -1])(a := floats(4))
    np.testing.assert_array_equal(b, a + 1)
    assert c.tolist() == [0, 1, 2, 3]


def test_trap_12_strides_of_unit_dims(floats):
    """The stride of a dim of 1 means nothing."""

    @T.prim_func
    def kernel(A: T.Tensor((1, 4), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=4):
            for i in T.Parallel(4):
                B[i] = A[0, i]

    whole, b = floats(3, 4), np.zeros(4, np.float32)
    odd = np.lib.stride_tricks.as_strided(whole[1:], (1, 4), (999 * 4, 4))
    tilewright.compile(kernel)(odd, b)
    np.testing.assert_array_equal(b, whole[1])


@pytest.mark.parametrize("rows", [1, 3])
def test_trap_12_symbols_of_strides_of_unit_dims(agree, floats, rows):
    """A symbol that only such a stride holds takes what it is."""
    n, stride = T.dynamic("n, stride")

    @T.prim_func
    def kernel(A: T.StridedTensor((n, 4), (stride, 1), "float32"), B: T.Tensor((n, 4), "float32")):
        with T.Kernel(n, threads=4) as row:
            for i in T.Parallel(4):
                B[row, i] = A[row, i]

    wide = floats(rows, 9)
    agree(kernel, [wide[:, :4], np.zeros((rows, 4), np.float32)], {1: wide[:, :4]})


# 13. Atomics


def test_trap_13_atomic_float_extremes(agree, floats):
    @T.prim_func
    def kernel(A: T.Tensor((4, 16), "float32"), B: T.Tensor((2,), "float32")):
        with T.Kernel(4, threads=16) as bx:
            for i in T.serial(16):
                T.atomic_max(B[0], A[bx, i])
                T.atomic_min(B[1], A[bx, i])

    a = floats(4, 16) - 5
    initial = np.array([-1e30, 1e30], np.float32)
    agree(kernel, [a, initial], {1: np.array([a.max(), a.min()], np.float32)})


def test_trap_13_atomic_tiles(agree, floats):
    @T.prim_func
    def kernel(A: T.Tensor((4, 10), "float32"), B: T.Tensor((10,), "float32")):
        with T.Kernel(4, threads=32) as bx:
            tile = T.alloc_fragment((16,), "float32")
            T.copy(A[bx, 0:10], tile[0:10])
            T.fill(tile[10:16], 1.0)
            T.atomic_add(B[0], tile)

    a = floats(4, 10)
    expected = a.astype(np.float64).sum(0).astype(np.float32)
    agree(kernel, [a, np.zeros(10, np.float32)], {1: expected}, 1e-5)


# 14. Views


def test_trap_14_views_alias(agree, floats):
    """A view is the same memory: what is written through one is read through the other."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 8), "float32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((4, 8), "float32")
            T.annotate_layout({tile: T.Layout(tile.shape, lambda i, j: (i, j ^ i))})
            flat = T.reshape(tile, (32,))
            bits = T.view(tile, (32,), "int32")
            T.copy(A, tile)
            for i in T.Parallel(32):
                flat[i] = flat[i] * 2.0
            T.copy(bits, B)

    a = floats(4, 8)
    agree(kernel, [a, np.zeros(32, np.int32)], {1: (a * 2).view(np.int32).reshape(-1)})


ENABLED = False


def test_loops_that_never_run(agree):
    """As in Python: what is False while compiling makes no turn, and nobody looks at its body."""

    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32"), n: T.int32):
        with T.Kernel(1):
            w = T.alloc_var("int32", init=0)
            while w < n and ENABLED:
                A[w] = undefined_anywhere  # noqa: F821
                w += 1
            while ENABLED:
                w = 7
            while False:
                w = 8
            while w < n:
                A[w] = 10 + w
                w += 1

    agree(kernel, [np.zeros(4, np.int32), 3], {0: np.array([10, 11, 12, 0], np.int32)}, 0)


def never_ends(body):
    """What the reference says of a kernel with this body."""
    with pytest.raises(tilewright.KernelError) as wrong:
        tilewright.compile(body, target="reference")(np.zeros(4, np.int32))
    return str(wrong.value)


def test_loops_that_never_end():
    """The reference ends them where they are sure to run for ever, not after billions of steps."""

    @T.prim_func
    def without_update(A: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=4):
            i = T.alloc_var("int32", init=0)
            j = T.alloc_var("int32", init=0)
            while i < 10:
                j += 1
                A[0] = j

    said = never_ends(without_update)
    assert "this loop never ends: nothing in it changes 'i', of which its condition is made" in said

    @T.prim_func
    def skips_its_update(A: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=4):
            i = T.alloc_var("int32", init=0)
            s = T.alloc_shared((4,), "int32")
            while i < 4:
                if i == 2:
                    continue
                T.fill(s, i)
                T.copy(s, A)
                i += 1

    said = never_ends(skips_its_update)
    assert "this loop never ends: all of the kernel's memory is as it was 1 turn before" in said

    @T.prim_func
    def goes_round(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            while A[0] < 3:
                A[0] = (A[0] + 1) % 3

    assert "as it was 3 turns before" in never_ends(goes_round)


def test_loops_whose_state_always_changes(monkeypatch):
    """They may end: the limit is told, and how to raise it."""

    @T.prim_func
    def counts(A: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=4):
            i = T.alloc_var("int64", init=0)
            while i < 5000:
                i += 1
            A[0] = i

    monkeypatch.setenv("TILEWRIGHT_REFERENCE_STEPS", "400000")
    said = never_ends(counts)
    assert "this loop ran 1000 turns without coming to an end; if it comes to one, give it" in said
    assert "more operations than 400000, of which a while loop may use one in 400 as a turn" in said
    assert "TILEWRIGHT_REFERENCE_STEPS=4000000" in said
    monkeypatch.setenv("TILEWRIGHT_REFERENCE_STEPS", "4000000")
    result = np.zeros(4, np.int32)
    tilewright.compile(counts, target="reference")(result)
    assert result[0] == 5000
    monkeypatch.setenv("TILEWRIGHT_REFERENCE_STEPS", "many")
    said = never_ends(counts)
    assert "TILEWRIGHT_REFERENCE_STEPS is 'many', which is no number of operations" in said


@pytest.mark.parametrize("threads", [1, 32])
def test_loops_that_end(agree, threads):
    """Nothing is said of loops that break, that other threads end, or whose memory comes back."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=threads):
            n = T.alloc_var("int32", init=0)
            once = T.alloc_var("int32", init=1)
            while once == 1:  # nothing changes it
                n += 1
                if n > 5:
                    break
            A[0] = n
            i = T.alloc_var("int32", init=0)
            back = T.alloc_local((1,), "int32")
            while i < 3:
                k = T.alloc_var("int32", init=0)
                while k < 4:
                    k += 1
                tile = T.alloc_shared((4,), "int32")
                T.fill(tile, 0)
                i += 1
                back[0] = 5
                back[0] = 4
            A[1] = back[0]
            A[2] = i
            flag = T.alloc_shared((2,), "int32")
            turns = T.alloc_var("int32", init=0)
            flag[0] = 0
            T.sync_threads()
            while flag[0] < 3:
                T.sync_threads()
                turns += 1
                if T.get_thread_binding() == 0:
                    flag[0] = turns
                T.sync_threads()
            A[3] = turns

    expected = np.array([6, 4, 3, 3, 0, 0, 0, 0], np.int32)
    agree(kernel, [np.zeros(8, np.int32)], {0: expected}, 0)

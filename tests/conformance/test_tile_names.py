# SPDX-License-Identifier: Apache-2.0
"""Names on tiles and memory: reducers, scans, atomics, views, schedulers, addresses, hints."""

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


# Copies


def test_transpose(agree, floats):
    @T.prim_func
    def kernel(A: T.Tensor((8, 16), "float32"), B: T.Tensor((16, 8), "float32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((8, 16), "float32")
            b = T.alloc_shared((16, 8), "float32")
            T.copy(A, a)
            T.transpose(a, b)
            T.copy(b, B)

    a = floats(8, 16)
    agree(kernel, [a, np.zeros((16, 8), np.float32)], {1: a.T.copy()})


def test_async_copy(agree, floats):
    @T.prim_func
    def kernel(A: T.Tensor((8, 16), "float32"), B: T.Tensor((8, 16), "float32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((8, 16), "float32")
            T.async_copy(A, a)
            T.ptx_commit_group()
            T.ptx_wait_group(0)
            T.copy(a, B)

    a = floats(8, 16)
    agree(kernel, [a, np.zeros_like(a)], {1: a})


@pytest.mark.parametrize("im2col", [T.im2col, T.c2d_im2col])
def test_im2col(agree, floats, im2col):
    """A convolution as a product, against a plain loop."""
    n, height, width, channels, filters, tap, stride, dilation, pad = 2, 6, 5, 4, 3, 3, 2, 1, 1
    out_h, out_w = (height + 2 * pad - tap) // stride + 1, (width + 2 * pad - tap) // stride + 1
    rows, depth = n * out_h * out_w, tap * tap * channels

    @T.prim_func
    def kernel(
        X: T.Tensor((n, height, width, channels), "float32"),
        W: T.Tensor((depth, filters), "float32"),
        Y: T.Tensor((rows, filters), "float32"),
    ):
        with T.Kernel(T.ceildiv(rows, 8), threads=32) as bx:
            x = T.alloc_shared((8, 12), "float32")
            w = T.alloc_shared((12, filters), "float32")
            y = T.alloc_fragment((8, filters), "float32")
            T.clear(y)
            for k in T.serial(depth // 12):
                im2col(X, x, bx, k, tap, stride, dilation, pad)
                T.copy(W[k * 12, 0], w)
                T.gemm(x, w, y)
            T.copy(y, Y[bx * 8, 0])

    x, w = floats(n, height, width, channels), floats(depth, filters)
    padded = np.pad(x.astype(np.float64), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = [
        padded[i, y * stride : y * stride + tap, c * stride : c * stride + tap].reshape(-1)
        for i in range(n)
        for y in range(out_h)
        for c in range(out_w)
    ]
    expected = (np.array(windows) @ w).astype(np.float32)
    agree(kernel, [x, w, np.zeros((rows, filters), np.float32)], {2: expected})


# Reductions


@pytest.mark.parametrize("op", ["sum", "max", "min", "bitand", "bitor", "bitxor"])
def test_reducers(agree, random, op):
    dtype = "float32" if op in ("sum", "max", "min") else "int32"

    @T.prim_func
    def kernel(A: T.Tensor((16, 24), dtype), B: T.Tensor((16,), dtype)):
        with T.Kernel(1, threads=32):
            total = T.alloc_reducer((16,), dtype, op=op)
            out = T.alloc_fragment((16,), dtype)
            T.reducer_init(total)
            for i, j in T.Parallel(16, 24):
                T.reducer_update(total[i], A[i, j])
            T.finalize_reducer(total, out)
            T.copy(out, B)

    functions = {
        "sum": np.add, "max": np.maximum, "min": np.minimum,
        "bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor,
    }  # fmt: skip
    if dtype == "int32":
        a = random.integers(-1000, 1000, (16, 24)).astype(np.int32)
        expected = functions[op].reduce(a, axis=1)
    else:
        a = random.standard_normal((16, 24)).astype(np.float32)
        expected = functions[op].reduce(a.astype(np.float64), axis=1).astype(np.float32)
    agree(kernel, [a, np.zeros_like(expected)], {1: expected})


def test_reduce_by_name(agree, random):
    @T.prim_func
    def kernel(A: T.Tensor((8, 16), "int32"), B: T.Tensor((4, 8), "int32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_fragment((8, 16), "int32")
            b = T.alloc_fragment((8,), "int32")
            T.copy(A, a)
            T.reduce(a, b, "max", 1, True)
            T.copy(b, B[0, 0:8])
            T.reduce_bitand(a, b, dim=1)
            T.copy(b, B[1, 0:8])
            T.reduce_bitor(a, b, dim=1)
            T.copy(b, B[2, 0:8])
            T.reduce_bitxor(a, b, dim=1)
            T.copy(b, B[3, 0:8])

    a = random.integers(-1000, 1000, (8, 16)).astype(np.int32)
    bits = [f.reduce(a, axis=1) for f in (np.bitwise_and, np.bitwise_or, np.bitwise_xor)]
    agree(kernel, [a, np.zeros((4, 8), np.int32)], {1: np.stack([a.max(1), *bits])})


def test_cummax(agree, floats):
    @T.prim_func
    def kernel(A: T.Tensor((5, 7), "float32"), B: T.Tensor((5, 7), "float32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((5, 7), "float32")
            T.copy(A, a)
            T.cummax(a, dim=1)
            T.copy(a, B)

    a = floats(5, 7)
    a[1, 3] = a[2, 0] = a[3] = np.nan  # passed over; before all numbers there is -infinity
    agree(kernel, [a, np.zeros_like(a)], {1: np.fmax(np.fmax.accumulate(a, axis=1), -np.inf)})


def test_any_of_and_all_of(agree):
    @T.prim_func
    def kernel(A: T.Tensor((4, 8), "int32"), B: T.Tensor((4, 2), "int32")):
        with T.Kernel(4, threads=32) as bx:
            a = T.alloc_shared((8,), "bool")
            for i in T.Parallel(8):
                a[i] = A[bx, i] > 0
            B[bx, 0] = T.if_then_else(T.any_of(a), 1, 0)
            B[bx, 1] = T.if_then_else(T.all_of(a[2:8]), 1, 0)

    a = np.zeros((4, 8), np.int32)
    a[1, 3] = 1
    a[2, 2:] = 1
    a[3, :2] = 1
    expected = np.array([[0, 0], [1, 0], [1, 1], [1, 0]], np.int32)
    agree(kernel, [a, np.zeros((4, 2), np.int32)], {1: expected})


# Loops and schedules


def test_loop_names(agree):
    @T.prim_func
    def kernel(B: T.Tensor((6, 4), "int32")):
        with T.Kernel(1, threads=4):
            for i in T.Serial(4):
                B[0, i] = i
            for i in T.Unroll(4):
                B[1, i] = i
            for i in T.Vectorized(4):
                B[2, i] = i
            for i in T.parallel(4):
                B[3, i] = i
            for i, j in T.grid(2, 2):
                B[4, i * 2 + j] = i * 2 + j
            for i in T.serial(10):
                if i == 4:
                    T.loop_break()
                B[5, i] = i

    agree(kernel, [np.zeros((6, 4), np.int32)], {0: np.tile(np.arange(4, dtype=np.int32), (6, 1))})


@pytest.mark.parametrize("group", [1, 3, 8])
def test_persistent(agree, group):
    """Every tile is visited once, whatever the groups."""

    @T.prim_func
    def kernel(B: T.Tensor((7, 5), "int32")):
        with T.Kernel(4, threads=1) as block:
            for m, n in T.Persistent([7, 5], 4, block, group_size=group):
                T.atomic_add(B[m, n], 1)

    agree(kernel, [np.zeros((7, 5), np.int32)], {0: np.ones((7, 5), np.int32)})


@pytest.mark.parametrize("domain", [[0], [0, 3], [3, 0], [2, 0, 3]])
def test_persistent_without_tiles(agree, domain):
    @T.prim_func
    def kernel(B: T.Tensor((4,), "int32")):
        with T.Kernel(4, threads=1) as block:
            for _place in T.Persistent(domain, 4, block):
                B[block] = 1

    agree(kernel, [np.zeros(4, np.int32)], {0: np.zeros(4, np.int32)})


@pytest.mark.parametrize(("swizzle", "column_major"), [(1, True), (3, True), (2, False)])
def test_persistent_tile_scheduler(agree, swizzle, column_major):
    @T.prim_func
    def kernel(B: T.Tensor((7, 5), "int32")):
        with T.Kernel(4, threads=1) as block:
            tiles = T.PersistentTileScheduler(
                7, 5, num_workers=4, swizzle_size=swizzle, column_major=column_major
            )
            tiles.init(block)
            while tiles.valid():
                T.atomic_add(B[tiles.m_idx, tiles.n_idx], 1)
                tiles.next_tile()

    assert issubclass(T.PersistentTileScheduler, T.BaseTileScheduler)
    agree(kernel, [np.zeros((7, 5), np.int32)], {0: np.ones((7, 5), np.int32)})


# Atomics


def test_atomics(agree, random):
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32"), Out: T.Tensor((8,), "int32")):
        with T.Kernel(4, threads=1) as bx:
            for i in T.serial(16):
                T.atomic_add(Out[0], A[bx * 16 + i])
                T.atomic_max(Out[1], A[bx * 16 + i])
                T.atomic_min(Out[2], A[bx * 16 + i])
                T.atomic_or(Out[3], A[bx * 16 + i])
            T.atomic_store(Out[4], 17, memory_order="release")
            if T.atomic_load(Out[4], memory_order="acquire") == 17:
                T.atomic_add(Out[5], 1, memory_order="acq_rel")

    a = random.integers(1, 1000, 64).astype(np.int32)
    expected = np.array([a.sum(), a.max(), 0, np.bitwise_or.reduce(a), 17, 4, 0, 0], np.int32)
    agree(kernel, [a, np.zeros(8, np.int32)], {1: expected})


def test_atomic_vectors(agree, floats):
    @T.prim_func
    def kernel(
        A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32"), Old: T.Tensor((4,), "float32")
    ):
        with T.Kernel(1, threads=1):
            T.atomic_addx2(B[0], A[0])
            before = T.atomic_addx4(B[4], A[4], return_prev=True)
            for k, value in enumerate(before):
                Old[k] = value
            Old[0] += T.atomic_add(B[2], 1.0, return_prev=True)

    a, b = floats(8), floats(8)
    expected = b + np.where([1, 1, 0, 0, 1, 1, 1, 1], a, 0).astype(np.float32)
    expected[2] += 1
    old = b[4:].copy()
    old[0] += b[2]
    agree(kernel, [a, b, np.zeros(4, np.float32)], {1: expected, 2: old})


# Views, layouts, annotations


def test_view_and_coordinates(agree, random):
    @T.prim_func
    def kernel(A: T.Tensor((4, 6), "uint32"), B: T.Tensor((24,), "float32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_buffer((4, 6), "uint32", scope="shared")
            T.copy(A, a)
            bits = T.view(a, (2, 12), "float32")
            row = T.reshape(bits, (24,))
            for i in T.serial(24):
                y, x = T.index_to_coordinates(i, (4, 6))
                B[y * 6 + x] = row[i]

    a = random.standard_normal((4, 6)).astype(np.float32)
    agree(kernel, [a.view(np.uint32), np.zeros(24, np.float32)], {1: a.reshape(-1)})


def test_packed_int4(agree, random):
    """Two elements to a byte, the first in the low half; stores leave the other half alone."""

    @T.prim_func
    def kernel(A: T.Tensor((16,), "int8"), B: T.Tensor((32,), "int8"), C: T.Tensor((16,), "int8")):
        with T.Kernel(1, threads=32):
            packed = T.view(A, (32,), "int4")
            out = T.view(C, (32,), T.int4)
            tile = T.alloc_shared((32,), "int4")
            T.copy(packed, tile)
            for i in T.Parallel(32):
                B[i] = T.cast(tile[i], "int8")
                out[31 - i] = tile[i]

    a = random.integers(-128, 128, 16).astype(np.int8)
    low, high = (a << 4) >> 4, a >> 4
    values = np.stack([low, high], 1).reshape(-1).astype(np.int8)
    back = values[::-1]
    packed = ((back[0::2] & 0xF) | (back[1::2] << 4)).astype(np.int8)
    arguments = [a, np.zeros(32, np.int8), np.zeros(16, np.int8)]
    agree(kernel, arguments, {1: values, 2: packed})


def test_hints_change_nothing(agree, floats):
    @T.prim_func
    def kernel(A: T.Tensor((16, 16), "float32"), B: T.Tensor((16, 16), "float32")):
        with T.Kernel(2, 2, threads=32) as (bx, by):
            a = T.alloc_shared((8, 8), "float32")
            b = T.alloc_fragment((8, 8), "float32")
            T.use_swizzle(panel_size=4, order="col", enable=True)
            T.annotate_layout(
                {
                    a: T.Layout(a.shape, lambda i, j: (i, j ^ i)),
                    b: T.Fragment(b.shape, forward_fn=lambda i, j: (i * 4 + j // 2, j % 2)),
                }
            )
            T.annotate_l2_hit_ratio({A: 0.5})
            T.annotate_min_blocks_per_sm(2)
            T.annotate_restrict_buffers(A, B)
            T.annotate_compile_flags("-O3")
            T.annotate_pass_configs({"tl.enable_fast_math": False})
            T.annotate_producer_reg_dealloc(24)
            T.annotate_consumer_reg_alloc(240)
            T.no_set_max_nreg()
            T.disable_warp_group_reg_alloc()
            T.set_max_nreg(240, 1)
            T.inc_max_nreg(240)
            T.dec_max_nreg(24)
            T.pdl_sync()
            T.annotate_safe_value({A: 0.0})
            T.copy(A[by * 8, bx * 8], a)
            T.copy(a, b)
            T.copy(b, B[by * 8, bx * 8])
            T.pdl_trigger()

    a = floats(16, 16)
    agree(kernel, [a, np.zeros_like(a)], {1: a})


# Macros and classes


def test_macro_forms(agree):
    @T.macro
    def double(x):
        return x * 2

    @T.inline
    def bump(counter: T.Ref, amount):
        counter += amount

    @T.macro
    def fill_row(row: T.SharedBuffer((4,), "int32"), value):
        for i in T.Parallel(4):
            row[i] = value

    @T.prim_func
    def kernel(B: T.Tensor((6,), "int32")):
        with T.Kernel(1, threads=4):
            count = T.alloc_var("int32", init=1)
            row = T.alloc_shared((4,), "int32")
            bump(count, 4)
            bump(B[5], 3)
            fill_row(row, double(count))
            for i in T.serial(4):
                B[i] = row[i]
            B[4] = count

    expected = np.array([10, 10, 10, 10, 5, 3], np.int32)
    agree(kernel, [np.zeros(6, np.int32)], {0: expected})


def test_meta_class(agree):
    @T.meta_class
    class Counter:
        """State of a kernel in an object."""

        def __init__(self, start):
            self.value = T.alloc_var("int32", init=start)
            self.step = 2

        def advance(self, times):
            for _ in T.serial(times):
                self.value += self.step
            if self.value > 100:
                self.value = 0

        def doubled(self):
            return self.value * 2

        @property
        def half(self):
            return T.floordiv(self.value, 2)

        @half.setter
        def half(self, half):
            self.value = half * 2

    @T.prim_func
    def kernel(B: T.Tensor((6,), "int32")):
        with T.Kernel(1, threads=4):
            first = Counter(5)
            second = Counter(90)
            first.advance(3)
            second.advance(6)
            B[0] = first.value
            B[1] = second.value
            B[2] = first.doubled()
            first.value = 7
            B[3] = first.value
            B[4] = first.half + 20
            second.half = first.half
            B[5] = second.value

    agree(kernel, [np.zeros(6, np.int32)], {0: np.array([11, 0, 22, 7, 23, 6], np.int32)})


# Arguments


def test_tensor_annotations(agree, floats):
    m, n = T.dynamic("m, n")
    k = T.symbolic("k")

    @T.prim_func
    def kernel(
        A: T.Tensor[[m, n], T.float32],
        B: T.Buffer((n + m * 2, 3), "float32"),
        C: T.StridedTensor((k, 2), (1, k), "float32"),
        scale: T.float32,
    ):
        with T.Kernel(m, threads=32) as bx:
            for j in T.serial(n):
                B[j, bx] = A[bx, j] * scale + C[bx, 1]

    a, c = floats(3, 5), np.asfortranarray(floats(4, 2))
    expected = np.zeros((11, 3), np.float32)
    expected[:5] = (a * np.float32(0.5) + c[:3, 1:]).T
    agree(kernel, [a, np.zeros((11, 3), np.float32), c, 0.5], {1: expected})


def test_linear_equations_of_symbols(agree, floats):
    """B of length m + n and C of length 2 n give m and n."""
    m, n = T.dynamic("m, n")

    @T.prim_func
    def kernel(
        B: T.Tensor((m + n,), "float32"),
        C: T.Tensor((2 * n,), "float32"),
        Out: T.Tensor((2,), "int32"),
    ):
        with T.Kernel(1, threads=1):
            Out[0] = m
            Out[1] = n

    arguments = [floats(11), floats(8), np.zeros(2, np.int32)]
    agree(kernel, arguments, {2: np.array([7, 4], np.int32)})


def test_pointers(agree, floats):
    """A pointer argument, and a table of addresses as a grouped gemm has it."""
    a, b = floats(6, 4), floats(6, 4)

    @T.prim_func
    def kernel(
        table: T.Tensor((2,), T.ptr), first: T.ptr, n: T.int32, Out: T.Tensor((3, 24), "float32")
    ):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((6, 4), "float32")
            for g in T.serial(2):
                A = T.make_tensor_from_addr(table[g], (6, 4), "float32")
                T.copy(A, tile)
                for i, j in T.Parallel(6, 4):
                    Out[g, i * 4 + j] = tile[i, j] * 2.0
            F = T.make_tensor(first, (n, 4), T.float32, strides=(4, 1))
            for i, j in T.grid(n, 4):
                Out[2, i * 4 + j] = T.if_then_else(T.isnullptr(first), 0.0, F[i, j])

    table = np.array([a.ctypes.data, b.ctypes.data], np.int64)
    expected = np.stack([a.reshape(-1) * 2, b.reshape(-1) * 2, a.reshape(-1)])
    out = np.zeros((3, 24), np.float32)
    agree(kernel, [table, a.ctypes.data, 6, out], {3: expected})
    tilewright.compile(kernel)(table, a, 6, out)  # a tensor stands for its address
    np.testing.assert_array_equal(out, expected)


def test_match_buffer(agree, floats):
    @T.prim_func
    def kernel(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (8,), "float32")
        B = T.match_buffer(b, (8,), "float32")
        with T.Kernel(1, threads=8):
            for i in T.Parallel(8):
                B[i] = A[i] + 1.0

    a = floats(8)
    agree(kernel, [a, np.zeros(8, np.float32)], {1: a + 1})


def test_addresses(agree, floats):
    """The address of an element is one that a tensor can be made of."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=1):
            tail = T.make_tensor(T.address_of(A[2]), (2,), "float32")
            rest = T.make_tensor(T.access_ptr(A, "r", offset=4), (2,), "float32")
            B[0] = tail[0]
            B[1] = tail[1]
            B[2] = rest[0]
            B[3] = rest[1]

    a = floats(8)
    agree(kernel, [a, np.zeros(4, np.float32)], {1: a[2:6]})


def test_call_extern(agree, floats):
    """Functions of the C library."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8):
            for i in T.serial(8):
                B[i] = T.call_extern("float32", "cbrtf", A[i]) + T.call_pure_extern(
                    "float32", "fmaxf", A[i], 0.0
                )

    a = floats(8)
    agree(kernel, [a, np.zeros(8, np.float32)], {1: np.cbrt(a) + np.maximum(a, 0)})


def test_optional_argument(floats):
    """A tensor that the kernel doesn't use may be None."""

    def make(with_bias):
        @T.prim_func
        def kernel(
            A: T.Tensor((8,), "float32"),
            Bias: T.Tensor((8,), "float32"),
            B: T.Tensor((8,), "float32"),
        ):
            with T.Kernel(1, threads=8):
                for i in T.Parallel(8):
                    if with_bias:
                        B[i] = A[i] + Bias[i]
                    else:
                        B[i] = A[i]

        return tilewright.compile(kernel)

    a, bias, b = floats(8), floats(8), np.zeros(8, np.float32)
    make(False)(a, None, b)
    np.testing.assert_array_equal(b, a)
    make(True)(a, bias, b)
    np.testing.assert_array_equal(b, a + bias)


def test_eager(eager, floats):
    """T.const is read off the shapes, T.empty is what the kernel gives."""

    def scaled(A, B, factor=2.0):
        M, N = T.const("M, N")
        A: T.Tensor[[M, N], T.float32]
        B: T.Tensor[[M], T.float32]
        C = T.empty([M, N], T.float32)
        with T.Kernel(M, threads=32) as bx:
            for j in T.Parallel(N):
                C[bx, j] = A[bx, j] * factor + B[bx]
        return C

    a, b = floats(3, 5), floats(3)
    eager(scaled, [a, b], [a * 2 + b[:, None]])


def test_annotations_of_macros(agree, floats):
    n = T.dyn["n"]

    @T.macro
    def total(tile: T.FragmentBuffer((8,), "float32"), out: T.LocalBuffer((1,), "float32")):
        out[0] = 0.0
        for i in T.serial(8):
            out[0] += tile[i]

    @T.prim_func
    def kernel(A: T.Tensor((n, 8), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(n, threads=32) as bx:
            tile = T.alloc_fragment((8,), "float32")
            out = T.alloc_local((1,), "float32")
            T.copy(A[bx, 0], tile)
            total(tile, out)
            B[bx] = out[0]

    a = floats(4, 8)
    agree(kernel, [a, np.zeros(4, np.float32)], {1: a.astype(np.float64).sum(1)})


def test_if_then_else_frames(agree):
    """TVM's way to write a branch."""

    @T.prim_func
    def kernel(B: T.Tensor((4,), "int32")):
        with T.Kernel(4, threads=32) as bx, T.If(bx > 1):
            with T.Then():
                B[bx] = 10
            with T.Else():
                B[bx] = 20

    agree(kernel, [np.zeros(4, np.int32)], {0: np.array([20, 20, 10, 10], np.int32)})


# Debugging


def test_print_and_assert(agree, capfd):
    @T.prim_func
    def kernel(B: T.Tensor((2,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            tile = T.alloc_shared((2,), "int32")
            if tx == 0:
                tile[0] = 1
                tile[1] = 2
                T.print(tile[0] + 40, "value")
            T.sync_threads()
            T.print(tile, "tile")
            T.device_assert(tile[1] == 2, "two")
            if tx == 0:
                B[0] = tile[0]

    agree(kernel, [np.zeros(2, np.int32)], {0: np.array([1, 0], np.int32)})
    printed = capfd.readouterr().out
    assert printed.count("value") == 1 and "41" in printed
    assert printed.count("[1, 2]") == 1


# dtypes


@pytest.mark.parametrize(
    "dtype",
    [
        "int16", "uint16", "uint64", "float64", "float8_e4m3", "float8_e4m3fn", "float8_e4m3fnuz",
        "float8_e5m2", "float8_e5m2fnuz",
    ],
)  # fmt: skip
def test_dtypes(agree, numpy_dtypes, random, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((32,), dtype), B: T.Tensor((32,), "float64")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                B[i] = T.cast(A[i], "float64") * 2

    a = random.integers(0, 100, 32).astype(numpy_dtypes[dtype])
    agree(kernel, [a, np.zeros(32)], {1: a.astype(np.float64) * 2})


def test_dtype_aliases(agree, floats):
    @T.prim_func
    def kernel(A: T.Tensor((8,), T.float), B: T.Tensor((5, 8), T.double)):
        with T.Kernel(1, threads=8):
            for i in T.serial(8):
                B[0, i] = T.half(A[i])
                B[1, i] = T.int(A[i] * 10)
                B[2, i] = T.long(A[i] * 100)
                B[3, i] = T.short(A[i] * 10)
                B[4, i] = T.uint(T.abs(A[i]) * 10)

    a = floats(8)
    ten = a * np.float32(10)
    rows = [
        a.astype(np.float16),
        ten.astype(np.int32),
        (a * np.float32(100)).astype(np.int64),
        ten.astype(np.int16),
        (np.abs(a) * np.float32(10)).astype(np.uint32),
    ]
    expected = np.stack([np.asarray(r, np.float64) for r in rows])
    agree(kernel, [a, np.zeros((5, 8))], {1: expected})


# What is refused


def message_of(statement, kind=tilewright.CompileError):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), K: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            statement(A, K)

    with pytest.raises(kind) as caught:
        tilewright.compile(kernel)
    return [d.message for d in caught.value.errors]


def scheduler(method, **options):
    def use(A, K):
        getattr(T.PersistentTileScheduler(2, 2, **options), method)()

    return use


def started(A, K):
    tiles = T.PersistentTileScheduler(2, 2)
    tiles.init(0)
    tiles.next_tile()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (lambda A, K: T.alloc_reducer((4,), "float32", op="mean"),
         "there is no reducer 'mean'; it is one of sum, max, min, bitand, bitor, bitxor"),
        (lambda A, K: T.Persistent([4, -1], 2, 0),
         "extent 1 of the domain of T.Persistent is -1, but at least 0 is needed"),
        (lambda A, K: T.Persistent([4, 2], 0, 0),
         "wave_size of T.Persistent is 0, but at least 1 is needed"),
        (lambda A, K: T.Persistent([4, 2], 2, 0, group_size=-1),
         "group_size of T.Persistent is -1, but at least 1 is needed"),
        (lambda A, K: T.Persistent([4, 2], 2, 0, group_size=K[0]),
         "group_size of T.Persistent must be a number that is known here"),
        (lambda A, K: T.Persistent([4, 2], 2, 2),
         "index of T.Persistent is 2, but the blocks have numbers from 0 to 1"),
        (lambda A, K: T.Persistent([4, 2], K[0], -1),
         "index of T.Persistent is -1, but the blocks have numbers from 0 on"),
        (lambda A, K: T.reducer_init(A), "T.reducer_init needs a buffer of T.alloc_reducer"),
        (lambda A, K: T.reducer_update(A, 1),
         "T.reducer_update needs one element of a reducer, as in r[i]"),
        (scheduler("valid"), "a tile scheduler is used before its init"),
        (scheduler("valid", cluster_size=2),
         "cluster_size of a tile scheduler is unsupported on cpu; use 1"),
        (started, "a tile scheduler needs num_workers to go on to its next tile"),
        (lambda A, K: T.atomic_addx2(A, A[0]),
         "T.atomic_addx2 needs one element of a buffer, as in A[i]"),
        (lambda A, K: T.atomic_addx2(T.alloc_var("float32").element(), A[0]),
         "T.atomic_addx2 needs an element that has neighbours, not a variable"),
        (lambda A, K: T.im2col(A, A, 0, 0, 3, 1, 1, 0),
         "img of T.im2col must be a tensor of 4 dims, [N, H, W, C], but buffer 'A' has 1"),
        (lambda A, K: T.im2col(T.reshape(A, (1, 1, 1, 8)), A[0], 0, 0, 3, 1, 1, 0),
         "col of T.im2col must be a tile of 2 dims, not a value of the running kernel"),
        (lambda A, K: T.atomic_load(A[0], "release"),
         "T.atomic_load has no memory order 'release'; it is relaxed, consume, acquire, seq_cst"),
        (lambda A, K: T.any_of(5), "T.any_of needs a buffer or a part of one"),
        (lambda A, K: T.make_tensor(5, (2,)),
         "T.make_tensor needs a T.ptr argument or an address of the kernel"),
        (lambda A, K: T.match_buffer(A, (2,)),
         "T.match_buffer needs an argument that is declared as T.handle"),
        (lambda A, K: T.address_of(5), "T.address_of needs an element or a buffer"),
        (lambda A, K: T.float32(),
         "T.float32() has no value; write T.float32(0), or n = T.dynamic('n') for an integer that "
         "is bound from the shapes of the arguments"),
        (lambda A, K: T.call_intrin("float32", "tirx.fly", A[0]),
         "T.call_intrin: there is no function 'tirx.fly' here"),
    ],
)  # fmt: skip
def test_refused(statement, message):
    assert message_of(statement) == [message]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (lambda A, K: T.call_extern("float32", "system", A[0]),
         "there is no function 'system' for kernels on the cpu target, which has those of libm and "
         "of T.import_source"),
        (lambda A, K: T.atomic_add(T.view(K, (64,), "int4")[0], 1),
         "atomic updates of int4 are not supported by the cpu target; use int32"),
    ],
)  # fmt: skip
def test_unsupported_on_cpu(statement, message):
    assert message_of(statement, tilewright.UnsupportedError) == [message]

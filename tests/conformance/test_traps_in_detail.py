# SPDX-License-Identifier: Apache-2.0
"""What the other files of traps leave out, by number, and that every number has a test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T


@pytest.fixture
def floats(random):
    def make(*shape):
        return random.standard_normal(shape).astype(np.float32)

    return make


def test_every_trap_has_a_test():
    """The list has 15; a test says in its name which it is of."""
    text = "".join(p.read_text() for p in Path(__file__).parent.glob("test_traps*.py"))
    numbers = {int(number) for number in re.findall(r"^def test_trap_(\d+)_", text, re.MULTILINE)}
    assert numbers == set(range(1, 16))


def message_of(kernel):
    with pytest.raises(tilewright.CompileError) as caught:
        kernel.capture()
    return str(caught.value)


# 1. Extents of copies


def test_trap_01_copy_of_whole_buffers_needs_equal_shapes():
    @T.prim_func
    def kernel(A: T.Tensor((8, 16), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((16, 8), "float32")
            T.copy(A, tile)

    assert "(8, 16)" in message_of(kernel) and "(16, 8)" in message_of(kernel)


def test_trap_01_copy_of_one_element(agree):
    """Two elements: one store, with a cast."""

    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32):
            T.copy(A[2], B[1])

    a, b = np.array([1.5, 2.5, -3.75, 4], np.float32), np.full(4, 9, np.int32)
    agree(kernel, [a, b], {1: np.array([9, -3, 9, 9], np.int32)})


@pytest.mark.parametrize("at", [-40, -5, 0, 7, 13, 40])
def test_trap_01_copy_over_both_edges(agree, floats, at):
    """An offset that is known only when it runs, below 0 too: zeros, and nothing is stored outside.
    A view of a tensor has edges of its own."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 5), "float32"), at: T.int32, B: T.Tensor((20,), "float32")):
        with T.Kernel(1, threads=32):
            flat = T.view(A, (20,))
            tile = T.alloc_shared((8,), "float32")
            T.copy(flat[at : at + 8], tile)
            for i in T.Parallel(8):
                tile[i] = tile[i] + 1.0
            T.copy(tile, B[at : at + 8])

    a, expected = floats(4, 5), np.full(20, 7, np.float32)
    inside = slice(max(at, 0), max(min(at + 8, 20), 0))
    expected[inside] = a.reshape(-1)[inside] + 1
    agree(kernel, [a, at, np.full(20, 7, np.float32)], {2: expected})


# 2. Synchrony


@pytest.mark.parametrize("stages", [0, 2, 3])
def test_trap_02_copies_of_turns_do_not_overtake(agree, floats, stages):
    """A turn writes what the turn before stored, and what the next one loads."""

    @T.prim_func
    def kernel(A: T.Tensor((6, 64), "float32"), B: T.Tensor((6, 64), "float32")):
        with T.Kernel(1, threads=64):
            load = T.alloc_shared((64,), "float32")
            store = T.alloc_shared((64,), "float32")
            T.fill(store, 0.0)
            for k in T.Pipelined(6, num_stages=stages):
                T.copy(A[k, 0:64], load)
                for i in T.Parallel(64):
                    store[i] = store[i] + load[63 - i]
                T.copy(store, B[k, 0:64])
                T.fill(load, 100.0)

    a = floats(6, 64)
    sums = np.zeros(64, np.float32)
    expected = np.stack([sums := sums + row[::-1] for row in a])
    agree(kernel, [a, np.zeros_like(a)], {1: expected})


# 3. Fragments


def test_trap_03_fragments_that_are_broadcast(agree, floats):
    """One vector along rows and along columns, in loops of different shapes."""

    @T.prim_func
    def kernel(A: T.Tensor((24,), "float32"), B: T.Tensor((24, 24), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((24,), "float32")
            table = T.alloc_fragment((24, 24), "float32")
            T.copy(A, a)
            for i, j in T.Parallel(24, 24):
                table[i, j] = a[i] - a[j]
            for i in T.Parallel(24):
                a[i] = a[i] * 2.0
            for i, j in T.Parallel(24, 24):
                table[i, j] = table[i, j] * a[j]
            T.copy(table, B)

    a = floats(24)
    wide = a.astype(np.float64)
    expected = ((wide[:, None] - wide) * 2 * wide).astype(np.float32)
    agree(kernel, [a, np.zeros((24, 24), np.float32)], {1: expected})


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shared", [T.alloc_fragment, T.alloc_shared])
def test_trap_03_iterations_that_share_elements(cpu_only, numpy_dtypes, random, dtype, shared):
    """On a GPU a layout gives those of an element to one thread, which takes them in turn."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 64), dtype), B: T.Tensor((4, 8), dtype), C: T.Tensor((64,), dtype)):
        with T.Kernel(1, threads=64):
            largest, flat = shared((4, 8), dtype), shared((8, 8), dtype)
            T.clear(largest)
            T.fill(flat, 1)
            for i, j in T.Parallel(32, 64):
                largest[i // 8, j // 8] = T.max(largest[i // 8, j // 8], A[i, j])
            for i in T.Parallel(64):  # each has its own: in vectors
                flat[i // 8, i % 8] += A[0, i]
            for i in T.Parallel(64):
                flat[0, i % 8] += T.if_then_else(i >= 8, A[0, i], 0)
            T.copy(largest, B)
            for i in T.Parallel(64):
                C[i] = flat[i // 8, i % 8]

    a = random.integers(-9, 9, (32, 64)).astype(numpy_dtypes[dtype])
    sums = a[0].reshape(8, 8) + 1
    sums[0] += a[0].reshape(8, 8)[1:].sum(0)
    wanted = {1: np.maximum(a.reshape(4, 8, 8, 8).max((1, 3)), 0), 2: sums.reshape(-1)}
    outputs = [np.zeros((4, 8), a.dtype), np.zeros(64, a.dtype)]
    cpu_only(kernel, [a, *outputs], wanted)


# 4. Reductions


@pytest.mark.parametrize("extent", [1, 7, 33, 100])
def test_trap_04_absolute_values(agree, floats, extent):
    """Their start is 0, whatever the signs; what is there takes part only if it is asked for."""

    @T.prim_func
    def kernel(A: T.Tensor((3, extent), "float32"), B: T.Tensor((2, 3), "float32")):
        with T.Kernel(1, threads=64):
            a = T.alloc_fragment((3, extent), "float32")
            b = T.alloc_fragment((3,), "float32")
            T.copy(A, a)
            T.fill(b, 1000.0)
            T.reduce_abssum(a, b, dim=1)
            T.copy(b, B[0, 0:3])
            T.fill(b, -1000.0)
            T.reduce_absmax(a, b, dim=1)
            T.copy(b, B[1, 0:3])

    a = -np.abs(floats(3, extent))
    size = np.abs(a.astype(np.float64))
    expected = np.stack([size.sum(1), size.max(1)]).astype(np.float32)
    agree(kernel, [a, np.zeros((2, 3), np.float32)], {1: expected})


# 5. Scans


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("space", [T.alloc_shared, T.alloc_fragment])
def test_trap_05_scans_into_another_tile(agree, random, reverse, space):
    """The source stays as it was."""

    @T.prim_func
    def kernel(A: T.Tensor((5, 9), "int32"), B: T.Tensor((3, 5, 9), "int32")):
        with T.Kernel(1, threads=64):
            a = T.alloc_fragment((5, 9), "int32")
            sums = space((5, 9), "int32")
            largest = space((5, 9), "int32")
            T.copy(A, a)
            T.cumsum(a, sums, dim=1, reverse=reverse)
            T.cummax(a, largest, dim=0, reverse=reverse)
            T.copy(a, B[0, 0:5, 0:9])
            T.copy(sums, B[1, 0:5, 0:9])
            T.copy(largest, B[2, 0:5, 0:9])

    a = random.integers(-9, 9, (5, 9)).astype(np.int32)
    along = (lambda x, dim: np.flip(x, dim)) if reverse else (lambda x, dim: x)
    sums = along(np.cumsum(along(a, 1), axis=1, dtype=np.int32), 1)
    largest = along(np.maximum.accumulate(along(a, 0), axis=0), 0)
    agree(kernel, [a, np.zeros((3, 5, 9), np.int32)], {1: np.stack([a, sums, largest])})


# 6. Gemm


@pytest.mark.parametrize("policy", list(T.GemmWarpPolicy))
@pytest.mark.parametrize(("m", "n", "k"), [(1, 8, 16), (5, 9, 7), (17, 33, 3), (40, 24, 20)])
def test_trap_06_gemm_of_odd_shapes(agree, floats, policy, m, n, k):
    """Shapes, threads and policies that fit no instruction; operands with a layout, transposed."""
    k_pack = np.int64(1 + n % 2)  # NumPy's numbers are as good as others

    @T.prim_func
    def kernel(
        A: T.Tensor((k, m), "float32"),
        B: T.Tensor((n, k), "float32"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(1, threads=96):
            a = T.alloc_shared((k, m), "float32")
            b = T.alloc_shared((n, k), "float32")
            c = T.alloc_fragment((m, n), "float32")
            T.annotate_layout({a: tilewright.layout.make_swizzled_layout(a)})
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(
                a, b, c, transpose_A=True, transpose_B=True, policy=policy, clear_accum=True,
                k_pack=k_pack,
            )  # fmt: skip
            T.copy(c, C)

    a, b = floats(k, m), floats(n, k)
    expected = (a.T.astype(np.float64) @ b.T).astype(np.float32)
    agree(kernel, [a, b, np.zeros((m, n), np.float32)], {2: expected})


def test_trap_06_gemm_of_earlier_releases(agree, floats):
    """wg_wait, and the two forms that T.gemm chose from."""

    @T.prim_func
    def kernel(A: T.Tensor((16, 8), "float32"), C: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((16, 8), "float32")
            c = T.alloc_fragment((16, 16), "float32")
            T.copy(A, a)
            T.gemm(a, a, c, False, True, T.GemmWarpPolicy.FullRow, True, wg_wait=-1)
            T.gemm_v1(a, a, c, transpose_B=True, wg_wait=-1)
            T.wait_wgmma(0)
            T.gemm_v2(a, a, c, transpose_B=True, wg_wait=0)
            T.copy(c, C)

    a = floats(16, 8)
    expected = (3 * a.astype(np.float64) @ a.T).astype(np.float32)
    agree(kernel, [a, np.zeros((16, 16), np.float32)], {1: expected})


@pytest.mark.parametrize("right", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("left", ["float8_e4m3fn", "float8_e5m2"])
def test_trap_06_gemm_of_two_dtypes(agree, floats, numpy_dtypes, left, right):
    """Both forms of 8 bits go together, each as it is; the sum is float32."""

    @T.prim_func
    def kernel(A: T.Tensor((16, 24), left), B: T.Tensor((24, 16), right), C: T.Tensor((16, 16))):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((16, 24), left)
            b = T.alloc_shared((24, 16), right)
            c = T.alloc_fragment((16, 16), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    a = floats(16, 24).astype(numpy_dtypes[left])
    b = floats(24, 16).astype(numpy_dtypes[right])
    expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    agree(kernel, [a, b, np.zeros((16, 16), np.float32)], {2: expected})


# 7. Pipelines


def test_trap_07_order_and_stage_by_hand(agree, floats):
    """They say when a GPU starts a statement; what the loop computes stays."""

    @T.prim_func
    def kernel(A: T.Tensor((5, 32), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            row = T.alloc_shared((32,), "float32")
            total = T.alloc_fragment((32,), "float32")
            T.clear(total)
            for k in T.Pipelined(5, order=[1, 0], stage=[0, 1]):
                at = k
                T.copy(A[at, 0:32], row)
                for i in T.Parallel(32):
                    total[i] = total[i] * 0.5 + row[i]
            T.copy(total, B)

    a, expected = floats(5, 32), np.zeros(32)
    for row in a:
        expected = expected * 0.5 + row
    agree(kernel, [a, np.zeros(32, np.float32)], {1: expected.astype(np.float32)})


# 8. Warp specialisation: the CPU has none, but kernels that get it elsewhere run.


def test_trap_08_persistent_pipelines_with_thread_ids(agree, floats):
    """A load before the loop, a pipeline in a loop of unknown length, code of single threads."""

    @T.prim_func
    def kernel(
        Q: T.Tensor((16,), "float32"),
        A: T.Tensor((7, 4, 16), "float32"),
        B: T.Tensor((7, 16), "float32"),
        Seen: T.Tensor((7,), "int32"),
    ):
        with T.Kernel(3, threads=128) as bx:
            tx = T.get_thread_binding()
            q = T.alloc_shared((16,), "float32")
            row = T.alloc_shared((16,), "float32")
            total = T.alloc_fragment((16,), "float32")
            tile = T.alloc_var("int32")
            T.copy(Q, q)
            tile = bx
            while tile < 7:
                T.clear(total)
                for k in T.Pipelined(4, num_stages=2):
                    T.copy(A[tile, k, 0:16], row)
                    for i in T.Parallel(16):
                        total[i] += row[i] * q[i]
                if tx == 127:
                    Seen[tile] = bx
                T.copy(total, B[tile, 0:16])
                tile = tile + 3

    q, a = floats(16), floats(7, 4, 16)
    expected = (a.astype(np.float64).sum(1) * q).astype(np.float32)
    arguments = [q, a, np.zeros((7, 16), np.float32), np.full(7, -1, np.int32)]
    agree(kernel, arguments, {2: expected, 3: np.arange(7, dtype=np.int32) % 3})


def test_trap_08_waits_that_never_end_are_told():
    """With their place, and what arrives too late; the kernel ends."""

    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=256):
            ready = T.alloc_barrier(128)
            T.mbarrier_wait_parity(ready, 0)
            A[0] = 1.0

    with pytest.raises(RuntimeError, match="a wait for a memory barrier would never end"):
        tilewright.compile(kernel)(np.zeros(4, np.float32))


# 9. Memory that is used again


def test_trap_09_tiles_larger_than_a_gpu_has(agree, floats):
    """A shared tile of 1 MB; views of parts of it keep their alignment."""

    @T.prim_func
    def kernel(A: T.Tensor((512, 512), "float32"), B: T.Tensor((512,), "float32")):
        with T.Kernel(1, threads=128):
            odd = T.alloc_shared((3,), "int8")
            tile = T.alloc_shared((512, 512), "float32")
            sums = T.alloc_fragment((512,), "float32")
            T.fill(odd, 1)
            T.copy(A, tile)
            T.reduce_sum(tile, sums, dim=1)
            for i in T.Parallel(512):
                sums[i] = sums[i] * T.cast(odd[1], "float32")
            T.copy(sums, B)

    a = floats(512, 512)
    expected = a.astype(np.float64).sum(1).astype(np.float32)
    agree(kernel, [a, np.zeros(512, np.float32)], {1: expected})


# 10. Python semantics


def test_trap_10_closures_and_references(agree):
    """A function made in a Python loop sees its own value; a macro may change what it is given."""

    def adder(amount):
        @T.macro
        def add(target: T.Ref):
            target += amount

        return add

    adders = [adder(amount) for amount in (1, 10, 100)]

    @T.prim_func
    def kernel(B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=1):
            v = T.alloc_var("int32", init=5)
            first, second, third = adders
            first(v)
            second(v)
            third(B[1])
            B[0] = v
            for i in T.unroll(2):
                B[2 + i] = v * (i + 1)

    agree(kernel, [np.zeros(4, np.int32)], {0: np.array([16, 100, 16, 32], np.int32)})


def test_trap_10_references_to_what_has_no_value_yet(agree):
    """The macro writes it first; nor is what a known choice leaves out read."""

    @T.macro
    def halves(n: int, first: T.Ref, last: T.Ref):
        first = n // 2
        last = n - first  # noqa: F841 - what was given

    @T.prim_func
    def kernel(B: T.Tensor((3,), "int32"), n: T.int32):
        with T.Kernel(1, threads=1):
            first = T.alloc_var("int32")
            last = T.alloc_var("int32")
            scale = T.alloc_var("int32")
            halves(n, first, last)
            B[0] = first
            B[1] = last
            B[2] = T.Select(False, B[0] * scale, B[1])

    agree(kernel, [np.zeros(3, np.int32), 7], {0: np.array([3, 4, 4], np.int32)})


def test_trap_10_kernels_defined_in_a_loop():
    """Each keeps what it saw where it was defined, though it is traced when it is compiled."""
    kernels = []
    for n in (1, 2, 3):

        @T.prim_func
        def kernel(B: T.Tensor((2,), "int32")):
            with T.Kernel(1, threads=2):
                for i in T.Parallel(2):
                    B[i] = n + later()  # noqa: B023 - that is the trap

        kernels.append(kernel)

    @T.macro
    def later():  # without a value where the kernels are defined
        return 10

    n = 7
    assert n == 7
    for expected, kernel in zip((11, 12, 13), kernels, strict=True):
        b = np.zeros(2, np.int32)
        tilewright.compile(kernel)(b)
        assert b.tolist() == [expected, expected]


SEEN = 1


@T.prim_func
def kernel_of_a_global(B: T.Tensor((1,), "int32")):
    with T.Kernel(1, threads=1):
        B[0] = SEEN


SEEN = 2


def test_trap_10_a_global_that_changes(tmp_path):
    """The same of globals, and of the same kernel found in the cache by what it saw."""
    b = np.zeros(1, np.int32)
    tilewright.compile(kernel_of_a_global)(b)
    assert b[0] == 1 and SEEN == 2
    source = (
        "import numpy as np, tilewright, tilewright.language as T\n"
        "kernels = []\n"
        "for n in (1, 2, 3):\n"
        "    @T.prim_func\n"
        "    def kernel(B: T.Tensor((1,), 'int32')):\n"
        "        with T.Kernel(1, threads=1):\n"
        "            B[0] = n\n"
        "    kernels.append(kernel)\n"
        "n = 9\n"
        "for kernel in tilewright.par_compile(kernels):\n"
        "    b = np.zeros(1, np.int32)\n"
        "    kernel(b)\n"
        "    print(b[0])\n"
    )
    (tmp_path / "loop.py").write_text(source)
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):  # made, then found
        ran = subprocess.run(
            [sys.executable, tmp_path / "loop.py"], env=environment, capture_output=True, text=True
        )
        assert ran.stdout.split() == ["1", "2", "3"], ran.stderr


# 11. Integers and casts


def test_trap_11_literals_beside_small_types(agree):
    """A Python number is an int32 beside a smaller integer, as in TVM; beside a float a float."""

    @T.prim_func
    def kernel(
        A: T.Tensor((4,), "uint8"),
        S: T.Tensor((4,), "int16"),
        H: T.Tensor((4,), "float16"),
        B: T.Tensor((9, 4)),
        C: T.Tensor((4,), "uint8"),
    ):
        with T.Kernel(1, threads=1):
            for i in T.serial(4):
                B[0, i] = T.cast(A[i] + 1, "float32")
                B[1, i] = T.cast(H[i] * 3, "float32")
                B[2, i] = T.cast(A[i] >> 1, "float32")
                B[3, i] = A[i] * 3 // 4
                B[4, i] = T.if_then_else(A[i] - 1 < 0, 1, 0)
                B[5, i] = (A[i] << 12) >> 4
                B[6, i] = S[i] * 1000
                B[7, i] = S[i] << i
                B[8, i] = A[i] + T.uint8(1)
                C[i] = A[i] + 1

    a = np.array([0, 127, 128, 255], np.uint8)
    s = np.array([-32768, -3, 5, 32767], np.int16)
    h = np.array([0.1, 1000, 30000, -2], np.float16)
    wide, far = a.astype(np.int64), s.astype(np.int64)
    with np.errstate(over="ignore"):
        small, half = a + np.uint8(1), h * np.float16(3)
    rows = [wide + 1, half, a >> 1, wide * 3 // 4, wide - 1 < 0, wide << 8, far * 1000]
    rows += [far << np.arange(4), small]
    expected = np.stack([np.asarray(row, np.float32) for row in rows])
    outputs = [np.zeros((9, 4), np.float32), np.zeros(4, np.uint8)]
    agree(kernel, [a, s, h, *outputs], {3: expected, 4: small})


def test_trap_11_fp8_saturates(agree):
    @T.prim_func
    def kernel(A: T.Tensor((6,), "float32"), B: T.Tensor((6,), "float8_e4m3fn")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(6):
                B[i] = T.cast(A[i], "float8_e4m3fn")

    a = np.array([448, 449, 1e9, -1e9, 464.1, -0.0], np.float32)
    expected = np.array([448, 448, 448, -448, 448, -0.0], ml_dtypes.float8_e4m3fn)
    agree(kernel, [a, np.zeros(6, ml_dtypes.float8_e4m3fn)], {1: expected}, 0.0)


# 12. Host side


def test_trap_12_constants_of_shapes_are_part_of_the_key(eager, floats):
    """Other constants are another kernel; a tensor that no statement uses may be None."""

    def halves(A):
        M, N = T.const("M, N")
        A: T.Tensor[[M, N], T.float32]
        first = T.empty([M], T.float32)
        second = T.empty([N], T.float32)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(M):
                first[i] = A[i, 0]
            for j in T.Parallel(N):
                second[j] = A[0, j]
        return first, second

    for shape in ((3, 5), (5, 3), (3, 5)):
        a = floats(*shape)
        eager(halves, [a], [a[:, 0], a[0]])


def test_trap_12_symbols_are_solved(floats):
    """B has m + n elements: one unknown at a time; a shape that disagrees is refused."""
    m, n = T.dynamic("m, n")

    @T.prim_func
    def kernel(A: T.Tensor((m,), "float32"), B: T.Tensor((m + n,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.serial(n):
                B[m + i] = A[0]

    compiled = tilewright.compile(kernel)
    a, b = floats(3), np.zeros(5, np.float32)
    compiled(a, b)
    np.testing.assert_array_equal(b, np.concatenate([np.zeros(3, np.float32), np.full(2, a[0])]))
    with pytest.raises(ValueError, match="B"):
        compiled(a, np.zeros(2, np.float32))


# 13. Atomics


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e5m2"])
def test_trap_13_atomics_of_small_floats(agree, numpy_dtypes, dtype):
    """Numbers that are exact in the type, from all blocks at once, and the value before."""

    @T.prim_func
    def kernel(A: T.Tensor((3,), dtype), B: T.Tensor((8,), dtype)):
        with T.Kernel(8, threads=1) as bx:
            T.atomic_add(A[0], T.cast(1, dtype))
            T.atomic_max(A[1], T.cast(bx, dtype))
            T.atomic_min(A[2], T.cast(0 - bx, dtype))
            B[bx] = T.atomic_add(B[bx], T.cast(2, dtype), return_prev=True)

    kind = numpy_dtypes[dtype]
    a, b = np.array([0, -9, 9], kind), np.arange(8).astype(kind)
    agree(kernel, [a, b], {0: np.array([8, 7, -7], kind), 1: b}, 0.0)


def test_trap_13_orders_and_pairs(agree):
    """Pairs of float16 change together or one by one: the result is the same."""

    @T.prim_func
    def kernel(
        A: T.Tensor((2,), "float16"), B: T.Tensor((2,), "float16"), F: T.Tensor((5,), "int32")
    ):
        with T.Kernel(4, threads=1) as bx:
            T.atomic_addx2(B[0], A[0])
            T.atomic_add(F[4], 1, memory_order="release")
            T.atomic_store(F[bx], T.atomic_load(F[bx], memory_order="acquire") + 1, "release")

    a = np.array([0.5, -2], np.float16)
    arguments = [a, np.zeros(2, np.float16), np.zeros(5, np.int32)]
    agree(kernel, arguments, {1: a * 4, 2: np.array([1, 1, 1, 1, 4], np.int32)})


# 14. Views


def test_trap_14_views_of_packed_elements(agree, random):
    """Two int4 in a byte: bytes that are viewed as int4 and back."""

    @T.prim_func
    def kernel(A: T.Tensor((16,), "int8"), B: T.Tensor((16,), "int8"), C: T.Tensor((32,), "int8")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((16,), "int8")
            small = T.view(tile, (32,), "int4")
            T.annotate_layout({tile: T.Layout(tile.shape, lambda i: i ^ 1)})
            T.copy(A, tile)
            for i in T.Parallel(32):
                C[i] = T.cast(small[i], "int8")
            T.copy(tile, B)

    a = random.integers(-128, 128, 16).astype(np.int8)
    values = np.stack([(a << 4) >> 4, a >> 4], 1).reshape(-1).astype(np.int8)
    arguments = [a, np.zeros(16, np.int8), np.zeros(32, np.int8)]
    agree(kernel, arguments, {1: a, 2: values})


@pytest.mark.parametrize("dtype", ["int4", "float4_e2m1fn"])
@pytest.mark.parametrize("stride", [None, 24])
@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_trap_14_strides_of_packed_elements(random, dtype, stride, target):
    """They count elements, as extents do; of an array of bytes each counts twice."""
    pitch = stride or T.dynamic("pitch")

    @T.prim_func
    def kernel(
        A: T.StridedTensor((8, 16), (pitch, 1), dtype),
        B: T.Tensor((8, 16), "float32"),
        C: T.Tensor((1,), "int32"),
    ):
        with T.Kernel(1, threads=8):
            for i, j in T.Parallel(8, 16):
                B[i, j] = A[i, j]
            C[0] = pitch

    whole = random.integers(0, 256, (8, 12)).astype(np.uint8)
    codes = np.stack([whole & 15, whole >> 4], -1).reshape(8, 24)[:, :16]
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
    values = np.where(codes < 8, 1, -1) * table[codes & 7] if dtype != "int4" else (codes ^ 8) - 8.0
    b, c = np.zeros((8, 16), np.float32), np.zeros(1, np.int32)
    tilewright.compile(kernel, target=target)(whole[:, :8], b, c)
    np.testing.assert_array_equal(b, values)
    assert c[0] == 24


@pytest.mark.parametrize("order", ["row", "col"])
def test_trap_14_swizzled_blocks_are_all_there(agree, order):
    """Another order of blocks: each still runs once, with its own numbers."""

    @T.prim_func
    def kernel(B: T.Tensor((7, 5), "int32")):
        with T.Kernel(5, 7, threads=1) as (bx, by):
            T.use_swizzle(panel_size=3, order=order)
            T.atomic_add(B[by, bx], by * 10 + bx + 1)

    expected = np.arange(7)[:, None] * 10 + np.arange(5) + 1
    agree(kernel, [np.zeros((7, 5), np.int32)], {0: expected.astype(np.int32)})


# 15. Several threads, and whose memory it is


def test_trap_15_one_kernel_in_several_threads(floats):
    """Each call has its own arguments, and outputs that nobody else gets."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(64, threads=64) as bx:
            row = T.alloc_shared((64,), "float32")
            T.copy(A[bx, 0:64], row)
            for j in T.Parallel(64):
                B[bx, j] = row[63 - j]

    compiled = tilewright.compile(kernel, out_idx=[1])
    kept = {}

    def call(number):
        a = np.full((64, 64), number, np.float32) + np.arange(64, dtype=np.float32)
        kept[number] = [(a, compiled(a)) for _ in range(5)]

    threads = [threading.Thread(target=call, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pairs = [pair for number in range(6) for pair in kept[number]]
    for a, b in pairs:
        np.testing.assert_array_equal(b, a[:, ::-1])
    assert len({b.ctypes.data for _, b in pairs}) == len(pairs)


def test_trap_15_outputs_are_the_caller_s(floats):
    """PyTorch's tensors for PyTorch's arguments, NumPy's for NumPy's."""
    torch = pytest.importorskip("torch")

    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=32):
            T.copy(A, B)

    compiled = tilewright.compile(kernel, out_idx=[1])
    a = floats(4)
    assert isinstance(compiled(torch.from_numpy(a)), torch.Tensor)
    assert isinstance(compiled(a), np.ndarray)

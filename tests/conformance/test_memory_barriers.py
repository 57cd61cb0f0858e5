# SPDX-License-Identifier: Apache-2.0
"""Memory barriers: kernels whose groups of threads hand tiles over to each other."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tilewright
import tilewright.language as T

M, N, K, BLOCK = 64, 48, 128, 32


def operands():
    random = np.random.default_rng(7)
    a = random.standard_normal((M, K), np.float32)
    b = random.standard_normal((K, N), np.float32)
    return a, b, np.zeros((M, N), np.float32)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_one_group_copies_and_another_multiplies(agree, stages):
    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), "float32"),
        B: T.Tensor((K, N), "float32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(M // BLOCK, threads=256) as by:
            a = T.alloc_shared((stages, BLOCK, BLOCK), "float32")
            b = T.alloc_shared((stages, BLOCK, N), "float32")
            c = T.alloc_fragment((BLOCK, N), "float32")
            out = T.alloc_shared((BLOCK, N), "float32")
            full = T.alloc_barrier([128] * stages)
            free = T.alloc_barrier([128] * stages)
            T.ptx_fence_barrier_init()
            with T.ws(1):
                T.clear(c)
            for k in T.serial(K // BLOCK):
                stage = k % stages
                phase = k // stages % 2
                with T.ws(0):
                    T.mbarrier_wait_parity(free[stage], phase ^ 1)
                    T.mbarrier_expect_tx(full[stage], BLOCK * (BLOCK + N) * 4)
                    T.tma_copy(A[by * BLOCK, k * BLOCK], a[stage, :, :], barrier=full[stage])
                    T.tma_copy(B[k * BLOCK, 0], b[stage, :, :], barrier=full[stage])
                    T.mbarrier_arrive(full[stage])
                with T.ws(1):
                    T.mbarrier_wait_parity(full[stage], phase)
                    T.warpgroup_fence_operand(c)
                    T.warpgroup_arrive()
                    T.wgmma_gemm(a[stage, :, :], b[stage, :, :], c)
                    T.warpgroup_commit_batch()
                    T.warpgroup_wait(0)
                    T.wait_wgmma(0)
                    T.mbarrier_arrive(free[stage])
            with T.ws(1):
                T.copy(c, out)
                T.fence_proxy_async()
                T.tma_copy(out, C[by * BLOCK, 0])
                T.tma_store_arrive()
                T.tma_store_wait(0)

    a, b, c = operands()
    agree(gemm, [a, b, c], {2: a.astype(np.float64) @ b})


def test_barriers_of_several_counts(agree):
    """The first is complete when one thread has come, the second when all have."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32"), last: T.int32):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            s = T.alloc_shared((64,), "int32")
            bars = T.alloc_barrier([1, 64, 64])
            one = T.alloc_barrier(64)
            s[tx] = A[tx]
            if tx == 0:
                T.mbarrier_arrive_expect_tx(bars[0], 256)
            T.barrier_wait(bars[0], 0)
            T.cp_async_barrier_noinc(bars[1])
            T.barrier_arrive(bars[last])
            T.barrier_arrive(one)
            T.barrier_wait(one, 0)
            for i in T.serial(3):
                T.barrier_wait(bars[i], 0)
            T.barrier_wait(bars[1], parity=0)
            B[tx] = s[63 - tx]

    a = np.arange(64, dtype=np.int32)
    agree(kernel, [a, np.zeros(64, np.int32), 2], {1: a[::-1]})


@pytest.mark.parametrize("arrives", [True, False])
def test_a_wait_that_would_never_end_is_told(arrives):
    """The group that copies stands behind the one that waits."""

    @T.prim_func
    def kernel(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=256):
            s = T.alloc_shared((128,), "float32")
            full = T.alloc_barrier(128)
            with T.ws(1):
                T.barrier_wait(full, 0)  #!
                T.copy(s, B)
            with T.ws(0):
                T.copy(A, s)
                if arrives:
                    T.barrier_arrive(full)

    lines = Path(__file__).read_text().splitlines()
    line = 1 + next(n for n, text in enumerate(lines) if "wait(full" in text and "#!" in text)
    a, b = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    message = (
        rf"test_memory_barriers.py:{line}:\d+: error: a wait for a memory barrier would never end: "
        "nobody is left who would arrive there"
    )
    if arrives:
        tilewright.compile(kernel)(a, b)
        assert b.tolist() == a.tolist()
        return
    with pytest.raises(RuntimeError, match=message):
        tilewright.compile(kernel)(a, b)


def test_a_thread_copies_neighbours(agree):
    @T.prim_func
    def kernel(A: T.Tensor((4, 64), "float16"), B: T.Tensor((4, 64), "float16")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            s = T.alloc_shared((4, 64), "float16")
            done = T.alloc_barrier(32)
            row, part = tx // 8, tx % 8
            T.ptx_cp_async(
                T.access_ptr(s[row, part * 8], "w", 4), T.access_ptr(A[row, part * 8], "r", 4), 4
            )
            T.ptx_cp_async(
                T.access_ptr(s[row, part * 8], "w", 4, offset=4),
                T.access_ptr(A[row, part * 8], "r", 4, offset=4),
                4,
                predicate=part < 6,
            )
            T.cp_async_barrier_noinc(done)
            T.barrier_wait(done, 0)
            T.copy(s, B)

    a = np.random.default_rng(5).standard_normal((4, 64)).astype(np.float16)
    expected = a.copy()
    expected.reshape(4, 8, 8)[:, 6:, 4:] = 0
    agree(kernel, [a, np.zeros((4, 64), np.float16)], {1: expected})


WRONG = {
    "T.ptx_cp_async(S[0], A[0], 4)": "T.ptx_cp_async copies between two of T.access_ptr",
    "T.barrier_arrive(A)": "T.barrier_arrive needs a barrier of T.alloc_barrier, not buffer 'A'",
    "T.tma_copy(A, S, barrier=S)": (
        "barrier of T.tma_copy needs a barrier of T.alloc_barrier, not buffer 'S'"
    ),
    "b = T.alloc_barrier([128, 1 << 20])": (
        "arrive_count of T.alloc_barrier must be at most 1048575, not [128, 1048576]"
    ),
    "b = T.alloc_barrier(0)": "arrive_count of T.alloc_barrier must be at least 1, not 0",
    "b = T.alloc_barrier(4)\nT.mbarrier_arrive(b, 1)": (
        "T.ptx_arrive_cluster_barrier is unsupported on cpu: it belongs to memory barriers of "
        "several blocks; use T.alloc_barrier, or T.sync_grid"
    ),
}


def kernel_of(body, tmp_path):
    lines = "\n".join("        " + line for line in body.splitlines())
    path = tmp_path / "kernel.py"
    path.write_text(
        "import tilewright.language as T\n@T.prim_func\n"
        "def kernel(A: T.Tensor((64,), 'float32')):\n    with T.Kernel(1, threads=64):\n"
        f"        S = T.alloc_shared((64,), 'float32')\n{lines}\n"
    )
    names: dict = {"__name__": "kernel"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["kernel"]


@pytest.mark.parametrize("body", WRONG)
def test_wrong_barriers(body, tmp_path):
    with pytest.raises(tilewright.CompileError, match=re.escape(WRONG[body])):
        tilewright.compile(kernel_of(body, tmp_path))


@pytest.mark.parametrize("body", ["b = T.alloc_barrier(4)", "T.tma_copy(A, S)", "T.wait_wgmma(0)"])
def test_on_an_npu_they_are_unsupported(body, tmp_path):
    with pytest.raises(tilewright.UnsupportedError, match="is unsupported on ascend: it belongs"):
        tilewright.compile(kernel_of(body, tmp_path), target="ascend")


def gemm_of_groups(stages, loads_first):
    """A group that loads, and one that multiplies, each with its own loop."""

    @T.macro
    def load(A, B, a, b, full, free, by):
        for k in T.serial(K // BLOCK):
            T.mbarrier_wait_parity(free[k % stages], k // stages % 2 ^ 1)
            T.tma_copy(A[by * BLOCK, k * BLOCK], a[k % stages, :, :], barrier=full[k % stages])
            T.tma_copy(B[k * BLOCK, 0], b[k % stages, :, :], barrier=full[k % stages])
            T.mbarrier_arrive(full[k % stages])

    @T.macro
    def multiply(C, a, b, c, full, free, by):
        T.clear(c)
        for k in T.serial(K // BLOCK):
            stage = k % stages
            T.mbarrier_wait_parity(full[stage], k // stages % 2)
            T.wgmma_gemm(a[stage, :, :], b[stage, :, :], c)
            T.mbarrier_arrive(free[stage])
        T.copy(c, C[by * BLOCK, 0])

    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), "float32"),
        B: T.Tensor((K, N), "float32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(M // BLOCK, threads=256) as by:
            a = T.alloc_shared((stages, BLOCK, BLOCK), "float32")
            b = T.alloc_shared((stages, BLOCK, N), "float32")
            c = T.alloc_fragment((BLOCK, N), "float32")
            full = T.alloc_barrier([128] * stages)
            free = T.alloc_barrier([128] * stages)
            tx = T.get_thread_binding()
            if loads_first:
                if tx < 128:
                    load(A, B, a, b, full, free, by)
                else:
                    multiply(C, a, b, c, full, free, by)
            else:
                with T.ws(0):
                    multiply(C, a, b, c, full, free, by)
                with T.ws(1):
                    load(A, B, a, b, full, free, by)

    return gemm


@pytest.mark.parametrize("loads_first", [True, False])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_groups_with_loops_of_their_own_take_turns(agree, stages, loads_first):
    a, b, c = operands()
    agree(gemm_of_groups(stages, loads_first), [a, b, c], {2: a.astype(np.float64) @ b})


def test_three_groups_meet_in_each_turn(agree):
    """Each adds its part to a row that the group before has written, with a branch that waits."""

    @T.prim_func
    def kernel(A: T.Tensor((6, 32), "float32"), B: T.Tensor((6, 32), "float32"), n: T.int32):
        with T.Kernel(1, threads=96):
            tx = T.get_thread_binding()
            s = T.alloc_shared((32,), "float32")
            first = T.alloc_barrier(32)
            second = T.alloc_barrier(32)
            third = T.alloc_barrier(32)
            if tx < 32:
                for i in T.serial(n):
                    if i > 0:
                        T.barrier_wait(third, (i - 1) % 2)
                    x = A[i, tx]
                    s[tx] = x
                    T.barrier_arrive(first)
            elif tx < 64:
                scale = T.alloc_var("float32", init=1.0)
                for i in T.serial(n):
                    T.barrier_wait(first, i % 2)
                    s[tx - 32] = s[tx - 32] * scale
                    scale = scale + 1.0
                    T.barrier_arrive(second)
            else:
                for i in T.serial(n):
                    y = A[i, tx - 64]
                    T.barrier_wait(second, i % 2)
                    B[i, tx - 64] = s[tx - 64] + y
                    T.barrier_arrive(third)

    a = np.random.default_rng(3).standard_normal((6, 32), np.float32)
    scales = np.arange(1, 7, dtype=np.float32)[:, None]
    agree(kernel, [a, np.zeros((6, 32), np.float32), 6], {1: a * scales + a})


def test_groups_that_wait_for_each_other_for_ever_are_told():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=256):
            one = T.alloc_barrier(128)
            other = T.alloc_barrier(128)
            with T.ws(0):
                for i in T.serial(4):
                    T.barrier_wait(other, i % 2)
                    T.barrier_arrive(one)
            with T.ws(1):
                for i in T.serial(4):
                    T.barrier_wait(one, i % 2)
                    T.barrier_arrive(other)
            A[0] = 1.0

    with pytest.raises(RuntimeError, match="a wait for a memory barrier would never end"):
        tilewright.compile(kernel)(np.zeros(4, np.float32))


@pytest.mark.parametrize("form", ["while", "break", "continue"])
def test_groups_take_turns_in_loops_that_are_left_early(agree, form):
    """A persistent kernel: blocks load and use rows b, b + 2, ... as one number of rows says."""

    @T.macro
    def hand_over(A, s, full, free, count, row, tx):
        T.mbarrier_wait_parity(free[count % 2], count // 2 % 2 ^ 1)
        s[count % 2, tx - 32] = A[row, tx - 32]
        T.mbarrier_arrive(full[count % 2])

    @T.prim_func
    def kernel(A: T.Tensor((7, 32), "float32"), B: T.Tensor((7, 32), "float32"), n: T.int32):
        with T.Kernel(2, threads=64) as b:
            tx = T.get_thread_binding()
            s = T.alloc_shared((2, 32), "float32")
            full = T.alloc_barrier([32, 32])
            free = T.alloc_barrier([32, 32])
            count = T.alloc_var("int32", init=0)
            if tx >= 32:
                if form == "while":
                    row = T.alloc_var("int32")
                    row = b
                    while row < n:
                        hand_over(A, s, full, free, count, row, tx)
                        count += 1
                        row += 2
                else:
                    for i in T.serial(8):
                        if form == "break":
                            if b + 2 * i >= n:
                                break
                        elif i % 2 != b or i >= n:
                            continue
                        hand_over(A, s, full, free, count, b + 2 * i if form == "break" else i, tx)
                        count += 1
            else:
                for i in T.serial((n + 1 - b) // 2):
                    T.mbarrier_wait_parity(full[i % 2], i // 2 % 2)
                    B[b + 2 * i, tx] = s[i % 2, tx] + i
                    T.mbarrier_arrive(free[i % 2])

    a = np.random.default_rng(4).standard_normal((7, 32), np.float32)
    for n in (0, 1, 5):
        want = np.where(np.arange(7)[:, None] < n, a + np.arange(7)[:, None] // 2, np.float32(0))
        agree(kernel, [a, np.zeros((7, 32), np.float32), n], {1: want})


def test_the_wait_that_would_never_end_is_told():
    """The loader's loop has ended; the other group waits once more."""

    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=64):
            full = T.alloc_barrier(32)
            free = T.alloc_barrier(32)
            tx = T.get_thread_binding()
            if tx >= 32:
                for i in T.serial(4):
                    T.barrier_wait(free, (i + 1) % 2)
                    T.barrier_arrive(full)
            else:
                for i in T.serial(5):
                    T.barrier_wait(full, i % 2)  # the last one
                    T.barrier_arrive(free)

    lines = Path(__file__).read_text().splitlines()
    line = 1 + next(n for n, text in enumerate(lines) if text.endswith("# the last one"))
    for target in ("cpu", "reference"):
        with pytest.raises((RuntimeError, tilewright.KernelError), match=f":{line}:"):
            tilewright.compile(kernel, target=target)(np.zeros(4, np.float32))

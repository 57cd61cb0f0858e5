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


def test_a_wait_that_would_never_end_is_told():
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
                T.barrier_arrive(full)

    lines = Path(__file__).read_text().splitlines()
    line = 1 + next(n for n, text in enumerate(lines) if "wait(full" in text and "#!" in text)
    a = np.zeros(128, np.float32)
    message = (
        f"test_memory_barriers.py:{line}:.*a wait for a memory barrier would never end: what "
        "arrives there comes later. Here the branches on the thread's number run one after the "
        "other, as they stand: put both sides into one loop, the one that copies first"
    )
    with pytest.raises(RuntimeError, match=message):
        tilewright.compile(kernel)(a, a.copy())


WRONG = {
    "T.barrier_arrive(A)": "T.barrier_arrive needs a barrier of T.alloc_barrier, not buffer 'A'",
    "T.tma_copy(A, S, barrier=S)": (
        "barrier of T.tma_copy needs a barrier of T.alloc_barrier, not buffer 'S'"
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

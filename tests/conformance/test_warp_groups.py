# SPDX-License-Identifier: Apache-2.0
"""T.ws: parts of a kernel for some of its groups of 128 threads, and sparse gemms, which aren't."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import CompileError, UnsupportedError


def test_parts_run_in_their_order(agree, random):
    """One group loads, the other one multiplies; both store a half of the result."""

    @T.prim_func
    def gemm(
        A: T.Tensor((32, 64), "float32"),
        B: T.Tensor((64, 32), "float32"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((32, 16), "float32")
            b = T.alloc_shared((16, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            out = T.alloc_shared((32, 32), "float32")
            with T.ws(1):
                T.clear(c)
            for k in T.serial(4):
                with T.ws(0):
                    T.copy(A[0, k * 16], a)
                    T.copy(B[k * 16, 0], b)
                T.sync_threads()
                with T.WarpSpecialize(1):
                    T.gemm(a, b, c)
                T.sync_threads()
            with T.ws(1):
                T.copy(c, out)
            T.sync_threads()
            with T.ws(0):
                T.copy(out[0:16, :], C[0:16, :])
            with T.ws(0, 1):
                for i, j in T.Parallel(16, 32):
                    C[16 + i, j] = out[16 + i, j]

    a, b = random.standard_normal((2, 32, 64)).astype(np.float32)
    b = np.ascontiguousarray(b.T)
    agree(gemm, [a, b, np.zeros((32, 32), np.float32)], {2: a @ b})


def test_wrong_warp_groups():
    @T.prim_func
    def wrong(A: T.Tensor((256,), "float32"), n: T.int32):
        with T.ws(0):
            pass
        with T.Kernel(1, threads=256):
            with T.ws(2):
                pass
            with T.ws(n):
                pass
            with T.ws():
                pass
            with T.ws(1):
                A[0] = 1
            t = T.get_thread_binding()
            A[t] = 1
        with T.Kernel(1, is_npu=True), T.ws(0):
            pass

    with pytest.raises(CompileError) as caught:
        tilewright.compile(wrong)
    assert [d.message for d in caught.value.errors] == [
        "T.ws stands inside of T.Kernel",
        "there is no warp group 2: 256 threads of the block make groups of 128, 0 to 1",
        "expected the number of a warp group but got a value of the running kernel",
        "T.ws needs the numbers of warp groups",
        "T.ws in a kernel that asks for the number of a thread is not supported; write "
        "'if T.get_thread_binding() // 128 == group:' around what its threads do",
        "an AI core has no warps, so T.ws is not supported with is_npu; T.Scope says which of its "
        "cores does what",
    ]


@pytest.mark.parametrize("threads_first", [True, False])
def test_threads_that_are_told_apart_write_it_themselves(agree, threads_first):
    @T.prim_func
    def both(A: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=256):
            if threads_first:
                A[T.get_thread_binding()] = 1
            with T.ws(1):
                A[0] = 2
            if not threads_first:
                A[T.get_thread_binding()] = 1

    with pytest.raises(UnsupportedError, match="asks for the number of a thread"):
        tilewright.compile(both)

    @T.prim_func
    def written(A: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=256):
            t = T.get_thread_binding()
            if t // 128 == 1:
                A[t] = t

    expected = np.where(np.arange(256) >= 128, np.arange(256), 0).astype(np.int32)
    agree(written, [np.zeros(256, np.int32)], {0: expected})


def test_what_only_matrix_instructions_have():
    @T.prim_func
    def wrong(A: T.Tensor((8, 8), "float16")):
        with T.Kernel(1, threads=128):
            c = T.alloc_fragment((8, 8), "float32")
            T.gemm_sp(A, A, A, c)
            T.mma_fill("float32", 8, c, 0)

    with pytest.raises(UnsupportedError) as caught:
        tilewright.compile(wrong)
    assert [d.message for d in caught.value.errors] == [
        "T.gemm_sp is unsupported on cpu: it belongs to 2:4 sparsity, whose metadata is laid out "
        "for the matrix instructions of each GPU; unpack A to a dense tile, and use T.gemm",
        "T.mma_fill is unsupported on cpu: it belongs to mma, whose accumulators lie in registers "
        "as its instructions leave them; use T.clear and T.copy on the fragment of T.gemm",
    ]

# SPDX-License-Identifier: Apache-2.0
"""Arguments by the names that TileLang gives them."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T

N = 64


def test_tiles_by_keyword(agree):
    @T.macro(hygienic=True)
    def twice(tile):
        for i in T.Parallel(N):
            tile[i] = tile[i] * 2.0

    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32"), B: T.Tensor((8, 8), "float32")):
        with T.Kernel(1, threads=N):
            s = T.alloc_shared((N,), "float32")
            square = T.alloc_fragment((8, 8), "float32")
            T.annotate_layout(layout_map={s: T.Layout((N,), lambda i: i)})
            T.annotate_safe_value(safe_value_map={A: 1.0})
            T.annotate_l2_hit_ratio(l2_hit_ratio_map={A: 0.5})
            T.annotate_min_blocks_per_sm(n=2)
            T.set_max_nreg(reg_count=24, is_inc=0)
            T.clear(s, annotations={})
            T.fill(square, value=1.0, annotations={})
            T.copy(A[16], s)
            twice(s)
            T.copy(T.reshape(src=s, shape=(8, 8)), square)
            for i in T.vectorized(N, annotations={}):
                B[i // 8, i % 8] = 1.0
            T.atomic_add(B, square, annotations={})

    a = np.arange(N, dtype=np.float32)
    moved = np.concatenate([a[16:], np.ones(16, np.float32)])
    agree(kernel, [a, np.zeros((8, 8), np.float32)], {1: (1 + 2 * moved).reshape(8, 8)})


def test_threads_by_keyword(agree):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((4, N), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            B[0, tx] = T.shfl_sync(A[tx], srcLane=3)
            B[1, tx] = T.syncthreads_count(predicate=A[tx] > 9)
            B[2, tx] = T.Select(A[tx] > 9, true_value=1, false_value=2)
            B[3, tx] = T.reinterpret(T.view(src=A, shape=(N,), dtype="float32")[tx], "int32")

    a = np.arange(N, dtype=np.int32)
    rows = [np.where(a < 32, 3, 35), np.full(N, N - 10), np.where(a > 9, 1, 2), a]
    agree(kernel, [a, np.zeros((4, N), np.int32)], {1: np.stack(rows).astype(np.int32)})


def test_numbers_and_addresses_by_keyword():
    @tilewright.jit
    def kernel(A):
        n = T.const(name="n", dtype="int32")
        A: T.Tensor[[n], T.float32]
        B = T.empty([n], T.float32)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                B[i] = A[i] + 1.0
        return B

    assert kernel(np.zeros(5, np.float32)).tolist() == [1] * 5

    @T.prim_func
    def at_address(p: T.ptr(), B: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            A = T.make_tensor_from_addr(addr=p, shape=(4,), dtype="float32", storage_scope="global")
            T.copy(A, B)

    a, b = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    tilewright.compile(at_address)(a.ctypes.data, b)
    assert b.tolist() == [0, 1, 2, 3]


def test_workspaces_lie_in_global_memory():
    @T.prim_func
    def kernel(B: T.Tensor((4,), "float32")):
        W = T.alloc_global((4,), "float32", scope="shared")
        with T.Kernel(1):
            T.copy(W, B)

    message = "a workspace of T.alloc_global lies in 'global', not in 'shared'"
    with pytest.raises(tilewright.CompileError, match=message):
        tilewright.compile(kernel)


def test_kernels_that_are_compiled_together_take_outputs_by_position():
    def scaled(factor):
        @T.prim_func
        def kernel(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(N):
                    B[i] = A[i] * factor

        return kernel

    made = tilewright.par_compile([scaled(2.0), scaled(3.0)], [-1], num_workers=2)
    assert [each(np.ones(N, np.float32))[0] for each in made] == [2, 3]


def test_what_scripts_take_of_tvm():
    from tilewright import tvm

    @T.prim_func
    def wrong(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            A[0, 0] = 1.0

    tvm.testing.assert_allclose(np.ones(2), np.ones(2), rtol=1e-5)
    for kind in (tvm.TVMError, tvm.error.TVMError, tvm.error.InternalError):
        with pytest.raises(kind):
            tilewright.compile(wrong)

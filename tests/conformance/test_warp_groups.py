# SPDX-License-Identifier: Apache-2.0
"""T.ws: parts for some of the threads. What only matrix instructions have: refused."""

from __future__ import annotations

from linecache import getline

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import CompileError, UnsupportedError


def test_parts_of_warp_groups(agree):
    """A condition on the thread's number; each thread has variables of its own."""

    @T.prim_func
    def parts(A: T.Tensor((256,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=256):
            tx = T.get_thread_binding()
            phase = T.alloc_var("int32", init=0)
            mine = T.alloc_local((2,), "int32")
            with T.ws(0):
                phase += 1
                A[tx] = 1
                B[0] = phase
            with T.WarpSpecialize(1):
                phase += 1
                T.fill(mine, 3)
                T.copy(B[2:4], mine)
                A[tx] = T.warp_reduce_sum(1) + mine[0]
                B[1] = phase
                with T.ws(0):
                    A[0] = 99
            with T.ws(0, 1):
                A[tx] += 5

    expected = np.where(np.arange(256) < 128, 6, 37 + 7).astype(np.int32)
    arguments = [np.zeros(256, np.int32), np.array([0, 0, 7, 8], np.int32)]
    agree(parts, arguments, {0: expected, 1: np.array([1, 1, 7, 8], np.int32)})


def test_groups_of_several_dims_and_loops(agree):
    @T.prim_func
    def loops(A: T.Tensor((2, 2, 64), "int32"), chosen: T.int32):
        with T.Kernel(1, threads=(64, 2, 2)):
            tx, ty, tz = T.get_thread_bindings()
            s = T.alloc_shared((256,), "int32")
            for i in T.serial(4):
                with T.ws(chosen):
                    if i == 2:
                        T.loop_break()
                A[tz, ty, tx] += 1
            with T.ws(0):
                s[tz * 128 + ty * 64 + tx] = 10
            with T.ws(1):
                s[tz * 128 + ty * 64 + tx] = 20
            A[tz, ty, tx] += s[255 - (tz * 128 + ty * 64 + tx)]

    expected = np.array([4 + 20, 2 + 10], np.int32)[:, None, None] * np.ones((2, 2, 64), np.int32)
    agree(loops, [np.zeros((2, 2, 64), np.int32), 1], {0: expected})


def test_tiles_of_warp_groups(agree):
    """What all threads of a group do together; groups that aren't neighbours can't."""

    @T.prim_func
    def tiles(A: T.Tensor((128,), "int32"), B: T.Tensor((2, 128), "int32")):
        with T.Kernel(1, threads=256):
            s = T.alloc_shared((128,), "int32")
            with T.ws(1):
                T.copy(A, s)
                T.sync_threads()
                for i in T.Parallel(128):
                    s[i] += 1
            with T.ws(0):
                T.copy(s, B[0, :])
            with T.ws(0, 1):
                T.copy(s, B[1, :])

    a = np.arange(128, dtype=np.int32)
    agree(tiles, [a, np.zeros((2, 128), np.int32)], {1: np.stack([a + 1, a + 1])})

    @T.prim_func
    def apart(A: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=384), T.ws(0, 2):
            T.fill(A[0:128], 1)

    with pytest.raises(CompileError, match="in a branch of threads 0 to 127, 256 to 383 is not"):
        tilewright.compile(apart)


def test_wrong_warp_groups():
    @T.prim_func
    def wrong(A: T.Tensor((256,), "float32")):
        with T.ws(0):
            pass
        with T.Kernel(1, threads=256):
            with T.ws(2):
                pass
            with T.ws():
                pass
        with T.Kernel(1, is_npu=True), T.ws(0):
            pass

    with pytest.raises(CompileError) as caught:
        tilewright.compile(wrong)
    places = [(d.message, getline(d.place.file, d.place.line).strip()) for d in caught.value.errors]
    assert places == [
        ("T.ws stands inside of T.Kernel", "with T.ws(0):"),
        ("there is no warp group 2: 256 threads of the block make groups of 128, 0 to 1",
         "with T.ws(2):"),
        ("T.ws needs the numbers of warp groups", "with T.ws():"),
        ("an AI core has no warps, so T.ws is not supported with is_npu; T.Scope says which of its "
         "cores does what", "with T.Kernel(1, is_npu=True), T.ws(0):"),
    ]  # fmt: skip


def test_threads_of_a_warp_group(agree):
    """The same, written with the thread's number."""

    @T.prim_func
    def written(A: T.Tensor((256,), "int32"), B: T.Tensor((2,), "int32")):
        with T.Kernel(1, threads=256):
            t = T.get_thread_binding()
            phase = T.alloc_var("int32", init=0)
            if t // 128 == 0:
                phase += 1
                B[0] = phase
            if t // 128 == 1:
                phase += 1
                A[t] = t
                B[1] = phase

    expected = np.where(np.arange(256) >= 128, np.arange(256), 0).astype(np.int32)
    arguments = [np.zeros(256, np.int32), np.zeros(2, np.int32)]
    agree(written, arguments, {0: expected, 1: np.ones(2, np.int32)})


def test_what_only_matrix_instructions_have():
    @T.prim_func
    def wrong(A: T.Tensor((8, 8), "float16")):
        with T.Kernel(1, threads=128):
            c = T.alloc_fragment((8, 8), "float32")
            T.wgmma_gemm_sp(A, A, A, c)
            T.mma_fill("float32", 8, c, 0)

    with pytest.raises(UnsupportedError) as caught:
        tilewright.compile(wrong)
    assert [d.message for d in caught.value.errors] == [
        "T.wgmma_gemm_sp is unsupported on cpu: it belongs to 2:4 sparsity in the instructions of "
        "each GPU, with its layouts of metadata; use T.gemm_sp, which is complete when it returns",
        "T.mma_fill is unsupported on cpu: it belongs to mma, whose accumulators lie in registers "
        "as its instructions leave them; use T.clear and T.copy on the fragment of T.gemm",
    ]

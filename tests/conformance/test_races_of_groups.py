# SPDX-License-Identifier: Apache-2.0
"""Races of threads in branches: a group's barriers order its own threads, and nobody else."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import KernelError

N = 128
RACE = r"two threads of the block, with no barrier between, use element \[{}\] of '{}', and one"


def numbers():
    return np.arange(N, dtype=np.int32)


def race(kernel, message):
    given = [numbers(), np.zeros(N, np.int32), np.zeros(N, np.int32)]
    with pytest.raises(KernelError, match=message) as wrong:
        tilewright.compile(kernel, target="reference")(*given)
    return str(wrong.value)


def check(agree, kernel, expected):
    arguments = [numbers(), np.zeros(N, np.int32), np.zeros(N, np.int32)]
    agree(kernel, arguments, {1: expected.astype(np.int32)})


@pytest.mark.parametrize("outer", [None, N, 48, 40])
def test_sides_of_a_nested_branch(outer):
    """One side has barriers of its own, as it hands shared elements over."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), G: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            q = T.alloc_shared((N,), "int32")
            v = T.alloc_local((1,), "int32")
            q[tx] = A[tx]
            v[0] = 0
            if outer is None or tx < outer:
                if tx < 16:
                    q[15 - tx] = tx + 100
                    q[tx + 16] = q[tx]
                else:
                    v[0] = q[tx]
            B[tx] = v[0]

    assert "q[tx + 16] = q[tx]" in race(kernel, RACE.format(16, "q"))


def test_other_side_first_and_deeper():
    @T.prim_func
    def first(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), G: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            q = T.alloc_shared((N,), "int32")
            q[tx] = A[tx]
            if tx < 64:
                B[tx] = A[tx]
                if tx < 32:
                    if tx >= 16:
                        B[tx] = q[tx]
                    else:
                        q[15 - tx] = tx + 100
                        q[tx + 16] = q[tx]

    race(first, RACE.format(16, "q"))

    @T.prim_func
    def turns(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), G: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            q = T.alloc_shared((N,), "int32")
            if tx < 48:
                for i in T.serial(2):
                    if tx < 32:
                        q[31 - tx] = i
                        G[tx] = q[tx]
                    else:
                        B[tx] = G[tx - 32]

    race(turns, RACE.format(0, "G"))


def test_two_branches_after_each_other():
    """What one side leaves in a tensor, and another group takes without a barrier of both."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), G: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            q = T.alloc_shared((N,), "int32")
            if tx < 96:
                if tx < 32:
                    q[31 - tx] = 5
                    G[tx] = q[tx]
                if tx >= 32:
                    B[tx] = G[tx - 32]

    race(kernel, RACE.format(0, "G"))


def test_where_a_branch_begins_nobody_waits():
    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), G: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            G[tx] = A[tx]
            if tx < 64:
                B[tx] = G[63 - tx]
                T.sync_threads()
                B[tx] += 1

    race(kernel, RACE.format(63, "G"))


def test_members_of_a_group(agree):
    """A group's own barrier, and that of a group in it, and then that of the outer one."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), G: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            q = T.alloc_shared((N,), "int32")
            v = T.alloc_var("int32", init=0)
            q[tx] = A[tx]
            if tx < 96:
                G[tx] = A[tx] + 1
                T.sync_threads()
                v = G[95 - tx]
                if tx < 32:
                    q[31 - tx] = v
                    v += q[tx]
                    G[tx + 96] = v
                T.sync_threads()
                if tx >= 32:
                    v += G[tx % 32 + 96] + q[tx % 32]
            T.sync_threads()
            B[tx] = v + q[(tx + 1) % 32] + G[127 - tx]

    a, t = numbers(), np.arange(N)
    q, g = a.copy(), np.where(t < 96, a + 1, 0)
    v = np.where(t < 96, g[(95 - t) % N], 0)
    q[:32] = v[31::-1]
    v[:32] += q[:32]
    g[96:] = v[:32]
    v[32:96] += g[t[32:96] % 32 + 96] + q[t[32:96] % 32]
    check(agree, kernel, v + q[(t + 1) % 32] + g[127 - t])


def test_what_a_barrier_has_ordered_stays_so(agree):
    """Behind the end of the branch, and through the threads of two groups."""

    @T.prim_func
    def behind(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), G: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx < 96:
                B[tx] = 0
                if tx < 64:
                    G[tx] = A[tx]
                    T.sync_threads()
            if tx < 64:
                B[tx] = G[63 - tx]

    t = np.arange(N)
    check(agree, behind, np.where(t < 64, 63 - t, 0))

    @T.prim_func
    def chain(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), G: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx < 32:
                G[tx] = A[tx] + 1
            if tx < 64:
                T.sync_threads()
            if tx >= 32:
                T.sync_threads()
            if tx >= 96:
                B[tx] = G[tx - 96]

    check(agree, chain, np.where(t >= 96, t - 95, 0))

    @T.prim_func
    def broken(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), G: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx < 32:
                G[tx] = A[tx] + 1
            if tx >= 32:
                T.sync_threads()
            if tx < 64:
                T.sync_threads()
            if tx >= 96:
                B[tx] = G[tx - 96]

    race(broken, RACE.format(0, "G"))


def test_warps_of_a_group(agree):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), G: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            v = T.alloc_var("int32", init=0)
            if tx < 64:
                for i in T.serial(3):
                    G[tx] = A[tx] + i
                    T.sync_warp()
                    v += G[tx ^ 31]
                    T.sync_warp()
                T.sync_threads()
                v += G[tx ^ 63]
            B[tx] = v

    t = np.arange(N)
    check(agree, kernel, np.where(t < 64, 3 * (t ^ 31) + 3 + (t ^ 63) + 2, 0))

    @T.prim_func
    def other(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), G: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx < 64:
                T.sync_threads()
                G[tx] = A[tx]
                T.sync_warp()
                B[tx] = G[tx ^ 63]

    race(other, RACE.format(63, "G"))


def test_values_that_are_set_alike_in_groups(agree):
    """Each turn has another value; a read gives the same one whoever of the warp has set it."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), G: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            v = T.alloc_var("int32", init=0)
            if tx < 96:
                for i in T.serial(9):
                    G[tx // 32] = A[i]
                    v += G[tx // 32]
                    T.sync_warp()
                T.sync_threads()
                v += G[(tx + 32) % 96 // 32]
            B[tx] = v

    check(agree, kernel, np.where(np.arange(N) < 96, 36 + 8, 0))

    @T.prim_func
    def leaders(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), G: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx % 32 == 0:
                G[0] = A[5]
            T.sync_warp()
            B[tx] = G[0]

    check(agree, leaders, np.full(N, 5))

    @T.prim_func
    def later(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), G: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx < 32:
                G[0] = A[5]
                B[tx] = G[0]
                T.sync_warp()
                G[0] = A[6]
                B[tx] += G[0]
            if tx == 64:
                G[0] = A[6]

    race(later, RACE.format(0, "G"))

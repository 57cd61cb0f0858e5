# SPDX-License-Identifier: Apache-2.0
"""In a branch of some threads, these wait for each other where they hand shared memory over."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import KernelError

N = 96

#: Conditions of a thread's number and a number of the run, which is 40.
CHOICES = {
    "a warp": lambda tx, n: tx < 32,
    "the others": lambda tx, n: tx >= 32,
    "the second warp": lambda tx, n: tx // 32 == 1,
    "a part of a warp": lambda tx, n: tx < 20,
    "parts of warps": lambda tx, n: T.And(tx >= 10, tx < 70),
    "known in the run": lambda tx, n: tx < n,
    "both": lambda tx, n: T.And(tx >= 8, tx < n),
    "two threads": lambda tx, n: tx // 2 == 20,
    "every other thread": lambda tx, n: tx % 2 == 0,
    "some of each warp": lambda tx, n: tx % 32 < 5,
    "the outer warps": lambda tx, n: tx // 32 != 1,
    "before and behind": lambda tx, n: T.Or(tx < 10, tx >= 40),
    "one thread": lambda tx, n: tx == 7,
    "nobody": lambda tx, n: tx > 1000,
}


def numbers(count=N):
    return np.arange(count, dtype=np.int32)


def members(name):
    t, n = numbers(), 40
    return {
        "a warp": t < 32,
        "the others": t >= 32,
        "the second warp": t // 32 == 1,
        "a part of a warp": t < 20,
        "parts of warps": (t >= 10) & (t < 70),
        "known in the run": t < n,
        "both": (t >= 8) & (t < n),
        "two threads": t // 2 == 20,
        "every other thread": t % 2 == 0,
        "some of each warp": t % 32 < 5,
        "the outer warps": t // 32 != 1,
        "before and behind": (t < 10) | (t >= 40),
        "one thread": t == 7,
        "nobody": t > 1000,
    }[name]


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("is_else", [False, True])
def test_who_takes_the_branch(agree, name, is_else):
    """What others of the branch wrote is read, overwritten, and read again."""
    chosen = CHOICES[name]

    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((2, N), "int32"), n: T.int32):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            s[tx] = A[tx]
            v = T.alloc_var("int32", init=0)
            if is_else:
                if T.Not(chosen(tx, n)):
                    v = -1
                else:
                    s[tx] += 1000
                    for i in T.serial(N):
                        v += s[i]
                    s[N - 1 - tx] = v + tx
                    v += s[tx]
            else:
                if chosen(tx, n):
                    s[tx] += 1000
                    for i in T.serial(N):
                        v += s[i]
                    s[N - 1 - tx] = v + tx
                    v += s[tx]
                else:
                    v = -1
            B[0, tx] = v
            B[1, tx] = s[tx]

    t, inside = numbers(), members(name)
    s = t + 3
    s[inside] += 1000
    v = s.sum()
    s[N - 1 - t[inside]] = v + t[inside]
    expected = np.stack([np.where(inside, v + s, -1), s]).astype(np.int32)
    agree(kernel, [numbers() + 3, np.zeros((2, N), np.int32), 40], {1: expected})


@pytest.mark.parametrize("kind", ["uniform", "own"])
@pytest.mark.parametrize("threads", [32, 48])
def test_a_loop_before_a_store(agree, kind, threads):
    """All of the branch come to what is behind a loop, though each may take turns of its own."""

    @T.prim_func
    def kernel(A: T.Tensor((2, 64), "int32"), B: T.Tensor((threads,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            s = T.alloc_shared((2, 64), "int32")
            for r in T.unroll(2):
                s[r, tx] = A[r, tx]
            m = T.alloc_var("int32", init=0)
            if tx < threads:
                for i in T.serial(0 if kind == "uniform" else tx // 16, 64, 2):
                    m = T.max(m, s[tx % 2, i])
                s[0, tx] = m + 1000
                B[tx] = m

    # The largest of the numbers that a thread comes by.
    t = np.arange(threads)
    starts = t * 0 if kind == "uniform" else t // 16
    expected = np.array([max(range(s, 64, 2)) for s in starts]) + t % 2 * 64
    arguments = [numbers(128).reshape(2, 64), np.zeros(threads, np.int32)]
    agree(kernel, arguments, {1: expected.astype(np.int32)})


@pytest.mark.parametrize("first", [0, 32, 40])
def test_a_loop_whose_turns_hand_over(agree, first):
    """A butterfly of 32 threads in a branch, and another one of its halves in a branch of that."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            v = T.alloc_var("int32", init=A[tx])
            if T.And(tx >= first, tx < first + 32):
                lane = tx - first
                for i in T.serial(5):
                    s[tx] = v
                    v = v + s[first + (lane ^ (1 << i))]
                if lane < 16:
                    for i in T.serial(4):
                        s[tx] = v + lane
                        v = v + s[first + (lane ^ (1 << i))]
            B[tx] = v

    v = numbers()
    own = v[first : first + 32].sum().repeat(16)
    lanes = np.arange(16)
    for i in range(4):
        own = own + (own + lanes)[lanes ^ (1 << i)]
    v[first : first + 32] = v[first : first + 32].sum()
    v[first : first + 16] = own
    agree(kernel, [numbers(), np.zeros(N, np.int32)], {1: v})


def test_whiles_branches_and_breaks_that_all_of_a_branch_take(agree):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), n: T.int32):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            if tx >= 32:
                stride = T.alloc_var("int32", init=1)
                s[tx] = A[tx]
                while stride < 64:
                    if stride < n:
                        v = s[32 + (tx - 32 + stride) % 64]
                        s[tx] += v
                    else:
                        break
                    stride = stride * 2
                B[tx] = s[32 + 95 - tx]

    for n in (1, 9, 64):
        v = numbers()[32:]
        for stride in (1, 2, 4, 8, 16, 32):
            v = v + np.roll(v, -stride) if stride < n else v
        expected = np.concatenate([np.zeros(32), v[::-1]]).astype(np.int32)
        agree(kernel, [numbers(), np.zeros(N, np.int32), n], {1: expected})


def test_the_same_threads_each_time(agree):
    """What a branch counts is the same for all who take it, as `n` is; in launches of a loop."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), n: T.int32):
        for _ in T.serial(2):
            with T.Kernel(1, threads=N):
                tx = T.get_thread_binding()
                s = T.alloc_shared((N,), "int32")
                s[tx] = A[tx] + B[tx]
                count = T.alloc_var("int32", init=0)
                for _ in T.serial(3):
                    if tx < n:
                        count += 1
                        for i in T.serial(count):
                            v = s[n - 1 - tx]
                            s[tx] = v + i
                B[tx] = s[tx]

    b = numbers() * 0
    for _ in range(2):
        b = b + numbers()
        for i in (0, 0, 1, 0, 1, 2):
            b[:40] = b[:40][::-1] + i
    agree(kernel, [numbers(), np.zeros(N, np.int32), 40], {1: b})


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("n", [1, 30, 47])
def test_halves_and_what_is_no_half(agree, more, n):
    """With `more` of -1, the last of the branch reads what the first writes, and the other way."""

    @T.prim_func
    def kernel(A: T.Tensor((2, N), "int32"), B: T.Tensor((2, N), "int32"), n: T.int32):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((2, N), "int32")
            half = T.alloc_var("int32", init=n)
            for r in T.serial(2):
                s[r, tx] = A[r, tx]
            if tx < half:
                s[0, tx] += s[0, tx + half + more]
            if tx < half:
                s[1, tx + half + more] = tx
                B[1, tx] = s[1, tx]
            B[0, tx] = s[0, tx]

    a = numbers(2 * N).reshape(2, N)[:, ::-1] * 3
    expected = np.zeros((2, N), np.int32)
    expected[0] = a[0]
    expected[0, :n] += a[0, n + more : 2 * n + more]
    s = a[1].copy()
    s[n + more : 2 * n + more] = np.arange(n)
    expected[1, :n] = s[:n]
    agree(kernel, [a, np.zeros((2, N), np.int32), n], {1: expected})


def test_threads_that_are_not_neighbours(agree):
    """In loops, in branches of such threads and of neighbours, and with shuffles of whole warps."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((4, N), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            v = T.alloc_var("int32", init=A[tx])
            if tx < 80:
                v += 1
                if tx % 2 == 1:
                    for i in T.serial(3):
                        s[tx] = v
                        v = s[(tx + 2) % 80] + i
                    B[0, tx] = v
                    if tx % 4 == 3:
                        s[tx] = v
                        v = s[(tx + 36) % 80]
                        B[1, tx] = v
                    if tx > 40:
                        s[tx] = -v
                        B[2, tx] = s[120 - tx]
            if tx // 32 != 1:
                s[tx] = T.shfl_xor(A[tx], 1)
                B[3, tx] = s[N - 1 - tx]

    expected = np.zeros((4, N), np.int32)
    odd, v = np.arange(1, 80, 2), numbers()
    v[:80] += 1
    for i in range(3):
        v[odd] = v[(odd + 2) % 80] + i
    expected[0, odd] = v[odd]
    v[odd[1::2]] = expected[1, odd[1::2]] = v[(odd[1::2] + 36) % 80]
    above = odd[odd > 40]
    expected[2, above] = -v[120 - above]
    outer = np.r_[0:32, 64:96]
    expected[3, outer] = (N - 1 - outer) ^ 1
    agree(kernel, [numbers(), np.zeros((4, N), np.int32)], {1: expected})


def test_the_rest_of_a_group(agree):
    """Its threads lie before and behind those of the group."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            t = T.alloc_shared((N,), "int32")
            if tx // 32 == 1:
                T.copy(A, t)
                B[tx] = t[0]
            else:
                s[tx] = A[tx]
                B[tx] = s[N - 1 - tx]

    t = numbers()
    expected = np.where(t // 32 == 1, 3, t[::-1] + 3)
    agree(kernel, [t + 3, np.zeros(N, np.int32)], {1: expected})


def test_both_sides_and_what_follows(agree):
    """Each side for itself, turn by turn; behind the branch all wait for all."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            s[tx] = A[tx]
            for i in T.serial(3):
                if tx < 40:
                    v = s[39 - tx]
                    s[tx] = v + i
                elif tx < 64:
                    w = s[40 + 63 - tx]
                    s[tx] = w - i
                u = s[N - 1 - tx]
                s[tx] = u
            B[tx] = s[tx]

    s = numbers()
    for i in range(3):
        s = np.concatenate([s[:40][::-1] + i, s[40:64][::-1] - i, s[64:]])[::-1]
    agree(kernel, [numbers(), np.zeros(N, np.int32)], {1: s.astype(np.int32)})


def test_behind_an_early_return(agree):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            if tx >= 50:
                T.thread_return()
            s[tx] = A[tx]
            B[tx] = s[49 - tx]
            s[tx] = B[tx] * 2
            B[tx] += s[(tx + 1) % 50]

    v = numbers()[:50][::-1]
    expected = np.concatenate([v + 2 * np.roll(v, -1), np.zeros(N - 50)]).astype(np.int32)
    agree(kernel, [numbers(), np.zeros(N, np.int32)], {1: expected})


def test_a_barrier_of_a_warp_is_enough_for_a_warp(agree):
    """Both a shuffle and T.sync_warp; what two warps hand over has a barrier yet."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((2, N), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            if tx < 64:
                s[tx] = A[tx]
                T.sync_warp()
                B[0, tx] = s[tx ^ 31]
                v = T.shfl_xor(A[tx], 1)
                s[tx] = v
                B[1, tx] = s[63 - tx]

    a = numbers()[:64] + 5
    expected = np.zeros((2, N), np.int32)
    expected[:, :64] = np.stack([a[np.arange(64) ^ 31], a[np.arange(64) ^ 1][::-1]])
    agree(kernel, [numbers() + 5, np.zeros((2, N), np.int32)], {1: expected})


def test_where_not_all_of_a_branch_come_by():
    """No barrier can stand in turns that only some take, or where it isn't known who is there."""

    @T.prim_func
    def turns(B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            s[tx] = 0
            if tx < 32:
                for i in T.serial(tx):
                    s[tx] = i
                    B[tx] += s[31 - tx]

    @T.prim_func
    def leaves(B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            s[tx] = 0
            for i in T.serial(3):
                if tx < 32:
                    s[tx] = i
                    B[tx] += s[31 - tx]
                    break

    @T.prim_func
    def others_each_time(B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            s[tx] = 0
            count = T.alloc_var("int32", init=0)
            for k in T.serial(4):
                if tx <= k:
                    count += 1
                    for i in T.serial(count):
                        s[tx] = i
                        B[tx] += s[k - tx]

    @T.prim_func
    def data(B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            s[tx] = 0
            if B[tx] > 40:
                s[tx] = tx
                B[tx] += s[N - 1 - tx]

    for kernel in (turns, leaves, others_each_time, data):
        with pytest.raises(KernelError, match="two threads of the block, with no barrier between"):
            tilewright.compile(kernel, target="reference")(numbers())
        tilewright.compile(kernel, target="cpu")(numbers())


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64", "int64"])
def test_numbers_of_the_run_without_a_sign(agree, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((2, N), "int32"), n: T.dtype(dtype)):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            if tx < n:
                s[tx] = A[tx]
                B[0, tx] = s[T.cast(n, "int32") - 1 - tx]
            else:
                s[tx] = A[tx] + 7
                B[1, tx] = s[N - 1 + T.cast(n, "int32") - tx]

    a = numbers() + 5
    for n in (0, 1, 40, N):
        expected = np.zeros((2, N), np.int32)
        expected[0, :n] = a[:n][::-1]
        expected[1, n:] = a[n:][::-1] + 7
        agree(kernel, [a, np.zeros((2, N), np.int32), n], {1: expected})


@pytest.mark.parametrize("half", [41, 50, 64])
def test_what_other_turns_read(agree, half):
    """The branch keeps elements of one turn apart, not those of different turns."""

    @T.prim_func
    def kernel(A: T.Tensor((512,), "int32"), B: T.Tensor((512,), "int32"), h: T.int32):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            s = T.alloc_shared((512,), "int32")
            for r in T.serial(16):
                s[tx + 32 * r] = A[tx + 32 * r]
            if tx * 8 < h:
                for i in T.serial(8):
                    v = s[tx * 8 + h + (7 - i)]
                    s[tx * 8 + (7 - i)] = v + 1
            for r in T.serial(16):
                B[tx + 32 * r] = s[tx + 32 * r]

    a = numbers(512) * 3 % 501
    expected, t = a.copy(), numbers(32)
    t = t[t * 8 < half]
    for i in range(8):
        expected[t * 8 + 7 - i] = expected[t * 8 + half + 7 - i] + 1
    agree(kernel, [a, np.zeros_like(a), half], {1: expected})


def test_one_lane_of_narrowed_numbers(agree, cpus):
    """LLVM stored 64 bits of a lane where 32 belong, over the next thread's variable."""

    @T.prim_func
    def kernel(B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            v = T.alloc_var("int32", init=tx)
            if tx < 87:  # noqa: SIM102 - the loop over these threads is LLVM's that way
                if tx >= 80:
                    if tx < 86:
                        s[80 + (tx - 80 + 1) % 6] = v + 6
                    s[tx] = v + 7
                    if T.And(tx >= 83, tx < 86):
                        v = (v + tx) % 1009
            B[tx] = v

    t = numbers()
    expected = np.where((t >= 83) & (t < 86), 2 * t, t).astype(np.int32)
    agree(kernel, [np.zeros(N, np.int32)], {0: expected}, cpus=cpus)

# SPDX-License-Identifier: Apache-2.0
"""A fragment that groups of threads use: it lies in their registers, so each group has its own."""

from __future__ import annotations

from linecache import getline

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import CompileError

N = 64


def numbers(count=N, start=0):
    return np.arange(start, start + count, dtype=np.int32)


def test_both_sides_compute_in_one_name(agree):
    @T.prim_func
    def sides(A: T.Tensor((2, 8, 8), "float32"), C: T.Tensor((2, 8, 8), "float32")):
        with T.Kernel(1, threads=256):
            tile = T.alloc_shared((2, 8, 8), "float32")
            acc = T.alloc_fragment((8, 8), "float32")
            row = T.alloc_fragment((8,), "float32")
            T.copy(A, tile)
            if T.get_thread_binding() < 128:
                T.clear(acc)
                T.gemm(tile[0, :, :], tile[1, :, :], acc)
                T.reduce_max(acc, row, dim=1)
                for i, j in T.Parallel(8, 8):
                    C[0, i, j] = acc[i, j] - row[i]
            else:
                T.fill(acc, 1)
                T.gemm(tile[1, :, :], tile[0, :, :], acc)
                T.reduce_max(acc, row, dim=1)
                for i, j in T.Parallel(8, 8):
                    C[1, i, j] = acc[i, j] - row[i]

    a = np.random.default_rng(0).integers(-4, 5, (2, 8, 8)).astype(np.float32)
    products = np.stack([a[0] @ a[1], a[1] @ a[0] + 1])
    agree(sides, [a, np.zeros_like(a)], {1: products - products.max(2, keepdims=True)})


@pytest.mark.parametrize("is_view", [False, True])
def test_what_all_write_before_is_in_each(agree, is_view):
    """Cleared by all, then summed by each group in a loop: no group sees the other's sums."""

    @T.prim_func
    def summed(A: T.Tensor((4, N), "int32"), B: T.Tensor((2, N), "int32")):
        with T.Kernel(1, threads=96):
            tx = T.get_thread_binding()
            acc = T.alloc_fragment((N,), "int32")
            seen = T.view(acc, (8, 8)) if is_view else acc
            T.fill(seen, 100)
            for k in T.serial(4):
                if tx < 32:
                    for i in T.Parallel(N):
                        acc[i] = acc[i] + A[k, i]
                else:
                    for i in T.Parallel(N):
                        acc[i] = acc[i] - A[k, i]
                for i in T.Parallel(N):  # by all: each group's own grows
                    acc[i] = acc[i] + 1
            if tx >= 32:
                T.copy(acc, B[1, 0:N])
            if tx < 32:
                T.copy(acc, B[0, 0:N])

    a = numbers(4 * N).reshape(4, N)
    expected = np.stack([104 + a.sum(0), 104 - a.sum(0)]).astype(np.int32)
    agree(summed, [a, np.zeros((2, N), np.int32)], {1: expected})


def test_barriers_on_both_sides(agree):
    """The barrier is one of all threads: what stood before it has run on both sides."""

    @T.prim_func
    def exchanged(A: T.Tensor((2, N), "int32"), B: T.Tensor((2, N), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            given = T.alloc_shared((2, N), "int32")
            own = T.alloc_fragment((N,), "int32")
            if tx < 32:
                T.copy(A[0, 0:N], own)
                T.copy(own, given[0, 0:N])
                T.sync_threads()
                for i in T.Parallel(N):
                    B[0, i] = own[i] * 10 + given[1, i]
            else:
                T.copy(A[1, 0:N], own)
                T.copy(own, given[1, 0:N])
                T.sync_threads()
                for i in T.Parallel(N):
                    B[1, i] = own[i] * 10 + given[0, i]

    a = numbers(2 * N).reshape(2, N)
    agree(exchanged, [a, np.zeros_like(a)], {1: a * 10 + a[::-1]})


@pytest.mark.parametrize("limit", [0, 5, 40, 96])
def test_groups_of_groups_and_of_the_run(agree, limit):
    @T.prim_func
    def nested(A: T.Tensor((N,), "int32"), B: T.Tensor((4, N), "int32"), n: T.int32):
        with T.Kernel(1, threads=96):
            tx = T.get_thread_binding()
            own = T.alloc_fragment((N,), "int32")
            T.copy(A, own)
            if tx < 64:
                for i in T.Parallel(N):  # of two of the groups
                    own[i] = own[i] + 1
                if tx < 32:
                    for i in T.Parallel(N):
                        own[i] = own[i] * 2
                else:
                    for i in T.Parallel(N):
                        own[i] = own[i] * 3
            else:
                for i in T.Parallel(N):
                    own[i] = own[i] * 5
            if tx < 32:
                T.copy(own, B[0, 0:N])
            elif tx < 64:
                T.copy(own, B[1, 0:N])
            else:
                T.copy(own, B[2, 0:N])
            mine = T.alloc_fragment((N,), "int32")
            T.fill(mine, 3)
            if tx < n:
                for i in T.Parallel(N):
                    mine[i] = mine[i] + A[i]
            else:
                for i in T.Parallel(N):
                    mine[i] = mine[i] - A[i]
            if tx < n:
                T.copy(mine, B[3, 0:N])

    a = numbers()
    last = 3 + a if limit else a * 0
    expected = np.stack([(a + 1) * 2, (a + 1) * 3, a * 5, last]).astype(np.int32)
    agree(nested, [a, np.zeros((4, N), np.int32), limit], {1: expected})


def test_warp_groups(agree):
    @T.prim_func
    def specialised(A: T.Tensor((2, N), "int32"), B: T.Tensor((2, N), "int32")):
        with T.Kernel(1, threads=256):
            own = T.alloc_fragment((N,), "int32")
            with T.ws(0):
                T.copy(A[0, 0:N], own)
            with T.ws(1):
                T.copy(A[1, 0:N], own)
            with T.ws(0):
                T.copy(own, B[1, 0:N])
            with T.ws(1):
                T.copy(own, B[0, 0:N])

    a = numbers(2 * N).reshape(2, N)
    agree(specialised, [a, np.zeros_like(a)], {1: a[::-1]})


def test_what_some_groups_write_together(agree):
    """Two of three groups write before each of them reads: the third keeps what all wrote."""

    @T.prim_func
    def written(A: T.Tensor((3, 16), "int32")):
        with T.Kernel(1, threads=96):
            tx = T.get_thread_binding()
            part = T.alloc_fragment((16,), "int32")
            T.fill(part, 1)
            if tx < 64:
                T.fill(part, 5)
            if tx < 32:
                T.copy(part, A[0, 0:16])
            elif tx < 64:
                T.copy(part, A[1, 0:16])
            else:
                T.copy(part, A[2, 0:16])

    agree(written, [np.zeros((3, 16), np.int32)], {0: np.repeat([[5], [5], [1]], 16, axis=1)})


def test_parts_of_one_fragment(agree):
    """All threads read what each group has written a part of: it is one fragment."""

    @T.prim_func
    def parts(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=64):
            own = T.alloc_fragment((N,), "int32")
            if T.get_thread_binding() < 32:
                T.copy(A[0:32], own[0:32])
            else:
                for i in T.Parallel(32):
                    own[32 + i] = A[i] * 2
            T.copy(own, B)

    a = numbers()
    agree(parts, [a, np.zeros(N, np.int32)], {1: np.concatenate([a[:32], a[:32] * 2])})


def test_what_is_made_of_a_groups_fragment(agree):
    """What comes of operations of all threads on a group's fragment is each group's own, too."""

    @T.prim_func
    def met(A: T.Tensor((N,), "int32"), B: T.Tensor((4, N), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            own, made = T.alloc_fragment((N,), "int32"), T.alloc_fragment((N,), "int32")
            total = T.alloc_fragment((1,), "int32")
            T.copy(A, own)
            if tx < 32:
                for i in T.Parallel(N):
                    own[i] = own[i] * 3
            T.copy(own, made)
            for i in T.Parallel(N):
                made[i] = made[i] + own[N - 1 - i]
            T.reduce_sum(own, total, dim=0)
            for i in T.Parallel(N):  # a tensor, too: from what all have
                own[i] = A[i] - 1
                B[2, i] = own[i] * 2
            if tx < 32:
                T.copy(made, B[0, 0:N])
                B[3, 0] = total[0]
            else:
                T.copy(made, B[1, 0:N])
                B[3, 1] = total[0]

    a = numbers()
    expected = np.stack([3 * (a + a[::-1]), a + a[::-1], 2 * (a - 1), a * 0]).astype(np.int32)
    expected[3, :2] = 3 * a.sum(), a.sum()
    agree(met, [a, np.zeros((4, N), np.int32)], {1: expected})


def test_groups_that_overlap(agree):
    """Neither is a part of the other: three ranges have one each."""

    @T.prim_func
    def overlapping(A: T.Tensor((N,), "int32"), B: T.Tensor((3, N), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            own = T.alloc_fragment((N,), "int32")
            T.copy(A, own)
            if tx < 64:
                for i in T.Parallel(N):
                    own[i] = own[i] + 1
            if tx >= 32 and tx < 96:
                for i in T.Parallel(N):
                    own[i] = own[i] * 10
            if tx < 32:
                T.copy(own, B[0, 0:N])
            elif tx < 64:
                T.copy(own, B[1, 0:N])
            elif tx < 96:
                T.copy(own, B[2, 0:N])

    a = numbers()
    expected = np.stack([a + 1, (a + 1) * 10, a * 10]).astype(np.int32)
    agree(overlapping, [a, np.zeros((3, N), np.int32)], {1: expected})


@pytest.mark.parametrize("limit", [0, 32, 50, 96])
def test_one_condition_in_other_words(agree, limit):
    @T.prim_func
    def sides(A: T.Tensor((N,), "int32"), B: T.Tensor((2, N), "int32"), n: T.int32):
        with T.Kernel(1, threads=96):
            tx = T.get_thread_binding()
            own = T.alloc_fragment((N,), "int32")
            T.copy(A, own)
            if tx < n:
                T.fill(own, 7)
            for _ in T.serial(2):
                if n > tx:
                    for i in T.Parallel(N):
                        own[i] = own[i] + 1
            if tx >= n:
                T.copy(own, B[0, 0:N])
            if n > tx:
                T.copy(own, B[1, 0:N])

    a = numbers()
    expected = np.stack([a * (limit < 96), np.full(N, 9 * (limit > 0))]).astype(np.int32)
    agree(sides, [a, np.zeros((2, N), np.int32), limit], {1: expected})


def test_other_threads_in_other_turns(agree):
    """What lives in the branch is of those who take it."""

    @T.prim_func
    def turns(A: T.Tensor((4, N), "int32"), B: T.Tensor((4, N), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            own = T.alloc_fragment((N,), "int32")
            seen = T.view(own, (8, 8))
            for k in T.serial(4):
                if tx // 32 == k % 2:
                    T.copy(A[k, 0:N], own)
                    for i, j in T.Parallel(8, 8):
                        seen[i, j] = seen[i, j] + k
                    T.copy(own, B[k, 0:N])

    a = numbers(4 * N).reshape(4, N)
    agree(turns, [a, np.zeros_like(a)], {1: a + np.arange(4, dtype=np.int32)[:, None]})


def refused(kernel, message, line, note=None):
    """Both targets refuse it, at the line with this text, and with a note at that one."""
    for target in ("cpu", "reference"):
        with pytest.raises(CompileError) as caught:
            compiled = tilewright.compile(kernel, target=target)
            compiled(*[np.zeros((4, N), np.int32)] * 2, 5)
        [found] = caught.value.diagnostics
        assert found.message == message
        assert line in getline(found.place.file, found.place.line)
        places = [getline(one.place.file, one.place.line) for one in found.notes]
        assert len(places) == (note is not None)
        assert note is None or note in places[0]


APART = (
    "the threads that do this together don't have the same in fragment 'own': it lies in their "
    "registers, and groups of them wrote their own; do it in each group's branch, or hand it over "
    "in a tile of T.alloc_shared"
)


def test_all_read_what_both_have_written():
    """Which of the two would it be?"""

    @T.prim_func
    def either(A: T.Tensor((4, N), "int32"), B: T.Tensor((4, N), "int32"), n: T.int32):
        with T.Kernel(1, threads=64):
            own = T.alloc_fragment((N,), "int32")
            if T.get_thread_binding() < 32:
                T.copy(A[0, 0:N], own)
            else:
                T.fill(own, 2)
            T.copy(own, B[0, 0:N])

    refused(either, APART, "T.copy(own, B[0, 0:N])", note="T.copy(A[0, 0:N], own)")


def test_all_read_in_the_next_turn():
    """The first turn is fine; a variable that is read twice may have changed."""

    @T.prim_func
    def later(A: T.Tensor((4, N), "int32"), B: T.Tensor((4, N), "int32"), n: T.int32):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            own = T.alloc_fragment((N,), "int32")
            T.fill(own, 2)
            for k in T.serial(2):
                B[k, tx] = own[0]
                if tx < n:
                    T.copy(A[k, 0:N], own)

    @T.prim_func
    def changing(A: T.Tensor((4, N), "int32"), B: T.Tensor((4, N), "int32"), n: T.int32):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            own = T.alloc_fragment((N,), "int32")
            limit = T.alloc_var("int32", init=n)
            T.fill(own, 2)
            if tx < limit:
                T.copy(A[0, 0:N], own)
            limit = limit + 1
            if tx < limit:
                T.copy(own, B[0, 0:N])

    refused(later, APART, "B[k, tx] = own[0]", note="T.copy(A[k, 0:N], own)")
    refused(changing, APART, "T.copy(own, B[0, 0:N])", note="T.copy(A[0, 0:N], own)")


def test_numbers_kept_by_others_in_each_turn():
    @T.prim_func
    def kept(A: T.Tensor((4, N), "int32"), B: T.Tensor((4, N), "int32"), n: T.int32):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            own = T.alloc_fragment((N,), "int32")
            T.fill(own, 0)
            for k in T.serial(4):
                if tx // 32 == k % 2:
                    for i in T.Parallel(N):
                        own[i] = own[i] + A[k, i]
            if tx < 32:
                T.copy(own, B[0, 0:N])

    message = (
        "other threads come here in other turns of the loop, but fragment 'own' keeps what each of "
        "them wrote, which is not supported; let the condition be the same in all turns, or take "
        "T.alloc_shared"
    )
    refused(kept, message, "for i in T.Parallel(N):", note="if tx // 32 == k % 2:")

    @T.prim_func
    def element(A: T.Tensor((4, N), "int32"), B: T.Tensor((4, N), "int32"), n: T.int32):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            own = T.alloc_fragment((N,), "int32")
            T.fill(own, 0)
            for k in T.serial(4):
                if tx < 2 and A[k, 0] > 3:
                    own[k] += A[k, 1]  # told once, though it is read and written
            T.copy(own, B[0, 0:N])

    refused(element, message, "own[k] += A[k, 1]", note="if tx < 2 and A[k, 0] > 3:")


def test_what_can_not_be_done_in_each_group():
    @T.prim_func
    def atomic(A: T.Tensor((4, N), "int32"), B: T.Tensor((4, N), "int32"), n: T.int32):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            own = T.alloc_fragment((N,), "int32")
            T.fill(own, 0)
            for i in T.Parallel(N):
                own[i] = A[0, i]
                T.atomic_add(B[0, i], 1)
            if tx < 32:
                T.fill(own, 1)
            else:
                T.copy(own, B[1, 0:N])

    @T.prim_func
    def each(A: T.Tensor((4, N), "int32"), B: T.Tensor((4, N), "int32"), n: T.int32):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            own = T.alloc_fragment((N,), "int32")
            T.fill(own, 0)
            own[3] = tx
            T.copy(own, B[0, 0:N])

    message = (
        "this changes fragment 'own', of which groups of threads have one each, and other memory, "
        "too, which is not supported; make two of it: one that changes the fragment, and one that "
        "changes the rest"
    )
    refused(atomic, message, "for i in T.Parallel(N):")
    message = (
        "each thread writes what is its own to fragment 'own', which threads also use together; "
        "take T.alloc_local for what a thread has for itself, or T.alloc_shared for what it hands "
        "over"
    )
    refused(each, message, "own[3] = tx")


def test_too_many_groups():
    @T.prim_func
    def many(A: T.Tensor((4, N), "int32"), B: T.Tensor((4, N), "int32"), n: T.int32):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            own = T.alloc_fragment((N,), "int32")
            T.fill(own, 0)
            if tx < n:
                T.fill(own, 1)
            if tx < n + 1:
                T.fill(own, 2)
            if tx < n * 2:
                T.fill(own, 3)
            if tx == n:
                T.fill(own, 4)
            if tx < n - 1:
                T.copy(own, B[0, 0:N])

    message = (
        "more than 32 groups of threads, or 4 conditions that only the run knows, have fragment "
        "'own' each for themselves, which is not supported; take a fragment for each group, or "
        "T.alloc_shared"
    )
    refused(many, message, "own = T.alloc_fragment")


def test_elements_that_only_single_threads_use(agree):
    """Each thread has its own, as on GPUs."""

    @T.prim_func
    def single(A: T.Tensor((N,), "int32"), B: T.Tensor((2, N), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            own = T.alloc_fragment((2,), "int32")
            T.fill(own, 1)
            for k in T.serial(3):
                own[0] = own[0] + A[(tx + k) % N]
            if tx % 3 == 0:
                own[1] = 5
            T.sync_threads()
            B[0, tx] = own[0]
            B[1, tx] = own[1]

    a = numbers()
    total = 1 + a + np.roll(a, -1) + np.roll(a, -2)
    expected = np.stack([total, np.where(a % 3 == 0, 5, 1)]).astype(np.int32)
    agree(single, [a, np.zeros((2, N), np.int32)], {1: expected})


def test_what_one_thread_alone_uses(agree):
    """It keeps there what it wrote, in turns that only the run knows."""

    @T.prim_func
    def merge(A: T.Tensor((3, 5), "int32"), B: T.Tensor((2, 15), "int32")):
        with T.Kernel(1, threads=N):
            if T.get_thread_binding() == 0:
                at = T.alloc_fragment((3,), "int32")
                least = T.alloc_var("int32")
                for row in T.Parallel(3):
                    at[row] = 0
                for k in T.serial(15):
                    least = 1000
                    for row in T.serial(3):
                        if at[row] < 5 and A[row, at[row]] < least:
                            least = A[row, at[row]]
                    if least == 1000:
                        T.loop_break()
                    B[0, k] = least
                    for row in T.serial(3):
                        if at[row] < 5 and A[row, at[row]] == least:
                            at[row] = at[row] + 1
                            B[1, k] = B[1, k] | (1 << row)

    a = np.stack([np.sort(np.random.default_rng(r).permutation(9)[:5]) for r in range(3)])
    a = a.astype(np.int32)
    values = np.unique(a)
    expected = np.zeros((2, 15), np.int32)
    expected[0, : len(values)] = values
    expected[1, : len(values)] = [sum(1 << r for r in range(3) if v in a[r]) for v in values]
    agree(merge, [a, np.zeros((2, 15), np.int32)], {1: expected})


def test_what_one_thread_alone_uses_under_more_conditions(agree):
    """`and`, or not `or`, of a number of threads and of what only the run knows, in each turn."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32"), B: T.Tensor((2, 8), "int32"), n: T.int32):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            own = T.alloc_fragment((8,), "int32")
            if tx == 0:
                for k in T.serial(8):
                    own[k] = 1
            for k in T.serial(8):
                if tx == 0 and A[k] > 3:
                    own[k] += A[k]
                elif tx == 0 and (A[k] > n and n > 0):
                    own[k] = 7
            for k in T.serial(8):
                if not (tx != 0 or A[k] > 5):
                    B[0, k] = own[k]
                if A[k] < 3 and T.shift_right(tx, 1) == 0 and (A[k] != 1 and tx < 1):
                    B[1, k] = own[k]

    a = np.random.default_rng(3).permutation(8).astype(np.int32)
    own = np.where(a > 3, 1 + a, np.where(a > 2, 7, 1))
    rows = [np.where(a > 5, 0, own), np.where((a < 3) & (a != 1), own, 0)]
    given = [a, np.zeros((2, 8), np.int32), 2]
    agree(kernel, given, {1: np.stack(rows).astype(np.int32)})


def test_what_one_thread_alone_reads(agree):
    """The whole block clears it, as others do, too; what these have there nobody asks for."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32"), B: T.Tensor((2, 8), "int32"), n: T.int32):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            total = T.alloc_fragment((1,), "int32")
            most = T.alloc_fragment((2,), "int32")
            T.clear(total)
            T.fill(most, n)
            for k in T.serial(8):
                if k % 4 == 3:
                    T.clear(total)
                if tx <= 1:
                    most[1] = k
                if tx == 1 and A[k] > 3:
                    total[0] += A[k]
                    most[0] = T.max(most[0], A[k])
                if tx == 1:
                    B[0, k] = total[0]
                    B[1, k] = most[0] + most[1]

    a = np.random.default_rng(4).permutation(8).astype(np.int32)
    total, rows = 0, []
    for k, value in enumerate(a):
        total = (0 if k % 4 == 3 else total) + (value if value > 3 else 0)
        rows.append((total, max(5, a[: k + 1].max()) + k))
    agree(kernel, [a, np.zeros((2, 8), np.int32), 5], {1: np.array(rows, np.int32).T})


def test_what_others_write_without_the_thread_that_reads(agree):
    """These keep it from being one: the thread that reads has what it wrote itself."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32"), B: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            own = T.alloc_fragment((1,), "int32")
            own[0] = 1
            if tx == 2:
                own[0] = 7
            if tx == 1:
                B[0] = own[0]

    agree(kernel, [np.zeros(8, np.int32), np.zeros(1, np.int32)], {1: np.array([1], np.int32)})

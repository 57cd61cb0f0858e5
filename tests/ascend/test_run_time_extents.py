# SPDX-License-Identifier: Apache-2.0
"""T.mma, and copies to L0A and L0B and out of L0C, of extents that the kernel knows as it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cut_products import LAYOUTS, SIZES, Layout, Sizes, load_parts, operands, shapes
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T
from tilewright.language.prim_func import PrimFunc
from tilewright.testing import interpret

GROUP = KernelGroup()
random = np.random.default_rng(61)


def tails(sizes: Sizes, block: Sizes, layout: Layout, dtype: str, *, waits: bool) -> PrimFunc:
    """Each block and each step of k takes what there is of its tile."""
    M, N, K = sizes
    bm, bn, bk = block
    turn_a, turn_b = layout
    a_shape, b_shape = shapes(sizes, layout)
    a_tile, b_tile = shapes(block, layout)
    sums = "int32" if dtype == "int8" else "float32"
    columns = T.ceildiv(N, bn)

    @T.macro
    def wait() -> None:
        if waits:
            T.barrier_all()

    @T.prim_func
    def main(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((M, N), sums)):  # type: ignore[no-untyped-def]
        with T.Kernel(T.ceildiv(M, bm) * columns, is_npu=True) as (cid, _), T.Scope("C"):
            a = T.alloc_L1(a_tile, dtype)
            b = T.alloc_L1(b_tile, dtype)
            left = T.alloc_L0A((bm, bk), dtype)
            right = T.alloc_L0B((bk, bn), dtype)
            c = T.alloc_L0C((bm, bn), sums)
            x, y = cid // columns * bm, cid % columns * bn
            m, n = T.min(bm, M - x), T.min(bn, N - y)
            for step in T.serial(T.ceildiv(K, bk)):
                z = step * bk
                k = T.min(bk, K - z)
                load_parts(A, B, a, b, (x, y, z), (m, n, k), layout)
                wait()
                if turn_a:
                    T.copy(a[0:k, 0:m], left[0:m, 0:k], transpose=True)
                else:
                    T.copy(a[0:m, 0:k], left[0:m, 0:k])
                if turn_b:
                    T.copy(b[0:n, 0:k], right[0:k, 0:n], transpose=True)
                else:
                    T.copy(b[0:k, 0:n], right[0:k, 0:n])
                wait()
                T.mma(left[0:m, 0:k], right[0:k, 0:n], c[0:m, 0:n], init=(step == 0))
                wait()
            T.copy(c[0:m, 0:n], C[x : x + m, y : y + n])

    return main


for each in LAYOUTS:
    letters = "".join("T" if turned else "N" for turned in each)
    for dtype in ("float16", "bfloat16", "float32", "int8"):
        for sizes, block in SIZES:
            if dtype == "int8" and block[1] % 32 != 0 and not each[1]:
                continue
            given, expected = operands(random, sizes, each, dtype)
            name = f"{dtype} {letters} {sizes} in {block}"
            GROUP.add(name, tails(sizes, block, each, dtype, waits=False), given, expected)
        given, expected = operands(random, (75, 83, 79), each, dtype)
        names = (T.symbolic("m"), T.symbolic("n"), T.symbolic("k"))
        dynamic = tails(names, (32, 64, 64), each, dtype, waits=True)
        GROUP.add(f"{dtype} {letters} dynamic", dynamic, given, expected, configs={})


def counted(dtype: str) -> PrimFunc:
    """How many columns there are, a tensor says: by TileLang-Ascend's own arguments."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((48, 128), dtype),
        B: T.Tensor((64, 128), dtype),
        counts: T.Tensor((2,), "int32"),
        C: T.Tensor((48, 64), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, _), T.Scope("C"):
            a = T.alloc_L1((48, 128), dtype)
            b = T.alloc_L1((64, 128), dtype)
            left = T.alloc_L0A((2, 48, 64), dtype)
            right = T.alloc_L0B((2, 64, 64), dtype)
            c = T.alloc_L0C((1, 48, 64), "float32")
            n, k = counts[0], counts[1]
            T.copy(A, a)
            T.copy(B, b)
            T.barrier_all()
            for half in T.unroll(2):
                T.copy(a[:, half * 64 : half * 64 + 64], left[half, :, :], real_k=k)
                T.copy(
                    b[0, half * 64],
                    right[half, :, :],
                    transpose=True,
                    real_k=k,
                    real_n=n,
                )
                T.barrier_all()
                T.mma(
                    left[half, :, :],
                    right[half, :, :],
                    c[0, :, :],
                    init=half == 0,
                    k_actual=k,
                    n_actual=n,
                    unit_flag=0b11,
                )
                T.barrier_all()
            T.copy(c[0, :, :], C[:, 0:n], unit_flag=0b11)

    return main


for n, k in ((64, 64), (40, 50), (16, 64), (1, 1), (33, 7)):
    given, _ = operands(random, (48, 64, 128), (False, True), "float16")
    a, b = (each.astype(np.float64) for each in given[:2])
    expected = sum(a[:, i : i + k] @ b[:, i : i + k].T for i in (0, 64))
    expected[:, n:] = 0
    arguments = [*given[:2], np.array([n, k], np.int32), given[2]]
    GROUP.add(f"counted {n} {k}", counted("float16"), arguments, expected, configs={})
    GROUP.add(f"counted {n} {k}, flags added", counted("float16"), arguments, expected)


def in_turn(sizes: Sizes, block: Sizes) -> PrimFunc:
    """Flags by hand, two tiles in turn in L1 and in L0; targets of copies are named whole."""
    M, N, K = sizes
    bm, bn, bk = block
    columns = T.ceildiv(N, bn)

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(M, bm) * columns, is_npu=True) as (cid, _), T.Scope("C"):
            a = T.alloc_L1((2, bm, bk), "float16")
            b = T.alloc_L1((2, bk, bn), "float16")
            left = T.alloc_L0A((2, bm, bk), "float16")
            right = T.alloc_L0B((2, bk, bn), "float16")
            c = T.alloc_L0C((bm, bn), "float32")
            x, y = cid // columns * bm, cid % columns * bn
            m, n = T.min(bm, M - x), T.min(bn, N - y)
            for turn in range(2):
                T.set_flag("mte1", "mte2", turn)
                T.set_flag("m", "mte1", turn)
            for step in T.serial(T.ceildiv(K, bk)):
                turn = step % 2
                k = T.min(bk, K - step * bk)
                T.wait_flag("mte1", "mte2", turn)
                T.copy(A[x, step * bk], a[turn, :, :])
                T.copy(B[step * bk, y], b[turn, :, :])
                T.set_flag("mte2", "mte1", turn)
                T.wait_flag("mte2", "mte1", turn)
                T.wait_flag("m", "mte1", turn)
                T.copy(a[turn, 0:m, 0:k], left[turn, :, :])
                T.copy(b[turn, 0:k, 0:n], right[turn, :, :])
                T.set_flag("mte1", "mte2", turn)
                T.set_flag("mte1", "m", turn)
                T.wait_flag("mte1", "m", turn)
                T.mma(left[turn, 0:m, 0:k], right[turn, 0:k, 0:n], c[0:m, 0:n], init=(step == 0))
                T.set_flag("m", "mte1", turn)
            T.set_flag("m", "fix", 0)
            T.wait_flag("m", "fix", 0)
            T.copy(c, C[x, y])
            for turn in range(2):
                T.wait_flag("mte1", "mte2", turn)
                T.wait_flag("m", "mte1", turn)

    return main


for sizes in ((80, 100, 200), (48, 64, 129), (64, 64, 64)):
    given, expected = operands(random, sizes, (False, False), "float16")
    given[2] = given[2].astype(np.float16)
    made = in_turn(sizes, (64, 64, 32))
    GROUP.add(f"in turn {sizes}", made, given, expected, configs={}, rtol=2**-10)


def fetched_ahead(inner: int) -> PrimFunc:
    """The next step's operands come to the other slots of L0 while one is multiplied; the last
    step is a short one."""
    last = (inner - 1) // 32

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, inner), "float16"),
        B: T.Tensor((inner, 32), "float16"),
        C: T.Tensor((32, 32), "float32"),
        m: T.int32,
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((32, inner), "float16")
            b = T.alloc_L1((inner, 32), "float16")
            left = T.alloc_L0A((2, 32, 32), "float16")
            right = T.alloc_L0B((2, 32, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            first = T.min(32, inner)
            T.copy(a[0:m, 0:first], left[0, 0:m, 0:first])
            T.copy(b[0:first, :], right[0, 0:first, :])
            for step in T.serial(last + 1):
                ahead = T.min(step + 1, last)
                at = ahead * 32
                k, more = T.min(32, inner - step * 32), T.min(32, inner - at)
                T.copy(a[0:m, at : at + more], left[(step + 1) % 2, 0:m, 0:more])
                T.copy(b[at : at + more, :], right[(step + 1) % 2, 0:more, :])
                T.mma(left[step % 2, 0:m, 0:k], right[step % 2, 0:k, :], c[0:m, :], init=step == 0)
            T.copy(c[0:m, :], C[0:m, :])

    return main


for inner in (100, 70, 33, 128):
    given, expected = operands(random, (32, 32, inner), (False, False), "float16")
    expected[29:] = 0
    GROUP.add(f"fetched ahead {inner}", fetched_ahead(inner), [*given, 29], {2: expected})


def to_operands(rows: bool) -> PrimFunc:
    """Out of L0C to L1, where it is an operand: so many rows, or so many columns."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((64, 32), "float16"),
        B: T.Tensor((32, 64), "float16"),
        C: T.Tensor((64, 32), "float32"),
        count: T.int32,
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((64, 32), "float16")
            b = T.alloc_L1((32, 64), "float16")
            p = T.alloc_L1((64, 64), "float16")
            left = T.alloc_L0A((64, 64), "float16")
            right = T.alloc_L0B((64, 32), "float16")
            c = T.alloc_L0C((64, 64), "float32")
            d = T.alloc_L0C((64, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            if rows:
                T.copy(c[0:count, :], p[0:count, :])
                T.copy(p[0:count, :], left[0:count, :])
                T.copy(a, right)
                T.mma(left[0:count, :], right, d[0:count, :], init=True)
                T.copy(d[0:count, :], C[0:count, :])
            else:
                T.copy(c[:, 0:count], p[:, 0:count])
                T.copy(p[:, 0:count], left[:, 0:count])
                T.copy(a[0:count, :], right[0:count, :])
                T.mma(left[:, 0:count], right[0:count, :], d, init=True)
                T.copy(d, C)

    return main


for count in (64, 40, 17, 1):
    given, _ = operands(random, (64, 64, 32), (False, False), "float16")
    a, b = (each.astype(np.float64) for each in given[:2])
    product = a @ b
    arguments = [*given[:2], np.zeros((64, 32), np.float32), count]
    expected = product @ a
    expected[count:] = 0
    GROUP.add(f"{count} rows to operands", to_operands(rows=True), arguments, {2: expected})
    expected = product[:, :count] @ a[:count]
    GROUP.add(f"{count} columns to operands", to_operands(rows=False), arguments, {2: expected})


def beyond_tensors(dtype: str) -> PrimFunc:
    """Parts of which the tensor's edge may cut some: that is loaded as zeros."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((40, 50), dtype),
        B: T.Tensor((50, 40), dtype),
        C: T.Tensor((64, 64), "float32"),
        m: T.int32,
        k: T.int32,
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((64, 64), dtype)
            b = T.alloc_L1((64, 64), dtype)
            left = T.alloc_L0A((64, 64), dtype)
            right = T.alloc_L0B((64, 64), dtype)
            c = T.alloc_L0C((64, 64), "float32")
            T.copy(A[0:m, 0:k], a[0:m, 0:k])
            T.copy(B[0:k, 0:m], b[0:k, 0:m])
            T.copy(a[0:m, 0:k], left[0:m, 0:k])
            T.copy(b[0:k, 0:m], right[0:k, 0:m])
            T.mma(left[0:m, 0:k], right[0:k, 0:m], c[0:m, 0:m], init=True)
            T.copy(c[0:m, 0:m], C[0:m, 0:m])

    return main


for m, k in ((64, 64), (64, 30), (33, 60), (40, 50), (5, 51)):
    for dtype in ("float16", "float32"):
        given, _ = operands(random, (40, 40, 50), (False, False), dtype)
        expected = np.zeros((64, 64))
        a, b = (each.astype(np.float64) for each in given[:2])
        expected[: min(m, 40), : min(m, 40)] = a[:m, :k] @ b[:k, :m]
        arguments = [*given[:2], np.zeros((64, 64), np.float32), m, k]
        GROUP.add(f"{dtype} beyond {m} {k}", beyond_tensors(dtype), arguments, {2: expected})


def of_the_turn_before(by_gemm: bool, columns: bool) -> PrimFunc:
    """A turn stores what the one before has made, of another number of rows; one copy behind the
    loop stores what the last has made."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((64, 64), "float16"),
        C: T.Tensor((4, 64, 64), "float32"),
        rows: T.Tensor((4,), "int32"),
        turns: T.int32,
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((64, 64), "float16")
            left = T.alloc_L0A((64, 64), "float16")
            right = T.alloc_L0B((64, 64), "float16")
            c = T.alloc_L0C((64, 64), "float32")
            T.copy(A, a)
            T.copy(a, right)
            for turn in T.serial(turns):
                if turn > 0:
                    T.copy(
                        c[0 : rows[turn - 1], 32 * columns :],
                        C[turn - 1, 0 : rows[turn - 1], 32 * columns :],
                    )
                if by_gemm:
                    T.gemm_v0(a[0 : rows[turn], :], a, c[0 : rows[turn], :], init=True)
                else:
                    T.copy(a[0 : rows[turn], :], left[0 : rows[turn], :])
                    T.mma(left[0 : rows[turn], :], right, c[0 : rows[turn], :], init=True)
            if turns > 0:
                T.copy(c[0 : rows[turns - 1], :], C[turns - 1, 0 : rows[turns - 1], :])

    return main


for by_gemm, columns in ((False, False), (False, True), (True, False)):
    for turns in (4, 1, 0):
        a = random.integers(-8, 9, (64, 64)).astype(np.float16)
        counts = np.array([48, 7, 64, 20], np.int32)
        expected = np.zeros((4, 64, 64))
        for turn, count in enumerate(counts[:turns]):
            first = 32 if columns and turn < turns - 1 else 0
            product = a[:count].astype(np.float64) @ a.astype(np.float64)
            expected[turn, :count, first:] = product[:, first:]
        name = f"turn before {turns}" + " by gemm" * by_gemm + ", columns" * columns
        arguments = [a, np.zeros((4, 64, 64), np.float32), counts, turns]
        GROUP.add(name, of_the_turn_before(by_gemm, columns), arguments, {1: expected})


def through_vector_cores(by_vid: bool) -> PrimFunc:
    """To UB and back to L1, where rows may be halves of both vector cores."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 64), "float16"),
        B: T.Tensor((64, 48), "float16"),
        C: T.Tensor((32, 64), "float32"),
        n: T.int32,
        m: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((32, 64), "float16")
            b = T.alloc_L1((64, 48), "float16")
            p = T.alloc_L1((32, 48), "float16")
            left = T.alloc_L0A((32, 64), "float16")
            right = T.alloc_L0B((64, 48), "float16")
            again = T.alloc_L0A((32, 48), "float16")
            turned = T.alloc_L0B((48, 64), "float16")
            c = T.alloc_L0C((32, 48), "float32")
            d = T.alloc_L0C((32, 64), "float32")
            u = T.alloc_ub((16 if by_vid else 32, 48), "float32")
            h = T.alloc_ub((16 if by_vid else 32, 48), "float16")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(a[0:m, :], left[0:m, :])
            T.copy(b[:, 0:n], right[:, 0:n])
            T.mma(left[0:m, :], right[:, 0:n], c[0:m, 0:n], init=True)
            T.tile.fill(u, 0.0)
            if by_vid:
                T.copy(c[vid * 16 : vid * 16 + 16, 0:n], u[:, 0:n])
                T.tile.cast(h, u, "CAST_RINT", 16 * 48)
                T.copy(h[:, 0:n], p[vid * 16 : vid * 16 + 16, 0:n])
            else:
                T.copy(c[0:m, 0:n], u[0:m, 0:n])
                T.tile.cast(h, u, "CAST_RINT", 32 * 48)
                T.copy(h[0:m, 0:n], p[0:m, 0:n])
            T.copy(p[0:m, 0:n], again[0:m, 0:n])
            T.copy(b[:, 0:n], turned[0:n, :], transpose=True)
            T.mma(again[0:m, 0:n], turned[0:n, :], d[0:m, :], init=True)
            T.copy(d[0:m, :], C[0:m, :])

    return main


for by_vid in (False, True):
    for m, n in ((32, 48), (32, 20), *(() if by_vid else ((17, 33), (3, 1)))):
        given, _ = operands(random, (32, 48, 64), (False, False), "float16")
        given = [each // 4 if each.dtype == np.float16 else each for each in given]
        given[2] = np.zeros((32, 64), np.float32)
        a, b = (each.astype(np.float64) for each in given[:2])
        expected = np.zeros((32, 64))
        expected[:m] = a[:m] @ b[:, :n] @ b[:, :n].T
        name = f"through vector cores {m} {n}" + (", by halves" if by_vid else "")
        GROUP.add(name, through_vector_cores(by_vid), [*given, n, m], {2: expected})


@T.prim_func
def one_row_or_none(  # type: ignore[no-untyped-def]
    A: T.Tensor((4, 10), "float32"), C: T.Tensor((4, 10), "float32"), m: T.int32, n: T.int32
):
    """Of a tile of one row, which ends within a block of 32 bytes."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        t = T.alloc_ub((1, 10), "float32")
        for row in T.serial(4):
            T.tile.fill(t, 7.0)
            T.copy(A[row : row + m, 0:n], t[0:m, 0:n])
            T.copy(t[0:m, :], C[row : row + m, :])


for m, n in ((1, 10), (1, 3), (1, 8), (0, 10)):
    a, c = (random.integers(-8, 9, (4, 10)).astype(np.float32) for _ in range(2))
    expected = c.astype(np.float64)
    if m:
        expected = np.where(np.arange(10) < n, a, 7.0)
    GROUP.add(f"one row or none {m} {n}", one_row_or_none, [a, c, m, n], {1: expected})


@pytest.mark.parametrize("name", GROUP.cases)
def test_product(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in GROUP.cases
        if any(word in name for word in ("turn", "added", "ahead", "vector cores", "NT (70"))
    ],
)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)


def test_what_the_text_says() -> None:
    """Counts stand in it as the kernel names them, the others as numbers."""
    GROUP.check("float16 NT (70, 50, 45) in (32, 32, 32)")
    text = GROUP.cases["float16 NT (70, 50, 45) in (32, 32, 32)"].ascendc
    assert "copyL1ToL0A(left, a, 0, 0, 32, m, k);" in text
    assert "copyL1ToL0BTransposed(right, b, 0, 0, 32, n, k);" in text
    assert "multiply(c, left, right, m, n, k, step == 0);" in text
    assert "copyL0cToGm(C[x * 50 + y], c, m, n, (m + 15) / 16 * 16, 50);" in text


def refused(body: Any, dtype: str = "float16") -> str:
    """The only error's message."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), dtype), C: T.Tensor((64, 64), "float32"), n: T.int32):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            body(A, C, n)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    (error,) = caught.value.errors
    return str(error.message)


@T.macro
def behind_the_first_row(A, C, n):  # type: ignore[no-untyped-def]
    a = T.alloc_L1((64, 64), "float16")
    left = T.alloc_L0A((64, 64), "float16")
    right = T.alloc_L0B((64, 64), "float16")
    c = T.alloc_L0C((64, 64), "float32")
    T.copy(A, a)
    T.copy(a[0:n, :], left[0:n, :])
    T.copy(a, right)
    T.mma(left[0:n, :], right, c[16 : 16 + n, :], init=True)


@T.macro
def into_two_parts(A, C, n):  # type: ignore[no-untyped-def]
    a = T.alloc_L1((64, 64), "float16")
    left = T.alloc_L0A((64, 64), "float16")
    right = T.alloc_L0B((64, 64), "float16")
    c = T.alloc_L0C((64, 64), "float32")
    T.copy(A, a)
    T.copy(a, left)
    T.copy(a, right)
    T.mma(left, right, c, init=True)
    T.copy(a[0:n, :], left[0:n, :])
    T.mma(left[0:n, :], right, c[0:n, :])


@T.macro
def into_few_columns(A, C, n):  # type: ignore[no-untyped-def]
    a = T.alloc_L1((64, 64), "int8")
    left = T.alloc_L0A((64, 64), "int8")
    right = T.alloc_L0B((64, 64), "int8")
    c = T.alloc_L0C((64, 48), "int32")
    T.copy(A, a)
    T.copy(a, left)
    T.copy(a[:, 0:n], right[:, 0:n])
    T.mma(left, right[:, 0:n], c[:, 0:n], init=True)


@T.macro
def over_another_part(A, C, n):  # type: ignore[no-untyped-def]
    a = T.alloc_L1((64, 64), "int8")
    b = T.alloc_L1((64, 32), "int8")
    left = T.alloc_L0A((64, 64), "int8")
    right = T.alloc_L0B((2, 64, 32), "int8")
    c = T.alloc_L0C((64, 64), "int32")
    T.copy(A, a)
    T.copy(A[:, 0:32], b)
    T.copy(a, left)
    T.copy(b, right[0, :, :])
    T.copy(b, right[1, :, :])
    T.mma(left, right[0, :, 0:16], c[:, 0:16], init=True)
    T.mma(left, right[1, :, :], c[:, 32:64], init=True)


@T.macro
def in_part_of_a_square(A, C, n):  # type: ignore[no-untyped-def]
    a = T.alloc_L1((64, 64), "int8")
    right = T.alloc_L0B((64, 48), "int8")
    T.copy(A, a)
    T.copy(a[:, 0:n], right[:, 0:n])


@T.macro
def turned_or_not(A, C, n):  # type: ignore[no-untyped-def]
    a = T.alloc_L1((64, 64), "float32")
    left = T.alloc_L0A((64, 64), "float32")
    right = T.alloc_L0B((64, 64), "float32")
    c = T.alloc_L0C((64, 64), "float32")
    T.copy(A, a)
    if n > 32:
        T.copy(a[:, 0:n], left[:, 0:n])
    else:
        T.copy(a[0:n, :], left[:, 0:n], transpose=True)
    T.copy(a[0:n, :], right[0:n, :])
    T.mma(left[:, 0:n], right[0:n, :], c, init=True)


@T.macro
def squares_or_not(A, C, n):  # type: ignore[no-untyped-def]
    a = T.alloc_L1((64, 64), "int8")
    left = T.alloc_L0A((64, 64), "int8")
    right = T.alloc_L0B((64, 64), "int8")
    c = T.alloc_L0C((64, 64), "int32")
    T.copy(A, a)
    T.copy(a, left)
    if n > 32:
        T.copy(a[:, 0:n], right[:, 0:n])
    else:
        T.copy(a[0:n, :], right[:, 0:n], transpose=True)
    T.mma(left, right[:, 0:n], c[:, 0:n], init=True)


PARTS = (
    "unsupported on ascend: T.mma into rows of a tile of 64 in L0C, whose columns its product "
    "would not meet where it has fewer: their number is known at run time only, and there are "
    "other parts of the tile; give these rows a tile of their own"
)
UNLIKE = (
    " of a gemm, of extents that are known at run time only, comes from one copy with transpose "
    "and from another without"
)


@pytest.mark.parametrize(
    ("body", "dtype", "message"),
    [
        (behind_the_first_row, "float16", PARTS),
        (into_two_parts, "float16", PARTS),
        (
            into_few_columns,
            "int8",
            "unsupported on ascend: T.mma of columns of int8, which a copy transposes on their "
            "way, makes up to 64 of a tile of 48 in L0C; give it as many",
        ),
        (
            over_another_part,
            "int8",
            "unsupported on ascend: T.mma of columns of int8, which a copy transposes on their "
            "way, makes up to 32 columns of a tile in L0C, of which it takes up to 16, and there "
            "are other parts of the tile; give these columns a tile of their own",
        ),
        (
            in_part_of_a_square,
            "int8",
            "unsupported on ascend: a copy of up to 48 rows or columns of int8 that are "
            "transposed on the way; it takes multiples of 32",
        ),
        (turned_or_not, "float32", f"unsupported on ascend: a{UNLIKE}"),
        (squares_or_not, "int8", f"unsupported on ascend: b{UNLIKE}"),
    ],
)
def test_refused(body: Any, dtype: str, message: str) -> None:
    assert refused(body, dtype) == message


def parts_of_operands(a_columns: bool) -> PrimFunc:
    """The copies bring all of k, or all of n, to L0, of which T.mma takes a part."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32"), count: T.int32
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((64, 64), "float16")
            left = T.alloc_L0A((64, 64), "float16")
            right = T.alloc_L0B((64, 64), "float16")
            c = T.alloc_L0C((64, 64), "float32")
            T.copy(A, a)
            T.copy(a, left)
            T.copy(a, right)
            if a_columns:
                T.mma(left, right, c, init=True, k_actual=count)
                T.copy(c, C)
            else:
                T.mma(left, right, c, init=True, n_actual=count)
                T.copy(c[:, 0:count], C[:, 0:count])

    return main


@pytest.mark.parametrize("a_columns", [True, False])
def test_parts_of_what_is_in_l0(a_columns: bool) -> None:
    kernel = tilewright.compile(
        parts_of_operands(a_columns), target="ascend", pass_configs=AUTOMATIC
    )
    a = random.integers(-8, 9, (64, 64)).astype(np.float16)
    wide = a.astype(np.float64)
    for count in (64, 60):  # as many fractals
        c = np.zeros((64, 64), np.float32)
        kernel(a, c, count)
        expected = wide[:, :count] @ wide[:count] if a_columns else wide @ wide
        if not a_columns:
            expected[:, count:] = 0
        np.testing.assert_array_equal(c, expected)
    role, memory = ("a", "L0A") if a_columns else ("b", "L0B")
    message = (
        f"{role} of a gemm is 48 columns of a tile in {memory} that a copy fills with 64, so that "
        "its rows do not meet; copy these columns only"
    )
    with pytest.raises(RuntimeError, match=message):
        kernel(a, c, 48)
    with pytest.raises(
        ValueError, match=r"'count' is 65, but at most 64 fits into tile .*multiplies$"
    ):
        kernel(a, c, 65)


def test_no_products_leave_the_sums_as_they_are() -> None:
    case = GROUP.cases["40 columns to operands"]
    with pytest.raises(
        RuntimeError, match="T.mma with init multiplies 0 columns of a, but leaves c as it is"
    ):
        GROUP.run("40 columns to operands", *case.arguments[:3], 0)


def test_what_lies_behind_the_rows_is_undefined() -> None:
    """The interpreter forgets it, and all of the tile where there are other rows."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float16"),
        C: T.Tensor((32, 32), "float32"),
        n: T.int32,
        less: T.int32,
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((32, 32), "float16")
            left = T.alloc_L0A((32, 32), "float16")
            right = T.alloc_L0B((32, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            T.copy(A, a)
            T.copy(a, left)
            T.copy(a, right)
            for step in T.serial(2):
                rows = n - step * less
                T.mma(left[0:rows, :], right, c[0:rows, :], init=step == 0)
            T.copy(c, C)

    a, c = np.ones((32, 32), np.float16), np.zeros((32, 32), np.float32)
    interpret(main, a, c, 32, 0)
    assert (c == 64).all()
    other = "16 rows and 32 columns; the one before had other groups of 16 rows, so all that it has"
    for n, less, what in (
        (20, 0, "[20, 0] of 'c', which was never written"),
        (32, 16, "[0, 0] of 'c', which a gemm has left undefined"),
    ):
        with pytest.raises(tilewright.CompileError) as caught:
            interpret(main, a, c, n, less)
        assert f"element {what}" in str(caught.value)
        assert (other in str(caught.value)) == (less > 0)


def test_names_of_counts() -> None:
    @T.prim_func
    def to_ub(A: T.Tensor((32, 32), "float16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as _:
            a = T.alloc_ub((32, 32), "float16")
            T.copy(A, a, real_k=16)

    @T.prim_func
    def in_l0a(A: T.Tensor((32, 32), "float16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as _:
            a = T.alloc_L1((32, 32), "float16")
            left = T.alloc_L0A((32, 32), "float16")
            T.copy(a, left, real_n=16)

    @T.prim_func
    def flagged(A: T.Tensor((32, 32), "float16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as _:
            a = T.alloc_L1((32, 32), "float16")
            T.copy(A, a, unit_flag=1)

    for kernel in (to_ub, in_l0a):
        with pytest.raises(tilewright.CompileError) as caught:
            tilewright.compile(kernel, target="ascend")
        assert caught.value.errors[0].message == (
            "real_k of T.copy counts columns of a tile in L0A or rows of one in L0B, and real_n "
            "columns of one in L0B"
        )
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(flagged, target="ascend")
    assert caught.value.errors[0].message == (
        "unit_flag of T.copy must be 0, 0b10 or 0b11, not 1 of type int"
    )

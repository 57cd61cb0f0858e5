# SPDX-License-Identifier: Apache-2.0
"""Nests that begin before their tensor or end behind it, with guards by hand: rows of tiles in UB,
as vector instructions, and one copy of what the guard leaves. Each against NumPy in float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
random = np.random.default_rng(41)
TAPS, BLOCK = 4, 256
SCALAR = "runs element by element on the scalar unit"


def numbers(*shape: int, dtype: str = "float32") -> Any:
    """Of float16 such that sums of a few products are exact."""
    if dtype == "float16":
        return (random.integers(-8, 9, shape) / 8).astype(dtype)
    return random.uniform(-1, 1, shape).astype(dtype)


# Convolutions that look back: the first block begins before the tensor --------------------------


def convolved(x: Any, w: Any) -> Any:
    wide = np.concatenate([np.zeros((TAPS - 1, *x.shape[1:])), x.astype(np.float64)])
    return sum(w.astype(np.float64)[t] * wide[t : t + len(x)] for t in range(TAPS))


@GROUP.each(form=["choice", "branch", "bare"], length=[BLOCK * 3, 700])
def convolution(form: str, length: int) -> Any:
    @T.prim_func
    def main(
        X: T.Tensor((length,), "float32"),
        W: T.Tensor((TAPS,), "float32"),
        Y: T.Tensor((length,), "float32"),
    ):
        with T.Kernel(T.ceildiv(length, BLOCK), is_npu=True, threads=1) as bx:
            total = T.alloc_ub((BLOCK,), "float32")
            T.clear(total)
            for t in T.serial(TAPS):
                for i in T.Parallel(BLOCK):
                    at = bx * BLOCK + i + t - (TAPS - 1)
                    if form == "choice":
                        total[i] += T.if_then_else(at >= 0, X[at], 0) * W[t]
                    elif form == "branch":
                        if at >= 0:
                            total[i] += X[at] * W[t]
                    else:
                        total[i] += X[at] * W[t]
            T.copy(total, Y[bx * BLOCK])

    x, w = numbers(length), numbers(TAPS)
    return main, [x, w, np.zeros(length, np.float32)], convolved(x, w)


@GROUP.each(dtype=["float32", "float16"])
def convolution_of_rows(dtype: str) -> Any:
    """Of all columns, with weights of their own, straight to the tensor."""
    length, width, rows = 50, 64, 16

    @T.prim_func
    def main(
        X: T.Tensor((length, width), dtype),
        W: T.Tensor((TAPS, width), dtype),
        Y: T.Tensor((length, width), dtype),
    ):
        with T.Kernel(T.ceildiv(length, rows), is_npu=True, threads=1) as bx:
            total = T.alloc_ub((rows, width), "float32")
            T.clear(total)
            for t in T.serial(TAPS):
                for i, j in T.Parallel(rows, width):
                    row = bx * rows + i - (TAPS - 1 - t)
                    if row >= 0 and row < length:
                        total[i, j] += X[row, j] * W[t, j]
            for i, j in T.Parallel(rows, width):
                if bx * rows + i < length:
                    Y[bx * rows + i, j] = total[i, j]

    x, w = numbers(length, width, dtype=dtype), numbers(TAPS, width, dtype=dtype)
    return main, [x, w, np.zeros_like(x)], convolved(x, w)


# Tails by hand ----------------------------------------------------------------------------------

PER_BLOCK, BLOCKS = 104, 4

#: Which elements `at` of so many the guard leaves.
GUARDS = {
    "below": lambda at, n: at < n,
    "above": lambda at, n: n > at,
    "up to": lambda at, n: at <= n - 1,
    "not from": lambda at, n: not (at >= n),
    "inside": lambda at, n: at >= 0 and at < n,
    "both ends": lambda at, n: at < n and at - 90 < 110,
    "from": lambda at, n: at >= n,
    "behind": lambda at, n: n < at,
    "not below": lambda at, n: not (at < n),
    "middle": lambda at, n: at >= n - 20 and at < n,
    "other": lambda at, n: at != n,
    "this": lambda at, n: at == n,
    "outside": lambda at, n: at < n - 20 or at >= n,
    "two others": lambda at, n: at != n and at != 17,
    "either": lambda at, n: at < n or n > 300,
}


@GROUP.each(guard=list(GUARDS)[:6], count=[0, 1, 104, 250, 399, 416])
@GROUP.each(guard=list(GUARDS)[6:], count=[1, 250, 416])
@GROUP.each(guard=["two others"], count=[40])  # the parts lie in one line of the cache
@GROUP.each(guard=["either"], count=[325])
def tail(guard: str, count: int) -> Any:
    """Of a tensor that has more elements than are to be written."""
    size = PER_BLOCK * BLOCKS
    holds = GUARDS[guard]

    @T.prim_func
    def main(
        A: T.Tensor((size,), "float32"),
        n: T.int32,
        C: T.Tensor((size,), "float32"),
    ):
        with T.Kernel(BLOCKS, is_npu=True, threads=1) as cid:
            for i in T.Parallel(PER_BLOCK):
                at = cid * PER_BLOCK + i
                if guard == "below":
                    if at < n:
                        C[at] = A[at] * 2 + 1
                elif guard == "above":
                    if n > at:
                        C[at] = A[at] * 2 + 1
                elif guard == "up to":
                    if at <= n - 1:
                        C[at] = A[at] * 2 + 1
                elif guard == "not from":
                    if at >= n:
                        T.evaluate(0)
                    else:
                        C[at] = A[at] * 2 + 1
                elif guard == "inside":
                    if at >= 0 and at < n:
                        C[at] = A[at] * 2 + 1
                elif guard == "from":
                    if at >= n:
                        C[at] = A[at] * 2 + 1
                elif guard == "behind":
                    if n < at:
                        C[at] = A[at] * 2 + 1
                elif guard == "not below":
                    if at < n:
                        T.evaluate(0)
                    else:
                        C[at] = A[at] * 2 + 1
                elif guard == "middle":
                    if at >= n - 20 and at < n:
                        C[at] = A[at] * 2 + 1
                elif guard == "other":
                    if at != n:
                        C[at] = A[at] * 2 + 1
                elif guard == "this":
                    if at == n:
                        C[at] = A[at] * 2 + 1
                elif guard == "outside":
                    if at < n - 20 or at >= n:
                        C[at] = A[at] * 2 + 1
                elif guard == "two others":
                    if at != n and at != 17:
                        C[at] = A[at] * 2 + 1
                elif guard == "either":
                    if at < n or n > 300:
                        C[at] = A[at] * 2 + 1
                else:
                    if at < n:  # noqa: SIM102
                        if at - 90 < 110:
                            C[at] = A[at] * 2 + 1

    a, before = numbers(size), numbers(size)
    expected = before.astype(np.float64)
    for at in range(size):
        if holds(at, count):
            expected[at] = a[at].astype(np.float64) * 2 + 1
    return main, [a, count, before], expected


def of_tiles(form: str) -> Any:
    """What the branch reads lies in UB."""
    n = T.symbolic("n")

    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32"), m: T.int32):
        with T.Kernel(T.ceildiv(n, PER_BLOCK), is_npu=True, threads=1) as cid:
            a = T.alloc_ub((PER_BLOCK,), "float32")
            b = T.alloc_ub((PER_BLOCK,), "float32")
            if form != "all under the guard":
                T.copy(A[cid * PER_BLOCK], a)
            else:
                for i in T.Parallel(PER_BLOCK):
                    if cid * PER_BLOCK + i < m:
                        a[i] = A[cid * PER_BLOCK + i]
            for i in T.Parallel(PER_BLOCK):
                if cid * PER_BLOCK + i < m:
                    if form == "loaded":
                        C[cid * PER_BLOCK + i] = (a[i] + 1) * a[i]
                    else:
                        b[i] = a[i] + 1
                        C[cid * PER_BLOCK + i] = b[i] * a[i]

    return main


def add_of_tiles(*forms: str) -> None:
    for form in forms:
        a, before = numbers(350), numbers(350)
        exact = a.astype(np.float64)
        expected = np.where(np.arange(350) < 330, (exact + 1) * exact, before)
        GROUP.add(f"of tiles, {form}", of_tiles(form), [a, before, 330], {1: expected})


add_of_tiles("loaded")


@GROUP.each(uniform=[True, False])
def in_place(uniform: bool) -> Any:
    """Two stores to one tensor, the second under a guard that is the same for all, too."""

    @T.prim_func
    def main(C: T.Tensor((300,), "float32"), n: T.int32):
        with T.Kernel(3, is_npu=True, threads=1) as cid:
            for i in T.Parallel(104):
                if cid * 104 + i < n:
                    C[cid * 104 + i] = C[cid * 104 + i] * 3
                    if cid > 0 or not uniform:
                        C[cid * 104 + i] = 7.0

    c = numbers(300)
    expected = c.astype(np.float64)
    expected[:270] = 7.0
    if uniform:
        expected[:104] = c[:104].astype(np.float64) * 3
    return main, [c, 270], {0: expected}


@GROUP.each(rows=[40, 33, 1], threads=[1, 2])
def rectangle(rows: int, threads: int) -> Any:
    """Both dims end within a block, where another tensor's rows are as long."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 96), "float16"),
        B: T.Tensor((96,), "float16"),
        m: T.int32,
        n: T.int32,
        C: T.Tensor((64, 96), "float16"),
    ):
        with T.Kernel(2 * 2, is_npu=True, threads=threads) as cid:
            y = cid // 2 * 32
            x = cid % 2 * 48
            for i, j in T.Parallel(32, 48):
                if y + i < m and x + j < n:
                    C[y + i, x + j] = A[y + i, x + j] + B[x + j]

    a, b, c = numbers(64, 96, dtype="float16"), numbers(96, dtype="float16"), np.zeros((64, 96))
    expected = c.copy()
    expected[:rows, :75] = (a.astype(np.float64) + b)[:rows, :75]
    return main, [a, b, rows, 75, c.astype(np.float16)], expected


@GROUP.each(rows=[5, 61], threads=[1, 2], form=["rows", "columns", "both", "none of one"])
def lower_rectangle(rows: int, threads: int, form: str) -> Any:
    """Both dims begin where numbers say, also within a block."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 96), "float16"),
        m: T.int32,
        n: T.int32,
        C: T.Tensor((64, 96), "float16"),
    ):
        with T.Kernel(2 * 2, is_npu=True, threads=threads) as cid:
            y = cid // 2 * 32
            x = cid % 2 * 48
            for i, j in T.Parallel(32, 48):
                if form == "rows":
                    if y + i >= m:
                        C[y + i, x + j] = A[y + i, x + j] * 2
                elif form == "columns":
                    if x + j > n:
                        C[y + i, x + j] = A[y + i, x + j] * 2
                elif form == "both":
                    if y + i >= m and y + i < 60 and n < x + j:
                        C[y + i, x + j] = A[y + i, x + j] * 2
                else:
                    if y + i != m or x + j != n:
                        C[y + i, x + j] = A[y + i, x + j] * 2

    a, c = numbers(64, 96, dtype="float16"), numbers(64, 96, dtype="float16")
    n = 43
    y, x = np.arange(64)[:, None], np.arange(96)
    taken = {
        "rows": y >= rows,
        "columns": x > n,
        "both": (y >= rows) & (y < 60) & (n < x),
        "none of one": (y != rows) | (x != n),
    }[form]
    expected = np.where(taken, a.astype(np.float64) * 2, c)
    return main, [a, rows, n, c], expected


@GROUP.each(first=[0, 3, 64], form=["from its own", "added", "written twice", "else"])
def from_here(first: int, form: str) -> Any:
    """Where a row begins within a block, at one, or nowhere; before its tensor, but for a guard."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), n: T.int32, C: T.Tensor((64,), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            for i in T.Parallel(64):
                if form == "from its own":
                    if i - n >= 0:
                        C[i - n] = A[i] * 2
                elif form == "added":
                    if i >= n * 8:
                        T.atomic_add(C[i], A[i])
                elif form == "written twice":
                    C[i] = A[i] + 1
                    if i >= n:
                        C[i] = A[i] * 2
                else:
                    if i >= n:
                        C[i] = A[i] * 2
                    else:
                        C[i] = A[i] + 1

    a, before = numbers(64), numbers(64)
    exact, at = a.astype(np.float64), np.arange(64)
    expected = before.astype(np.float64)
    if form == "from its own":
        expected[: 64 - first] = exact[first:] * 2
    elif form == "added":
        expected[first * 8 :] += exact[first * 8 :]
    else:
        expected = np.where(at >= first, exact * 2, exact + 1)
    return main, [a, first, before], expected


TYPES = (
    "int64",
    "uint64",
    "int32",
    "uint32",
    "int16",
    "uint16",
    "int8",
    "uint8",
    "bool",
    "bfloat16",
)


@GROUP.each(dtype=TYPES, form=["before", "guarded", "both", "from"])
def of_all_types(dtype: str, form: str) -> Any:
    """What is only copied, from elements that begin anywhere in a block."""

    @T.prim_func
    def main(A: T.Tensor((100,), dtype), n: T.int32, C: T.Tensor((100,), dtype)):
        with T.Kernel(3, is_npu=True, threads=1) as cid:
            for i in T.Parallel(40):
                at = cid * 40 + i
                if form == "before":
                    C[at] = A[at - 3]
                elif form == "guarded":
                    if at < n:
                        C[at] = A[at]
                elif form == "from":
                    if at >= n:
                        C[at] = A[at]
                else:
                    if at < n:
                        C[at] = A[at - 3]

    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    a, before = (random.integers(0, 2 if dtype == "bool" else 100, 100) for _ in range(2))
    shifted = np.concatenate([np.zeros(3), a[:-3]]) if form in {"before", "both"} else a
    at = np.arange(100)
    taken = at >= 77 if form == "from" else at < (100 if form == "before" else 77)
    expected = np.where(taken, shifted, before)
    return main, [a.astype(kind), 77, before.astype(kind)], expected.astype(np.float64)


@GROUP.each(n=[0, 37, 100])
def added(n: int) -> Any:
    """Atomic adds of elements under a guard."""

    @T.prim_func
    def main(A: T.Tensor((2, 104), "float32"), n: T.int32, C: T.Tensor((104,), "float32")):
        with T.Kernel(2, is_npu=True, threads=1) as cid:
            for i in T.Parallel(104):
                if i < n:
                    T.atomic_add(C[i], A[cid, i])

    a, c = numbers(2, 104), numbers(104)
    expected = c.astype(np.float64)
    expected[:n] += a[:, :n].astype(np.float64).sum(0)
    return main, [a, n, c], expected


@GROUP.each(rows=[64, 50])
def epilogue(rows: int) -> Any:
    """As written for GPUs: what a gemm gives, stored under guards of both dims."""

    @T.prim_func
    def main(
        A: T.Tensor((rows, 64), "float16"),
        B: T.Tensor((64, 80), "float16"),
        D: T.Tensor((80,), "float32"),
        C: T.Tensor((rows, 80), "float32"),
    ):
        with T.Kernel(T.ceildiv(rows, 32), 2, threads=128) as (by, bx):
            a = T.alloc_shared((32, 64), "float16")
            b = T.alloc_shared((64, 48), "float16")
            c = T.alloc_fragment((32, 48), "float32")
            T.copy(A[by * 32, 0], a)
            T.copy(B[0, bx * 48], b)
            T.gemm(a, b, c, clear_accum=True)
            for i, j in T.Parallel(32, 48):
                if by * 32 + i < rows and bx * 48 + j < 80:
                    C[by * 32 + i, bx * 48 + j] = c[i, j] + D[bx * 48 + j]

    a, b, d = numbers(rows, 64, dtype="float16"), numbers(64, 80, dtype="float16"), numbers(80)
    expected = a.astype(np.float64) @ b.astype(np.float64) + d
    return main, [a, b, d, np.zeros((rows, 80), np.float32)], expected


# Stores on both sides ----------------------------------------------------------------------------


@GROUP.each(
    form=["two", "three", "under a guard", "two tensors", "by place", "what both share"],
    dtype=["float32", "float16", "int32"],
)
def either_side(form: str, dtype: str) -> Any:
    """Elements decide what is stored, but something always is: no tile of the tensor is read."""
    n, size = 150, 200

    @T.prim_func
    def main(
        A: T.Tensor((size,), dtype),
        n: T.int32,
        D: T.Tensor((size,), dtype),
        C: T.Tensor((size,), dtype),
    ):
        with T.Kernel(4, is_npu=True, threads=1) as cid:
            for i in T.Parallel(50):
                at = cid * 50 + i
                if form == "two":
                    if A[at] > 0:
                        C[at] = A[at] * 2
                    else:
                        C[at] = -A[at]
                elif form == "three":
                    if A[at] > 1:
                        C[at] = A[at] * 2
                    elif A[at] > -1:
                        C[at] = A[at] * A[at]
                    else:
                        C[at] = 3
                elif form == "under a guard":
                    if at < n:
                        if A[at] > 0:
                            C[at] = A[at] * 2
                        else:
                            C[at] = -A[at]
                elif form == "two tensors":
                    if A[at] > 0:
                        C[at] = A[at] * 2
                        D[at] = 1
                    else:
                        D[at] = 2
                        C[at] = -A[at]
                elif form == "by place":
                    if at < n:
                        C[at] = A[at] * 2
                    else:
                        C[at] = -A[at]
                else:
                    D[at] = A[at]
                    if A[at] > 0:
                        C[at] = A[at] * 2
                    else:
                        C[at] = -A[at]

    a = numbers(size, dtype="float16" if dtype == "float16" else "float32") * 3
    a = (a.round() if dtype == "int32" else a).astype(dtype)
    wide, at = a.astype(np.float64), np.arange(size)
    expected = np.where(at < n if form == "by place" else wide > 0, wide * 2, -wide)
    if form == "three":
        expected = np.where(wide > 1, wide * 2, np.where(wide > -1, wide**2, 3))
    elif form == "under a guard":
        expected[n:] = 0
    second = {"two tensors": np.where(wide > 0, 1, 2), "what both share": wide}
    wanted = {2: second.get(form, np.zeros(size)), 3: expected}
    return main, [a, n, np.zeros(size, dtype), np.zeros(size, dtype)], wanted


# What the branch alone may write in a tile is a choice, too.
add_of_tiles("all under the guard")
VECTORS = list(GROUP.cases)

# What the branch alone has written, and reads again, is the scalar unit's; the tensor has one copy.
PARTLY = ("stored to a tile, too",)
add_of_tiles(*PARTLY)

# What stays element by element ------------------------------------------------------------------


FORMS: list[str] = []


def picked(form: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            for i in T.Parallel(64):
                if form == "five parts":
                    if i != 5 and i != 7 and i != 20 and i != 43:
                        C[i] = A[i] * 2
                elif form == "odd ones":
                    if i % 2 == 1:
                        C[i] = A[i] * 2
                elif form == "by elements":
                    if A[i] > 0:
                        C[i] = A[i] * 2
                elif form == "steps":
                    C[i] = A[63 - i] * 2
                else:
                    C[i - 3] = A[i] * 2

    return main


def add_picked() -> None:
    a, before = numbers(64), numbers(64)
    doubled = a.astype(np.float64) * 2
    at = np.arange(64)
    expected = {
        "five parts": np.where(np.isin(at, (5, 7, 20, 43)), before, doubled),
        "odd ones": np.where(at % 2 == 1, doubled, before),
        "by elements": np.where(a > 0, doubled, before),
        "steps": doubled[::-1],
        "before": np.where(at < 61, np.roll(doubled, -3), before),
    }
    for form, wanted in expected.items():
        FORMS.append(form)
        GROUP.add(form, picked(form), [a, before], wanted)


add_picked()


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name: str) -> None:
    case = GROUP.check(name)
    assert [each for each in case.told if SCALAR in each] == []


@pytest.mark.parametrize("form", PARTLY)
def test_partly_in_vectors(form: str) -> None:
    case = GROUP.check(f"of tiles, {form}")
    assert {each for each in case.told if SCALAR in each} == {f"this nest {SCALAR}: it holds 'if'"}


@pytest.mark.parametrize("name", FORMS)
def test_elements(name: str) -> None:
    case = GROUP.check(name)
    (remark,) = (each for each in case.told if SCALAR in each)
    assert remark.endswith("; copy what it takes of 'A' to a tile first, with T.copy")


def test_removals() -> None:
    for name in (
        "convolution choice 700", "tail below 250", "tail from 250", "epilogue 50",
        "either_side three float32",
    ):  # fmt: skip
        GROUP.check_removals(name)


@pytest.mark.parametrize(
    "name", ["tail this 250", "tail two others 250", "lower_rectangle 5 2 none of one"]
)
def test_all_removals_of_parts_beside_each_other(name: str) -> None:
    """Parts of which often one alone has elements."""
    GROUP.check_removals(name, most=None)

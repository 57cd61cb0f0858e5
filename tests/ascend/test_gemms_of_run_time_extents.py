# SPDX-License-Identifier: Apache-2.0
"""T.gemm_v0 of extents that the kernel knows as it runs."""

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
random = np.random.default_rng(67)


def tails(
    sizes: Sizes, block: Sizes, layout: Layout, dtype: str, *, whole: bool = False
) -> PrimFunc:
    """Each block and each step of k takes what there is of its tile. `whole`: the store takes all
    of the tile, which the tensor's edge cuts."""
    M, N, K = sizes
    bm, bn, bk = block
    turn_a, turn_b = layout
    a_shape, b_shape = shapes(sizes, layout)
    a_tile, b_tile = shapes(block, layout)
    sums = "int32" if dtype == "int8" else "float32"
    columns = T.ceildiv(N, bn)

    @T.prim_func
    def main(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((M, N), sums)):  # type: ignore[no-untyped-def]
        with T.Kernel(T.ceildiv(M, bm) * columns, is_npu=True) as (cid, _), T.Scope("C"):
            a = T.alloc_L1(a_tile, dtype)
            b = T.alloc_L1(b_tile, dtype)
            c = T.alloc_L0C((bm, bn), sums)
            x, y = cid // columns * bm, cid % columns * bn
            m, n = T.min(bm, M - x), T.min(bn, N - y)
            for step in T.serial(T.ceildiv(K, bk)):
                z = step * bk
                k = T.min(bk, K - z)
                load_parts(A, B, a, b, (x, y, z), (m, n, k), layout)
                T.gemm_v0(
                    a[0:k, 0:m] if turn_a else a[0:m, 0:k],
                    b[0:n, 0:k] if turn_b else b[0:k, 0:n],
                    c[0:m, 0:n],
                    transpose_A=turn_a,
                    transpose_B=turn_b,
                    init=(step == 0),
                )
            if whole:
                T.copy(c, C[x, y])
            else:
                T.copy(c[0:m, 0:n], C[x : x + m, y : y + n])

    return main


#: Some with several steps of k, too.
MORE_SIZES = [
    *SIZES,
    ((20, 90, 100), (16, 64, 32)),
    ((200, 40, 1000), (128, 32, 512)),
    ((40, 200, 300), (32, 128, 512)),
]

for number, each in enumerate(LAYOUTS):
    letters = "".join("T" if turned else "N" for turned in each)
    for dtype in ("float16", "bfloat16", "float32", "int8"):
        for sizes, block in MORE_SIZES[number % 2 :: 2] if dtype != "bfloat16" else ():
            given, expected = operands(random, sizes, each, dtype)
            name = f"{dtype} {letters} {sizes} in {block}"
            GROUP.add(name, tails(sizes, block, each, dtype), given, expected)
        given, expected = operands(random, (75, 83, 79), each, dtype)
        names = (T.symbolic("m"), T.symbolic("n"), T.symbolic("k"))
        dynamic = tails(names, (32, 64, 64), each, dtype, whole=True)
        GROUP.add(f"{dtype} {letters} dynamic", dynamic, given, expected, configs={})


def of_experts(pipelined: bool) -> PrimFunc:
    """Rows of a by counts in a tensor, of which some are 0; each has a matrix of its own."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((96, 80), "float16"),
        B: T.Tensor((5, 80, 48), "float16"),
        starts: T.Tensor((6,), "int32"),
        C: T.Tensor((96, 48), "float32"),
    ):
        with T.Kernel(5, is_npu=True, threads=1) as cid:
            a = T.alloc_L1((32, 32), "float16")
            b = T.alloc_L1((32, 48), "float16")
            c = T.alloc_L0C((32, 48), "float32")
            first, last = starts[cid], starts[cid + 1]
            for block in T.serial(T.ceildiv(last - first, 32)):
                row = first + block * 32
                m = T.min(32, last - row)
                for step in T.Pipelined(3, num_stages=2 if pipelined else 0):
                    k = T.min(32, 80 - step * 32)
                    T.copy(A[row : row + m, step * 32 : step * 32 + k], a[0:m, 0:k])
                    T.copy(B[cid, step * 32 : step * 32 + k, :], b[0:k, :])
                    T.gemm_v0(a[0:m, 0:k], b[0:k, :], c[0:m, :], init=step == 0)
                T.copy(c[0:m, :], C[row : row + m, :])

    return main


for pipelined in (False, True):
    starts = np.array([0, 33, 33, 40, 95, 96], np.int32)
    a = random.integers(-8, 9, (96, 80)).astype(np.float16)
    b = random.integers(-8, 9, (5, 80, 48)).astype(np.float16)
    expected = np.zeros((96, 48))
    for expert in range(5):
        rows = slice(starts[expert], starts[expert + 1])
        expected[rows] = a[rows].astype(np.float64) @ b[expert].astype(np.float64)
    arguments = [a, b, starts, np.zeros((96, 48), np.float32)]
    name = "of experts" + (", pipelined" if pipelined else "")
    GROUP.add(name, of_experts(pipelined), arguments, expected)


@T.prim_func
def two_parts(  # type: ignore[no-untyped-def]
    A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32"), m: T.int32, n: T.int32
):
    """Of one tile; rows of the first turn stay where the second has fewer of them."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_L1((64, 64), "float16")
        c = T.alloc_L0C((64, 64), "float32")
        T.copy(A, a)
        for turn in T.serial(2):
            rows = m - turn * 16
            T.gemm_v0(a[0:rows, :], a, c[0:rows, :], init=turn == 0)
            T.gemm_v0(a[0:n, :], a, c[32 : 32 + n, :], init=turn == 0)
        T.copy(c[0:m, :], C[0:m, :])
        T.copy(c[32 : 32 + n, :], C[32 : 32 + n, :])


for m, n in ((32, 32), (32, 7), (16, 1)):
    a = random.integers(-8, 9, (64, 64)).astype(np.float16)
    wide = a.astype(np.float64)
    expected = np.zeros((64, 64))
    expected[:m] = wide[:m] @ wide
    expected[: m - 16] *= 2
    expected[32 : 32 + n] = 2 * wide[:n] @ wide
    arguments = [a, np.zeros((64, 64), np.float32), m, n]
    GROUP.add(f"two parts {m} {n}", two_parts, arguments, {1: expected})


def developer(M: Any, N: Any, K: Any, *, stages: int) -> PrimFunc:
    """The compiler places tiles and splits the work; a nest computes with what there is."""
    columns = T.ceildiv(N, 64)

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        bias: T.Tensor((N,), "float32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(M, 32) * columns, is_npu=True) as (cid, _):
            a = T.alloc_shared((32, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((32, 64), "float32")
            row = T.alloc_shared((64,), "float32")
            x, y = cid // columns * 32, cid % columns * 64
            m, n = T.min(32, M - x), T.min(64, N - y)
            T.copy(bias[y : y + n], row[0:n])
            for step in T.Pipelined(T.ceildiv(K, 64), num_stages=stages):
                k = T.min(64, K - step * 64)
                T.copy(A[x : x + m, step * 64 : step * 64 + k], a[0:m, 0:k])
                T.copy(B[step * 64 : step * 64 + k, y : y + n], b[0:k, 0:n])
                T.gemm_v0(a[0:m, 0:k], b[0:k, 0:n], c[0:m, 0:n], init=step == 0)
            for i, j in T.Parallel(32, 64):
                if i < m and j < n:
                    C[x + i, y + j] = T.max(c[i, j] + row[j], 0)

    return main


for stages in (0, 2):
    for sizes in ((70, 100, 130), (32, 64, 64), (5, 3, 200)):
        (a, b, c), expected = operands(random, sizes, (False, False), "float16")
        bias = random.integers(-8, 9, sizes[1]).astype(np.float32)
        expected = np.maximum(expected + bias, 0)
        name = f"developer {sizes} {stages}"
        GROUP.add(name, developer(*sizes, stages=stages), [a, b, bias, c], expected)
    names = (T.symbolic("m"), T.symbolic("n"), T.symbolic("k"))
    (a, b, c), expected = operands(random, (70, 100, 130), (False, False), "float16")
    bias = random.integers(-8, 9, 100).astype(np.float32)
    expected = np.maximum(expected + bias, 0)
    name = f"developer dynamic {stages}"
    GROUP.add(name, developer(*names, stages=stages), [a, b, bias, c], expected)


@T.prim_func
def of_nothing(  # type: ignore[no-untyped-def]
    A: T.Tensor((32, 64), "float16"),
    B: T.Tensor((64, 48), "float16"),
    C: T.Tensor((32, 48), "float32"),
    m: T.int32,
    n: T.int32,
    k: T.int32,
):
    """Twice the product of all, and once of what there is."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_L1((32, 64), "float16")
        b = T.alloc_L1((64, 48), "float16")
        c = T.alloc_L0C((32, 48), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.gemm_v0(a, b, c, init=True)
        T.gemm_v0(a[0:m, 0:k], b[0:k, 0:n], c[0:m, 0:n])
        T.gemm_v0(a, b, c)
        T.copy(c, C)


for m, n, k in ((0, 48, 64), (32, 0, 64), (32, 48, 0), (0, 0, 0), (16, 32, 64), (32, 48, 5)):
    a = random.integers(-8, 9, (32, 64)).astype(np.float16)
    b = random.integers(-8, 9, (64, 48)).astype(np.float16)
    expected = 2 * a.astype(np.float64) @ b.astype(np.float64)
    expected[:m, :n] += a[:m, :k].astype(np.float64) @ b[:k, :n].astype(np.float64)
    arguments = [a, b, np.zeros((32, 48), np.float32), m, n, k]
    GROUP.add(f"of nothing {m} {n} {k}", of_nothing, arguments, {2: expected})


@pytest.mark.parametrize("name", GROUP.cases)
def test_product(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in GROUP.cases
        if any(word in name for word in ("experts", "parts", "developer", "NT (70", "1000"))
    ],
)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)


def test_what_the_text_says() -> None:
    """All columns at once, as high as there are rows, where a copy takes these rows; else by 16,
    as high as the tile."""
    GROUP.check("float16 NN (70, 50, 45) in (32, 32, 32)")
    text = GROUP.cases["float16 NN (70, 50, 45) in (32, 32, 32)"].ascendc
    assert "copyL1ToL0A(l0a, a, 0, 0, 32, m, k);" in text
    assert "multiply(c, l0a, l0b, m, n, k, step == 0);" in text
    assert "copyL0cToGm(C[x * 50 + y], c, m, n, (m + 15) / 16 * 16, 50);" in text
    text = GROUP.cases["float16 NN dynamic"].ascendc
    columns = "smaller(larger(n_1 - group * 16, 0), 16)"
    operands = "c[group * 512], l0a, l0b[group * 1024]"
    assert f"multiply({operands}, m_1, {columns}, k_1, condition);" in text


def test_no_products_leave_the_sums_as_they_are() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float16"), C: T.Tensor((32, 32), "float32"), k: T.int32):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((64, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            T.copy(A, a)
            T.gemm_v0(a[0:k, :], a[0:k, :], c, transpose_A=True, init=True)
            T.copy(c, C)

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    a, c = np.ones((64, 32), np.float16), np.zeros((32, 32), np.float32)
    kernel(a, c, 40)
    assert (c == 40).all()
    with pytest.raises(
        RuntimeError, match="T.gemm_v0 with init multiplies 0 rows of a, but leaves c as it is"
    ):
        kernel(a, c, 0)


def test_what_lies_behind_in_a_group_of_16_is_undefined() -> None:
    """The interpreter forgets it; what lies behind the group stays."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32"), n: T.int32):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((64, 64), "float16")
            c = T.alloc_L0C((64, 64), "float32")
            T.copy(A, a)
            T.gemm_v0(a, a, c, init=True)
            T.gemm_v0(a[0:n, :], a[:, 0:n], c[0:n, 0:n])
            T.copy(c, C)

    a, c = np.ones((64, 64), np.float16), np.zeros((64, 64), np.float32)
    interpret(main, a, c, 32)
    assert (c[:32, :32] == 128).all()
    assert (c[32:] == 64).all()
    assert (c[:, 32:] == 64).all()
    with pytest.raises(tilewright.CompileError) as caught:
        interpret(main, a, c, 20)
    assert "element [0, 20] of 'c', which a gemm has left undefined" in str(caught.value)
    assert (
        "this gemm makes 20 rows and 20 columns; up to 32 rows and 32 columns, in groups of 16, it "
        "leaves the rest undefined"
    ) in str(caught.value)


def test_the_host_reports_who_reads_what_lies_behind() -> None:
    """The second product has a row less, so the last row is none of the sum's."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float16"), n: T.int32, m: T.int32, C: T.Tensor((32, 32), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((32, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            T.copy(A, a)
            for i in T.serial(2):
                T.gemm_v0(
                    a[0 : n - i, :], a[0:m, :], c[0 : n - i, 0:m], transpose_B=True, init=(i == 0)
                )
            T.copy(c[0:n, 0:m], C[0:n, 0:m])

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    a, c = np.ones((32, 32), np.float16), np.zeros((32, 32), np.float32)
    kernel(a, 17, 32, c)  # its last row is alone in a group of 16
    assert (c[:16] == 64).all()
    assert (c[16] == 32).all()
    told = "which Mmad has left undefined, as they lie behind its m and n"
    with pytest.raises(RuntimeError, match=told):
        kernel(a, 32, 32, c)
    with pytest.raises(tilewright.CompileError, match="which a gemm has left undefined"):
        interpret(main, a, 32, 32, c)


def test_what_vectors_have_made_stays_behind() -> None:
    """Of a gemm that adds to it; one that clears leaves nothing there, nor does one behind that."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32"), n: T.int32):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.fill(c, 1)
            for _ in range(2):
                T.gemm_v0(a[0:n, :], a[:, 0:n], c[0:n, 0:n], init=n > 40)
            T.copy(c, C)

    a = np.ones((64, 64), np.float16)
    for run in (interpret, tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)):
        c = np.zeros((64, 64), np.float32)
        run(*([main] if run is interpret else []), a, c, 20)
        assert (c[:20, :20] == 129).all()
        assert (c[20:] == 1).all()
        assert (c[:, 20:] == 1).all()
    with pytest.raises(tilewright.CompileError) as caught:
        interpret(main, a, c, 41)
    assert "element [0, 41] of 'c', which a gemm has left undefined" in str(caught.value)

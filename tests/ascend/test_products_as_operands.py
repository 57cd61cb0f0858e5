# SPDX-License-Identifier: Apache-2.0
"""A gemm's result that another gemm reads: T.copy leads from L0C to L1, converting, or where the
cube core can't, through global memory or UB."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T

Array = np.ndarray[Any, Any]
random = np.random.default_rng(31)
GROUP = KernelGroup()
TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32}


def numbers(shape: tuple[int, ...], dtype: str) -> Array:
    if dtype == "int8":
        return random.integers(-3, 4, shape).astype(np.int8)
    return random.uniform(-1, 1, shape).astype(TYPES[dtype])


def exact(*factors: Array) -> Array:
    product = factors[0].astype(np.float64)
    for factor in factors[1:]:
        product = product @ factor.astype(np.float64)
    return product


def chain(dtype: str, sizes: tuple[int, int, int, int], form: str = "", blocks: int = 1) -> Any:
    """D = (A B) C, of so many blocks of rows; the first product is the second gemm's a."""
    M, K, N, P = sizes
    rows = -(-M // blocks)
    relu, threads = form == "relu", 2 if form == "threads" else None

    @T.prim_func
    def main(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((N, P), dtype),
        D: T.Tensor((M, P), "float32"),
    ):
        with T.Kernel(blocks, threads=threads, is_npu=True) as cores:
            cid = cores[0] if threads is None else cores
            a = T.alloc_shared((rows, K), dtype)
            b = T.alloc_shared((K, N), dtype)
            c = T.alloc_shared((N, P), dtype)
            h = T.alloc_shared((rows, N), dtype)
            s = T.alloc_fragment((rows, N), "float32")
            d = T.alloc_fragment((rows, P), "float32")
            T.copy(A[cid * rows, 0], a)
            T.copy(B, b)
            T.copy(C, c)
            T.gemm_v0(a, b, s, init=True)
            T.copy(s, h, enable_relu=relu)
            T.gemm_v0(h, c, d, init=True)
            T.copy(d, D[cid * rows, 0])

    return main


def add_chain(
    dtype: str, sizes: tuple[int, int, int, int], form: str = "", blocks: int = 1
) -> None:
    M, K, N, P = sizes
    a, b, c = numbers((M, K), dtype), numbers((K, N), dtype), numbers((N, P), dtype)
    first = exact(a, b)
    if form == "relu":
        first = np.maximum(first, 0)
    D = np.zeros((M, P), np.float32)
    GROUP.add(
        f"{dtype} {sizes} {form} {blocks}",
        chain(dtype, sizes, form, blocks),
        [a, b, c, D],
        {3: exact(first, c)},
        configs=AUTOMATIC,
        rtol=0.02 if dtype == "bfloat16" else 2e-3,
        atol=0.1 if dtype == "bfloat16" else 0.02,
    )


for dtype in TYPES:
    add_chain(dtype, (64, 32, 48, 64))
    add_chain(dtype, (40, 24, 20, 36), blocks=1)
add_chain("float16", (100, 64, 64, 64), blocks=4)
add_chain("float16", (32, 32, 32, 32), "relu")
add_chain("float32", (32, 32, 32, 32), "relu")
add_chain("float16", (64, 64, 64, 64), "threads", blocks=2)
add_chain("float32", (64, 64, 64, 64), "threads", blocks=2)


def as_right_operand(dtype: str, rows: int, columns: int, transposed: bool) -> Any:
    """D = C (A B), or C (A B)^T; the product is the second gemm's b."""
    width = rows if not transposed else columns

    @T.prim_func
    def main(
        A: T.Tensor((rows, 32), dtype),
        B: T.Tensor((32, columns), dtype),
        C: T.Tensor((32, width), dtype),
        D: T.Tensor((32, rows if transposed else columns), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((rows, 32), dtype)
            b = T.alloc_shared((32, columns), dtype)
            c = T.alloc_shared((32, width), dtype)
            h = T.alloc_shared((rows, columns), dtype)
            s = T.alloc_fragment((rows, columns), "float32")
            d = T.alloc_fragment((32, rows if transposed else columns), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(C, c)
            T.gemm(a, b, s, clear_accum=True)
            T.copy(s, h)
            T.gemm(c, h, d, transpose_B=transposed, clear_accum=True)
            T.copy(d, D)

    return main


for dtype, rows, columns, transposed in (
    ("float16", 48, 32, False),
    ("float16", 20, 40, False),
    ("bfloat16", 48, 64, True),
    ("float32", 40, 24, True),
    ("float32", 24, 40, False),
):
    a, b = numbers((rows, 32), dtype), numbers((32, columns), dtype)
    c = numbers((32, columns if transposed else rows), dtype)
    product = exact(a, b)
    GROUP.add(
        f"right {dtype} {rows} {columns} {transposed}",
        as_right_operand(dtype, rows, columns, transposed),
        [a, b, c, np.zeros((32, rows if transposed else columns), np.float32)],
        {3: c.astype(np.float64) @ (product.T if transposed else product)},
        configs=AUTOMATIC,
        rtol=0.02 if dtype == "bfloat16" else 2e-3,
        atol=0.1 if dtype == "bfloat16" else 0.02,
    )


def linear_attention(length: int, block: int, dim: int, stages: int) -> Any:
    """O = sum over blocks of (Q K^T) V: the product is an operand in each turn of the loop."""

    @T.prim_func
    def main(
        Q: T.Tensor((length, dim), "float16"),
        K: T.Tensor((length, dim), "float16"),
        V: T.Tensor((length, dim), "float16"),
        R: T.Tensor((length, dim), "float32"),
    ):
        with T.Kernel(T.ceildiv(length, block), is_npu=True) as (cid, vid):
            q = T.alloc_shared((block, dim), "float16")
            k = T.alloc_shared((block, dim), "float16")
            v = T.alloc_shared((block, dim), "float16")
            p = T.alloc_shared((block, block), "float16")
            s = T.alloc_fragment((block, block), "float32")
            o = T.alloc_fragment((block, dim), "float32")
            T.copy(Q[cid * block, 0], q)
            T.clear(o)
            for i in T.Pipelined(T.ceildiv(length, block), num_stages=stages):
                T.copy(K[i * block, 0], k)
                T.copy(V[i * block, 0], v)
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                T.copy(s, p)
                T.gemm(p, v, o)
            T.copy(o, R[cid * block, 0])

    return main


for length, stages in ((128, 0), (128, 2), (100, 2)):
    q, k, v = (numbers((length, 64), "float16") for _ in range(3))
    GROUP.add(
        f"attention {length} {stages}",
        linear_attention(length, 32, 64, stages),
        [q, k, v, np.zeros((length, 64), np.float32)],
        {3: exact(exact(q, k.T), v)},
        configs=AUTOMATIC,
        rtol=1e-2,
        atol=0.03,
    )


def state_of_chunks(length: int, dim: int, rows: int) -> Any:
    """Causal linear attention: the sums of the chunks before are an operand, and go on growing."""

    @T.prim_func
    def main(
        Q: T.Tensor((length, dim), "float16"),
        K: T.Tensor((length, dim), "float16"),
        V: T.Tensor((length, dim), "float16"),
        R: T.Tensor((length, dim), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            q = T.alloc_shared((rows, dim), "float16")
            k = T.alloc_shared((rows, dim), "float16")
            v = T.alloc_shared((rows, dim), "float16")
            state = T.alloc_fragment((dim, dim), "float32")
            state16 = T.alloc_shared((dim, dim), "float16")
            own = T.alloc_fragment((rows, rows), "float32")
            own16 = T.alloc_shared((rows, rows), "float16")
            o = T.alloc_fragment((rows, dim), "float32")
            T.clear(state)
            for i in T.serial(length // rows):
                T.copy(Q[i * rows, 0], q)
                T.copy(K[i * rows, 0], k)
                T.copy(V[i * rows, 0], v)
                T.copy(state, state16)
                T.gemm(q, state16, o, clear_accum=True)
                T.gemm(q, k, own, transpose_B=True, clear_accum=True)
                for x, y in T.Parallel(rows, rows):
                    own16[x, y] = T.if_then_else(x >= y, own[x, y], 0.0)
                T.gemm(own16, v, o)
                T.copy(o, R[i * rows, 0])
                T.gemm(k, v, state, transpose_A=True)

    return main


for length, rows in ((96, 32), (80, 16)):
    q, k, v = (numbers((length, 32), "float16") / np.float16(2) for _ in range(3))
    GROUP.add(
        f"chunks {length} {rows}",
        state_of_chunks(length, 32, rows),
        [q, k, v, np.zeros((length, 32), np.float32)],
        {3: exact(np.tril(exact(q, k.T)), v)},
        configs=AUTOMATIC,
        rtol=1e-2,
        atol=2e-2,
    )


def integers(turn: bool) -> Any:
    """int32 sums as int8, which keeps their low bits, and turned: vector cores do it."""

    @T.prim_func
    def main(
        A: T.Tensor((32, 32), "int8"),
        B: T.Tensor((32, 64), "int8"),
        C: T.Tensor((32 if turn else 64, 32), "int8"),
        D: T.Tensor((64 if turn else 32, 32), "int32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((32, 32), "int8")
            b = T.alloc_shared((32, 64), "int8")
            c = T.alloc_shared((32 if turn else 64, 32), "int8")
            h = T.alloc_shared((64, 32) if turn else (32, 64), "int8")
            s = T.alloc_fragment((32, 64), "int32")
            d = T.alloc_fragment((64 if turn else 32, 32), "int32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(C, c)
            T.gemm(a, b, s, clear_accum=True)
            T.copy(s, h, transpose=turn)
            T.gemm(h, c, d, clear_accum=True)
            T.copy(d, D)

    return main


for turn in (False, True):
    a, b = numbers((32, 32), "int8"), numbers((32, 64), "int8")
    c = numbers((32 if turn else 64, 32), "int8")
    product = exact(a, b).astype(np.int64).astype(np.int8)
    GROUP.add(
        f"int8 {turn}",
        integers(turn),
        [a, b, c, np.zeros((64 if turn else 32, 32), np.int32)],
        {3: exact(product.T if turn else product, c).astype(np.int32)},
        configs=AUTOMATIC,
    )


def by_hand(dtype: str) -> Any:
    """Expert mode: gemm_v0 orders the copy before it as it orders loads."""

    @T.prim_func
    def main(
        A: T.Tensor((32, 32), dtype),
        B: T.Tensor((32, 64), dtype),
        C: T.Tensor((64, 48), dtype),
        D: T.Tensor((2, 32, 48), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((32, 32), dtype)
            b = T.alloc_L1((32, 64), dtype)
            c = T.alloc_L1((64, 48), dtype)
            h = T.alloc_L1((32, 64), dtype)
            s = T.alloc_L0C((32, 64), "float32")
            d = T.alloc_L0C((32, 48), "float32")
            with T.Scope("C"):
                T.copy(A, a)
                T.copy(B, b)
                T.copy(C, c)
                for i in T.serial(2):
                    T.gemm_v0(a, b, s, init=True)
                    T.copy(s, h)
                    T.gemm_v0(h, c, d, init=True)
                    T.copy(d, D[i, 0, 0])

    return main


for dtype in ("float16", "float32"):
    a, b, c = (numbers(shape, dtype) for shape in ((32, 32), (32, 64), (64, 48)))
    GROUP.add(
        f"expert {dtype}",
        by_hand(dtype),
        [a, b, c, np.zeros((2, 32, 48), np.float32)],
        {3: np.stack([exact(a, b, c)] * 2)},
        rtol=5e-3,
        atol=0.02,
    )


def with_scale() -> Any:
    """int32 sums times a scale are the float16 operand."""

    @T.prim_func
    def main(
        A: T.Tensor((32, 32), "int8"),
        B: T.Tensor((32, 64), "int8"),
        C: T.Tensor((64, 32), "float16"),
        D: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((32, 32), "int8")
            b = T.alloc_shared((32, 64), "int8")
            c = T.alloc_shared((64, 32), "float16")
            h = T.alloc_shared((32, 64), "float16")
            s = T.alloc_fragment((32, 64), "int32")
            d = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(C, c)
            T.gemm(a, b, s, clear_accum=True)
            T.set_deq_scale(0.125)
            T.copy(s, h)
            T.gemm(h, c, d, clear_accum=True)
            T.copy(d, D)

    return main


a, b, c = numbers((32, 32), "int8"), numbers((32, 64), "int8"), numbers((64, 32), "float16")
GROUP.add(
    "with a scale",
    with_scale(),
    [a, b, c, np.zeros((32, 32), np.float32)],
    {3: exact(exact(a, b) / 8, c)},
    configs=AUTOMATIC,
)


def parts(dtype: str, rows: int, height: int) -> Any:
    """Rows of the product move one part after the other, some to other rows."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 32), dtype),
        B: T.Tensor((32, 48), dtype),
        C: T.Tensor((48, 32), dtype),
        D: T.Tensor((64, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((64, 32), dtype)
            b = T.alloc_shared((32, 48), dtype)
            c = T.alloc_shared((48, 32), dtype)
            h = T.alloc_shared((64, 48), dtype)
            s = T.alloc_fragment((64, 48), "float32")
            d = T.alloc_fragment((64, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(C, c)
            T.gemm(a, b, s, clear_accum=True)
            for i in T.serial(64 // height):
                begin, to = i * height, (i * height + rows) % 64
                for left, right in ((0, 16), (16, 48)):
                    T.copy(s[begin : begin + height, left:right], h[to : to + height, left:right])
            T.gemm(h, c, d, clear_accum=True)
            T.copy(d, D)

    return main


for dtype in ("float16", "float32"):
    for rows, height in ((16, 16), (8, 8)):
        a, b, c = numbers((64, 32), dtype), numbers((32, 48), dtype), numbers((48, 32), dtype)
        product = exact(a, b)
        moved = np.roll(product, rows, axis=0)
        GROUP.add(
            f"parts {dtype} {rows} {height}",
            parts(dtype, rows, height),
            [a, b, c, np.zeros((64, 32), np.float32)],
            {3: exact(moved, c)},
            configs=AUTOMATIC,
            rtol=5e-3,
            atol=0.02,
        )


def stored(out: str, turn: bool, scaled: bool) -> Any:
    """What the cube core can't store itself: it goes through UB."""
    shape = (64, 32) if turn else (32, 64)

    @T.prim_func
    def main(A: T.Tensor((32, 32), "int8"), B: T.Tensor((32, 64), "int8"), D: T.Tensor(shape, out)):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((32, 32), "int8")
            b = T.alloc_shared((32, 64), "int8")
            s = T.alloc_fragment((32, 64), "int32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, s, clear_accum=True)
            if scaled:  # a product of the vector cores' own
                x = T.alloc_shared((32, 64), out)
                T.copy(s, x)
                for i, j in T.Parallel(32, 64):
                    x[i, j] = x[i, j] * 2
                T.copy(x, D)
            else:
                T.copy(s, D, transpose=turn)

    return main


for out, turn, scaled in (
    ("float32", False, False),
    ("float32", True, False),
    ("int32", True, False),
    ("float32", False, True),
    ("float16", False, True),
):
    a, b = numbers((32, 32), "int8"), numbers((32, 64), "int8")
    product = exact(a, b) * (2 if scaled else 1)
    wanted = product.T if turn else product
    GROUP.add(
        f"stored {out} {turn} {scaled}",
        stored(out, turn, scaled),
        [a, b, np.zeros(wanted.shape, out)],
        {2: wanted.astype(out)},
        configs=AUTOMATIC,
    )


@T.prim_func
def many_blocks(
    A: T.Tensor((T.symbolic("m"), 32), "float32"),
    B: T.Tensor((32, 32), "float32"),
    C: T.Tensor((32, 32), "float32"),
    D: T.Tensor((T.symbolic("m"), 32), "float32"),
):
    """A grid that is known at run time only: each block has a workspace of its own."""
    with T.Kernel(T.ceildiv(A.shape[0], 32), is_npu=True) as (cid, vid):
        a = T.alloc_shared((32, 32), "float32")
        b = T.alloc_shared((32, 32), "float32")
        c = T.alloc_shared((32, 32), "float32")
        h = T.alloc_shared((32, 32), "float32")
        s = T.alloc_fragment((32, 32), "float32")
        T.copy(A[cid * 32, 0], a)
        T.copy(B, b)
        T.copy(C, c)
        T.gemm(a, b, s, clear_accum=True)
        T.copy(s, h)
        T.gemm(h, c, s, clear_accum=True)
        T.copy(s, D[cid * 32, 0])


a, b, c = numbers((80, 32), "float32"), numbers((32, 32), "float32"), numbers((32, 32), "float32")
GROUP.add(
    "many blocks",
    many_blocks,
    [a, b, c, np.zeros((80, 32), np.float32)],
    {3: exact(a, b, c)},
    configs=AUTOMATIC,
    rtol=1e-3,
    atol=1e-3,
)


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize(
    "name", [name for name in GROUP.cases if name.startswith(("attention 128", "float32 (64"))]
)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_parts_that_go_round_lie_apart(dtype: str) -> None:
    """Rows from (16 i + 16) % 64 on: those of another turn are other ones, so nothing waits."""
    removals = GROUP.removals(f"parts {dtype} 16 16")
    assert [why for why, is_needed in removals.inserted.items() if not is_needed] == []
    assert removals.missed() == []
    assert removals.needless() == []


def test_the_cube_core_alone_moves_it() -> None:
    text = GROUP.check("attention 128 2").ascendc
    assert text.count("copyL0cToL1(") == 1
    assert "KERNEL_TYPE_AIC_ONLY" in text and " product;" not in text
    text = GROUP.check("float32 (64, 32, 48, 64)  1").ascendc
    assert "KERNEL_TYPE_AIC_ONLY" in text and "copyL0cToL1" not in text
    assert "copyL0cToGm(product[" in text and "copyGmToL1(h, product[" in text


@pytest.mark.parametrize(
    ("dtype", "form", "text"),
    [
        ("int8", {}, "a copy from L0C of int32 to L1 of int8"),
        ("int8", {"transpose": True}, "a transposed copy from L0C of int32 to L1 of int8"),
        ("float16", {"transpose": True}, "a transposed copy from L0C of float32 to L1 of float16"),
        ("float32", {"transpose": True}, "a transposed copy from L0C to L1"),
    ],
)
def test_by_hand_the_kernel_says_how(dtype: str, form: dict[str, bool], text: str) -> None:
    sums = "int32" if dtype == "int8" else "float32"

    @T.prim_func
    def main(A: T.Tensor((32, 32), dtype), D: T.Tensor((32, 32), sums)):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((32, 32), dtype)
            h = T.alloc_L1((32, 32), dtype)
            s = T.alloc_L0C((32, 32), sums)
            with T.Scope("C"):
                T.copy(A, a)
                T.gemm_v0(a, a, s, init=True)
                T.copy(s, h, **form)
                T.gemm_v0(a, h, s, init=True)
                T.copy(s, D)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="ascend")
    (error,) = caught.value.errors
    assert error.message == (
        f"unsupported on ascend: {text}; copy to a tile in UB (T.alloc_ub) and from there to L1, "
        "which vector cores do"
    )
    assert "T.copy(s, h" in str(caught.value)


def test_a_scale_is_asked_for() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "int8"), D: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((32, 32), "int8")
            h = T.alloc_L1((32, 32), "float16")
            s = T.alloc_L0C((32, 32), "int32")
            d = T.alloc_L0C((32, 32), "float32")
            with T.Scope("C"):
                T.copy(A, a)
                T.gemm_v0(a, a, s, init=True)
                T.copy(s, h)
                T.gemm_v0(h, h, d, init=True)
                T.copy(d, D)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="ascend")
    (error,) = caught.value.errors
    assert error.message == (
        "unsupported on ascend: a copy from L0C of int32 to L1 of float16 without a scale; call "
        "T.set_deq_scale before this copy"
    )


def test_the_host_knows_what_a_product_has_left_undefined() -> None:
    """Fixpipe takes all columns to L1: those behind n have no value there, either."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float16"), n: T.int32, k: T.int32, D: T.Tensor((32, 32), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((32, 32), "float16")
            h = T.alloc_L1((32, 32), "float16")
            s = T.alloc_L0C((32, 32), "float32")
            d = T.alloc_L0C((32, 32), "float32")
            T.copy(A, a)
            T.gemm_v0(a, a[0:n, :], s[:, 0:n], transpose_B=True, init=True)
            T.copy(s, h)
            T.gemm_v0(h[:, 0:k], a[0:k, :], d, init=True)
            T.copy(d, D)

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    a, d = numbers((32, 32), "float16"), np.zeros((32, 32), np.float32)
    for n, k in ((20, 20), (32, 32), (32, 20)):
        kernel(a, n, k, d)
        h = exact(a, a[:n].T).astype(np.float16)[:, :k]
        np.testing.assert_allclose(d, exact(h, a[:k]), rtol=1e-2, atol=1e-2)
    with pytest.raises(RuntimeError) as caught:
        kernel(a, 20, 24, d)
    assert "to which Mmad has moved what nothing has written" in str(caught.value)
    for what in ("LoadData", "Fixpipe", "Mmad"):
        assert f"it takes that from {what}" in str(caught.value)


@pytest.mark.parametrize("is_loaded", [True, False])
def test_an_operand_is_stored_too(is_loaded: bool) -> None:
    """Nothing leads from L1 to a tensor: the tile lies in UB, too."""

    @T.prim_func
    def main(
        A: T.Tensor((32, 64), "float16"),
        B: T.Tensor((64, 32), "float16"),
        H: T.Tensor((32, 32), "float16"),
        D: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=2) as _:
            a = T.alloc_shared((32, 64), "float16")
            b = T.alloc_shared((64, 32), "float16")
            h = T.alloc_shared((32, 32), "float16")
            s = T.alloc_fragment((32, 32), "float32")
            d = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, s, init=True)
            if is_loaded:
                T.copy(B[0:32, :], h)
            else:
                T.copy(s, h)
            T.copy(h, H)
            T.gemm_v0(h, h, d, init=True)
            T.copy(d, D)

    a, b = numbers((32, 64), "float16"), numbers((64, 32), "float16")
    kernel = tilewright.compile(main, out_idx=[2, 3], target="ascend", pass_configs=AUTOMATIC)
    h, d = kernel(a, b)
    np.testing.assert_allclose(h, b[:32] if is_loaded else exact(a, b), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(d, exact(h, h), rtol=1e-5, atol=1e-5)


def test_a_transposed_store_goes_through_ub() -> None:
    """Fixpipe transposes nothing, so the vector cores do, where the compiler splits the work."""

    @T.prim_func
    def main(
        A: T.Tensor((32, 64), "float16"),
        B: T.Tensor((64, 48), "float16"),
        C: T.Tensor((48, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_shared((32, 64), "float16")
            b = T.alloc_shared((64, 48), "float16")
            c = T.alloc_L0C((32, 48), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C, transpose=True)

    a, b = numbers((32, 64), "float16"), numbers((64, 48), "float16")
    kernel = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
    np.testing.assert_allclose(kernel(a, b), exact(a, b).T, rtol=1e-5, atol=1e-5)

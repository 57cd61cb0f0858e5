# SPDX-License-Identifier: Apache-2.0
"""Elements of global memory that the scalar unit and the DMA hand to each other: the compiler
orders them, cleans the scalar unit's cache, and says which kind of core does it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T
from tilewright.errors import CompileError

GROUP = KernelGroup()
random = np.random.default_rng(0)
ROW = np.arange(64, dtype=np.float32)


@T.prim_func
def back_and_forth(  # type: ignore[no-untyped-def]
    A: T.Tensor((64,), "float32"), W: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")
):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        x = T.alloc_ub((64,), "float32")
        if vid == 0:
            for r in T.serial(3):
                for i in T.serial(4):
                    W[2 * i] = A[i] + T.float32(r)
                T.copy(W, x)
                T.tile.add(x, x, 1.0)
                T.copy(x, W)
                W[5] = W[4] + 100.0
            T.copy(W, x)
            T.copy(x, C)


W_ROW = ROW.copy()
for r in range(3):
    W_ROW[0:8:2] = ROW[:4] + r
    W_ROW += 1
    W_ROW[5] = W_ROW[4] + 100
GROUP.add("back_and_forth", back_and_forth, [ROW, ROW, np.zeros(64, np.float32)], W_ROW)


@T.prim_func
def between_blocks(  # type: ignore[no-untyped-def]
    A: T.Tensor((64,), "float32"), W: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")
):
    with T.Kernel(4, is_npu=True) as (cid, vid):
        if vid == 0:
            W[cid * 16] = A[cid] * 2.0
        T.sync_all()
        if vid == 0:
            C[cid * 16] = W[(3 - cid) * 16]


SPREAD = np.zeros(64, np.float32)
SPREAD[::16] = 6, 4, 2, 0
GROUP.add("between_blocks", between_blocks, [ROW, ROW * 0, ROW * 0], SPREAD)


@T.prim_func
def narrow_sums(  # type: ignore[no-untyped-def]
    A: T.Tensor((64,), "int16"), B: T.Tensor((64,), "int16"), C: T.Tensor((64,), "int16")
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((64,), "int16")
        b = T.alloc_ub((64,), "int16")
        c = T.alloc_ub((64,), "int16")
        T.copy(A, a)
        T.copy(B, b)
        for i in T.serial(64):
            if a[i] + b[i] > 0:
                c[i] = T.shift_right(a[i] * b[i], 4)
            else:
                c[i] = T.shift_right(a[i] - b[i], 1)
        T.copy(c, C)


#: Sums and products that 16 bits have no room for: they go round, though C++ computes in 32.
NARROW = [random.integers(-32768, 32767, 64).astype(np.int16) for _ in range(2)]
GROUP.add(
    "narrow_sums",
    narrow_sums,
    [*NARROW, np.zeros(64, np.int16)],
    np.where(NARROW[0] + NARROW[1] > 0, (NARROW[0] * NARROW[1]) >> 4, (NARROW[0] - NARROW[1]) >> 1),
)
HALVES = [random.standard_normal((32, 32)).astype(np.float16) for _ in range(2)]
SCALES = np.arange(32, dtype=np.float32)


def product(form: str) -> Any:
    """A product whose first operand the scalar unit has changed."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float16"),
        B: T.Tensor((32, 32), "float16"),
        S: T.Tensor((32,), "float32"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((32, 32), "float16")
            b = T.alloc_shared((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            x = T.alloc_ub((32,), "float32")
            u = T.alloc_ub((16, 32), "float32")
            T.copy(S, x)
            if form == "of_ub":
                if vid == 0:
                    for i in T.serial(3):
                        A[i, i] = T.cast(x[i + 1] * 2.0, "float16")
            elif form == "of_global":
                A[1, 1] = T.cast(S[4], "float16")
            else:
                A[vid, 2] = T.float16(9)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C)
            T.copy(C[vid * 16, 0], u)
            T.tile.add(u, u, S[5])
            T.copy(u, C[vid * 16, 0])

    return main


#: What each form stores before the product, and the kind of core that does.
FORMS = {
    "of_ub": ({(0, 0): 2, (1, 1): 4, (2, 2): 6}, "AIV"),
    "of_global": ({(1, 1): 4}, "AIC"),
    "of_vid": ({(0, 2): 9, (1, 2): 9}, "AIV"),
}
for form, (stores, _) in FORMS.items():
    left = HALVES[0].astype(np.float64)
    for place, number in stores.items():
        left[place] = number
    GROUP.add(
        form,
        product(form),
        [*HALVES, SCALES, np.zeros((32, 32), np.float32)],
        {0: left, 3: left @ HALVES[1].astype(np.float64) + 5},
    )


def handed(form: str) -> Any:
    """The scalar unit of one kind of core stores a number, that of the other asks for it; no DMA
    touches it."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16, 16), "float16"),
        D: T.Tensor((64,), "int32"),
        C: T.Tensor((16, 16), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            y = T.alloc_shared((16, 16), "float16")
            a = T.alloc_shared((16, 16), "float16")
            c = T.alloc_fragment((16, 16), "float32")
            z = T.alloc_shared((16, 16), "float32")
            T.copy(A, y)
            if form == "a constant":
                if vid == 0:
                    D[0] = 5
            elif form == "an element":
                for i in T.serial(3):
                    if vid == 0:
                        D[0] = T.cast(y[0, i], "int32")
            elif form == "in a while":
                while y[0, 0] < 5.0:
                    T.tile.add(y, y, 1.0)
                    if vid == 0:
                        D[0] = D[0] + 1
            else:
                D[0] = D[32] + 5
            T.copy(y, a)
            T.gemm_v0(a, a, c, init=True)
            if form != "by the cube core":  # noqa: SIM102
                if D[0] > 2:
                    T.gemm_v0(a, a, c)
            T.copy(c, z)
            if form == "by the cube core":
                T.tile.add(z, z, T.cast(D[0], "float32"))
            if vid == 0:
                T.copy(z, C)

    return main


#: What of A is multiplied, how many products are summed, and what is added.
HANDED = {
    "a constant": (1, 2, 0),
    "an element": (3, 2, 0),
    "in a while": (5, 2, 0),
    "by the cube core": (1, 1, 12),
}
for form, (number, products, added) in HANDED.items():
    GROUP.add(
        form,
        handed(form),
        [
            np.full((16, 16), 3 if form == "an element" else 1, np.float16),
            np.where(np.arange(64) == 32, 7, 0).astype(np.int32),
            np.zeros((16, 16), np.float32),
        ],
        {2: np.full((16, 16), products * 16 * number**2 + added)},
    )


@pytest.mark.parametrize("name", HANDED)
def test_lines_that_both_kinds_of_core_use(name: str) -> None:
    """Each of the two cleans them, the one behind its stores, the other before it reads."""
    for part in GROUP.check(name).ascendc.split("if ASCEND_IS_AIV"):
        assert "DataCacheCleanAndInvalid<int32_t" in part


@T.prim_func
def stored_by_both(  # type: ignore[no-untyped-def]
    A: T.Tensor((16, 16), "float16"), D: T.Tensor((64,), "int32"), C: T.Tensor((16, 16), "float32")
):
    """Nobody reads it."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_L1((16, 16), "float16")
        c = T.alloc_L0C((16, 16), "float32")
        with T.Scope("C"):
            T.copy(A, a)
            T.gemm_v0(a, a, c, init=True)
            T.copy(c, C)
            D[0] = 2
            D[1] = 3
        with T.Scope("V"):
            D[0] = 4
        with T.Scope("C"):
            D[2] = 5


SQUARE = HALVES[0][:16, :16]
PRODUCT = SQUARE.astype(np.float64) @ SQUARE.astype(np.float64)
NONE = np.zeros((16, 16), np.float32)
stored = np.arange(64, dtype=np.int32)
given = [SQUARE, stored.copy(), NONE]
stored[:3] = 4, 3, 5
GROUP.add("stored by both", stored_by_both, given, {1: stored, 2: PRODUCT})


def asked_by_the_cube_core(form: str) -> Any:
    """The vector cores wait behind what alone asks for the element."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16, 16), "float16"),
        P: T.Tensor((8,), "int32"),
        X: T.Tensor((16, 16), "float32"),
        C: T.Tensor((16, 16), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as _:
            a = T.alloc_L1((16, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            u = T.alloc_ub((16, 16), "float32")
            w = T.alloc_var("int32", init=0)
            T.copy(A, a)
            T.gemm_v0(a, a, c, init=True)
            if form == "in a branch":
                if P[1] > 1:
                    T.copy(c, X)
            elif form == "in two":
                if P[1] > 1 and P[2] > 1:
                    T.copy(c, X)
            elif form == "in turns":
                while w < 1:
                    w = w + 1
                    if P[1] < 2:
                        continue
                    T.copy(c, X)
            elif form == "as a number":
                w = P[1] - 1
                if w > 0:
                    T.copy(c, X)
            T.copy(X, u)
            T.copy(u, C)

    return main


for form in ("in a branch", "in two", "in turns", "as a number"):
    for number in (1, 2):
        GROUP.add(
            f"{form}, {number}",
            asked_by_the_cube_core(form),
            [SQUARE, np.full(8, number, np.int32), NONE + 3, NONE],
            PRODUCT if number == 2 else NONE + 3,
        )


@pytest.mark.parametrize("name", ["back_and_forth", "narrow_sums", *FORMS])
def test_kernels(name: str) -> None:
    text = GROUP.check(name).ascendc
    if name in FORMS:
        core = "AIV" if text.index("A.SetValue") > text.index("if ASCEND_IS_AIV") else "AIC"
        assert (core, text.count("A.SetValue")) == (FORMS[name][1], 1)


@pytest.mark.parametrize("name", GROUP.cases)
def test_removals(name: str) -> None:
    GROUP.check_removals(name, most=None if name == "stored by both" else 3)


def test_stores_of_both_kinds_of_core() -> None:
    """Each cleans its line before the other one's store."""
    for part in GROUP.check("stored by both").ascendc.split("if ASCEND_IS_AIV"):
        assert part.count("DataCacheCleanAndInvalid<int32_t") == part.count("D.SetValue") > 0


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("form", ["in a branch", "in two", "in turns", "as a number"])
def test_flags_behind_what_the_cube_core_asks_for(form: str, number: int) -> None:
    """Only it reads the element."""
    text = GROUP.check(f"{form}, {number}").ascendc
    assert "P.GetValue" not in text[text.index("if ASCEND_IS_AIV") :]


def test_between_blocks() -> None:
    """On the host alone: the interpreter runs one block after the other."""
    GROUP.cases["between_blocks"].check(GROUP.run("between_blocks"), "host")


@T.prim_func
def of_the_second_core(  # type: ignore[no-untyped-def]
    A: T.Tensor((16, 16), "float16"), P: T.Tensor((64,), "int32"), C: T.Tensor((16, 16), "float32")
):
    """All else is the cube core's."""
    with T.Kernel(1, is_npu=True) as (_, vid):
        a = T.alloc_shared((16, 16), "float16")
        product = T.alloc_fragment((16, 16), "float32")
        T.copy(A, a)
        T.gemm_v0(a, a, product, init=True)
        T.copy(product, C)
        if vid == 1:
            P[32] = P[0] + 1


def test_an_element_that_the_second_vector_core_stores() -> None:
    group = KernelGroup()
    numbers = np.arange(3, 67, dtype=np.int32)
    wanted = np.where(np.arange(64) == 32, 4, numbers)
    args = [np.ones((16, 16), np.float16), numbers, np.zeros((16, 16), np.float32)]
    group.add("second", of_the_second_core, args, {1: wanted, 2: np.full((16, 16), 16.0)})
    assert "KERNEL_TYPE_MIX_AIC_1_2" in group.check("second").ascendc


@T.prim_func
def asked_in_a_branch(  # type: ignore[no-untyped-def]
    A: T.Tensor((16, 16), "float16"), P: T.Tensor((64,), "int32"), C: T.Tensor((16, 16), "float32")
):
    with T.Kernel(1, is_npu=True) as (_, vid):
        a = T.alloc_shared((16, 16), "float16")
        product = T.alloc_fragment((16, 16), "float32")
        u = T.alloc_ub((16, 16), "float32")
        T.copy(A, a)
        T.gemm_v0(a, a, product, init=True)
        T.copy(product, u)
        T.copy(u, C)
        if vid == 1:  # noqa: SIM102
            if P[0] > 2:
                T.printf("more\n")  # of both kinds of core
                P[vid] = P[16 + vid * 32] + 1  # in the line of P[0]


def test_a_message_names_the_element() -> None:
    """Not what makes memory and the scalar unit's cache agree on it; and once, not of each part."""
    with pytest.raises(CompileError) as caught:
        tilewright.compile(asked_in_a_branch, target="ascend", pass_configs=AUTOMATIC)
    (error,) = caught.value.errors
    assert error.message.startswith("writing an element overwrites what reading an element reads")
    first = asked_in_a_branch.function.__code__.co_firstlineno
    assert error.place.line - first == 15
    assert [note.place.line - first for note in error.notes] == [13]

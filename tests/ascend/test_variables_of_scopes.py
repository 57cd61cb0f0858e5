# SPDX-License-Identifier: Apache-2.0
"""A variable that is assigned in a T.Scope is its cores' own: where it says whether, where or with
which number both kinds of core do something together, both have it, or it is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T

GROUP = KernelGroup()
SIDE, HALF = 32, 16


def handed_on(form: str, threads: int | None) -> Any:  # noqa: ANN401, C901
    """Tiles that go from UB to L1 outside of scopes."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((4, SIDE, SIDE), "float16"),
        P: T.Tensor((8,), "int32"),
        n: T.int32,
        C: T.Tensor((4, SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=threads) as _:
            h = T.alloc_ub((SIDE, SIDE), "float16")
            p = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            i = T.alloc_var("int32", init=0)
            j = T.alloc_var("int32", init=0)
            T.copy(A[0, 0, 0], h)
            T.copy(h, p)
            if form == "whether":
                for _t in T.serial(3):
                    if i > 1:
                        T.copy(A[i, 0, 0], h)
                        T.copy(h, p)
                    with T.Scope("V"):
                        i = i + 1
            elif form == "where":
                with T.Scope("V"):
                    T.copy(A[1, 0, 0], h)
                    i = n * 8 - 8
                T.copy(h[i : i + HALF, :], p[i : i + HALF, :])
            elif form == "how often":
                with T.Scope("V"):
                    j = n - 1
                while i < j:
                    i = i + 1
                    T.copy(A[i, 0, 0], h)
                    T.copy(h, p)
            elif form == "until":
                for t in T.serial(3):
                    with T.Scope("V"):
                        i = i + 1
                    if i == n:
                        break
                    T.copy(A[t + 1, 0, 0], h)
                    T.copy(h, p)
            elif form == "by others":  # what it is computed of, in a loop of the scope
                with T.Scope("V"):
                    for _t in T.serial(n):
                        if j < n - 2:
                            i = i + 1
                        j = j + 1
                T.copy(A[i, 0, 0], h)
                if j > n - 1:
                    T.copy(h, p)
            elif form == "set anew":  # of each kind, before it reads it
                with T.Scope("V"):
                    i = 2
                    T.copy(A[i, 0, 0], h)
                i = HALF
                T.copy(h[i : i + HALF, :], p[i : i + HALF, :])
            with T.Scope("C"):
                if form == "set anew":
                    i = 1
                T.gemm_v0(p, p, c, init=True)
                T.copy(c, C[i if form == "set anew" else 3, 0, 0])

    return main


random = np.random.default_rng(45)
matrices = random.integers(-3, 4, (4, SIDE, SIDE)).astype(np.float16)
wide = matrices.astype(np.float64)


def joined(top: int, bottom: int) -> Any:  # noqa: ANN401
    return np.concatenate([wide[top, :HALF], wide[bottom, HALF:]])


HANDED = {
    "whether": (3, wide[2]),
    "where": (3, joined(0, 1)),
    "how often": (3, wide[2]),
    "until": (3, wide[2]),
    "by others": (3, wide[1]),
    "set anew": (1, joined(0, 2)),
}
for threads in (1, 2, None):
    for form, (row, tile) in HANDED.items():
        expected = np.zeros((4, SIDE, SIDE))
        expected[row] = tile @ tile
        GROUP.add(
            f"{form}, threads={threads}",
            handed_on(form, threads),
            [matrices, np.arange(8, dtype=np.int32), 3, np.zeros((4, SIDE, SIDE), np.float32)],
            expected,
            configs=AUTOMATIC,
        )


def of_products(form: str) -> Any:  # noqa: ANN401, C901
    """Work for a gemm's tile, and elements of tensors, outside of scopes."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((4, SIDE, SIDE), "float16"),
        P: T.Tensor((8,), "int32"),
        C: T.Tensor((4, SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            u = T.alloc_ub((SIDE, SIDE), "float16")
            s = T.alloc_shared((SIDE, SIDE), "float16")
            f = T.alloc_fragment((SIDE, SIDE), "float32")
            i = T.alloc_var("int32", init=1)
            of_cube = form in ("nest", "element of the cube core")
            T.copy(A[0, 0, 0], s)
            with T.Scope("C" if of_cube else "V"):
                i = vid if form == "vid" else 2
            if form == "element" or form == "element of the cube core":
                P[i] = i
            elif form == "filled":
                T.fill(s, T.cast(i, "float16"))
            elif form == "loaded":
                T.copy(A[i, 0, 0], s)
            elif form == "own":
                T.copy(A[0, 0, 0], u)
                T.copy(u[0:HALF, :], s[(i - 1) * HALF : i * HALF, :])
            elif form == "vid":
                T.copy(A[0, 0, 0], u)
                T.copy(u[0:HALF, :], s[i * HALF : (i + 1) * HALF, :])
            T.gemm_v0(s, s, f, init=True)
            if form in ("nest", "nest of the vector cores"):
                for a, b in T.Parallel(SIDE, SIDE):
                    f[a, b] = f[a, b] * i
            if form == "loaded" or form == "filled":
                for a, b in T.Parallel(SIDE, SIDE):
                    u[a, b] = s[a, b]
            if form == "parts":
                T.copy(f[vid * HALF : vid * HALF + HALF, :], C[i, vid * HALF, 0])
            elif form == "own":
                T.copy(f, C[i, 0, 0])
            else:
                T.copy(f, C[0, 0, 0])

    return main


PRODUCT = wide[0] @ wide[0]
MADE = {"nest": (0, 2 * PRODUCT), "element": (0, PRODUCT), "parts": (2, PRODUCT)}
for form, (row, product) in MADE.items():
    numbers = np.arange(8, dtype=np.int32)[::-1].copy()
    results = {1: numbers.copy(), 2: np.zeros((4, SIDE, SIDE))}
    results[1][2] = 2 if form == "element" else results[1][2]
    results[2][row] = product
    given = [matrices, numbers, np.zeros((4, SIDE, SIDE), np.float32)]
    GROUP.add(form, of_products(form), given, results, configs=AUTOMATIC)


def stored_once(ask: str) -> Any:  # noqa: ANN401
    """Where the scope of vector cores alone needs an element that is asked for."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        P: T.Tensor((8,), "int32"),
        Q: T.Tensor((8,), "int32"),
        C: T.Tensor((SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=2) as _:
            h = T.alloc_ub((SIDE, SIDE), "float16")
            p = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            i = T.alloc_var("int32", init=1)
            T.copy(A, h)
            T.copy(h, p)
            if ask == "whether":
                if P[1] == 1:
                    with T.Scope("V"):
                        i = 4
            else:
                with T.Scope("V"):
                    i = P[1]
                    T.tile.fill(h, T.cast(i, "float16"))
            for t in T.serial(1, 4):
                i = t
            Q[2] = i
            T.gemm_v0(p, p, c, init=True)
            T.copy(c, C)

    return main


for ask in ("whether", "which"):
    numbers = np.arange(8, dtype=np.int32)
    given = [matrices[0], numbers, numbers, np.zeros((SIDE, SIDE), np.float32)]
    results = {2: np.array([0, 1, 3, 3, 4, 5, 6, 7], np.int32), 3: PRODUCT}
    GROUP.add(f"stored once, {ask}", stored_once(ask), given, results, configs=AUTOMATIC)


@pytest.mark.parametrize("name", GROUP.cases)
def test_both_know(name: str) -> None:
    GROUP.check(name)


NOT_COMPUTED = (
    "only the vector cores assign to 'i' here, but what needs it takes both kinds of core, and the "
    "cube core can't compute it: assign to 'i' outside of T.Scope"
)
OF_OTHERS = (
    "only the {} to 'i' here, but the 'i' of the {} is needed for what takes both kinds of core: "
    "assign to 'i' outside of T.Scope, or use another variable in it"
)
NEEDED_ELSEWHERE = (
    "only the vector cores assign to 'i' here, but what needs it takes both kinds of core, and "
    "elsewhere the cube core needs 'i' without this: use another variable there"
)
OF_VECTORS = OF_OTHERS.format("vector cores assign", "cube core")
REFUSED = {
    "vid": NOT_COMPUTED,
    "element of the cube core": OF_OTHERS.format("cube core assigns", "vector cores"),
    "nest of the vector cores": OF_VECTORS,
    "loaded": OF_VECTORS,
    "filled": OF_VECTORS,
    "own": NEEDED_ELSEWHERE,
}


@pytest.mark.parametrize("form", REFUSED)
def test_what_one_kind_alone_has(form: str) -> None:
    kernel = of_products(form)
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel, target="ascend", pass_configs=AUTOMATIC)
    (error,) = caught.value.errors
    assert error.message == "unsupported on ascend: " + REFUSED[form]
    assert error.place.line == kernel.function.__code__.co_firstlineno + 14
    assert len(error.notes) == (2 if form == "own" else 1)


def test_what_one_kind_alone_assigns() -> None:
    @T.prim_func
    def main(A: T.Tensor((4, SIDE, SIDE), "float16"), C: T.Tensor((4, SIDE, SIDE), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as _:
            p = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            i = T.alloc_var("int32", init=0)
            for _t in T.serial(3):
                with T.Scope("C"):
                    T.copy(A[i, 0, 0], p)
                    T.gemm_v0(p, p, c, init=True)
                    T.copy(c, C[i, 0, 0])
                with T.Scope("V"):
                    i = i + 1

    message = (
        "only the vector cores assign to 'i' here, so the cube core reads another number: assign "
        "to 'i' outside of T.Scope"
    )
    with pytest.warns(tilewright.errors.TilewrightWarning) as caught:
        kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    assert message in str(caught[0].message)
    assert caught[0].lineno == main.function.__code__.co_firstlineno + 12
    for run in (kernel, tilewright.compile(main, target="reference")):
        results = np.zeros((4, SIDE, SIDE), np.float32)
        run(matrices, results)
        np.testing.assert_array_equal(results[0], wide[0] @ wide[0])
        assert not results[1:].any()

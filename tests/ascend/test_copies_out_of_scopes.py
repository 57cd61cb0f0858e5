# SPDX-License-Identifier: Apache-2.0
"""A copy between tiles of both kinds of core in a T.Scope is work of both, through global memory;
other work there is done by the cores of the scope, or an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T

GROUP = KernelGroup()
SIDE = 32


def to_gemm(form: str, on_chip: str, threads: int | None) -> Any:  # noqa: ANN401
    """Vector cores make an operand in their scope, and hand it to the cube core."""
    on_vectors = T.alloc_ub if on_chip == "explicit" else T.alloc_shared
    on_cube = T.alloc_L1 if on_chip == "explicit" else T.alloc_shared

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((4, SIDE, SIDE), "float16"), C: T.Tensor((SIDE, SIDE), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=threads) as _:
            h = on_vectors((SIDE, SIDE), "float16")
            p = on_cube((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            if form == "once":
                with T.Scope("V"):
                    T.copy(A[0, :, :], h)
                    T.tile.mul(h, h, 2.0)
                    T.copy(h, p)
                with T.Scope("C"):
                    T.gemm_v0(p, p, c, init=True)
                    T.copy(c, C)
            elif form == "loop around":
                for k in T.serial(4):
                    with T.Scope("V"):
                        T.copy(A[k, :, :], h)
                        T.tile.mul(h, h, 2.0)
                        T.copy(h, p)
                    with T.Scope("C"):
                        T.gemm_v0(p, p, c, init=(k == 0))
                with T.Scope("C"):
                    T.copy(c, C)
            elif form == "loop inside":
                with T.Scope("V"):
                    for k in T.serial(4):
                        T.copy(A[k, :, :], h)
                        T.tile.mul(h, h, 2.0)
                        if k < 2:
                            T.copy(h[0:16, :], p[0:16, :])
                        else:
                            T.copy(h[16:32, :], p[16:32, :])
                with T.Scope("C"):
                    T.gemm_v0(p, p, c, init=True)
                    T.copy(c, C)
            else:  # the compiler's own copy of the tile, to where the gemm reads it
                with T.Scope("V"):
                    T.copy(A[0, :, :], p)
                    T.tile.mul(p, p, 2.0)
                with T.Scope("C"):
                    T.gemm_v0(p, p, c, init=True)
                    T.copy(c, C)

    return main


def parts_to_gemm(branch: str) -> Any:  # noqa: ANN401
    """Both vector cores work, each for its part of the operand, or one for all of it."""
    half = SIDE // 2

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((4, SIDE, SIDE), "float16"), C: T.Tensor((SIDE, SIDE), "float32")
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            h = T.alloc_ub((half, SIDE), "float16")
            p = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            for k in T.serial(4):
                with T.Scope("V"):
                    T.copy(A[k, vid * half, 0], h)
                    T.tile.mul(h, h, 2.0)
                    if branch == "each":
                        T.copy(h, p[vid * half : (vid + 1) * half, :])
                    elif branch == "one":
                        if vid == 0:
                            T.copy(h, p[0:half, :])
                        if vid == 1:
                            T.copy(h, p[half:SIDE, :])
                    else:  # the first one's
                        T.copy(h, p[0:half, :])
                        T.copy(h, p[half:SIDE, :])
                with T.Scope("C"):
                    T.gemm_v0(p, p, c, init=(k == 0))
            with T.Scope("C"):
                T.copy(c, C)

    return main


def from_gemm(scope: str, form: str, threads: int | None) -> Any:  # noqa: ANN401
    """The cube core's tile comes to UB in a scope of either core."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((4, SIDE, SIDE), "float16"), C: T.Tensor((SIDE, SIDE), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=threads) as _:
            a = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_fragment((SIDE, SIDE), "float32")
            u = T.alloc_ub((SIDE, SIDE), "float32")
            total = T.alloc_ub((SIDE, SIDE), "float32")
            T.tile.fill(total, 0.0)
            if form == "once":
                with T.Scope("C"):
                    T.copy(A[1, :, :], a)
                    T.gemm_v0(a, a, c, init=True)
                with T.Scope(scope):
                    T.copy(c, u)
                T.tile.add(total, total, u)
            elif form == "view":
                planes = T.alloc_ub((2, SIDE // 2, SIDE), "float32")
                T.copy(A[1, :, :], a)
                T.gemm_v0(a, a, c, init=True)
                with T.Scope(scope):
                    T.copy(c, T.reshape(planes, (SIDE, SIDE)))
                T.tile.add(total, total, T.reshape(planes, (SIDE, SIDE)))
            elif form == "loop around":
                for k in T.serial(4):
                    with T.Scope("C"):
                        T.copy(A[k, :, :], a)
                        T.gemm_v0(a, a, c, init=True)
                    with T.Scope(scope):
                        T.copy(c, u)
                    with T.Scope("V"):
                        T.tile.add(total, total, u)
            else:
                T.copy(A[1, :, :], a)
                T.gemm_v0(a, a, c, init=True)
                with T.Scope(scope):
                    for k in T.serial(2):
                        if k == 1:
                            T.copy(c[0:16, :], u[0:16, :])
                        else:
                            T.copy(c[16:32, :], u[16:32, :])
                T.tile.add(total, total, u)
            T.copy(total, C)

    return main


random = np.random.default_rng(40)
matrices = random.integers(-3, 4, (4, SIDE, SIDE)).astype(np.float16)
wide = matrices.astype(np.float64)
joined = np.concatenate([wide[1, :16], wide[3, 16:]])
OF_OPERANDS = {
    "once": 4 * wide[0] @ wide[0],
    "loop around": 4 * sum(each @ each for each in wide),
    "loop inside": 4 * joined @ joined,
    "its own": 4 * wide[0] @ wide[0],
}
OF_PRODUCTS = {
    "once": wide[1] @ wide[1],
    "view": wide[1] @ wide[1],
    "loop around": sum(each @ each for each in wide),
    "loop inside": wide[1] @ wide[1],
}
for threads in (1, 2, None):
    for form, wanted in OF_OPERANDS.items():
        for on_chip in ("by use", "explicit"):
            if (form, on_chip) != ("its own", "explicit"):
                GROUP.add(
                    f"{form}, to a gemm, {on_chip}, threads={threads}",
                    to_gemm(form, on_chip, threads),
                    [matrices, np.zeros((SIDE, SIDE), np.float32)],
                    wanted,
                    configs=AUTOMATIC,
                )
    for form, wanted in OF_PRODUCTS.items():
        for scope in ("C", "V"):
            GROUP.add(
                f"{form}, of a gemm, in scope {scope}, threads={threads}",
                from_gemm(scope, form, threads),
                [matrices, np.zeros((SIDE, SIDE), np.float32)],
                wanted,
                configs=AUTOMATIC,
            )

upper = [np.concatenate([each[:16], each[:16]]) for each in wide]
for branch in ("each", "one", "first"):
    GROUP.add(
        f"parts, {branch}",
        parts_to_gemm(branch),
        [matrices, np.zeros((SIDE, SIDE), np.float32)],
        4 * sum(each @ each for each in (upper if branch == "first" else wide)),
        configs=AUTOMATIC,
    )


@pytest.mark.parametrize("name", GROUP.cases)
def test_copies_out_of_scopes(name: str) -> None:
    GROUP.check(name)


WORK = {
    "fill": lambda u, r, C: T.tile.fill(u, 1.0),  # noqa: ARG005
    "clear": lambda u, r, C: T.clear(u),  # noqa: ARG005
    "reduce": lambda u, r, C: T.reduce_sum(u, r, dim=1),  # noqa: ARG005
    "scan": lambda u, r, C: T.cumsum(u, dim=1),  # noqa: ARG005
    "transpose": lambda u, r, C: T.tile.transpose(u, u),  # noqa: ARG005
    "add": lambda u, r, C: T.tile.add(u, u, 1.0),  # noqa: ARG005
    "atomic": lambda u, r, C: T.tile.atomic_add(C, u),  # noqa: ARG005
    "store": lambda u, r, C: T.copy(u, C),  # noqa: ARG005
    "load": lambda u, r, C: T.copy(C, u),  # noqa: ARG005
    "element": lambda u, r, C: u.__setitem__((0, 0), 1.0),  # noqa: ARG005
    "element read": lambda u, r, C: C.__setitem__((0, 0), u[0, 0]),  # noqa: ARG005
    "dump": lambda u, r, C: T.dump_tensor(u, 1, 64),  # noqa: ARG005
}


def in_cube_scope(work: str, on_chip: str) -> Any:  # noqa: ANN401
    alloc = getattr(T, on_chip)

    @T.prim_func
    def main(C: T.Tensor((SIDE, SIDE), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            u = alloc((SIDE, SIDE), "float32")
            r = alloc((SIDE,), "float32")
            T.tile.fill(u, 0.0)
            T.tile.fill(r, 0.0)
            with T.Scope("C"):
                WORK[work](u, r, C)
            T.copy(u, C)

    return main


@pytest.mark.parametrize("on_chip", ["alloc_ub", "alloc_shared", "alloc_fragment"])
@pytest.mark.parametrize("work", WORK)
def test_work_of_vector_cores_in_the_cube_cores_scope(work: str, on_chip: str) -> None:
    kernel = in_cube_scope(work, on_chip)
    for target, configs in (("ascend", AUTOMATIC), ("ascend", {}), ("reference", {})):
        with pytest.raises(tilewright.CompileError) as caught:
            made = tilewright.compile(kernel, target=target, pass_configs=configs)
            made(np.zeros((SIDE, SIDE), np.float32))
        assert (
            'is in UB, which the cube core of this T.Scope cannot reach: put this into T.Scope("V")'
            in str(caught.value)
        )
        assert str(caught.value).count("error: ") == 1


def of_gemm(work: str, scope: str, *, explicit: bool) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"), C: T.Tensor((SIDE, SIDE), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            p = (T.alloc_L1 if explicit else T.alloc_shared)((SIDE, SIDE), "float16")
            c = (T.alloc_L0C if explicit else T.alloc_fragment)((SIDE, SIDE), "float32")
            T.copy(A, p)
            T.gemm_v0(p, p, c, init=True)
            with T.Scope(scope):
                if work == "gemm":
                    T.gemm_v0(p, p, c)
                elif work == "load":
                    T.copy(A, p)
                elif work == "add":
                    T.tile.atomic_add(C, c)
                elif work == "clear":
                    T.clear(c)
                elif work == "nest":
                    for i, j in T.Parallel(SIDE, SIDE):
                        c[i, j] = c[i, j] * 2.0
                else:
                    T.tile.exp(c, c)
            T.gemm_v0(p, p, c)
            T.copy(c, C)

    return main


@pytest.mark.parametrize(
    ("work", "scope", "explicit", "problem"),
    [
        ("gemm", "V", True, "'p' is in L1, which the vector cores of this T.Scope cannot reach"),
        ("gemm", "V", False, "which the vector cores of this T.Scope cannot reach"),
        ("load", "V", False, "'p' is in L1, which the vector cores of this T.Scope cannot reach"),
        ("add", "V", True, "'c' is in L0C, which the vector cores of this T.Scope cannot reach"),
        ("add", "V", False, "'c' is in L0C, which the vector cores of this T.Scope cannot reach"),
        ("clear", "V", True, "'c' is in L0C, which the vector cores of this T.Scope cannot reach"),
        ("nest", "C", False, "'c' is computed with in UB, which the cube core of this T.Scope"),
        ("exp", "C", False, "'c' is computed with in UB, which the cube core of this T.Scope"),
    ],
)
@pytest.mark.parametrize("configs", [AUTOMATIC, {}])
def test_work_on_tiles_of_gemms(
    work: str, scope: str, explicit: bool, problem: str, configs: Any
) -> None:
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(
            of_gemm(work, scope, explicit=explicit), target="ascend", pass_configs=configs
        )
    assert problem in str(caught.value)
    assert str(caught.value).count("error: ") == 1


def test_ways_that_one_kind_of_core_knows() -> None:
    @T.prim_func
    def main(A: T.Tensor((SIDE, SIDE), "float16"), C: T.Tensor((SIDE, SIDE), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            h = T.alloc_ub((SIDE, SIDE), "float16")
            p = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            with T.Scope("V"):
                T.copy(A, h)
                if h[0, 0] > 0:
                    T.copy(h, p)
            with T.Scope("C"):
                T.gemm_v0(p, p, c, init=True)
                T.copy(c, C)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    (error,) = caught.value.errors
    assert error.message == (
        "unsupported on ascend: 'p' goes from UB to L1 here, which takes both kinds of core, but "
        "the cube core can't come here as the vector cores of this T.Scope can: a variable or an "
        "element that is read in the scope says whether or where; put this copy outside of T.Scope"
    )
    assert error.place.line == main.function.__code__.co_firstlineno + 9


def test_a_tile_that_no_core_makes() -> None:
    """The vector cores don't come to a scope of the cube core."""

    @T.prim_func
    def main(A: T.Tensor((SIDE, SIDE), "float16"), C: T.Tensor((SIDE, SIDE), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            with T.Scope("C"):
                T.copy(A, a)
                T.gemm_v0(a, a, c, init=True)
                u = T.alloc_ub((SIDE, SIDE), "float32")
                T.copy(c, u)
                T.copy(c, C)

    zeros = np.zeros((SIDE, SIDE), np.float16), np.zeros((SIDE, SIDE), np.float32)
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="reference")(*zeros)
    (error,) = caught.value.errors
    assert error.message == (
        "a core works on this tile that has none: allocate it outside of the T.Scope"
    )
    assert error.place.line == main.function.__code__.co_firstlineno + 8

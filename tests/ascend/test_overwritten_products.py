# SPDX-License-Identifier: Apache-2.0
"""What vector work overwrites, it doesn't fetch from L0C before: a product that nobody takes, or of
which a loop that has no turn has made none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

SIZE, HALF = 32, 16
FORMS = [
    "copy",
    "part by part",
    "tile to tile",
    "fill",
    "nest",
    "function",
    "broadcast",
    "transpose",
    "numbers",
    "numbers by 3",
    "as one row",
]
#: These take some of the product.
PARTLY = ["upper half", "but one row", "guarded nest", "numbers of the upper half", "its rows"]


def kernel(form: str) -> Any:  # noqa: ANN401, C901
    """n products, of which the last one, or none of it, is taken."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIZE, SIZE), "float16"),
        D: T.Tensor((SIZE, SIZE), "float32"),
        n: T.int32,
        C: T.Tensor((SIZE, SIZE), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_shared((SIZE, SIZE), "float16")
            c = T.alloc_fragment((SIZE, SIZE), "float32")
            u = T.alloc_ub((SIZE, SIZE), "float32")
            T.copy(A, a)
            T.copy(D, u)
            for _turn in T.serial(n):
                T.gemm_v0(a, a, c, init=True)
            if form == "copy":
                T.copy(D, c)
            elif form == "part by part":
                T.copy(D[0:HALF, :], c[0:HALF, :])
                T.copy(D[HALF:SIZE, :], c[HALF:SIZE, :])
            elif form == "tile to tile":
                T.copy(u, c)
            elif form == "fill":
                T.tile.fill(c, 1.0)
            elif form == "nest":
                for i, j in T.Parallel(SIZE, SIZE):
                    c[i, j] = u[i, j] + 1.0
            elif form == "function":
                T.tile.add(c, u, 1.0)
            elif form == "broadcast":
                T.tile.broadcast(c, u[0:1, :], axis=0)
            elif form == "transpose":
                T.tile.transpose(c, u)
            elif form == "numbers":
                T.tile.createvecindex(c, 5)
            elif form == "numbers by 3":
                T.tile.arith_progression(c, 5, 3, SIZE * SIZE)
            elif form == "as one row":
                row = T.reshape(c, (SIZE * SIZE,))
                for i in T.Parallel(SIZE * SIZE):
                    row[i] = 7.0
            elif form == "upper half":
                T.copy(D[0:HALF, :], c[0:HALF, :])
            elif form == "but one row":
                T.copy(D[0 : SIZE - 1, :], c[0 : SIZE - 1, :])
            elif form == "guarded nest":
                for i, j in T.Parallel(SIZE, SIZE):
                    if i < j:
                        c[i, j] = u[i, j] + 1.0
            elif form == "numbers of the upper half":
                T.tile.createvecindex(c[0:HALF, :], 5)
            elif form == "its rows":  # one name for it takes what is written by the other
                row = T.reshape(c, (SIZE * SIZE,))
                for i in T.Parallel(SIZE * SIZE):
                    row[i] = row[i] + 7.0
            T.tile.mul(c, c, 2.0)
            T.copy(c, C)

    return main


def wanted(form: str, a: Any, d: Any) -> Any:  # noqa: ANN401
    c, d = a.astype(np.float64) @ a, d.astype(np.float64)
    numbers = np.arange(SIZE * SIZE, dtype=np.float64).reshape(SIZE, SIZE)
    upper = np.triu(np.ones_like(d, dtype=bool), 1)
    whole = {
        "fill": np.ones_like(d),
        "nest": d + 1,
        "function": d + 1,
        "broadcast": np.broadcast_to(d[0], d.shape),
        "transpose": d.T,
        "numbers": numbers + 5,
        "numbers by 3": 3 * numbers + 5,
        "as one row": np.full_like(d, 7),
        "numbers of the upper half": np.vstack([numbers[:HALF] + 5, c[HALF:]]),
        "its rows": c + 7,
        "upper half": np.vstack([d[:HALF], c[HALF:]]),
        "but one row": np.vstack([d[:-1], c[-1:]]),
        "guarded nest": np.where(upper, d + 1, c),
    }
    return 2 * whole.get(form, d)


GROUP = KernelGroup()
random = np.random.default_rng(18)
a = random.integers(-2, 3, (SIZE, SIZE)).astype(np.float16)
d = random.integers(-9, 10, (SIZE, SIZE)).astype(np.float32)
for form in FORMS + PARTLY:
    GROUP.add(form, kernel(form), [a, d, 2, np.zeros_like(d)], wanted(form, a, d))


@pytest.mark.parametrize("form", FORMS)
def test_all_of_it(form: str) -> None:
    case = GROUP.check(form)
    assert "copyL0cToGm" not in case.ascendc
    result = GROUP.run(form, *case.arguments[:2], 0, case.arguments[3])[3]  # no product
    np.testing.assert_array_equal(result, wanted(form, a, d))


@pytest.mark.parametrize("form", PARTLY)
def test_some_of_it(form: str) -> None:
    assert "copyL0cToGm" in GROUP.check(form).ascendc


@pytest.mark.parametrize("form", GROUP.cases)
def test_checker_and_host_agree_without_a_flag(form: str) -> None:
    GROUP.check_removals(form)

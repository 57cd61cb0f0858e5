# SPDX-License-Identifier: Apache-2.0
"""In T.Scope("C") vid is 0: branches on it are decided; what only they would need isn't put in."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright.language as T

GROUP = KernelGroup()


def products(asks: str) -> Any:  # noqa: ANN401
    """The cube core waits, or loads, where vid says so; the vector cores take a half each."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 64), "float16"),
        B: T.Tensor((64, 32), "float16"),
        workspace: T.Tensor((2, 32, 32), "float32"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_L1((32, 32), "float16")
            b = T.alloc_L1((32, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            u = T.alloc_ub((16, 32), "float32")
            acc = T.alloc_ub((16, 32), "float32")
            with T.Scope("C"):
                for k in T.serial(2):
                    if asks != "load" or vid == 0:
                        T.copy(A[0, k * 32], a)
                    T.copy(B[(k + vid) * 32, 0], b)
                    T.gemm_v0(a, b, c, init=True)
                    if asks == "first" and vid == 0:
                        T.barrier_all()
                    if asks == "second" and vid != 0:
                        T.barrier_all()
                    T.copy(c, workspace[k, :, :])
            with T.Scope("V"):
                T.tile.fill(acc, 0.0)
                for k in T.serial(2):
                    T.copy(workspace[k, vid * 16 : vid * 16 + 16, :], u)
                    if vid == 0:
                        T.tile.add(acc, acc, 1.0)
                    T.tile.add(acc, acc, u)
                T.copy(acc, C[vid * 16, 0])

    return main


random = np.random.default_rng(46)
left = random.integers(-3, 4, (32, 64)).astype(np.float16)
right = random.integers(-3, 4, (64, 32)).astype(np.float16)
sums = left.astype(np.float64) @ right.astype(np.float64)
sums[:16] += 2
FORMS = ("first", "second", "load")
for asks in FORMS:
    GROUP.add(
        asks,
        products(asks),
        [
            left,
            right,
            np.zeros((2, 32, 32), np.float32),
            np.zeros((32, 32), np.float32),
        ],
        {3: sums},
        configs=AUTOMATIC,
    )


@pytest.mark.parametrize("name", FORMS)
def test_vid_is_0_for_the_cube_core(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", FORMS)
def test_what_is_put_in_is_needed(name: str) -> None:
    GROUP.check_removals(name, most=None)


@pytest.mark.parametrize("name", FORMS)
def test_the_text_asks_on_the_vector_cores_alone(name: str) -> None:
    text = GROUP.cases[name].ascendc if GROUP.run(name) else ""
    assert len(re.findall(r"if \(.*vid.*\) \{", text)) == 1

# SPDX-License-Identifier: Apache-2.0
"""Branches and loops that ask an element of a tensor, in kernels for both kinds of core: where only
the vector cores have work in them, only these read it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup, compiled

import tilewright.language as T

SIZE = 16
FACTORS = T.Tensor((SIZE, SIZE), "float16")
SUMS = T.Tensor((2 * SIZE, SIZE), "float32")
NUMBERS = T.Tensor((64,), "int32")


def asking(form: str) -> Any:
    """Vector core 1 changes what it has asked; behind that both store the product."""

    @T.prim_func
    def main(A: FACTORS, P: NUMBERS, C: SUMS):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            left = T.alloc_shared((SIZE, SIZE), "float16")
            product = T.alloc_fragment((SIZE, SIZE), "float32")
            u = T.alloc_shared((SIZE, SIZE), "float32")
            T.copy(A, left)
            T.gemm_v0(left, left, product, init=True)
            T.copy(product, u)
            if vid == 1:
                if form == "branch":
                    if P[32] > 2:
                        P[32 + vid] = P[48] + 1
                        T.tile.add(u, u, 1.0)
                elif form == "loop":
                    for _ in T.serial(P[32]):
                        P[32] = P[48] + 1
                        T.tile.add(u, u, 1.0)
                elif form == "exits":
                    turns = T.alloc_var("int32", init=0)
                    for _ in T.serial(P[32]):
                        T.tile.add(u, u, 1.0)
                        turns = turns + P[33]
                        if turns == 3:
                            break
                        P[32] = P[48] - 3
                elif P[32] > 2:
                    for i in T.serial(P[32]):
                        if P[33] == i:
                            P[32] = P[48] + 1
                        T.tile.add(u, u, 1.0)
            T.copy(u, C[vid * SIZE, 0])

    return main


GROUP = KernelGroup()
a = np.random.default_rng(9).integers(-2, 3, (SIZE, SIZE)).astype(np.float16)
product = a.astype(np.float64) @ a
for form in ("branch", "loop", "both", "exits"):
    for turns in (0, 4):
        before = np.zeros(64, np.int32)
        before[[32, 33, 48]] = turns, 1, 7
        after, turned = before.copy(), turns
        if turns:
            after[33 if form == "branch" else 32] = 4 if form == "exits" else 8
            turned = {"branch": 1, "exits": 3}.get(form, turns)
        result = np.concatenate([product, product + turned])
        given = [a, before, np.zeros((2 * SIZE, SIZE), np.float32)]
        GROUP.add(f"{form} {turns}", asking(form), given, {1: after, 2: result})


@pytest.mark.parametrize("name", GROUP.cases)
def test_only_vector_cores_ask(name: str) -> None:
    text = GROUP.check(name).ascendc
    of_cube = text.split("if ASCEND_IS_AIC", 1)[1].split("if ASCEND_IS_AIV", 1)[0]
    assert "GetValue" not in of_cube
    assert "CrossCoreWaitFlag" not in of_cube


def test_both_kinds_wait_for_what_others_store() -> None:
    """What the cube core does behind a `while` waits, too, though it has no work in it."""

    @T.prim_func
    def main(A: FACTORS, P: NUMBERS, C: SUMS):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            left = T.alloc_shared((SIZE, SIZE), "float16")
            product = T.alloc_fragment((SIZE, SIZE), "float32")
            u = T.alloc_shared((SIZE, SIZE), "float32")
            T.tile.fill(u, 0.0)
            while P[0] == 0:
                T.tile.add(u, u, 1.0)
            T.copy(A, left)
            T.gemm_v0(left, left, product, init=True)
            T.copy(product, C[SIZE, 0])
            T.copy(u, C[vid * 8, 0])

    text = dict(compiled(main, AUTOMATIC)[0].stages)["ascendc"]
    of_cube = text.split("if ASCEND_IS_AIC", 1)[1].split("if ASCEND_IS_AIV", 1)[0]
    assert of_cube.count("while (") == of_cube.count("P.GetValue(0)") == 1

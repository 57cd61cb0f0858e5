# SPDX-License-Identifier: Apache-2.0
"""Arrays of T.alloc_local: numbers of the scalar unit, or a tile in UB if an operation on tiles
takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
a = np.random.default_rng(11).uniform(-2, 2, (2, 64)).astype(np.float32)


def sums_of_four(is_tile: bool) -> Any:
    """By elements; or as tiles, which operations on tiles take, and one more."""
    allocate = T.alloc_local if is_tile else T.alloc_ub

    @T.prim_func
    def main(A: T.Tensor((2, 64), "float32"), C: T.Tensor((2, 64), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = allocate((64,), "float32")
            sums = T.alloc_local((4,), "float32")
            T.copy(A[vid, 0], x)
            if is_tile:
                T.fill(sums, 1.0)
            else:
                for i in T.serial(4):
                    sums[i] = 0.0
            for i in T.serial(64):
                sums[i % 4] = sums[i % 4] + x[i]
            for i in T.serial(64):
                x[i] = sums[i % 4]
            T.copy(x, C[vid, 0])

    return main


@T.prim_func
def reduced(A: T.Tensor((2, 64), "float32"), C: T.Tensor((2, 64), "float32")):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        x = T.alloc_ub((64,), "float32")
        most = T.alloc_local((1,), "float32")
        T.copy(A[vid, 0], x)
        T.reduce_max(x, most)
        for i in T.Parallel(64):
            x[i] = x[i] - most[0]
        T.copy(x, C[vid, 0])


by_four = np.tile(a.astype(np.float64).reshape(2, 16, 4).sum(1), (1, 16))
for name, kernel, wanted in (
    ("elements", sums_of_four(is_tile=False), by_four),
    ("tiles", sums_of_four(is_tile=True), by_four + 1),
    ("reduced", reduced, a - a.max(1, keepdims=True).astype(np.float64)),
):
    GROUP.add(name, kernel, [a, np.zeros_like(a)], wanted)


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    text = GROUP.check(name).ascendc
    assert ("float sums[4];" in text) == (name == "elements")
    assert ("localTensor<float>" in text) and ("float x[64]" not in text)

# SPDX-License-Identifier: Apache-2.0
"""Tiles of pipelined loops that have views: a version for each stage, as of those without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
random = np.random.default_rng(0)
STEPS = 5


def rows(form: str, stages: int, n: int) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((STEPS * 16, 24), "float32"),
        B: T.Tensor((STEPS * 16, 24), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((16, 24), "float32")
            y = T.alloc_ub((16, 24), "float32")
            for k in T.Pipelined(n, num_stages=stages):
                T.copy(A[k * 16, 0], x)
                if form == "shape":
                    seen = T.reshape(x, (4, 4, 24))
                    T.tile.add(seen, seen, 1.0)
                elif form == "bits":
                    bits = T.view(x, (16, 24), "int32")
                    T.tile.bitwise_and(bits, bits, bits)
                    T.tile.add(x, x, 1.0)
                elif form == "row":
                    row = T.reshape(x, (384,))
                    T.tile.add(row, row, 1.0)
                else:
                    wide = T.view(T.reshape(x, (8, 48)), (8, 96), "int16")
                    T.tile.bitwise_or(wide, wide, wide)
                    T.tile.add(x, x, 1.0)
                T.tile.mul(y, x, 2.0)
                T.copy(y, B[k * 16, 0])

    return main


def products(stages: int) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((STEPS, 32, 32), "float16"), B: T.Tensor((STEPS, 32, 32), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_shared((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            for k in T.Pipelined(STEPS, num_stages=stages):
                T.copy(A[k, 0, 0], a)
                seen = T.reshape(a, (1, 32, 32))
                T.gemm_v0(seen, a, c, init=True)
                T.copy(c, B[k, 0, 0])

    return main


a = random.integers(1, 9, (STEPS * 16, 24)).astype(np.float32)
FORMS = [(form, stages) for form in ("shape", "bits", "row", "chain") for stages in (2, 3)]
for form, stages in FORMS:
    for n in (0, 1, STEPS):
        expected = np.zeros(a.shape)
        expected[: n * 16] = 2 * (a[: n * 16].astype(np.float64) + 1)
        arguments = [a, np.zeros_like(a)]
        GROUP.add(f"{form} {stages} {n}", rows(form, stages, n), arguments, expected)
left = random.integers(-3, 4, (STEPS, 32, 32)).astype(np.float16)
wide = left.astype(np.float64)
GROUP.add("products", products(2), [left, np.zeros(left.shape, np.float32)], wide @ wide)


@pytest.mark.parametrize("name", GROUP.cases)
def test_kernels(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize(("name", "buffer"), [("shape 3 5", "x"), ("products", "a")])
def test_versions(name: str, buffer: str) -> None:
    """Of the tile with views there are as many as stages."""
    GROUP.check(name)
    text = GROUP.cases[name].stages["rotate-buffers"]
    stages = 3 if "3" in name else 2
    assert f'tile.alloc "{buffer}" {{ascend.versions = {stages} : i64}}' in text

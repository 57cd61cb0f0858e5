# SPDX-License-Identifier: Apache-2.0
"""Numbers of single elements wrap in every signed integer: also where a comparison asks whether they did,
which a C++ compiler answers with no, unless it is told that they wrap."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
pytestmark = pytest.mark.xdist_group("ascend_wrapping_integers")


def add(dtype: str) -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16,), dtype),
        B: T.Tensor((16,), dtype),
        C: T.Tensor((6, 16), dtype),
        D: T.Tensor((4, 16), "int32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1):
            for i in T.serial(16):
                C[0, i] = A[i] + B[i]
                C[1, i] = A[i] * B[i]
                C[2, i] = -A[i]
                C[3, i] = (A[i] + A[i]) // 2
                C[4, i] = A[i] << 3
                C[5, i] = T.abs(A[i]) - B[i]
                D[0, i] = T.cast(A[i] + B[i] < A[i], "int32")
                D[1, i] = T.cast(A[i] - B[i] > A[i], "int32")
                D[2, i] = T.cast(A[i] * B[i] // B[i] == A[i], "int32")
                D[3, i] = T.cast(T.abs(A[i]) < 0, "int32")

    limits = np.iinfo(dtype)
    numbers = [limits.min, limits.max, 1, -1, limits.max // 2 + 1, 3, limits.min + 1, 7]
    a = np.resize(np.array(numbers, dtype), 16)
    b = np.resize(np.array([1, 1, limits.max, limits.min, 2, -3, -2], dtype), 16)
    two, three = np.array([2, 3], dtype)
    with np.errstate(over="ignore"):
        made = [a + b, a * b, -a, (a + a) // two, a << three, np.abs(a) - b]
        asked = [a + b < a, a - b > a, a * b // b == a, np.abs(a) < 0]
    wanted = {2: np.stack(made), 3: np.stack(asked).astype(np.int32)}
    arguments = [a, b, np.zeros((6, 16), dtype), np.zeros((4, 16), np.int32)]
    GROUP.add(dtype, main, arguments, wanted, rtol=0, atol=0)


for each in ("int8", "int16", "int32", "int64"):
    add(each)


@pytest.mark.parametrize("name", list(GROUP.cases))
def test_integers_wrap(name: str) -> None:
    GROUP.check(name)

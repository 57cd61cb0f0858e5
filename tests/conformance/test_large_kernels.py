# SPDX-License-Identifier: Apache-2.0
"""Kernels of so much code that the CPU target makes functions of their parts
(compiler/targets/cpu/split_functions.h)."""

import re

import numpy as np
import pytest

import tilewright
import tilewright.language as T

#: Statements of a turn; each is a nest, a sum, a branch and a nest.
STATEMENTS = list(range(1, 61))
TURNS = 3
#: How the text of LLVM's IR begins a part.
PART = re.compile(r"define internal \w+ @kernel_blocks\.")


@T.prim_func
def kernel(
    A: T.Tensor((32, 40), "int32"), B: T.Tensor((32, 40), "int32"), n: T.int32, most: T.int32
):
    with T.Kernel(2, threads=32) as bx:
        a = T.alloc_shared((16, 40), "int32")
        sums = T.alloc_fragment((16,), "int32")
        seen = T.alloc_var("int32", 0)
        T.copy(A[bx * 16, 0], a)
        for turn in T.serial(n):
            for k in STATEMENTS:
                for i, j in T.Parallel(16, 40):
                    a[i, j] = (a[i, j] * k + i * turn + j) % 1009
                T.reduce_sum(a, sums, dim=1)
                if sums[k % 16] % 2 == 0:
                    seen += 1
                T.device_assert(seen <= most, "too many are even")
                for i, j in T.Parallel(16, 40):
                    a[i, j] = a[i, j] + sums[i] % k + seen
        T.copy(a, B[bx * 16, 0])


def expected(a, turns):
    out, most = [], 0
    for block in (a[:16], a[16:]):
        x, seen = block.astype(np.int64), 0
        i, j = np.mgrid[0:16, 0:40]
        for turn in range(turns):
            for k in STATEMENTS:
                x = (x * k + i * turn + j) % 1009
                sums = x.sum(1)
                seen += int(sums[k % 16] % 2 == 0)
                x = x + (sums % k)[:, None] + seen
        out.append(x)
        most = max(most, seen)
    return np.concatenate(out).astype(np.int32), most


def numbers():
    return np.random.default_rng(5).integers(0, 1000, (32, 40)).astype(np.int32)


def test_parts_of_large_kernels_are_functions():
    compiled = tilewright.compile(kernel)
    assert len(PART.findall(compiled.stage("llvm"))) >= 8
    a, b = numbers(), np.zeros((32, 40), np.int32)
    for turns in (TURNS, 0, 1):
        compiled(a, b, turns, 10**6)
        np.testing.assert_array_equal(b, expected(a, turns)[0])


def test_an_assertion_stops_a_part():
    compiled = tilewright.compile(kernel)
    a, b = numbers(), np.zeros((32, 40), np.int32)
    most = expected(a, TURNS)[1]
    compiled(a, b, TURNS, most)
    with pytest.raises(RuntimeError, match="device_assert failed: too many are even"):
        compiled(a, b, TURNS, most - 1)


def test_large_kernels_agree(agree):
    a = numbers()
    agree(
        kernel,
        [a, np.zeros((32, 40), np.int32), 1, 10**6],
        {1: expected(a, 1)[0]},
        cpus=("native", "avx2"),
    )


def test_small_kernels_stay_one_function():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(64):
                A[i] = A[i] * 2.0

    text = tilewright.compile(kernel).stage("llvm")
    assert "@kernel_blocks(" in text and not PART.search(text)

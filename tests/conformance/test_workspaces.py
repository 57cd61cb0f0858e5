# SPDX-License-Identifier: Apache-2.0
"""T.alloc_global of extents that each call says, and asserts between launches."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T

N = T.dynamic("n")


@T.macro
def summed(A, rows, B):
    """Two launches and what stands between them."""
    assert N % 2 == 0
    halves = T.alloc_global((N // 2, 16), "float32")
    with T.Kernel(N // 2, threads=16) as row:
        for j in T.Parallel(16):
            halves[row, j] = rows[2 * row, j] + rows[2 * row + 1, j]
    with T.Kernel(N // 2, threads=16) as row:
        for j in T.Parallel(16):
            B[row, j] = halves[N // 2 - 1 - row, j] + A[row, j]


@tilewright.jit(out_idx=[-1])
def factory():
    @T.prim_func
    def kernel(A: T.Tensor((N, 16), "float32"), B: T.Tensor((N // 2, 16), "float32")):
        rows = T.alloc_global((N, 16), "float32")
        with T.Kernel(N, threads=16) as row:
            for j in T.Parallel(16):
                rows[row, j] = A[row, j] * 2.0
        summed(A, rows, B)

    return kernel


def wanted(a):
    return (a * 2).reshape(-1, 2, 16).sum(1)[::-1] + a[: len(a) // 2]


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_workspaces_of_each_call(random, target):
    kernel = tilewright.jit(factory.function, out_idx=[-1], target=target)()
    assert kernel.out_idx == [1]
    assert [param.name for param in kernel.prim_func.params] == ["A_handle", "B_handle"]
    for rows in (2, 40, 6):
        a = random.standard_normal((rows, 16)).astype(np.float32)
        np.testing.assert_allclose(kernel(a), wanted(a), rtol=1e-6)


def test_given_outputs_and_the_cache(random):
    """Compiled as it is it takes its own arguments alone; a second kernel comes from the cache."""
    a = random.standard_normal((8, 16)).astype(np.float32)
    b = np.zeros((4, 16), np.float32)
    tilewright.compile(factory().prim_func)(a, b)
    np.testing.assert_allclose(b, wanted(a), rtol=1e-6)
    np.testing.assert_allclose(factory()(a), wanted(a), rtol=1e-6)


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_an_assert_between_launches(target):
    kernel = tilewright.jit(factory.function, out_idx=[-1], target=target)()
    with pytest.raises((RuntimeError, tilewright.KernelError), match="N % 2 == 0"):
        kernel(np.zeros((3, 16), np.float32))


def test_what_cannot_be_a_workspace():
    @T.prim_func
    def inside(A: T.Tensor((N, 16), "float32")):
        with T.Kernel(N, threads=16) as row:
            own = T.alloc_global((N, 16), "float32")
            own[row, 0] = A[row, 0]

    @T.prim_func
    def behind(A: T.Tensor((N, 16), "float32")):
        with T.Kernel(N, threads=16) as row:
            A[row, 0] = 1.0
        assert N > 4

    for kernel, message in (
        (inside, "the shape of an allocation must be known while compiling, not "),
        (behind, "no T.Kernel follows that could check this assert"),
    ):
        with pytest.raises(tilewright.CompileError) as caught:
            tilewright.compile(kernel)
        assert [d.message[: len(message)] for d in caught.value.errors] == [message]


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_extents_of_scalars(random, target):
    """An eager kernel's outputs and workspaces, of a scalar and of a symbol, in any order."""

    @tilewright.jit(target=target)
    def shifted(A, m: T.int32):
        n = T.dynamic("n")
        A: T.Tensor[[n], T.float32]
        B = T.empty([m + 1], T.float32)
        own = T.alloc_global((m * 2, n), "float32")
        C = T.empty([n], T.float32)
        with T.Kernel(m, threads=16) as row:
            for j in T.Parallel(n):
                own[row * 2, j] = A[j] + row
        with T.Kernel(1, threads=16):
            for i in T.serial(m):
                B[i] = own[i * 2, 0]
            B[m] = -1.0
            for j in T.Parallel(n):
                C[j] = own[m * 2 - 2, j]
        return C, B

    for n, m in ((10, 4), (7, 1), (10, 5)):
        a = random.standard_normal(n).astype(np.float32)
        c, b = shifted(a, m)
        np.testing.assert_allclose(c, a + (m - 1), rtol=1e-6)
        np.testing.assert_allclose(b, np.append(a[0] + np.arange(m), -1), rtol=1e-6)
    with pytest.raises(
        ValueError, match="argument 1 'm' is an extent, which must be 0 to .* is -1"
    ):
        shifted(a, -1)


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_tensors_of_a_scalars_size(random, target):
    """Their shapes are checked by it."""

    @T.prim_func
    def kernel(n: T.int32, a: T.handle, b: T.handle):
        A = T.match_buffer(a, (n, 2), "float32")
        B = T.match_buffer(b, (n,), "float32")
        with T.Kernel(1, threads=16):
            for i in T.Parallel(n):
                B[i] = A[i, 0] - A[i, 1]

    run = tilewright.compile(kernel, target=target)
    a, b = random.standard_normal((6, 2)).astype(np.float32), np.zeros(6, np.float32)
    run(6, a, b)
    np.testing.assert_allclose(b, a[:, 0] - a[:, 1], rtol=1e-6)
    with pytest.raises(ValueError, match=r"argument 1 'a' .*where n = 5"):
        run(5, a, b)

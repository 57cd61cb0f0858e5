# SPDX-License-Identifier: Apache-2.0
"""Other ways to an eager kernel: `**config`, `tilelang.lazy_jit`, `T.prim_func(generator=True)`."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T

NUMBERS = np.arange(8, dtype=np.float32)


def scaled(A, block: int = 4, **config):
    N = T.const("N")
    A: T.Tensor[[N], T.float32]
    B = T.empty([N], T.float32)
    with T.Kernel(T.ceildiv(N, block), threads=config.get("threads", 32)) as bx:
        for i in T.Parallel(block):
            B[bx * block + i] = A[bx * block + i] * config["scale"]
    return B


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_any_keywords(target):
    """Those that name no parameter; each of their values is a kernel of its own."""
    kernel = tilewright.jit(target=target)(scaled)
    for config in ({"scale": 3}, {"scale": 2, "threads": 64}, {"scale": 3, "block": 8}):
        expected = NUMBERS * config["scale"]
        assert kernel(NUMBERS, **config).tolist() == expected.tolist()
        assert kernel(np.arange(8, dtype=np.float32), **config).tolist() == expected.tolist()
    compiled = kernel.compile(NUMBERS, scale=5)
    assert compiled(NUMBERS).tolist() == (NUMBERS * 5).tolist()
    with pytest.raises(tilewright.CompileError, match="KeyError: 'scale'"):
        kernel(NUMBERS)


def test_keywords_that_name_constants():
    """Beside `**config`, without a tensor for them: as without it."""

    @tilewright.jit
    def kernel(A, **config):
        N, count = T.const("N, count")
        A: T.Tensor[[N], T.float32]
        with T.Kernel(1, threads=32):
            for i in T.Parallel(count):
                A[i] = config["value"] + config["count"]

    made = np.zeros(8, np.float32)
    kernel(made, count=3, value=2)
    assert made.tolist() == [5, 5, 5, 0, 0, 0, 0, 0]


def test_lazy_jit():
    kernel = tilewright.lazy_jit(scaled)
    assert kernel(NUMBERS, scale=2).tolist() == (NUMBERS * 2).tolist()
    kernel = tilewright.lazy_jit(target="reference")(scaled)
    assert kernel(NUMBERS, scale=3).tolist() == (NUMBERS * 3).tolist()
    from tilelang.jit import lazy_jit

    assert lazy_jit is tilewright.lazy_jit
    message = "lazy_jit has no out_idx: its kernels return the T.empty tensors"
    with pytest.raises(TypeError, match=message):
        tilewright.lazy_jit(out_idx=[1])

    def factory(n):
        @T.prim_func
        def main(A: T.Tensor((n,), "float32")):
            with T.Kernel(1):
                A[0] = 1

        return main

    message = (
        "'factory' doesn't open T.Kernel itself, as kernels of lazy_jit do; @tilelang.jit is for "
        "functions that give a kernel"
    )
    with pytest.raises(TypeError, match=message):
        tilewright.lazy_jit(factory)


def test_kernels_of_a_generator():
    generator = T.prim_func(scaled, generator=True)
    assert repr(generator) == "<kernels of scaled>"
    for block in (2, 8):
        kernel = generator(NUMBERS, block, scale=5)
        compiled = tilewright.compile(kernel)
        assert compiled(NUMBERS).tolist() == (NUMBERS * 5).tolist()
    assert tilewright.jit(generator)(NUMBERS, scale=7).tolist() == (NUMBERS * 7).tolist()

    @T.prim_func(generator=True)
    def filled(A, value):
        N = T.const("N")
        A: T.Tensor[[N], T.float32]
        with T.Kernel(1, threads=32):
            T.fill(A, value)

    made = np.zeros(4, np.float32)
    tilewright.compile(filled(T.Tensor((4,), "float32"), 3))(made)
    assert made.tolist() == [3, 3, 3, 3]

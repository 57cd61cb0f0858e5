# SPDX-License-Identifier: Apache-2.0
"""Functions of single numbers that the scalar unit computes by their bits, exactly: bit counts,
remainders of floats and signs. In nests, too, which then run element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T

GROUP = KernelGroup(tolerance=0)
random = np.random.default_rng(5)
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")


def bits_of(values: np.ndarray[Any, Any]) -> list[str]:
    width = 8 * values.dtype.itemsize
    return [f"{int(value) % (1 << width):0{width}b}" for value in values]


def counted(name: str, dtype: str) -> Any:
    function = getattr(T, name)

    @T.prim_func
    def main(A: T.Tensor((64,), dtype), C: T.Tensor((64,), dtype)):
        with T.Kernel(1, is_npu=True, threads=1):
            x = T.alloc_ub((64,), dtype)
            T.copy(A, x)
            for i in T.serial(64):
                # Of so many bits, though C++ computes in more.
                x[i] = T.cast(function(x[i] & x[63]), dtype)
            T.copy(x, C)

    return main


@GROUP.each(name=("popcount", "clz"), dtype=INTEGERS)
def bits(name: str, dtype: str) -> Any:
    info = np.iinfo(dtype)
    a = random.integers(info.min, info.max, 64, dtype, endpoint=True)
    a[:4] = (info.min, info.max, 0, 1)
    a[4:20] = 3
    a[63] = info.max - 4 if dtype.startswith("u") else -5
    found = bits_of(a & a[63])
    kernel = counted(name, dtype)
    if name == "popcount":
        wanted = [text.count("1") for text in found]
    else:
        wanted = [len(text) - len(text.lstrip("0")) for text in found]
    return kernel, [a, np.zeros_like(a)], np.array(wanted).astype(dtype)


def of_two(name: str, dtype: str, in_nest: bool) -> Any:
    function = getattr(T, name)

    @T.prim_func
    def main(A: T.Tensor((256,), dtype), B: T.Tensor((256,), dtype), C: T.Tensor((256,), dtype)):
        with T.Kernel(1, is_npu=True, threads=1):
            x = T.alloc_ub((256,), dtype)
            y = T.alloc_ub((256,), dtype)
            T.copy(A, x)
            T.copy(B, y)
            if in_nest:
                for i in T.Parallel(256):
                    x[i] = function(x[i], y[i])
            else:
                for i in T.serial(256):
                    x[i] = function(x[i], y[i])
            T.copy(x, C)

    return main


@GROUP.each(name=("fmod", "copysign"), dtype=("float32", "float16"), in_nest=(False, True))
def floats(name: str, dtype: str, in_nest: bool) -> Any:
    """All finite numbers, and those without a leading bit."""
    width = np.dtype(dtype).itemsize
    words = random.integers(0, 1 << (8 * width), 512, dtype=np.uint64)
    a, b = words.astype(f"uint{8 * width}").view(dtype).reshape(2, 256)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -3.0, 5.5], dtype)
    a[:64], b[:64] = np.repeat(special, 8), np.tile(special, 8)
    tiny = np.finfo(dtype).smallest_subnormal
    a[64:72], b[64:72] = tiny * np.arange(8).astype(dtype), tiny * np.array(3, dtype)
    function = np.fmod if name == "fmod" else np.copysign
    with np.errstate(invalid="ignore"):
        wanted = function(a, b)
    return of_two(name, dtype, in_nest), [a, b, np.zeros_like(a)], wanted


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_on_other_targets(target: str) -> None:
    @T.prim_func
    def main(
        A: T.Tensor((64,), "int32"),
        B: T.Tensor((64,), "float32"),
        C: T.Tensor((64,), "int32"),
        D: T.Tensor((64,), "float32"),
    ):
        with T.Kernel(1):
            for i in T.Parallel(64):
                C[i] = T.popcount(A[i]) + 100 * T.clz(A[i])
                D[i] = T.fmod(B[i], 0.75) + T.copysign(2.0, B[i])

    a = random.integers(-(2**31), 2**31, 64).astype(np.int32)
    b = random.uniform(-9, 9, 64).astype(np.float32)
    texts = bits_of(a)
    c, d = tilewright.compile(main, [2, 3], target=target)(a, b)
    zeros = [len(text) - len(text.lstrip("0")) for text in texts]
    np.testing.assert_array_equal(
        c, [text.count("1") + 100 * z for text, z in zip(texts, zeros, strict=True)]
    )
    np.testing.assert_array_equal(d, np.fmod(b, np.float32(0.75)) + np.copysign(np.float32(2), b))

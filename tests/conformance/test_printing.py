# SPDX-License-Identifier: Apache-2.0
"""T.print of buffers: what it is called, and how often it comes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import tilewright
import tilewright.language as T


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_print_names_what_it_prints(capfd, target):
    """Arguments, workspaces, tiles and what is each thread's own; a tile of the block once."""

    @T.prim_func
    def shown(A: T.Tensor((2,), "float32"), B: T.Tensor((2,), "int32")):
        with T.Kernel(1, threads=4):
            tile = T.alloc_shared((2,), "float32")
            own = T.alloc_local((2,), "float32")
            T.copy(A, tile)
            T.sync_threads()
            own[0] = tile[0]
            own[1] = T.get_thread_binding()
            T.print(tile)
            if T.get_thread_binding() == 3:
                T.print(A)
                T.print(B, msg="second")
                T.print(own)

    arguments = [np.array([1, 2], np.float32), np.array([7, 8], np.int32)]
    tilewright.compile(shown, target=target)(*arguments)
    lines = capfd.readouterr().out.splitlines()
    starts = [line.partition(" = ")[0] for line in lines]
    assert starts == ["tile", "A", "second B", "own"]
    assert lines[2] == "second B = [7, 8]"


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_how_often_it_prints(capfd, target):
    """As on a GPU in each thread, but for tiles; where nothing tells threads apart, once."""

    @T.prim_func
    def together(A: T.Tensor((2,), "int32")):
        with T.Kernel(2, threads=4) as bx:
            T.print(bx, msg="block")
            T.print("begins")
            T.print(A)

    @T.prim_func
    def apart(A: T.Tensor((2,), "int32")):
        with T.Kernel(2, threads=4) as bx:
            T.print(bx, msg="block")
            T.print("begins")
            T.print(A)
            if T.get_thread_binding() > 4:
                T.print("never")

    for kernel, each in ((together, 1), (apart, 4)):
        tilewright.compile(kernel, target=target)(np.zeros(2, np.int32))
        lines = capfd.readouterr().out.splitlines()
        told = {"block 0": each, "block 1": each, "begins": 2 * each, "A = [0, 0]": 2 * each}
        assert Counter(lines) == told


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_numbers_without_a_sign(capfd, target, bits):
    dtype = f"uint{bits}"

    @T.prim_func
    def shown(A: T.Tensor((2,), dtype), n: getattr(T, dtype)):
        with T.Kernel(1, threads=1):
            T.print(n)
            T.print(A)
            T.print(A[0] - 1)
            for i in T.serial(T.cast(n, "uint64"), T.cast(n, "uint64") + 1):
                T.print(i)

    most = 2**bits - 2
    tilewright.compile(shown, target=target)(np.array([most, 3], dtype), most)
    lines = capfd.readouterr().out.splitlines()
    assert lines == [str(most), f"A = [{most}, 3]", str(most - 1), str(most)]


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_what_is_no_number(capfd, target, dtype):
    """As C writes it; a NaN has no sign, which differs by machine."""

    @T.prim_func
    def shown(A: T.Tensor((6,), dtype), x: T.float32):
        with T.Kernel(1, threads=1):
            tile = T.alloc_shared((6,), dtype)
            T.copy(A, tile)
            T.print(tile)
            for i in T.serial(6):
                T.print(A[i], msg="is")
            T.print(A[0] * 0)
            T.print(x)
            T.print(-x)
            T.print(T.infinity(dtype))

    given = np.array([np.inf, -np.inf, np.nan, -np.nan, -0.0, 1.5], dtype)
    tilewright.compile(shown, target=target)(given, float("nan"))
    texts = ["inf", "-inf", "nan", "nan", "-0.000000e+00", "1.500000e+00"]
    lines = [f"tile = [{', '.join(texts)}]", *(f"is {text}" for text in texts)]
    assert capfd.readouterr().out.splitlines() == [*lines, "nan", "nan", "nan", "inf"]

# SPDX-License-Identifier: Apache-2.0
"""A part of a tile whose end a sum puts beyond the tile ends the run, as it ends the interpreter's,
also where its bytes are those of another plane, row or turn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, compiled

import tilewright
import tilewright.language as T
from tilewright.testing import interpret

LINES = Path(__file__).read_text().splitlines()
random = np.random.default_rng(71)


def place(mark: str) -> str:
    """Of the line that ends with this comment."""
    (line,) = (number for number, text in enumerate(LINES, 1) if text.endswith(f"# {mark}"))
    return f"{__file__}:{line}"


def numbers(*shape: int) -> Any:
    return random.uniform(-1, 1, shape).astype(np.float32)


def planes(stages: int) -> Any:
    @T.prim_func
    def kernel(  # type: ignore[no-untyped-def]
        X: T.Tensor((24, 4, 24), "float32"),
        counts: T.Tensor((6,), "int32"),
        o: T.int32,
        w: T.int32,
        Y: T.Tensor((6, 8, 4, 24), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((8, 4, 24), "float32")
            for p in T.Pipelined(6, num_stages=stages):
                m = counts[p]
                T.tile.fill(x, 0.0)
                T.copy(X[p * 4 : p * 4 + m, 1 : 1 + w, 0:16], x[o : o + m, 1 : 1 + w, 0:16])  # part
                T.copy(x, Y[p, :, :, :])

    return kernel


counts = np.array([4, 2, 0, 3, 4, 1], np.int32)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_part_ends_within_its_planes(stages: int) -> None:
    prim = planes(stages)
    kernel = tilewright.compile(prim, target="ascend", pass_configs=AUTOMATIC)
    x = numbers(24, 4, 24)
    expected = np.zeros((6, 8, 4, 24), np.float32)
    for p, m in enumerate(counts):
        expected[p, 4 : 4 + m, 1:4, :16] = x[4 * p : 4 * p + m, 1:4, :16]
    result = np.zeros_like(expected)
    kernel(x, counts, 4, 3, result)
    np.testing.assert_array_equal(result, expected)
    for o, w, part, index in (
        (5, 3, "[5, 1, 0] to [8, 3, 15]", "8 is out of range for dim 0"),
        (0, 4, "[0, 1, 0] to [3, 4, 15]", "4 is out of range for dim 1"),
        (-1, 3, "[-1, 1, 0] to [2, 3, 15]", "-1 is out of range for dim 0"),
    ):
        told = f"{place('part')}: error: 'x' is written at {part}, but its shape is (8, 4, 24)"
        with pytest.raises(RuntimeError) as raised:
            kernel(x, counts, o, w, result)
        assert told in str(raised.value)
        assert str(raised.value).count("error: ") == 1, raised.value
        with pytest.raises(tilewright.CompileError, match=f"index {re.escape(index)} of 'x'"):
            interpret(prim, x, counts, o, w, result)
    kernel(x, np.zeros(6, np.int32), 9, 3, result)  # nothing is copied


@T.prim_func
def stored(  # type: ignore[no-untyped-def]
    A: T.Tensor((16, 24), "float32"),
    o: T.int32,
    m: T.int32,
    r: T.int32,
    C: T.Tensor((T.dyn["R"], 24), "float32"),
):
    """What lies behind the tensor is not read."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((8, 24), "float32")
        b = T.alloc_ub((8, 24), "float32")
        T.copy(A[0:8, :], a)
        T.copy(A[8:16, :], b)
        T.copy(a[o : o + m, :], C[r : r + m, :])  # store


def test_a_part_is_read_as_far_as_its_tensor_goes() -> None:
    kernel = tilewright.compile(stored, target="ascend", pass_configs=AUTOMATIC)
    a = numbers(16, 24)
    for o, m, r, rows in ((5, 3, 0, 20), (5, 4, 17, 20), (2, 8, 17, 20), (5, 4, 20, 20)):
        result, same = np.zeros((2, rows, 24), np.float32)
        kernel(a, o, m, r, result)
        interpret(stored, a, o, m, r, same)
        there = min(m, rows - r)
        np.testing.assert_array_equal(result[r : r + there], a[o : o + there])
        np.testing.assert_array_equal(result, same)
    told = "'a' is read at [5, 0] to [8, 23], but its shape is (8, 24)"
    with pytest.raises(RuntimeError, match=re.escape(f"{place('store')}: error: {told}")):
        kernel(a, 5, 4, 3, result)
    with pytest.raises(tilewright.CompileError, match="index 8 is out of range for dim 0 of 'a'"):
        interpret(stored, a, 5, 4, 3, result)


def operations(form: str) -> Any:
    """Parts from o on, of m: what lies behind them belongs to the tile, or to another one."""

    @T.prim_func
    def kernel(  # type: ignore[no-untyped-def]
        A: T.Tensor((16, 16), "float32"),
        B: T.Tensor((16,), "float32"),
        numbers: T.Tensor((2,), "int32"),
        C: T.Tensor((16, 16), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((2, 8, 16), "float32")
            b = T.alloc_ub((16,), "float32")
            s = T.alloc_ub((16,), "float32")
            o = numbers[0]
            m = numbers[1]
            T.copy(A[0:8, :], a[0, :, :])
            T.copy(A[8:16, :], a[1, :, :])
            T.copy(B, b)
            T.tile.fill(s, 0.0)
            if form == "tile, rows":
                T.tile.add(a[0, o : o + 3, :], a[0, o : o + 3, :], 1.0)  # tile, rows
            elif form == "tile, read":
                T.tile.exp(b[0:8], b[o * 8 : o * 8 + 8])  # tile, read
            elif form == "tile, count":
                T.tile.add(b[o : o + m], b[o : o + m], 1.0)  # tile, count
            elif form == "rows":
                T.reduce_sum(a[0, o : o + 3, :], s[0:3], 1)  # rows
            elif form == "columns":
                T.reduce_sum(a[0, o : o + m, :], s, 0)  # columns
            elif form == "results":
                T.reduce_max(a[0, :, :], s[o * 8 : o * 8 + 8], 1)  # results
            elif form == "shape":
                T.reduce_max(b, s[0:1], 0, real_shape=[m])  # shape
            elif form == "running":
                T.cumsum(a[0, o : o + 3, :], a[1, 0:3, :], dim=0)  # running
            T.copy(b, C[0, :])
            T.copy(s, C[1, :])

    return kernel


@pytest.mark.parametrize(
    ("form", "inside", "outside", "told", "index"),
    [
        ("tile, rows", (5, 0), (6, 0), "'a' is read at [0, 6, 0] to [0, 8, 15]", "8 is out"),
        ("tile, rows", (0, 0), (-1, 0), "'a' is read at [0, -1, 0] to [0, 1, 15]", "-1 is out"),
        ("tile, read", (1, 0), (2, 0), "'b' is read at [16] to [23]", "16 is out"),
        ("tile, count", (3, 13), (4, 13), "'b' is read at [4] to [16]", "16 is out"),
        ("rows", (5, 0), (6, 0), "'a' is read at [0, 6, 0] to [0, 8, 15]", "8 is out"),
        ("columns", (5, 3), (5, 4), "'a' is read at [0, 5, 0] to [0, 8, 15]", "8 is out"),
        ("results", (1, 0), (2, 0), "'s' is written at [16] to [23]", "16 is out"),
        ("shape", (0, 16), (0, 17), "'b' is read at [0] to [16]", "16 is out"),
        ("running", (5, 0), (6, 0), "'a' is read at [0, 6, 0] to [0, 8, 15]", "8 is out"),
    ],
)
def test_operations_stay_within_their_tiles(
    form: str, inside: tuple[int, int], outside: tuple[int, int], told: str, index: str
) -> None:
    prim = operations(form)
    kernel = tilewright.compile(prim, target="ascend", pass_configs=AUTOMATIC)
    a, b = numbers(16, 16), numbers(16)
    result, same = np.zeros((2, 16, 16), np.float32)
    kernel(a, b, np.array(inside, np.int32), result)
    interpret(prim, a, b, np.array(inside, np.int32), same)
    np.testing.assert_allclose(result, same, 1e-5, 1e-5)
    with pytest.raises(RuntimeError) as raised:
        kernel(a, b, np.array(outside, np.int32), result)
    assert f"{place(form)}: error: {told}, but its shape is " in str(raised.value)
    assert str(raised.value).count("error: ") == 1, raised.value
    with pytest.raises(tilewright.CompileError, match=f"index {re.escape(index)} of range"):
        interpret(prim, a, b, np.array(outside, np.int32), result)


@T.prim_func
def product(  # type: ignore[no-untyped-def]
    A: T.Tensor((32, 32), "float16"),
    numbers: T.Tensor((2,), "int32"),
    C: T.Tensor((32, 32), "float32"),
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_L1((2, 32, 32), "float16")
        c = T.alloc_L0C((32, 32), "float32")
        o = numbers[0]
        m = numbers[1]
        T.copy(A, a[0, :, :])
        T.copy(A, a[1, :, :])
        T.gemm_v0(a[0, :, :], a[1, :, :], c, init=True)
        T.gemm_v0(a[0, o * 16 : o * 16 + 16, :], a[1, :, :], c[0:16, :])  # factor
        T.gemm_v0(a[0, 0:16, :], a[1, :, :], c[m * 16 : m * 16 + 16, :])  # product
        T.copy(c, C)


def test_gemms_stay_within_their_tiles() -> None:
    kernel = tilewright.compile(product, target="ascend", pass_configs=AUTOMATIC)
    a = numbers(32, 32).astype(np.float16)
    result = np.zeros((32, 32), np.float32)
    kernel(a, np.array((1, 1), np.int32), result)
    wide = a.astype(np.float64)
    expected = wide @ wide
    expected[:16] += wide[16:] @ wide
    expected[16:] += wide[:16] @ wide
    np.testing.assert_allclose(result, expected, 1e-3, 1e-3)
    for given, mark, told, index in (
        ((2, 0), "factor", "'a' is read at [0, 32, 0] to [0, 47, 31]", 32),
        ((0, 2), "product", "'c' is written at [32, 0] to [47, 31]", 32),
        ((0, -1), "product", "'c' is written at [-16, 0] to [-1, 31]", -16),
    ):
        with pytest.raises(RuntimeError) as raised:
            kernel(a, np.array(given, np.int32), result)
        assert f"{place(mark)}: error: {told}, but its shape is " in str(raised.value)
        with pytest.raises(tilewright.CompileError, match=f"index {index} is out of range"):
            interpret(product, a, np.array(given, np.int32), result)


@T.prim_func
def known(A: T.Tensor((64, 24), "float32"), m: T.int32, C: T.Tensor((64, 24), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((16, 24), "float32")
        for k in T.Pipelined(4, num_stages=2):
            for half in T.serial(2):
                T.copy(A[k * 16 + half * 8, 0], a[half * 8 : half * 8 + 8, :])
            T.copy(a[0:m, :], C[k * 16 : k * 16 + m, :])


def host_text(prim: Any) -> str:
    """With what is there for the host alone."""
    lines = {**AUTOMATIC, tilewright.PassConfigKey.TL_EMIT_LINE_DIRECTIVES: True}
    return "".join(text for _, text in compiled(prim, lines)[0].stages)


def test_what_is_known_is_not_checked() -> None:
    assert "TW_PART" not in host_text(known)
    assert "TW_PART" in host_text(planes(2))
    kernel = tilewright.compile(planes(2), target="ascend", pass_configs=AUTOMATIC)
    assert "TW_PART" not in kernel.get_kernel_source()

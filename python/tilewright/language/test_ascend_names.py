# SPDX-License-Identifier: Apache-2.0
"""The names that TileLang-Ascend shares with the GPU's language, in kernels for an NPU."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright.language as T
from tilewright.testing import interpret

SCRIPTS = Path(__file__).parents[3] / "scripts"
random = np.random.default_rng(31)


def test_dynamic_dims_and_macros() -> None:
    M, N = T.symbolic("M"), T.symbolic("N")

    @T.macro
    def scaled(x: T.SharedBuffer((4, 16), "float"), factor: Any):  # type: ignore[no-untyped-def]
        T.tile.mul(x, x, factor)

    @T.macro
    def cleared(x: T.FragmentBuffer((4, 16), "float"), y: T.LocalBuffer((1,), "float")):  # type: ignore[no-untyped-def]
        T.tile.fill(x, y[0])

    @T.prim_func
    def main(A: T.Tensor((M, N), "float"), C: T.Tensor((M, N), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(T.ceildiv(M, 8), is_npu=True) as (cid, vid):
            tile = T.alloc_ub((4, 16), "float")
            first = cid * 8 + vid * 4
            for j in T.serial(T.floordiv(N + 15, 16)):
                T.copy(A[first, j * 16], tile)
                scaled(tile, 3.0)
                T.copy(tile, C[first, j * 16])
            zero = T.alloc_local((1,), "float")
            zero[0] = 0.0
            cleared(tile, zero)

    a = random.standard_normal((19, 37)).astype(np.float32)
    c = np.zeros_like(a)
    interpret(main, a, c)
    np.testing.assert_array_equal(c, a * np.float32(3))


def test_other_annotations() -> None:
    @T.prim_func
    def main(A: T.Buffer((8,), "float"), C: T.Buffer((8,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            for i in T.unroll(4):
                C[i] = A[i]
            for i in T.vectorized(4):
                C[i + 4] = A[i + 4]

    a, c = random.standard_normal(8).astype(np.float32), np.zeros(8, np.float32)
    interpret(main, a, c)
    np.testing.assert_array_equal(c, a)


def test_scalar_expressions() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((16,), "float"), C: T.Tensor((7, 16), "float"), B: T.Tensor((16,), "int32")
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            for i in T.Parallel(16):
                C[0, i] = T.min(A[i], 1.0)
                C[1, i] = T.if_then_else(i < 8, A[i], -A[i])
                C[2, i] = T.Select(A[i] > 1.0, A[i], 0.0)
                C[3, i] = T.log(A[i])
                C[4, i] = T.sqrt(A[i])
                C[5, i] = T.clamp(A[i], 0.5, 1.5)
                C[6, i] = T.floordiv(i, 3)
                B[i] = T.reinterpret(A[i], "int32")

    a = random.uniform(0.1, 2, 16).astype(np.float32)
    c, b = np.zeros((7, 16), np.float32), np.zeros(16, np.int32)
    interpret(main, a, c, b)
    x = a.astype(np.float64)
    signs = np.where(np.arange(16) < 8, 1, -1)
    expected = [
        np.minimum(x, 1),
        x * signs,
        np.where(x > 1, x, 0),
        np.log(x),
        np.sqrt(x),
        np.clip(x, 0.5, 1.5),
        np.arange(16) // 3,
    ]
    np.testing.assert_allclose(c, expected, rtol=1e-5)
    np.testing.assert_array_equal(b, a.view(np.int32))


def test_tiles_of_the_gpus_language() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((4, 16), "float"), C: T.Tensor((4, 4), "float"), S: T.Tensor((4, 16), "float")
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            tile = T.alloc_ub((4, 16), "float")
            sums = T.alloc_ub((4, 16), "float")
            row = T.alloc_ub((4,), "float")
            T.copy(A, tile)
            T.reduce_absmax(tile, row)
            T.copy(row, C[0, 0:4])
            T.reduce_abssum(tile, row)
            T.copy(row, C[1, 0:4])
            T.reduce_min(tile, row)
            T.copy(row, C[2, 0:4])
            T.cumsum(tile, sums, dim=1)
            flat = T.reshape(sums, (64,))
            bits = T.view(flat, dtype="int32")
            T.tile.fill(bits[0:1], 0)
            T.tile.row_expand_mul(sums, sums, row)
            T.tile.row_expand_mul_experiment(sums, sums, row)
            T.copy(sums, S)
            T.print(row[0], "the least")

    a = random.standard_normal((4, 16)).astype(np.float32)
    c, s = np.zeros((4, 4), np.float32), np.zeros_like(a)
    printed = interpret(main, a, c, s)
    x = a.astype(np.float64)
    least = x.min(1)
    assert printed.startswith("the least -")
    np.testing.assert_allclose(c[:3], [np.abs(x).max(1), np.abs(x).sum(1), least], rtol=1e-5)
    sums = np.cumsum(x, 1)
    sums[0, 0] = 0
    np.testing.assert_allclose(s, sums * least[:, None] ** 2, rtol=1e-4, atol=1e-5)


def test_names_that_have_no_instruction() -> None:
    """What TileLang-Ascend has inherited and doesn't lower; here the interpreter runs it."""
    M = T.dyn["M"]

    @T.prim_func
    def main(
        A: T.Tensor((M, 8), "float"),
        P: T.ptr("float"),
        X: T.Tensor((8,), "int8"),
        C: T.Tensor((8,), "float"),
        D: T.Tensor((1,), "int32"),
        N: T.Tensor((2,), "int32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _, T.attr(0, "a note", 1):
            row = T.alloc_ub((8,), "float")
            there = T.make_tensor(P, (8,), "float")
            T.copy(A[0, 0:8], row)
            N[0] = T.cast(T.any_of(row), "int32")
            N[1] = T.cast(T.all_of(row), "int32")
            T.atomic_addx2(C[0], row[0])
            T.atomic_addx4(C[4], row[4])
            for i in T.serial(8):
                C[i] += there[i]
            T.dp4a(X[0], X[4], D[0])

    a = np.array([[0, 1, 2, 3, 4, 5, 6, 7.0]] * 2, np.float32)
    p, x = np.full(8, 100, np.float32), np.arange(8, dtype=np.int8)
    c, d, n = np.zeros(8, np.float32), np.zeros(1, np.int32), np.zeros(2, np.int32)
    interpret(main, a, p.ctypes.data, x, c, d, n)
    np.testing.assert_array_equal(c, [100, 101, 100, 100, 104, 105, 106, 107])
    assert d[0] == x[:4].astype(int) @ x[4:].astype(int)
    assert n.tolist() == [1, 0]


def test_images_as_columns() -> None:
    @T.prim_func
    def main(A: T.Tensor((1, 6, 6, 4), "float"), C: T.Tensor((16, 36), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            columns = T.alloc_ub((16, 36), "float")
            T.c2d_im2col(A, columns, 0, 0, 3, 1, 1, 0)
            T.copy(columns, C)

    a, c = random.standard_normal((1, 6, 6, 4)).astype(np.float32), np.zeros((16, 36), np.float32)
    interpret(main, a, c)
    windows = [a[0, y : y + 3, x : x + 3].ravel() for y in range(4) for x in range(4)]
    np.testing.assert_array_equal(c, windows)


def test_the_table_of_names_is_true(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    spec = importlib.util.spec_from_file_location(
        "ascend_language_coverage", SCRIPTS / "ascend_language_coverage.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def working(page: str) -> list[list[str]]:
        """What each row says works."""
        rows = [line.split("|") for line in page.splitlines() if line.startswith("| ")]
        return [row[1:3] for row in rows]

    assert working(module.PAGE.read_text()) == working(module.page())
    monkeypatch.setattr(module, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(sys, "argv", [""])
    assert module.main() == 0
    monkeypatch.setattr(sys, "argv", ["", "--check"])
    assert module.main() == 0
    (tmp_path / "page.md").write_text("old")
    assert module.main() == 1
    entries = [name for group in module.names().values() for name in group]
    assert len(entries) == len(set(entries)) > 150


@T.prim_func
def earlier_names(  # type: ignore[no-untyped-def]
    A: T.Tensor((8, 64), "float"),
    Rows: T.Tensor((3, 8), "float"),
    Blocks: T.Tensor((8, 8), "float"),
    Bits: T.Tensor((3, 8), "int16"),
    Chosen: T.Tensor((8, 64), "float"),
    Whole: T.Tensor((8, 64), "int32"),
):
    """By the names that earlier releases of TileLang-Ascend had."""
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((8, 64), "float")
        scratch = T.alloc_ub((3 * 4 * 8 * 64,), "uint8")
        row = T.alloc_ub((8,), "float")
        blocks = T.alloc_ub((8, 8), "float")
        bits = T.alloc_ub((16,), "int16")
        one = T.alloc_ub((16,), "int16")
        mask = T.alloc_ub((8, 8), "uint8")
        chosen = T.alloc_ub((8, 64), "float")
        whole = T.alloc_ub((8, 64), "int32")
        T.copy(A, a)
        T.tile.reduce_max(row, a, scratch, dim=-1)
        T.copy(row, Rows[0, :])
        T.tile.reduce_min(row, a, scratch, dim=-1)
        T.copy(row, Rows[1, :])
        T.tile.reduce_sum(row, a, scratch, dim=-1)
        T.copy(row, Rows[2, :])
        T.blockReduceMax(blocks, a, 8, 64, 1, 1, 8)
        T.copy(blocks, Blocks)
        T.compare(mask, a, 0.0, "GT")
        T.select(chosen, mask, a, 0.25, "VSEL_TENSOR_SCALAR_MODE")
        T.copy(chosen, Chosen)
        T.tile.cast_tl(whole, a, "CAST_FLOOR", 8 * 64)
        T.copy(whole, Whole)
        T.createvecindex(bits, 0)
        T.tile.fill(one, 6)
        T.tile.and_tl(one, bits, one)
        T.copy(one[0:8], Bits[0, :])
        T.tile.or_tl(one, bits, one)
        T.copy(one[0:8], Bits[1, :])
        T.tile.not_tl(one, bits)
        T.copy(one[0:8], Bits[2, :])


def test_earlier_names() -> None:
    a = random.uniform(-4, 4, (8, 64)).astype(np.float32)
    rows, blocks = np.zeros((3, 8), np.float32), np.zeros((8, 8), np.float32)
    bits, chosen = np.zeros((3, 8), np.int16), np.zeros_like(a)
    whole = np.zeros((8, 64), np.int32)
    interpret(earlier_names, a, rows, blocks, bits, chosen, whole)
    np.testing.assert_array_equal(rows[:2], [a.max(1), a.min(1)])
    np.testing.assert_allclose(rows[2], a.astype(float).sum(1), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(blocks, a.reshape(8, 8, 8).max(2))
    np.testing.assert_array_equal(chosen, np.where(a > 0, a, np.float32(0.25)))
    np.testing.assert_array_equal(whole, np.floor(a))
    i = np.arange(8)
    np.testing.assert_array_equal(bits, [i & 6, i | (i & 6), ~i])


def test_no_earlier_name() -> None:
    with pytest.raises(AttributeError, match=r"T has no 'compute'"):
        T.compute  # noqa: B018
    with pytest.raises(AttributeError, match=r"T has no 'blockReduceMean'"):
        T.blockReduceMean  # noqa: B018

# SPDX-License-Identifier: Apache-2.0
"""Gemms whose operands are copies of another dtype: what counts is what the copies made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tilewright.language as T

Array = np.ndarray[Any, Any]

# Of the tensor, of the tile that it is copied into, and of the sums.
DTYPES_OF_CASES = [
    ("float32", "bfloat16", "float32"),
    ("float32", "float16", "float32"),
    ("float32", "float8_e4m3fn", "float32"),
    ("float64", "float32", "float32"),
    ("float16", "bfloat16", "float32"),
    ("bfloat16", "float16", "float32"),
    ("float16", "float8_e5m2", "float32"),
    ("float32", "float16", "float16"),
    ("float32", "bfloat16", "bfloat16"),
    ("bfloat16", "float32", "float32"),
    ("float8_e4m3fn", "bfloat16", "float32"),
    ("float8_e5m2", "float16", "float32"),
    ("float8_e5m2", "float8_e4m3fn", "float32"),
    ("int8", "bfloat16", "float32"),
    ("uint8", "bfloat16", "float32"),
    ("int16", "bfloat16", "float32"),
    ("int16", "float16", "float32"),
    ("int32", "float32", "float32"),
    ("float32", "int8", "int32"),
    ("int32", "int8", "int32"),
    ("int16", "int8", "int32"),
    ("int64", "int8", "int32"),
    ("uint8", "int8", "int32"),
    ("int8", "uint8", "int32"),
    ("int8", "int16", "int32"),
    ("uint8", "int16", "int32"),
    ("uint16", "int16", "int32"),
    ("int32", "int16", "int32"),
    ("int64", "int32", "int32"),
    ("int8", "int32", "int32"),
]


@dataclass(frozen=True)
class Operand:
    """A matrix of dtype `tensor` that a copy brings into a tile of dtype `tile`, in each turn or
    before the loop."""

    tensor: str
    tile: str
    is_early: bool = False
    is_transposed: bool = False

    def shape(self, rows: int, columns: int) -> tuple[int, int]:
        return (columns, rows) if self.is_transposed else (rows, columns)


@dataclass(frozen=True)
class Sizes:
    """Of the tiles, and how much smaller the tensors are."""

    m: int
    n: int
    k: int
    less: tuple[int, int, int] = (0, 0, 0)

    def of_tensors(self) -> tuple[int, int, int]:
        return self.m - self.less[0], self.n - self.less[1], self.k - self.less[2]


TURNS = 2


def product(a_is: Operand, b_is: Operand, sums: str, sizes: Sizes) -> Any:  # noqa: ANN401 - a kernel
    """C[turn] = A[turn] B[turn]; an operand that is copied early is the first one in every turn."""
    rows, columns, depth = sizes.of_tensors()
    tile_a, tile_b = a_is.shape(sizes.m, sizes.k), b_is.shape(sizes.k, sizes.n)

    @T.prim_func
    def kernel(
        A: T.Tensor((TURNS, *a_is.shape(rows, depth)), a_is.tensor),
        B: T.Tensor((TURNS, *b_is.shape(depth, columns)), b_is.tensor),
        C: T.Tensor((TURNS, rows, columns), sums),
    ):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared(tile_a, a_is.tile)
            b = T.alloc_shared(tile_b, b_is.tile)
            c = T.alloc_fragment((sizes.m, sizes.n), sums)
            if a_is.is_early:
                T.copy(A[0, 0, 0], a)
            if b_is.is_early:
                T.copy(B[0, 0, 0], b)
            for turn in T.Pipelined(TURNS, num_stages=2):
                if not a_is.is_early:
                    T.copy(A[turn, 0, 0], a)
                if not b_is.is_early:
                    T.copy(B[turn, 0, 0], b)
                T.clear(c)
                T.gemm(a, b, c, transpose_A=a_is.is_transposed, transpose_B=b_is.is_transposed)
                T.copy(c, C[turn, 0, 0])

    return kernel


def numbers(random: np.random.Generator, shape: tuple[int, ...], tensor: Any, tile: Any) -> Array:
    """Of dtype `tensor`, many of which `tile` has not, but whose conversion is defined."""
    tensor, tile = np.dtype(tensor), np.dtype(tile)
    if tensor.kind in "iu":
        # Beyond 2^24, float32 may stand between an integer and a narrower float.
        most = 2**40 if tile.kind in "iu" else 2**24
        low, high = max(np.iinfo(tensor).min, -most), min(np.iinfo(tensor).max, most)
        return random.integers(low, high, shape, endpoint=True).astype(tensor)
    if tile.kind in "iu":
        return random.uniform(-100, 100, shape).astype(tensor)
    return (2 * random.standard_normal(shape)).astype(tensor)


@pytest.fixture
def check(agree, numpy_dtypes):
    """Compares with NumPy, which does what the copies do and multiplies."""

    def compare(
        random: np.random.Generator,
        cpus: Sequence[str],
        operands: tuple[Operand, Operand],
        sums: str,
        sizes: Sizes,
    ) -> None:
        rows, columns, depth = sizes.of_tensors()
        wide = np.int64 if sums == "int32" else np.float64
        given, made = [], []
        for operand, whole in zip(operands, ((rows, depth), (depth, columns)), strict=True):
            tensor, tile = numpy_dtypes[operand.tensor], numpy_dtypes[operand.tile]
            tensors = numbers(random, (TURNS, *operand.shape(*whole)), tensor, tile)
            given.append(tensors)
            tiles = tensors.astype(tile).astype(wide)
            tiles = tiles[[0] * TURNS] if operand.is_early else tiles
            made.append(tiles.swapaxes(1, 2) if operand.is_transposed else tiles)
        exact = (made[0] @ made[1]).astype(numpy_dtypes[sums])
        kernel = product(*operands, sums, sizes)
        agree(kernel, [*given, np.zeros_like(exact)], {2: exact}, cpus=cpus)

    return compare


@pytest.mark.parametrize("tensor, tile, sums", DTYPES_OF_CASES)
@pytest.mark.parametrize("is_early", [False, True])
def test_conversions_of_one_side(random, check, cpus, tensor, tile, sums, is_early):
    """Of b in panels, whose pairs and fours are made as whole vectors (64 columns) and one by one
    (16); and of a."""
    converted, plain = Operand(tensor, tile, is_early), Operand(tile, tile)
    check(random, cpus, (plain, converted), sums, Sizes(16, 64, 16))
    check(random, cpus[:1], (plain, converted), sums, Sizes(16, 16, 16))
    check(random, cpus[:1], (converted, plain), sums, Sizes(16, 16, 16))


@pytest.mark.parametrize("seed", range(40))
def test_conversions_of_any(check, cpus, seed):
    """Sizes for all lowerings: few rows, columns that fill no vector, depths that are no multiples,
    tails of tensors."""
    random = np.random.default_rng(seed)

    def one(*choices: int) -> int:
        return int(random.choice(choices))

    tensor, tile, sums = DTYPES_OF_CASES[random.integers(len(DTYPES_OF_CASES))]
    a, b = (
        Operand(one_tensor, tile, is_early=bool(one(0, 1)), is_transposed=bool(one(0, 1)))
        for one_tensor in (tensor if one(0, 1) else tile, tensor)
    )
    less = one(0, 0, 0), one(0, 0, 3), one(0, 0, 1)
    sizes = Sizes(one(1, 4, 12, 16, 28), one(8, 16, 20, 32, 48, 64), one(4, 16, 18, 32, 256), less)
    check(random, cpus, (a, b), sums, sizes)


def test_tiles_of_four_bit_floats(agree, random):
    """A byte each in tiles, as a GPU's instructions take them; the numbers of packed ones."""

    @T.prim_func
    def kernel(
        A: T.Tensor((32, 64), "float32"),
        B: T.Tensor((32, 64), "float32"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 64), T.float4_e2m1_unpacked)
            b = T.alloc_shared((32, 64), "float4_e2m1_unpacked")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, transpose_B=True, clear_accum=True)
            T.copy(c, C)

    numbers = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    a, b = (random.choice(numbers, (2, 32, 64)) * random.choice([-1, 1], (2, 32, 64))).astype("f4")
    # 2.5 is even's, and 5 as well; 100 is the largest one's.
    a[0, :3], b[0, :3] = (2.5, 5, 100), 1
    rounded = a.copy()
    rounded[0, :3] = 2, 4, 6
    agree(kernel, [a, b, np.zeros((32, 32), np.float32)], {2: rounded @ b.T})

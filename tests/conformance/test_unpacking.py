# SPDX-License-Identifier: Apache-2.0
"""4-bit numbers become floats: what the CPU looks up in tables, and what only looks like it."""

from __future__ import annotations

from typing import Any

import pytest

import tilewright
import tilewright.language as T

torch = pytest.importorskip("torch")
ROWS, COLUMNS = 5, 256


def kernel(dtype: str, unpack: Any) -> Any:  # noqa: ANN401 - a function of (byte, dtype)
    """Every byte by `unpack`, in rows that are offset in W."""

    @T.prim_func
    def unpacked(
        W: T.Tensor((ROWS + 2, COLUMNS + 32), "uint8"), C: T.Tensor((ROWS, COLUMNS), dtype)
    ):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((ROWS, COLUMNS), dtype)
            for i, j in T.Parallel(ROWS, COLUMNS):
                tile[i, j] = unpack(W[i + 2, 32 + j], dtype)
            T.copy(tile, C)

    return unpacked


def bits(byte: Any, mask: int) -> Any:  # noqa: ANN401
    """Some bits, as int32."""
    return T.cast(byte, "int32") & mask


FUNCTIONS = {
    "low": (lambda b, d: T.cast(bits(b, 15) - 8, d), lambda w: (w & 15) - 8.0),
    "high": (lambda b, d: T.cast(bits(b, 0xF0) >> 4, d), lambda w: (w >> 4) + 0.0),
    "by_float32": (
        lambda b, d: T.cast(T.cast(bits(b, 15), "float32") * 0.75 - 3.0, d),
        lambda w: (w & 15) * 0.75 - 3.0,
    ),
    "five_bits": (lambda b, d: T.cast(bits(b, 31), d), lambda w: (w & 31) + 0.0),
    "all_bits": (lambda b, d: T.cast(bits(b, 255), d), lambda w: w + 0.0),
    "both_halves": (
        lambda b, d: T.cast(bits(b, 15) * (bits(b, 0xF0) >> 4), d),
        lambda w: (w & 15) * (w >> 4) + 0.0,
    ),
    "chosen": (
        lambda b, d: T.if_then_else(bits(b, 8) != 0, T.cast(-1.5, d), T.cast(bits(b, 7), d)),
        lambda w: torch.where(w & 8 != 0, -1.5, (w & 7) + 0.0),
    ),
    "constant": (lambda b, d: T.cast(bits(b, 0) + 3, d), lambda w: w * 0 + 3.0),
}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_byte(name: str, dtype: str) -> None:
    """All 256 of them, on both targets."""
    unpack, exact = FUNCTIONS[name]
    w = torch.randint(0, 256, (ROWS + 2, COLUMNS + 32)).to(torch.uint8)
    w[2, 32:] = torch.arange(256)
    expected = exact(w[2:, 32:].int()).to(getattr(torch, dtype))
    for target in ("cpu", "reference"):
        c = torch.empty(ROWS, COLUMNS, dtype=getattr(torch, dtype))
        tilewright.compile(kernel(dtype, unpack), target=target)(w, c)
        assert torch.equal(c, expected)

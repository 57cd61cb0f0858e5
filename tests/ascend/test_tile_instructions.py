# SPDX-License-Identifier: Apache-2.0
"""What functions of T.tile become: Ascend C's own instructions, without tiles besides."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T

Array = np.ndarray[Any, Any]
random = np.random.default_rng(41)
AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}


def built(function: Any) -> Any:
    return tilewright.compile(function, target="ascend", pass_configs=AUTOMATIC)


def statements(kernel: Any) -> list[str]:
    """Calls of the vector unit, without barriers."""
    calls = re.findall(r"^ +(\w+\(.*\));$", kernel.get_kernel_source(), re.MULTILINE)
    return [call for call in calls if not re.match("copy|KERNEL|[A-Za-z]*Flag|PipeBarrier", call)]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("columns", [64, 20])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_broadcast_is_made_in_its_destination(dtype: str, columns: int, axis: int) -> None:
    rows = 9
    size = columns if axis == 0 else rows

    @T.prim_func
    def main(A: T.Tensor((size,), dtype), C: T.Tensor((rows, columns), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            m = T.alloc_ub((size,), dtype)
            b = T.alloc_ub((rows, columns), dtype)
            T.copy(A, m)
            T.tile.broadcast(b, m, axis=axis)
            T.copy(b, C)

    kernel = built(main)
    assert [call.split("(")[0] for call in statements(kernel)][-1] == (
        "broadcastColumns" if axis == 0 else "broadcastRows"
    )
    assert " t = " not in kernel.get_kernel_source()
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    a = (random.integers(-100, 100, size) / 4).astype(kind)
    c = np.zeros((rows, columns), a.dtype)
    kernel(a, c)
    np.testing.assert_array_equal(c, np.broadcast_to(a if axis == 0 else a[:, None], c.shape))


def test_a_broadcast_needs_no_second_tile() -> None:
    """Two tiles of 64 KiB and one number for each row leave room for no third."""

    @T.prim_func
    def main(A: T.Tensor((64, 256), "float32"), C: T.Tensor((64, 256), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((64, 256), "float32")
            b = T.alloc_ub((64, 256), "float32")
            m = T.alloc_ub((64,), "float32")
            T.copy(A, a)
            T.reduce_max(a, m, dim=-1)
            T.tile.broadcast(b, m)
            T.tile.sub(a, a, b)
            T.copy(a, C)

    a = random.standard_normal((64, 256)).astype(np.float32)
    c = np.zeros_like(a)
    built(main)(a, c)
    np.testing.assert_array_equal(c, a - a.max(axis=1, keepdims=True))


def test_a_broadcast_over_rows_longer_than_a_stride() -> None:
    """Instructions count at most 255 blocks from one row to the next."""

    @T.prim_func
    def main(A: T.Tensor((3,), "float32"), C: T.Tensor((3, 4100), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            m = T.alloc_ub((3,), "float32")
            b = T.alloc_ub((3, 4100), "float32")
            T.copy(A, m)
            T.tile.broadcast(b, m)
            T.copy(b, C)

    a = random.standard_normal(3).astype(np.float32)
    c = np.zeros((3, 4100), np.float32)
    built(main)(a, c)
    np.testing.assert_array_equal(c, np.broadcast_to(a[:, None], c.shape))


FLOATS = {
    "axpy": ("Axpy(c, a, 2.0f, 512)", lambda c, a, b: c + 2 * a),
    "mul_add_dst": ("MulAddDst(c, a, b, 512)", lambda c, a, b: c + a * b),
    "leaky_relu": ("LeakyRelu(c, a, 0.25f, 512)", lambda c, a, b: np.where(a < 0, a * 0.25, a)),
    "reciprocal": ("Reciprocal(c, a, 512)", lambda c, a, b: 1 / a),
    "createvecindex": (
        "CreateVecIndex(c, 3.0f, 512)",
        lambda c, a, b: np.arange(c.size).reshape(c.shape) + 3.0,
    ),
    "sigmoid": ("Muls Exp Adds Duplicate Div", lambda c, a, b: 1 / (1 + np.exp(-a))),
    "silu": ("Muls Exp Adds Div", lambda c, a, b: a / (1 + np.exp(-a))),
}
OPERANDS = {"axpy": 2.0, "leaky_relu": 0.25}


def apply(name: str, c: Any, a: Any, b: Any) -> None:
    function = getattr(T.tile, name)
    if name == "createvecindex":
        function(c, 3.0)
    elif name == "mul_add_dst":
        function(c, a, b)
    elif name in OPERANDS:
        function(c, a, OPERANDS[name])
    else:
        function(c, a)


@pytest.mark.parametrize("name", FLOATS)
def test_functions_of_floats(name: str) -> None:
    shape = (8, 64)

    @T.prim_func
    def main(
        A: T.Tensor(shape, "float32"), B: T.Tensor(shape, "float32"), C: T.Tensor(shape, "float32")
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, "float32")
            b = T.alloc_ub(shape, "float32")
            c = T.alloc_ub(shape, "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(C, c)
            apply(name, c, a, b)
            T.copy(c, C)

    kernel = built(main)
    calls, (text, function) = statements(kernel), FLOATS[name]
    if "(" in text:
        assert calls == [text]
    else:
        assert [call.split("(")[0] for call in calls] == text.split()
    # Beside the kernel's own: none, or a tile of ones.
    assert kernel.get_kernel_source().count("localTensor<") == 3 + (name == "sigmoid")
    a, b, c = (random.standard_normal(shape).astype(np.float32) for _ in range(3))
    a[0, :7] = (0.0, -0.0, np.inf, -np.inf, np.nan, 200.0, -200.0)
    b[0, :7] = 1.5
    with np.errstate(all="ignore"):
        expected = function(*(x.astype(np.float64) for x in (c, a, b)))
    kernel(a, b, c)
    np.testing.assert_allclose(c, expected, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", ["sigmoid", "silu"])
def test_in_place(name: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((8, 20), "float16"), C: T.Tensor((8, 20), "float16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((8, 20), "float16")
            T.copy(A, a)
            getattr(T.tile, name)(a, a)
            T.copy(a, C)

    kernel = built(main)
    assert kernel.get_kernel_source().count("localTensor<") == 2
    a = random.standard_normal((8, 20)).astype(np.float16)
    c = np.zeros_like(a)
    kernel(a, c)
    np.testing.assert_allclose(c, FLOATS[name][1](a, a.astype(np.float64), a), rtol=4e-3)


def test_silu_needs_no_tile_besides() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 256), "float32"), C: T.Tensor((64, 256), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((64, 256), "float32")
            b = T.alloc_ub((64, 256), "float32")
            T.copy(A, a)
            T.tile.silu(b, a)
            T.copy(b, C)

    a = random.standard_normal((64, 256)).astype(np.float32)
    c = np.zeros_like(a)
    built(main)(a, c)
    exact = a.astype(np.float64)
    np.testing.assert_allclose(c, exact / (1 + np.exp(-exact)), rtol=2e-6, atol=1e-7)


def test_bits_of_wide_integers() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32"), C: T.Tensor((4, 64), "int32")
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((64,), "int32")
            b = T.alloc_ub((64,), "int32")
            c = T.alloc_ub((64,), "int32")
            d = T.alloc_ub((64,), "int32")
            T.copy(A, a)
            T.copy(B, b)
            T.tile.bitwise_and(c, a, b)
            T.copy(c, C[0, 0])
            T.tile.bitwise_not(d, a)
            T.copy(d, C[1, 0])
            T.tile.bitwise_xor(b, a, b)
            T.copy(b, C[2, 0])
            T.tile.bitwise_or(a, a, d)
            T.copy(a, C[3, 0])

    kernel = built(main)
    names = [call.split("(")[0] for call in statements(kernel)]
    assert names == ["And", "Not", "And", "Not", "Or", "And", "Or"]
    a, b = (random.integers(-(2**31), 2**31, 64).astype(np.int32) for _ in range(2))
    c = np.zeros((4, 64), np.int32)
    kernel(a, b, c)
    np.testing.assert_array_equal(c, [a & b, ~a, a ^ b, np.full(64, -1)])


def test_whole_numbers_counted_up() -> None:
    @T.prim_func
    def main(first: T.int32, C: T.Tensor((4, 16), "int32"), D: T.Tensor((64,), "int16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            c = T.alloc_ub((4, 16), "int32")
            d = T.alloc_ub((64,), "int16")
            T.tile.createvecindex(c, first)
            T.tile.createvecindex(d, 0)
            T.copy(c, C)
            T.copy(d, D)

    kernel = built(main)
    assert [call.split(", ")[0] for call in statements(kernel)] == [
        "CreateVecIndex(c",
        "CreateVecIndex(d",
    ]
    c, d = np.zeros((4, 16), np.int32), np.zeros(64, np.int16)
    kernel(7, c, d)
    np.testing.assert_array_equal(c, np.arange(64).reshape(4, 16) + 7)
    np.testing.assert_array_equal(d, np.arange(64))

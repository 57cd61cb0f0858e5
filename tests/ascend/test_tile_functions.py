# SPDX-License-Identifier: Apache-2.0
"""The functions of T.tile on the host, against NumPy in float64 and the interpreter."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.testing import interpret

Array = np.ndarray[Any, Any]
random = np.random.default_rng(31)

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
}
ROWS, COLUMNS = 8, 32


def on_host(function: Any, *arrays: Array) -> Array:
    """The last array after the kernel, on the host and on the interpreter alike."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = tilewright.compile(function, target="ascend", pass_configs=AUTOMATIC)
    made, same = ([array.copy() for array in arrays] for _ in range(2))
    kernel(*made)
    interpret(function, *same)
    np.testing.assert_allclose(made[-1], same[-1], rtol=1e-5, atol=1e-5)
    return made[-1]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


FLOAT_NAMES = (
    *("add", "sub", "mul", "div", "max", "min", "pow"),
    *("exp", "ln", "abs", "reciprocal", "sqrt", "rsqrt", "relu", "sigmoid", "silu", "sin", "cos"),
    *("leaky_relu", "axpy", "mul_add_dst", "clamp_max", "clamp_min", "clamp", "round"),
    *("createvecindex", "arith_progression", "clear", "row_expand_mul"),
)


def float_results(a: Array, b: Array, m: Array) -> dict[str, Array]:
    flat = np.arange(a.size).reshape(a.shape)
    return {
        "add": a + b,
        "sub": a - b,
        "mul": a * 3.0,
        "div": a / b,
        "max": np.maximum(a, b),
        "min": np.minimum(a, 1.25),
        "pow": a**b,
        "exp": np.exp(a),
        "ln": np.log(a),
        "abs": np.abs(b),
        "reciprocal": 1 / a,
        "sqrt": np.sqrt(a),
        "rsqrt": 1 / np.sqrt(a),
        "relu": np.maximum(b, 0),
        "sigmoid": sigmoid(b),
        "silu": b * sigmoid(b),
        "sin": np.sin(a),
        "cos": np.cos(a),
        "leaky_relu": np.where(b > 0, b, 0.1 * b),
        "axpy": 1 + 2 * a,
        "mul_add_dst": 1 + a * b,
        "clamp_max": np.minimum(a, 1.0),
        "clamp_min": np.maximum(b, -0.5),
        "clamp": np.clip(b, -0.5, 0.5),
        "round": np.rint(b * 4),
        "createvecindex": flat + 3.0,
        "arith_progression": 1 + 0.5 * flat,
        "clear": a * 0,
        "row_expand_mul": a * m[:, None],
    }


def apply_float(name: str, c: Any, a: Any, b: Any, m: Any) -> None:
    """T.tile.NAME into c, which holds ones."""
    function = getattr(T.tile, name)
    if name in ("exp", "ln", "reciprocal", "sqrt", "rsqrt", "sin", "cos"):
        function(c, a)
    elif name in ("abs", "relu", "sigmoid", "silu"):
        function(c, b)
    elif name in ("add", "sub", "div", "max", "pow", "mul_add_dst"):
        function(c, a, b)
    elif name in ("mul", "min"):
        function(c, a, 3.0 if name == "mul" else 1.25)
    elif name == "leaky_relu":
        T.tile.leaky_relu(c, b, 0.1)
    elif name == "axpy":
        T.tile.axpy(c, a, 2.0)
    elif name == "clamp_max":
        T.tile.clamp_max(c, a, 1.0)
    elif name == "clamp_min":
        T.tile.clamp_min(c, b, -0.5)
    elif name == "clamp":
        T.tile.clamp(c, b, -0.5, 0.5)
    elif name == "round":
        T.tile.mul(c, b, 4.0)
        T.tile.round(c, c)
    elif name == "createvecindex":
        T.tile.createvecindex(c, 3.0)
    elif name == "arith_progression":
        T.tile.arith_progression(c, 1.0, 0.5)
    elif name == "clear":
        T.tile.clear(c)
    else:
        T.tile.row_expand_mul(c, a, m)


@pytest.mark.parametrize("half", [0, 1])
def test_floats(half: int) -> None:
    names = FLOAT_NAMES[half::2]

    def apply_all(a: Any, b: Any, m: Any, c: Any, C: Any) -> None:
        for number, name in enumerate(names):
            T.tile.fill(c, 1.0)
            apply_float(name, c, a, b, m)
            T.copy(c, C[number, 0, 0])

    @T.prim_func
    def main(
        A: T.Tensor((ROWS, COLUMNS), "float32"),
        B: T.Tensor((ROWS, COLUMNS), "float32"),
        S: T.Tensor((ROWS,), "float32"),
        C: T.Tensor((len(names), ROWS, COLUMNS), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((ROWS, COLUMNS), "float32")
            b = T.alloc_ub((ROWS, COLUMNS), "float32")
            c = T.alloc_ub((ROWS, COLUMNS), "float32")
            m = T.alloc_ub((ROWS,), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(S, m)
            apply_all(a, b, m, c, C)

    a = random.uniform(0.5, 2.0, (ROWS, COLUMNS)).astype(np.float32)
    b = random.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    m = random.standard_normal(ROWS).astype(np.float32)
    made = on_host(main, a, b, m, np.zeros((len(names), ROWS, COLUMNS), np.float32))
    expected = float_results(*(x.astype(np.float64) for x in (a, b, m)))
    for result, name in zip(made, names, strict=True):
        np.testing.assert_allclose(result, expected[name], rtol=2e-5, atol=2e-5, err_msg=name)


def test_bits() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((64,), "int16"), B: T.Tensor((64,), "int16"), C: T.Tensor((6, 64), "int16")
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((64,), "int16")
            b = T.alloc_ub((64,), "int16")
            c = T.alloc_ub((64,), "int16")
            T.copy(A, a)
            T.copy(B, b)
            T.tile.bitwise_and(c, a, b)
            T.copy(c, C[0, 0])
            T.tile.bitwise_or(c, a, b)
            T.copy(c, C[1, 0])
            T.tile.bitwise_xor(c, a, b)
            T.copy(c, C[2, 0])
            T.tile.bitwise_not(c, a)
            T.copy(c, C[3, 0])
            T.tile.bitwise_lshift(c, a, 2)
            T.copy(c, C[4, 0])
            T.tile.bitwise_rshift(c, a, 3)
            T.copy(c, C[5, 0])

    a, b = (random.integers(-(2**12), 2**12, 64).astype(np.int16) for _ in range(2))
    made = on_host(main, a, b, np.zeros((6, 64), np.int16))
    expected = [a & b, a | b, a ^ b, ~a, a << 2, a >> 3]
    np.testing.assert_array_equal(made, np.stack(expected).astype(np.int16))


def test_casts() -> None:
    modes = {"FLOOR": np.floor, "CEIL": np.ceil, "RINT": np.rint, "TRUNC": np.trunc}

    def cast_all(x: Any, n: Any, C: Any) -> None:
        for number, mode in enumerate(modes):
            T.tile.cast(n, x, f"CAST_{mode}", 64)
            T.copy(n, C[number, 0])

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), C: T.Tensor((4, 64), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((64,), "float32")
            n = T.alloc_ub((64,), "int32")
            T.copy(A, x)
            cast_all(x, n, C)

    a = (random.standard_normal(64) * 8).astype(np.float32)
    a[:4] = (0.5, 1.5, -0.5, -2.5)
    made = on_host(main, a, np.zeros((4, 64), np.int32))
    np.testing.assert_array_equal(made, np.stack([f(a) for f in modes.values()]).astype(np.int32))


def test_integers_to_float16() -> None:
    """Through float32: what that has no room for is beyond float16 in any case."""

    @T.prim_func
    def main(A: T.Tensor((4, 32), "int32"), C: T.Tensor((2, 4, 32), "float16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            n = T.alloc_ub((4, 32), "int32")
            x = T.alloc_ub((4, 32), "float16")
            y = T.alloc_ub((4, 32), "float16")
            T.copy(A, n)
            T.copy(n, x)
            T.copy(x, C[0, 0, 0])
            for i, j in T.Parallel(4, 32):
                y[i, j] = T.cast(n[i, j], "float16")
            T.copy(y, C[1, 0, 0])

    a = random.integers(-70000, 70000, (4, 32)).astype(np.int32)
    a[0, :8] = (2049, 2051, 65519, 65520, 2**24 + 1, -(2**31), 2**31 - 1, -65520)
    with np.errstate(over="ignore"):
        expected = a.astype(np.float16)
        made = on_host(main, a, np.zeros((2, 4, 32), np.float16))
    np.testing.assert_array_equal(made, np.stack([expected, expected]))


def test_tiles_of_more_dims() -> None:
    """Whose rows end within a block of 32 bytes, and are apart in UB."""

    @T.prim_func
    def main(
        A: T.Tensor((2, 3, 4, 5), "float32"),
        B: T.Tensor((2, 3, 4, 5), "float32"),
        C: T.Tensor((2, 3, 4, 5), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((2, 3, 4, 5), "float32")
            b = T.alloc_ub((2, 3, 4, 5), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.tile.add(a, a, 1.0)
            T.tile.mul(b, a, b)
            T.tile.exp(b, b)
            T.copy(b, C)

    a, b = (random.standard_normal((2, 3, 4, 5)).astype(np.float32) for _ in range(2))
    made = on_host(main, a, b, np.zeros((2, 3, 4, 5), np.float32))
    np.testing.assert_allclose(made, np.exp((a.astype(np.float64) + 1) * b), rtol=1e-4)


@pytest.mark.parametrize("dtypes", [("float16", "float32"), ("int8", "float32"), ("int32",) * 2])
def test_copies_of_more_dims(dtypes: tuple[str, str]) -> None:
    given, kept = dtypes

    @T.prim_func
    def main(A: T.Tensor((3, 4, 32), given), C: T.Tensor((3, 4, 32), kept)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((3, 4, 32), given)
            c = T.alloc_ub((3, 4, 32), kept)
            T.copy(A, a)
            T.copy(a, c)
            T.copy(a[0:2, 0:2, 0:32], c[1:3, 2:4, 0:32])
            T.copy(c, C)

    a = random.integers(-99, 99, (3, 4, 32)).astype(given)
    expected = a.copy()
    expected[1:, 2:] = a[:2, :2]
    made = on_host(main, a, np.zeros((3, 4, 32), kept))
    np.testing.assert_array_equal(made, expected.astype(kept))


def test_broadcast_and_atomic_add() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((16,), "float32"),
        B: T.Tensor((1, 24), "float32"),
        C: T.Tensor((16, 24), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((16,), "float32")
            b = T.alloc_ub((1, 24), "float32")
            x = T.alloc_ub((16, 24), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.tile.broadcast(x, a, axis=1)
            T.tile.atomic_add(C[0, 0], x)
            T.tile.broadcast(x, b, axis=0)
            T.tile.atomic_add(C[0, 0], x)

    a = random.standard_normal(16).astype(np.float32)
    b = random.standard_normal((1, 24)).astype(np.float32)
    c = random.standard_normal((16, 24)).astype(np.float32)
    made = on_host(main, a, b, c)
    np.testing.assert_allclose(made, c + a[:, None].astype(np.float64) + b, rtol=1e-5, atol=1e-5)


def test_element_as_a_scalar_without_flags() -> None:
    """A barrier stands before it is read, also where flags are the kernel's."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((64,), "float32")
            T.copy(A, x)
            T.tile.mul(x, x, x[3])
            T.barrier_all()
            T.copy(x, C)

    a = random.standard_normal(64).astype(np.float32)
    kernel = tilewright.compile(main, out_idx=[-1], target="ascend")
    np.testing.assert_allclose(kernel(a), a.astype(np.float64) * a[3], rtol=1e-6)


@pytest.mark.parametrize("configs", [{}, AUTOMATIC], ids=["by hand", "automatic"])
def test_temporaries_of_functions(configs: dict[Any, bool]) -> None:
    """Those of one statement are the next one's where all of them don't fit, and don't move what
    the kernel itself allocates."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, is_npu=True, threads=1):
            a = T.alloc_ub((64, 64), "float32")
            b = T.alloc_ub((64, 64), "float32")
            T.copy(A, a)
            T.barrier_all()
            T.tile.sin(b, a)
            T.pipe_barrier("v")
            T.tile.sin(b, b)
            T.pipe_barrier("v")
            T.tile.cos(b, b)
            T.pipe_barrier("v")
            T.tile.pow(b, b, b)
            for _ in range(4):
                T.pipe_barrier("v")
                T.tile.sigmoid(b, b)
            T.pipe_barrier("v")
            c = T.alloc_ub((64, 64), "float32")
            T.tile.cos(c, b)
            T.barrier_all()
            T.copy(c, C)

    a = np.random.default_rng(8).uniform(0.1, 3, (64, 64)).astype(np.float32)
    x = np.cos(np.sin(np.sin(a.astype(np.float64))))
    x = x**x
    for _ in range(4):
        x = sigmoid(x)
    kernel = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=configs)
    np.testing.assert_allclose(np.asarray(kernel(a)), np.cos(x), rtol=1e-5)
    if not configs:
        lines = kernel.stage("memory").splitlines()
        assert [" ".join(line.split()[:4]) for line in lines[1:4]] == [
            *("0 + 16384 a", "16384 + 16384 b", "32768 + 16384 c")
        ]
    # Where source and target are apart, the function writes to its target.
    assert "sine(b, a, " in kernel.get_kernel_source()

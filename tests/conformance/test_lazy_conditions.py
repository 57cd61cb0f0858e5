# SPDX-License-Identifier: Apache-2.0
"""What `and`, `or`, chained comparisons and choices leave out isn't computed: shifts too far,
divisions by zero and indices beyond a tile do nothing there. Python says what is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

N = 48
TARGETS = ["cpu", "reference", "ascend"]


@pytest.fixture(autouse=True)
def _own_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")


@T.macro
def far_or(i, x, y, tile):
    return i >= 32 or (x >> i) == 0


@T.macro
def far_and(i, x, y, tile):
    return i < 32 and (x >> i) & 1 == 1


@T.macro
def far_left(i, x, y, tile):
    return i - 8 < 0 or i - 8 >= 32 or (x << (i - 8)) == x


@T.macro
def far_function(i, x, y, tile):
    return not (i < 32 and T.shift_right(x, i) != 0)


@T.macro
def ternary(i, x, y, tile):
    return 1 if i >= 32 else (x >> i) & 1


@T.macro
def ternary_left(i, x, y, tile):
    return x << (i - 4) if i - 4 >= 0 and i - 4 < 32 else i


@T.macro
def nested(i, x, y, tile):
    return (x >> i if i < 16 else x >> (i - 16)) if i < 40 else x >> (i - 40)


@T.macro
def divided(i, x, y, tile):
    return y == 0 or x // y > 3


@T.macro
def rest(i, x, y, tile):
    return y != 0 and x % y == 1


@T.macro
def rounded_up(i, x, y, tile):
    return y > 0 and T.ceildiv(x, y) % 2 == 0


@T.macro
def quotient(i, x, y, tile):
    return x // y if y != 0 else -1


@T.macro
def chained(i, x, y, tile):
    return 0 < y < x // y


@T.macro
def chained_shift(i, x, y, tile):
    return -1 < i < 32 <= x >> i


@T.macro
def beyond_tile(i, x, y, tile):
    return i < 32 and tile[i] > 7


@T.macro
def before_tile(i, x, y, tile):
    return tile[31 - i] if i <= 31 else 0


@T.macro
def far_index(i, x, y, tile):
    return i < 5 and tile[1 << i] > 7


PYTHON: dict[str, Callable[..., Any]] = {
    "far_or": lambda i, x, y, t: i >= 32 or (x >> i) == 0,
    "far_and": lambda i, x, y, t: i < 32 and (x >> i) & 1 == 1,
    "far_left": lambda i, x, y, t: i - 8 < 0 or i - 8 >= 32 or (x << (i - 8)) % 2**32 == x,
    "far_function": lambda i, x, y, t: not (i < 32 and x >> i != 0),
    "ternary": lambda i, x, y, t: 1 if i >= 32 else (x >> i) & 1,
    "ternary_left": lambda i, x, y, t: x << (i - 4) if i - 4 >= 0 and i - 4 < 32 else i,
    "nested": lambda i, x, y, t: x >> (i % 16 if i < 32 else i - 16 if i < 40 else i - 40),
    "divided": lambda i, x, y, t: y == 0 or x // y > 3,
    "rest": lambda i, x, y, t: y != 0 and x % y == 1,
    "rounded_up": lambda i, x, y, t: y > 0 and -(-x // y) % 2 == 0,
    "quotient": lambda i, x, y, t: x // y if y != 0 else -1,
    "chained": lambda i, x, y, t: 0 < y < x // y,
    "chained_shift": lambda i, x, y, t: -1 < i < 32 <= x >> i,
    "beyond_tile": lambda i, x, y, t: i < 32 and t[i] > 7,
    "before_tile": lambda i, x, y, t: t[31 - i] if i <= 31 else 0,
    "far_index": lambda i, x, y, t: i < 5 and t[1 << i] > 7,
}
MACROS = {m: globals()[m] for m in PYTHON}


def wrapped(value: int) -> int:
    return (int(value) + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("loop", [T.serial, T.Parallel], ids=["serial", "parallel"])
@pytest.mark.parametrize("name", PYTHON)
def test_what_is_left_out(name: str, loop: Any, target: str) -> None:
    macro = MACROS[name]

    @T.prim_func
    def kernel(
        X: T.Tensor((N,), "int32"),
        Y: T.Tensor((N,), "int32"),
        S: T.Tensor((32,), "int32"),
        Out: T.Tensor((N,), "int32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((32,), "int32")
            T.copy(S, tile)
            for i in loop(N):
                x = X[i]
                y = Y[i]
                Out[i] = macro(i, x, y, tile)

    random = np.random.default_rng(11)
    x = random.integers(0, 2**31, N).astype(np.int32) >> random.integers(0, 31, N).astype(np.int32)
    y = random.integers(-3, 4, N).astype(np.int32)
    tile = random.integers(0, 16, 32).astype(np.int32)
    out = np.full(N, 77, np.int32)
    tilewright.compile(kernel, target=target)(x, y, tile, out)
    rows = zip(range(N), x.tolist(), y.tolist(), strict=True)
    expected = [wrapped(PYTHON[name](i, a, b, tile)) for i, a, b in rows]
    np.testing.assert_array_equal(out, np.array(expected, np.int32))


@pytest.mark.parametrize("target", TARGETS)
def test_statements_and_loops(target: str) -> None:
    @T.prim_func
    def kernel(X: T.Tensor((N,), "uint32"), Out: T.Tensor((3, N), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=32):
            for i in T.serial(N):
                x = X[0]
                if i < 32 and (x >> T.cast(i, "uint32")) & 1 == 1:
                    Out[0, i] = 1
                else:
                    Out[0, i] = 0
                places = T.alloc_var("int32", init=0)
                while places < 32 and (X[i] >> T.cast(places, "uint32")) != 0:
                    places += 1
                Out[1, i] = places
                Out[2, i] = T.if_then_else(i < 32, T.cast(x << T.cast(i, "uint32"), "int32"), i)

    x = (np.arange(1, N + 1, dtype=np.uint32) * 0x9E3779B1) >> (np.arange(N, dtype=np.uint32) % 32)
    x[1] = 0xFFFFFFFF
    out = np.full((3, N), 77, np.int32)
    tilewright.compile(kernel, target=target)(x, out)
    bits = [i < 32 and int(x[0]) >> i & 1 for i in range(N)]
    places = [int(v).bit_length() for v in x]
    left = [wrapped(int(x[0]) << i) if i < 32 else i for i in range(N)]
    np.testing.assert_array_equal(out, np.array([bits, places, left], np.int32))


def test_what_is_wanted_is_still_told() -> None:
    @T.prim_func
    def kernel(Out: T.Tensor((N,), "int32"), x: T.int32):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=32):
            for i in T.serial(N):
                Out[i] = i >= 40 or (x >> i) == 0

    with pytest.raises(tilewright.KernelError, match="shift of a 32-bit integer by 32"):
        tilewright.compile(kernel, target="reference")(np.zeros(N, np.int32), 5)


@pytest.mark.parametrize("loop", [T.serial, T.Parallel], ids=["serial", "parallel"])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_shifts_too_far_on_the_cpu(dtype: str, loop: Any) -> None:
    """All bits are shifted out, as on GPUs, and what depends on that is stored."""
    width = int(dtype[-2:])
    count = 2 * width

    @T.prim_func
    def kernel(
        X: T.Tensor((count,), dtype),
        Y: T.Tensor((count,), dtype),
        Out: T.Tensor((2, count), dtype),
        Or: T.Tensor((2, count), "bool"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=32):
            for i in loop(count):
                Out[0, i] = X[i] << Y[i]
                Out[1, i] = X[i] >> Y[i]
                Or[0, i] = T.Or(i >= width, (X[0] >> T.cast(i, dtype)) == 0)
                Or[1, i] = T.And(i < width, (X[0] << T.cast(i, dtype)) != 0)

    limits = np.iinfo(dtype)
    x = np.random.default_rng(2).integers(limits.min, limits.max, count, dtype, endpoint=True)
    distances = np.resize(np.array([0, 1, width - 1, width, width + 1, 97]), count)
    out, either = np.full((2, count), 77, dtype), np.full((2, count), 2, np.uint8).view(np.bool_)
    tilewright.compile(kernel)(x, distances.astype(dtype), out, either)
    numbers = [(int(a), int(b)) for a, b in zip(x, distances, strict=True)]
    left = [(a << b) % 2**width for a, b in numbers]
    np.testing.assert_array_equal(out[0], np.array(left, f"uint{width}").astype(dtype))
    np.testing.assert_array_equal(out[1], np.array([a >> b for a, b in numbers], dtype))
    first = int(x[0])
    shifted = [i >= width or first >> i == 0 for i in range(count)]
    np.testing.assert_array_equal(either.view(np.uint8)[0], shifted)
    kept = [i < width and (first << i) % 2**width != 0 for i in range(count)]
    np.testing.assert_array_equal(either.view(np.uint8)[1], kept)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("loop", [T.serial, T.Parallel], ids=["serial", "parallel"])
def test_the_operand_that_decides(loop: Any, target: str) -> None:
    """`and` and `or` of numbers give one of them; conditions ask for their truth alone."""

    @T.prim_func
    def kernel(
        X: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32"), Out: T.Tensor((13, N), "int32")
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=32):
            for i in loop(N):
                x = X[i]
                y = Y[i]
                Out[0, i] = x and y
                Out[1, i] = x or y
                Out[2, i] = (x or 5) + 1
                Out[3, i] = x > 0 and y
                Out[4, i] = (x > 0 and y) or 7
                Out[5, i] = y and x // y
                Out[6, i] = x and y > 0
                Out[7, i] = 1 if x and y else 2
                Out[8, i] = not (x or y)
                Out[9, i] = x in {1, 3, -2}
                Out[10, i] = (x in range(5, -5, -3)) + 10 * (y not in range(2))
                Out[11, i] = all(v > 0 for v in (x, y)) + 2 * any([x, y == 2])
                quotient, remainder = divmod(x, 3)
                Out[12, i] = (
                    min([x, y]) + 10 * max((0, 1, y, x)) + quotient * 100 + remainder * 1000
                )

    random = np.random.default_rng(12)
    x, y = (random.integers(-3, 4, N).astype(np.int32) for _ in "xy")
    out = np.full((13, N), 77, np.int32)
    tilewright.compile(kernel, target=target)(x, y, out)

    def row(a: int, b: int) -> list[int]:
        numbers = [a and b, a or b, (a or 5) + 1, a > 0 and b, (a > 0 and b) or 7, b and a // b]
        asked = [a and b > 0, 1 if a and b else 2, not (a or b), a in {1, 3, -2}]
        asked.append((a in range(5, -5, -3)) + 10 * (b not in range(2)))
        asked.append(all(v > 0 for v in (a, b)) + 2 * any([a, b == 2]))
        quotient, remainder = divmod(a, 3)
        picked = min([a, b]) + 10 * max((0, 1, b, a))
        return [*numbers, *asked, picked + quotient * 100 + remainder * 1000]

    expected = [row(int(a), int(b)) for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(out, np.array(expected, np.int32).T)


@pytest.mark.parametrize("target", ["ascend", "reference"])
def test_one_distance_for_all_stays_one_on_an_npu(target: str) -> None:
    """Its vector instructions have one distance for all elements."""

    @T.prim_func
    def kernel(
        X: T.Tensor((64,), "int32"),
        Y: T.Tensor((64,), "int32"),
        Out: T.Tensor((64,), "int32"),
        n: T.int32,
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as _:
            x = T.alloc_ub((64,), "int32")
            y = T.alloc_ub((64,), "int32")
            out = T.alloc_ub((64,), "int32")
            T.copy(X, x)
            T.copy(Y, y)
            for i in T.Parallel(64):
                out[i] = T.if_then_else(y[i] > 0, x[i] >> n, 0)
            T.copy(out, Out)

    flags = {tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
    flags[tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING] = True
    compiled = tilewright.compile(kernel, target=target, pass_configs=flags)
    if target == "ascend":
        assert "ShiftRight" in compiled.get_kernel_source()
    x, y = (np.random.default_rng(3).integers(-999, 999, 64).astype(np.int32) for _ in "xy")
    for distance in (3, 31):
        out = np.full(64, 77, np.int32)
        compiled(x, y, out, distance)
        np.testing.assert_array_equal(out, np.where(y > 0, x >> distance, 0))
    if target == "reference":  # nobody wants it
        compiled(x, -np.abs(y), out, 40)
        np.testing.assert_array_equal(out, 0)


def test_a_choice_made_while_building_has_the_dtype_of_both_sides(agree):
    """As one made in the kernel, for the language promotes first."""
    yes, no = True, False

    @T.prim_func
    def kernel(
        A: T.Tensor((1,), "int8"),
        C: T.Tensor((1,), "int32"),
        H: T.Tensor((1,), "float16"),
        F: T.Tensor((1,), "float32"),
        n: T.int32,
        B: T.Tensor((4,), "int32"),
        G: T.Tensor((2,), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1):
            B[0] = T.if_then_else(n > 0, A[0], C[0]) * A[0]
            B[1] = T.if_then_else(yes, A[0], C[0]) * A[0]
            B[2] = T.if_then_else(no, C[0], A[0]) * A[0]
            B[3] = T.Select(yes, A[0], C[0]) * A[0]
            G[0] = T.if_then_else(yes, H[0], F[0]) * H[0]
            # A side that can't be looked at where the condition leaves it out isn't.
            G[1] = T.if_then_else(no, F[n // 0 if no else 0], H[0])

    given = [
        np.array([100], np.int8),
        np.array([5], np.int32),
        np.array([300], np.float16),
        np.zeros(1, np.float32),
        1,
        np.zeros(4, np.int32),
        np.zeros(2, np.float32),
    ]
    expected = {5: np.full(4, 10000, np.int32), 6: np.array([90000, 300], np.float32)}
    agree(kernel, given, expected, 0)

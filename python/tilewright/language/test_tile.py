# SPDX-License-Identifier: Apache-2.0
"""T.tile.* and reductions on the reference interpreter, against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.testing import interpret

Array = np.ndarray[Any, Any]
random = np.random.default_rng(11)


def on_tiles(function: Callable[..., None], shapes: list[Any], dtypes: list[str]) -> Any:
    """A kernel that copies tensors to tiles, calls `function` on the tiles and copies the first
    one back."""
    first, second, third = (shapes * 3)[:3]
    d0, d1, d2 = (dtypes * 3)[:3]
    count = len(shapes)

    @T.prim_func
    def main(A: T.Tensor(first, d0), B: T.Tensor(second, d1), C: T.Tensor(third, d2)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, __):
            a = T.alloc_ub(first, d0)
            b = T.alloc_ub(second, d1)
            c = T.alloc_ub(third, d2)
            T.copy(A, a)
            if count > 1:
                T.copy(B, b)
            if count > 2:
                T.copy(C, c)
            function(*[a, b, c][:count])
            T.copy(a, A)

    return main


def result(function: Callable[..., None], *arrays: Array) -> Array:
    """What `function` makes of the first array."""
    shapes = [array.shape for array in arrays]
    kernel = on_tiles(function, shapes, [array.dtype.name for array in arrays])
    given = [array.copy() for array in arrays]
    interpret(kernel, *(given * 3)[:3])
    return given[0]


def refusal(function: Callable[..., None], *arrays: Array) -> str:
    with pytest.raises(tilewright.CompileError) as caught:
        result(function, *arrays)
    return str(caught.value.errors[0].message)


def floats(*shape: int, dtype: str = "float32") -> Array:
    return random.uniform(0.5, 2.0, shape).astype(dtype) * random.choice([-1, 1], shape).astype(
        dtype
    )


def integers(*shape: int, dtype: str = "int16") -> Array:
    return random.integers(0, 100, shape).astype(dtype)


def exact(array: Array) -> Array:
    return array.astype(np.float64)


FLOAT_BINARY: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("add", lambda a, b: a + b),
    ("sub", lambda a, b: a - b),
    ("mul", lambda a, b: a * b),
    ("div", lambda a, b: a / b),
    ("max", np.maximum),
    ("min", np.minimum),
]


@pytest.mark.parametrize(("name", "expected"), FLOAT_BINARY, ids=[n for n, _ in FLOAT_BINARY])
def test_binary(name: str, expected: Callable[[Any, Any], Any]) -> None:
    function = getattr(T.tile, name)
    d, a, b = floats(4, 16), floats(4, 16), floats(4, 16)
    np.testing.assert_allclose(
        result(lambda x, y, z: function(x, y, z), d, a, b), expected(exact(a), exact(b)), rtol=1e-6
    )
    np.testing.assert_allclose(
        result(lambda x, y: function(x, y, 1.5), d, a), expected(exact(a), 1.5), rtol=1e-6
    )
    # An element is a scalar.
    np.testing.assert_allclose(
        result(lambda x, y, z: function(x, y, z[1, 2]), d, a, b),
        expected(exact(a), exact(b)[1, 2]),
        rtol=1e-6,
    )
    # One number per row.
    m = floats(4)
    np.testing.assert_allclose(
        result(lambda x, y, z: function(x, y, z), d, a, m),
        expected(exact(a), exact(m)[:, None]),
        rtol=1e-6,
    )


UNARY: list[tuple[str, Callable[[Any], Any]]] = [
    ("exp", np.exp),
    ("ln", np.log),
    ("abs", np.abs),
    ("reciprocal", lambda x: 1 / x),
    ("sqrt", np.sqrt),
    ("rsqrt", lambda x: 1 / np.sqrt(x)),
    ("relu", lambda x: np.maximum(x, 0)),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    ("silu", lambda x: x / (1 + np.exp(-x))),
    ("sin", np.sin),
    ("cos", np.cos),
    ("round", np.rint),
]


@pytest.mark.parametrize(("name", "expected"), UNARY, ids=[n for n, _ in UNARY])
def test_unary(name: str, expected: Callable[[Any], Any]) -> None:
    function = getattr(T.tile, name)
    d, a = floats(3, 8), np.abs(floats(3, 8)) if name in ("ln", "sqrt", "rsqrt") else floats(3, 8)
    np.testing.assert_allclose(
        result(lambda x, y: function(x, y), d, a), expected(exact(a)), rtol=1e-6
    )
    # As built: as many elements, one after the other.
    np.testing.assert_allclose(
        result(lambda x, y: function(x, y), floats(24), a), expected(exact(a)).ravel(), rtol=1e-6
    )


BITS: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("bitwise_and", np.bitwise_and),
    ("bitwise_or", np.bitwise_or),
    ("bitwise_xor", np.bitwise_xor),
]


@pytest.mark.parametrize(("name", "expected"), BITS, ids=[n for n, _ in BITS])
def test_bits(name: str, expected: Callable[[Any, Any], Any]) -> None:
    d, a, b = integers(32), integers(32), integers(32)
    function = getattr(T.tile, name)
    np.testing.assert_array_equal(
        result(lambda x, y, z: function(x, y, z), d, a, b), expected(a, b)
    )


def test_shifts_and_not() -> None:
    d, a = integers(32), integers(32) - 50
    shift = result(lambda x, y: T.tile.bitwise_lshift(x, y, 2), d, a)
    np.testing.assert_array_equal(shift, a << 2)
    shift = result(lambda x, y: T.tile.bitwise_rshift(x, y, 2), d, a)
    np.testing.assert_array_equal(shift, a >> 2)
    np.testing.assert_array_equal(result(lambda x, y: T.tile.bitwise_not(x, y), d, a), ~a)


def test_power() -> None:
    d, a, b = floats(16), np.abs(floats(16)), floats(16)
    made = result(lambda x, y, z: T.tile.pow(x, y, z), d, a, b)
    np.testing.assert_allclose(made, exact(a) ** exact(b), rtol=1e-6)


def test_scalar_operations() -> None:
    d, a, b = floats(16), floats(16), floats(16)
    x64, d64 = exact(a), exact(d)
    made = result(lambda x, y: T.tile.leaky_relu(x, y, 0.25), d, a)
    np.testing.assert_allclose(made, np.where(x64 > 0, x64, x64 * 0.25), rtol=1e-6)
    made = result(lambda x, y: T.tile.axpy(x, y, 3.0), d, a)
    np.testing.assert_allclose(made, d64 + 3 * x64, rtol=1e-5, atol=1e-6)
    made = result(lambda x, y, z: T.tile.mul_add_dst(x, y, z), d, a, b)
    np.testing.assert_allclose(made, d64 + x64 * exact(b), rtol=1e-5, atol=1e-6)


def test_clamps_of_a_count() -> None:
    d, a = floats(4, 8), floats(4, 8)
    rest = d.ravel()[20:]
    for function, expected in [
        (lambda x, y: T.tile.clamp_max(x, y, 1.0, 20), np.minimum(a, np.float32(1))),
        (lambda x, y: T.tile.clamp_min(x, y, 1.0, 20), np.maximum(a, np.float32(1))),
        (lambda x, y: T.tile.clamp(x, y, -1.0, 1.0, 20), np.clip(a, -1, 1)),
        (lambda x, y: T.tile.round(x, y, 20), np.rint(a)),
    ]:
        made = result(function, d, a).ravel()
        np.testing.assert_array_equal(made[:20], expected.ravel()[:20])
        np.testing.assert_array_equal(made[20:], rest)


def test_fill_and_sequences() -> None:
    d = floats(4, 8)
    np.testing.assert_array_equal(result(lambda x: T.tile.fill(x, 2.5), d), np.full((4, 8), 2.5))
    np.testing.assert_array_equal(result(lambda x: T.tile.clear(x), d), np.zeros((4, 8)))
    made = result(lambda x: T.tile.createvecindex(x, 3), d)
    np.testing.assert_array_equal(made.ravel(), np.arange(3, 35))
    made = result(lambda x: T.tile.arith_progression(x, 1.0, 0.5, 10), d).ravel()
    np.testing.assert_array_equal(made[:10], 1 + 0.5 * np.arange(10))
    np.testing.assert_array_equal(made[10:], d.ravel()[10:])


def test_broadcast() -> None:
    d, rows, columns = floats(4, 8), floats(4), floats(1, 8)
    made = result(lambda x, y: T.tile.broadcast(x, y), d, rows)
    np.testing.assert_array_equal(made, np.broadcast_to(rows[:, None], (4, 8)))
    made = result(lambda x, y: T.tile.broadcast(x, y, axis=1), d, rows)
    np.testing.assert_array_equal(made, np.broadcast_to(rows[:, None], (4, 8)))
    for axis in (None, 0):
        made = result(lambda x, y, axis=axis: T.tile.broadcast(x, y, axis), d, columns)
        np.testing.assert_array_equal(made, np.broadcast_to(columns, (4, 8)))
    made = result(lambda x, y: T.tile.broadcast(x, y), d, columns[0])
    np.testing.assert_array_equal(made, np.broadcast_to(columns, (4, 8)))
    square, line = floats(8, 8), floats(8)
    for axis, expected in ((0, line[None]), (1, line[:, None])):
        made = result(lambda x, y, axis=axis: T.tile.broadcast(x, y, axis), square, line)
        np.testing.assert_array_equal(made, np.broadcast_to(expected, (8, 8)))
    assert refusal(lambda x, y: T.tile.broadcast(x, y), square, line).endswith(
        "; say axis=0 (one row for all) or axis=1 (one column)"
    )


def test_row_expansion() -> None:
    d, a, m = floats(4, 8), floats(4, 8), floats(4, 1)
    for name, op in (("mul_experiment", np.multiply), ("mul", np.multiply)):
        function = getattr(T.tile, f"row_expand_{name}")
        made = result(lambda x, y, z, f=function: f(x, y, z), d, a, m)
        np.testing.assert_allclose(made, op(exact(a), exact(m)), rtol=1e-6)
    made = result(lambda x, y, z: T.tile.row_expand_sub_experiment(x, y, z), d, a, m)
    np.testing.assert_allclose(made, exact(a) - exact(m), rtol=1e-6, atol=1e-7)
    made = result(lambda x, y, z: T.tile.row_expand_div_experiment(x, y, z), d, a, m)
    np.testing.assert_allclose(made, exact(a) / exact(m), rtol=1e-6)


def test_transpose() -> None:
    d, a = floats(16, 32, dtype="float16"), floats(32, 16, dtype="float16")
    np.testing.assert_array_equal(result(lambda x, y: T.tile.transpose(x, y), d, a), a.T)


def test_atomic_add() -> None:
    @T.prim_func
    def main(A: T.Tensor((16,), "float"), C: T.Tensor((16,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(4, is_npu=True, threads=1) as (_):
            a = T.alloc_ub((16,), "float")
            T.copy(A, a)
            T.tile.atomic_add(C, a)

    a, c = floats(16), np.zeros(16, np.float32)
    interpret(main, a, c)
    np.testing.assert_allclose(c, 4 * exact(a), rtol=1e-6)


MODES = {"EQ": "==", "NE": "!=", "GT": ">", "GE": ">=", "LT": "<", "LE": "<="}


@pytest.mark.parametrize("mode", MODES)
def test_compare_and_select(mode: str) -> None:
    a = random.integers(-2, 3, (8, 16)).astype(np.float32)
    b = random.integers(-2, 3, (8, 16)).astype(np.float32)
    mask = np.zeros(16, np.uint8)
    expected = eval(f"a {MODES[mode]} b")  # noqa: S307
    made = result(lambda m, x, y: T.tile.compare(m, x, y, mode), mask, a, b)
    np.testing.assert_array_equal(made, np.packbits(expected.ravel(), bitorder="little"))
    expected = eval(f"a {MODES[mode]} 1")  # noqa: S307
    bits = result(lambda m, x: T.tile.compare(m, x, 1.0, mode), mask, a)
    np.testing.assert_array_equal(bits, np.packbits(expected.ravel(), bitorder="little"))
    made = result(lambda x, m: T.tile.select(x, m, x, 9.0, "VSEL_TENSOR_SCALAR_MODE"), a, bits)
    np.testing.assert_array_equal(made, np.where(expected, a, 9))
    made = result(lambda x, m, y: T.tile.select(x, m, y, x, "VSEL_TENSOR_TENSOR_MODE"), a, bits, b)
    np.testing.assert_array_equal(made, np.where(expected, b, a))


def test_select_with_one_mask_for_all_repeats() -> None:
    a, b, mask = floats(128), floats(128), random.integers(0, 256, 8).astype(np.uint8)
    made = result(lambda x, m, y: T.tile.select(x, m, x, y, "VSEL_CMPMASK_SPR"), a, mask, b)
    bits = np.tile(np.unpackbits(mask, bitorder="little"), 2)
    np.testing.assert_array_equal(made, np.where(bits, a, b))


ROUNDINGS: dict[str, Callable[[Any], Any]] = {
    "CAST_NONE": np.rint,
    "CAST_RINT": np.rint,
    "CAST_FLOOR": np.floor,
    "CAST_CEIL": np.ceil,
    "CAST_ROUND": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5),
    "CAST_TRUNC": np.trunc,
}


@pytest.mark.parametrize("mode", ROUNDINGS)
def test_cast(mode: str) -> None:
    a = np.array(
        [-2.5, -1.5, -1.2, -0.5, 0.0, 0.5, 1.5, 1.7, 2.5, 3.0, 100.25, -7.75, 4.5, 5.5, 6, 7]
    )
    a = a.astype(np.float32)
    made = result(lambda x, y: T.tile.cast(x, y, mode, 16), np.zeros(16, np.int32), a)
    np.testing.assert_array_equal(made, ROUNDINGS[mode](a))
    if mode != "CAST_NONE":
        made = result(lambda x, y: T.tile.cast(x, y, mode, 16), np.zeros(16, np.float32), a)
        np.testing.assert_array_equal(made, ROUNDINGS[mode](a))
    # To a narrower float: the unit in the last place of float16 at 1024 to 2048 is 1.
    wide = (1024 + np.abs(a)).astype(np.float32)
    made = result(lambda x, y: T.tile.cast(x, y, mode, 16), np.zeros(16, np.float16), wide)
    np.testing.assert_array_equal(made, ROUNDINGS[mode](wide))
    numbers = integers(16, dtype="int32")
    made = result(lambda x, y: T.tile.cast(x, y, mode, 16), np.zeros(16, np.float32), numbers)
    np.testing.assert_array_equal(made, numbers)


def test_a_copy_between_tiles_rounds_to_nearest() -> None:
    a = np.array([-2.5, -1.5, 0.5, 1.5, 1.7, 2.5, -0.4, 9], np.float32)
    made = result(lambda x, y: T.copy(y, x), np.zeros(8, np.int32), a)
    np.testing.assert_array_equal(made, np.rint(a))


@pytest.mark.parametrize("is_load", [True, False])
def test_a_copy_to_or_from_global_memory_rounds_toward_zero(is_load: bool) -> None:
    @T.prim_func
    def main(A: T.Tensor((8,), "float32"), C: T.Tensor((8,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1, is_npu=True) as _:
            x = T.alloc_ub((8,), "int32" if is_load else "float32")
            T.copy(A, x)
            T.copy(x, C)

    a = np.array([-2.5, -1.7, 0.5, 1.5, 1.7, 2.5, -0.4, 9], np.float32)
    made = np.zeros(8, np.int32)
    interpret(main, a, made)
    np.testing.assert_array_equal(made, np.trunc(a))


# Seed 004's forms


def test_functions_on_tiles_without_tile() -> None:
    d, a, b = floats(16), floats(16), floats(16)
    forms: list[tuple[Callable[..., None], Array]] = [
        (lambda x, y, z: T.exp(x, y), np.exp(exact(a))),
        (lambda x, y, z: T.abs(x, y), np.abs(exact(a))),
        (lambda x, y, z: T.add(x, y, z), exact(a) + exact(b)),
        (lambda x, y, z: T.sub(x, y, z), exact(a) - exact(b)),
        (lambda x, y, z: T.mul(x, y, 2.0), exact(a) * 2),
        (lambda x, y, z: T.div(x, y, z), exact(a) / exact(b)),
        (lambda x, y, z: T.max(x, y, z), np.maximum(exact(a), exact(b))),
    ]
    for form, expected in forms:
        np.testing.assert_allclose(result(form, d, a, b), expected, rtol=1e-6, atol=1e-6)
    assert refusal(lambda x, y: T.erf(x, y), d, a) == (
        "T.erf with 2 arguments takes tiles, destination first"
    )


def test_the_same_names_on_scalars() -> None:
    assert T.add(2, 3) == 5
    assert T.sub(2, 3) == -1
    assert T.mul(2, 3) == 6
    assert T.And(True, True, False) is False
    assert T.Or(False, True) is True


def test_reductions_of_seed_004() -> None:
    a = floats(4, 8)
    made = result(lambda d, s: T.reduce_max(d, s, s, 1), floats(4), a)
    np.testing.assert_array_equal(made, a.max(1))
    made = result(lambda d, s: T.reduce_max(d, s, s, dim=0), floats(8), a)
    np.testing.assert_array_equal(made, a.max(0))


def test_reductions_with_scratch_memory_behind_source_and_target() -> None:
    """As published before the form without it: (src, dst, tmp)."""
    a = floats(4, 8)
    made = result(lambda d, s: T.reduce_max(s, d, s, dim=-1), floats(4), a)
    np.testing.assert_array_equal(made, a.max(1))
    made = result(lambda d, s: T.reduce_sum(s[0:2, :], d[0:2], s, -1), floats(4), a)
    np.testing.assert_allclose(made[:2], exact(a).sum(1)[:2], rtol=1e-5)


def test_broadcasts_with_scratch_memory_in_the_axis_place() -> None:
    a = floats(4, 1)
    made = result(lambda d, s: T.tile.broadcast(d, s, d), floats(4, 8), a)
    np.testing.assert_array_equal(made, np.broadcast_to(a, (4, 8)))
    with pytest.raises(tilewright.CompileError, match="'axis' can't be"):
        result(lambda d, s: T.tile.broadcast(d, s, d, tmp=d), floats(4, 8), a)


# Reductions


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
def test_reductions(kind: str) -> None:
    reduce = getattr(T, f"reduce_{kind}")
    op = getattr(np, kind)
    a, rows = floats(4, 8), floats(4)
    made = result(lambda d, s: reduce(s, d), rows, a)
    np.testing.assert_allclose(made, op(exact(a), 1), rtol=1e-6)
    made = result(lambda d, s: T.reduce(s, d, kind, -2), floats(8), a)
    np.testing.assert_allclose(made, op(exact(a), 0), rtol=1e-6)
    joined = {"sum": np.add, "max": np.maximum, "min": np.minimum}[kind]
    for form in (
        lambda d, s: reduce(s, d, -1, False),
        lambda d, s: reduce(s, d, -1, clear=False),
        lambda d, s: T.reduce(s, d, kind, -1, None, False),
    ):
        made = result(form, rows, a)
        np.testing.assert_allclose(made, joined(op(exact(a), 1), exact(rows)), rtol=1e-5)
    # The valid part only: 0 means all of a dim.
    made = result(lambda d, s: reduce(s, d, -1, [3, 5]), rows, a)
    np.testing.assert_allclose(made[:3], op(exact(a)[:3, :5], 1), rtol=1e-6)
    assert made[3] == rows[3]
    made = result(lambda d, s: reduce(s, d, dim=0, real_shape=[3, 0]), floats(1, 8), a)
    np.testing.assert_allclose(made[0], op(exact(a)[:3], 0), rtol=1e-6)


def test_dims_of_three_count_in_the_last_two() -> None:
    a = floats(1, 4, 8)
    made = result(lambda d, s: T.reduce_sum(s, d, 0), floats(1, 8), a)
    np.testing.assert_allclose(made, exact(a).sum(1), rtol=1e-6, atol=1e-6)
    made = result(lambda d, s: T.reduce_sum(s, d, 1), floats(1, 4), a)
    np.testing.assert_allclose(made, exact(a).sum(2), rtol=1e-6, atol=1e-6)
    assert refusal(lambda d, s: T.reduce_sum(s, d, 2), floats(1, 4), a) == (
        "reduce_sum over dim 2 of 'b' with 3 dims, but on an NPU dim 0 and dim 1 are the last two; "
        "write dim=1 for the last"
    )
    assert refusal(lambda d, s: T.reduce_sum(s, d, 1), floats(1, 8), a) == (
        "reduce_sum of 'b' (1, 4, 8) over dim 1 (on an NPU the last of 3) gives (1, 4), but 'a' is "
        "(1, 8)"
    )
    assert refusal(lambda d, s: T.reduce_sum(s, d, 0), floats(1, 4), a) == (
        "reduce_sum of 'b' (1, 4, 8) over dim 0 (on an NPU the last but one of 3) gives (1, 8), "
        "but 'a' is (1, 4)"
    )


SCRATCHED: list[tuple[Callable[..., None], Callable[[Any], Any]]] = [
    (lambda x, y, t: T.tile.sigmoid(x, src=y, tmp=t), lambda y: 1 / (1 + np.exp(-y))),
    (lambda x, y, t: T.tile.sin(dst=x, src=y, tmp=t), np.sin),
    (lambda x, y, t: T.tile.pow(x, y, src1=y, tmp=t), lambda y: y**y),
    (lambda x, y, t: T.tile.clamp(x, y, 0.8, 1.2, 8, tmp=t), lambda y: np.clip(y, 0.8, 1.2)),
    (lambda x, y, t: T.tile.clamp_max(x, y, 1.2, 8, tmp=t), lambda y: np.minimum(y, 1.2)),
    (lambda x, y, t: T.tile.clamp_min(x, y, 0.8, 8, tmp=t), lambda y: np.maximum(y, 0.8)),
    (lambda x, y, t: T.tile.round(x, y, 8, tmp=None), np.rint),
    (lambda x, y, t: T.tile.mul(dst=x, src0=y, src1=2.0), lambda y: y * 2),
    (lambda x, y, t: T.tile.sub(x, y, src1=y), lambda y: y - y),
    (lambda x, y, t: T.tile.exp(x, src=y), np.exp),
    (lambda x, y, t: T.tile.leaky_relu(x, src0=y, scalar_value=0.5), lambda y: y),
    (lambda x, y, t: T.copy(y, x, tmp=t), lambda y: y),
]


@pytest.mark.parametrize(("function", "expected"), SCRATCHED)
def test_sources_by_name_and_scratch_memory(
    function: Callable[..., None], expected: Callable[[Any], Any]
) -> None:
    row, y = np.zeros(8, np.float32), np.linspace(0.5, 2, 8, dtype=np.float32)
    made = result(function, row, y, np.zeros(256, np.uint8))
    np.testing.assert_allclose(made, expected(exact(y)), rtol=1e-6)


def test_scratch_memory_of_a_reduction() -> None:
    rows, a = floats(4), floats(4, 8)
    made = result(lambda d, s, t: T.reduce_sum(s, d, tmp=t[32:]), rows, a, np.zeros(64, np.uint8))
    np.testing.assert_allclose(made, exact(a).sum(1), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("row_expand_div", np.divide),
        ("row_expand_sub", np.subtract),
        ("row_expand_mul_nd", np.multiply),
    ],
)
def test_newer_names_of_row_expansions(name: str, op: Callable[..., Any]) -> None:
    tiles = floats(4, 8), floats(4, 8), floats(4)
    made = result(lambda x, y, m: getattr(T.tile, name)(x, y, m, None), *tiles)
    np.testing.assert_allclose(made, op(exact(tiles[1]), exact(tiles[2])[:, None]), rtol=1e-6)


# What is refused

ROW, TILE, BYTES = np.zeros(8, np.float32), np.zeros((4, 8), np.float32), np.zeros(8, np.uint8)
REFUSED: list[tuple[Callable[..., None], list[Array], str]] = [
    (
        lambda x, y: T.tile.add(x, y),
        [ROW, ROW],
        "T.tile.add takes a destination and 2 sources, not 1",
    ),
    (
        lambda x, y: T.tile.add(x, y, source1=y),
        [ROW, ROW],
        "T.tile.add has no argument 'source1'; did you mean 'src1'? (it has: dst, src0, src1)",
    ),
    (
        lambda x, y: T.tile.exp(x, y, src0=y),
        [ROW, ROW],
        "T.tile.exp has its argument 'src0' twice",
    ),
    (
        lambda x, y: T.tile.sin(x, y, tmp=4),
        [ROW, ROW],
        "tmp of T.tile.sin is a tile of scratch memory, not int",
    ),
    (
        lambda x, y: T.reduce_sum(y, x, tmp=4),
        [np.zeros(4, np.float32), TILE],
        "tmp of T.reduce_sum is a tile of scratch memory, not int",
    ),
    (
        lambda x, y: T.tile.exp(x, 1.0),
        [ROW, ROW],
        "T.tile.exp takes a tile as source, not a scalar",
    ),
    (
        lambda x, y: T.tile.axpy(x, y, y),
        [ROW, ROW],
        "T.tile.axpy takes a scalar as source 1, not a tile",
    ),
    (
        lambda x, y: T.tile.exp(x[0], y),
        [ROW, ROW],
        "T.tile.exp takes a buffer or slices of one as destination, but this is an element of 'a'",
    ),
    (
        lambda x, y: T.tile.add(x, x, y),
        [TILE, ROW],
        "T.tile.add has destination 'a' of (4, 8) but source 1 'b' of (8); a row of numbers is one "
        "per row of the destination, others take T.tile.broadcast",
    ),
    (
        lambda x, y: T.tile.add(x, x, y),
        [ROW, np.zeros(8, np.float16)],
        "T.tile.add has destination 'a' of float32 but source 1 'b' of float16; use T.tile.cast",
    ),
    (
        lambda x: T.tile.bitwise_not(x, x),
        [ROW],
        "T.tile.bitwise_not works on integers, but 'a' is float32",
    ),
    (
        lambda x: T.tile.round(x, x, 9),
        [ROW],
        "T.tile.round has count 9, but 'a' has 8 elements",
    ),
    (
        lambda x, n: T.tile.round(x[0 : n[0], :], x[0 : n[0], :], 3),
        [TILE, np.zeros(8, np.int32)],
        "T.tile.round takes the elements of 'a' one after the other, so their number must be known",
    ),
    (
        lambda x, y: T.tile.compare(y, x, 0.0, "LT"),
        [np.zeros(64, np.float32), np.zeros((4, 4), np.float32)],
        "T.tile.compare packs a mask in uint8, but 'b' is float32",
    ),
    (
        lambda x, y: T.tile.compare(y, x, 0.0, "LT"),
        [TILE, BYTES[:3]],
        "T.tile.compare takes whole repeats of 256 bytes, but 'a' has 128 bytes",
    ),
    (
        lambda x, y: T.tile.compare(y, x, 0.0, "LT"),
        [np.zeros(64, np.float32), BYTES[:3]],
        "T.tile.compare makes a bit per element: 'a' has 64 elements, but 'b' has 3 bytes",
    ),
    (
        lambda x, y: T.tile.cast(x, y, "CAST_NONE", 2.0),
        [TILE, TILE],
        "count of T.tile.cast must be an integer",
    ),
    (
        lambda x, y: T.tile.broadcast(x, y, axis=-7),
        [TILE, TILE[0]],
        "axis of T.tile.broadcast is -7, but it must be 0 (one row for all) or 1 (one column)",
    ),
    (
        lambda x: T.tile.row_expand_div(1, x, x),
        [TILE],
        "the destination of T.tile.div must be a buffer or a part of one, not 1 of type int",
    ),
    (
        lambda x, y: T.tile.compare(y, x, 0.0, "LT"),
        [np.zeros(32, np.float32), np.zeros(4, np.uint8)],
        "T.tile.compare takes whole repeats of 256 bytes, but 'a' has 128 bytes",
    ),
    (
        lambda x, y: T.tile.compare(y, x, 0.0, "NEAR"),
        [np.zeros(64, np.float32), BYTES],
        "there is no comparison 'NEAR': it is EQ, NE, GT, GE, LT or LE",
    ),
    (
        lambda x, y: T.tile.select(x, y, x, x, "VSEL_TENSOR_TENSOR_MODE"),
        [np.zeros(128, np.float32), BYTES],
        "T.tile.select takes a bit per element: 'b' has 8 bytes for 128 elements",
    ),
    (
        lambda x, y: T.tile.select(x, y, x, x, "VSEL"),
        [ROW, BYTES],
        "there is no select mode 'VSEL': it is VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE or "
        "VSEL_TENSOR_TENSOR_MODE",
    ),
    (
        lambda x: T.tile.cast(x, x, "CAST"),
        [ROW],
        "there is no cast mode 'CAST': it is CAST_NONE, RINT, FLOOR, CEIL, ROUND, TRUNC or ODD",
    ),
    (
        lambda x: T.tile.cast(x, x, "CAST_ODD"),
        [ROW],
        "T.tile.cast has CAST_ODD from float32 to float16, not from float32 to float32",
    ),
    (
        lambda x: T.tile.sort(x, x, 8),
        [ROW],
        "T.tile.sort is not supported yet; call Sort32 and MrgSort in an Ascend C function of your "
        "own by T.call_extern (docs/ascend-primitives.md)",
    ),
    (
        lambda x: T.tile.gather(x, x, x, 0),
        [ROW],
        "T.tile.gather is not supported yet; a T.Parallel loop over elements, "
        "dst[i] = src[index[i]], does the same",
    ),
    (
        lambda x: T.tile.gather_mask(x, x, "P0101"),
        [ROW],
        "T.tile.gather_mask is not supported yet; call GatherMask in an Ascend C function of your "
        "own by T.call_extern (docs/ascend-primitives.md)",
    ),
    (
        lambda x: T.copy_pa(x, x, x),
        [ROW],
        "T.copy_pa is not supported yet; copy page by page: `for i in T.serial(pages): "
        "T.copy(cache[table[i], 0, 0], tile[i * rows : (i + 1) * rows, :])`",
    ),
    (
        lambda x: T.tile.gemm_v0_mx(x, x, x),
        [ROW],
        "T.tile.gemm_v0_mx is not supported yet; this chip's cube unit knows no scales: multiply "
        "an operand by its scales in a T.Parallel loop, into a tile of float16 or bfloat16, and "
        "call T.gemm_v0",
    ),
    (
        lambda x: T.mma_mx(x, x, x),
        [ROW],
        "T.mma_mx is not supported yet; this chip's cube unit knows no scales: multiply an operand "
        "by its scales in a T.Parallel loop, into a tile of float16 or bfloat16, and call T.mma",
    ),
    (
        lambda x: T.copy(x, x, tmp=32),
        [ROW],
        "tmp of T.copy is a tile of scratch memory, not 32 of type int",
    ),
    (
        lambda x: T.tile.im2col(x, x, (2, 2), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), 0, 0, 4, 9),
        [ROW],
        "T.tile.im2col is not supported yet; copy the rows of each filter element by T.copy, in a "
        "loop over these elements",
    ),
    (
        lambda x: T.copy_cv_experiment(x, x),
        [ROW],
        "T.copy_cv_experiment is not supported yet; T.copy between L0C, UB and L1 does the same "
        "through global memory",
    ),
    (
        lambda x: T.tile.copy_vc_experiment(x, x),
        [ROW],
        "T.tile.copy_vc_experiment is not supported yet; T.copy between L0C, UB and L1 does the "
        "same through global memory",
    ),
    (
        lambda x: T.tile.gemm_mx(x, x, x),
        [ROW],
        "T.tile.gemm_mx is not supported yet; this chip's cube unit knows no scales: multiply an "
        "operand by its scales in a T.Parallel loop, into a tile of float16 or bfloat16, and call "
        "T.gemm_v0",
    ),
    (
        lambda x: T.gemm_mx(x, x, x),
        [ROW],
        "T.gemm_mx is not supported yet; this chip's cube unit knows no scales: multiply an "
        "operand by its scales in a T.Parallel loop, into a tile of float16 or bfloat16, and call "
        "T.gemm_v0",
    ),
    (
        lambda x: T.reduce_sum(x, x, 0, 1.5),
        [ROW],
        "T.reduce_sum takes clear (a bool) and real_shape (a list) after dim, not float",
    ),
    (
        lambda x: T.reduce_sum(x, x, klear=True),
        [ROW],
        "T.reduce_sum has no argument 'klear'; did you mean 'clear'? "
        "(it has: dim, clear, real_shape, batch, nan_propagate, tmp)",
    ),
    (
        lambda x: T.reduce_max(x, x, axis=1),
        [ROW],
        "T.reduce_max has no argument 'axis'; did you mean 'dim'? "
        "(it has: dim, clear, real_shape, batch, nan_propagate, tmp)",
    ),
    (
        lambda x: T.reduce_sum(x, x, keepdims=True),
        [ROW],
        "T.reduce_sum has no argument 'keepdims'; "
        "it has: dim, clear, real_shape, batch, nan_propagate, tmp",
    ),
    (
        lambda x, y: T.reduce_sum(x, y, -1, [4, 9]),
        [TILE, ROW[:4]],
        "real_shape is 9 in dim 1, but 'a' has 8 elements there",
    ),
    (
        lambda x, y: T.reduce_sum(x, y, -1, [1, 4, 8]),
        [TILE, ROW[:4]],
        "real_shape has 3 dims, but 'a' has 2",
    ),
]


@pytest.mark.parametrize(("function", "arrays", "message"), REFUSED)
def test_refused(function: Callable[..., None], arrays: list[Array], message: str) -> None:
    assert refusal(function, *arrays) == message


def test_tiles_are_on_the_chip() -> None:
    @T.prim_func
    def main(A: T.Tensor((16,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, __):
            T.tile.exp(A, A)

    with pytest.raises(tilewright.CompileError) as caught:
        interpret(main, floats(16))
    assert caught.value.errors[0].message == (
        "T.tile.exp works on tiles, but 'A' is in global memory; copy it to the chip first"
    )

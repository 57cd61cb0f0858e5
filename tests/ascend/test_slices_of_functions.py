# SPDX-License-Identifier: Apache-2.0
"""Each function of T.tile on slices of its buffers, in every mode, on the host and the interpreter.

The coverage table takes from here which functions work on slices, and in which modes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

Array = np.ndarray[Any, Any]
random = np.random.default_rng(53)
GROUP = KernelGroup()

#: By form: the buffer's shape, how a kernel writes the slice and what NumPy calls it.
FORMS: dict[str, tuple[tuple[int, ...], Any, Any]] = {
    "plane": ((2, 4, 16), lambda x, k: x[k, :, :], np.s_[1]),
    "rows": ((8, 32), lambda x, k: x[k : k + 3, :], np.s_[1:4]),
    "row": ((8, 32), lambda x, k: x[k, :], np.s_[1]),
    "columns": ((4, 64), lambda x, k: x[:, 32 * k : 32 * k + 32], np.s_[:, 32:]),
    "narrow": ((4, 64), lambda x, k: x[0:3, 0:13], np.s_[0:3, 0:13]),
    "padded": ((6, 13), lambda x, k: x[k : k + 4, :], np.s_[1:5]),
    "flat": ((256,), lambda x, k: x[64 * k : 64 * k + 128], np.s_[64:192]),
    "deep": ((3, 8, 16), lambda x, k: x[:, 0:5, :], np.s_[:, 0:5]),
}


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def flat(x: Array) -> Array:
    return np.arange(x.size).reshape(x.shape)


#: What a kernel calls on slices c, a, b of n elements, and what NumPy makes of them; c holds ones.
FLOATS: dict[str, tuple[Any, Any]] = {
    "add": (lambda f, c, a, b, n: f(c, a, b), lambda a, b: a + b),
    "sub": (lambda f, c, a, b, n: f(c, a, 1.5), lambda a, b: a - 1.5),
    "mul": (lambda f, c, a, b, n: f(c, a, b), lambda a, b: a * b),
    "div": (lambda f, c, a, b, n: f(c, a, b), lambda a, b: a / b),
    "max": (lambda f, c, a, b, n: f(c, a, b), np.maximum),
    "min": (lambda f, c, a, b, n: f(c, a, 1.25), lambda a, b: np.minimum(a, 1.25)),
    "pow": (lambda f, c, a, b, n: f(c, a, b), np.power),
    "exp": (lambda f, c, a, b, n: f(c, a), lambda a, b: np.exp(a)),
    "ln": (lambda f, c, a, b, n: f(c, a), lambda a, b: np.log(a)),
    "abs": (lambda f, c, a, b, n: f(c, a), lambda a, b: np.abs(a)),
    "reciprocal": (lambda f, c, a, b, n: f(c, a), lambda a, b: 1 / a),
    "sqrt": (lambda f, c, a, b, n: f(c, a), lambda a, b: np.sqrt(a)),
    "rsqrt": (lambda f, c, a, b, n: f(c, a), lambda a, b: 1 / np.sqrt(a)),
    "relu": (lambda f, c, a, b, n: f(c, a), lambda a, b: np.maximum(a, 0)),
    "sigmoid": (lambda f, c, a, b, n: f(c, a), lambda a, b: sigmoid(a)),
    "silu": (lambda f, c, a, b, n: f(c, a), lambda a, b: a * sigmoid(a)),
    "sin": (lambda f, c, a, b, n: f(c, a), lambda a, b: np.sin(a)),
    "cos": (lambda f, c, a, b, n: f(c, a), lambda a, b: np.cos(a)),
    "leaky_relu": (lambda f, c, a, b, n: f(c, a, 0.5), lambda a, b: np.where(a > 0, a, a / 2)),
    "axpy": (lambda f, c, a, b, n: f(c, a, 2.0), lambda a, b: 1 + 2 * a),
    "mul_add_dst": (lambda f, c, a, b, n: f(c, a, b), lambda a, b: 1 + a * b),
    "clamp_max": (lambda f, c, a, b, n: f(c, a, 1.0, n), lambda a, b: np.minimum(a, 1)),
    "clamp_min": (lambda f, c, a, b, n: f(c, a, 1.0, n), lambda a, b: np.maximum(a, 1)),
    "clamp": (lambda f, c, a, b, n: f(c, a, 0.7, 1.2, n), lambda a, b: np.clip(a, 0.7, 1.2)),
    "round": (lambda f, c, a, b, n: f(c, a, n), lambda a, b: np.rint(a)),
    "fill": (lambda f, c, a, b, n: f(c, 3.0), lambda a, b: 0 * a + 3),
    "clear": (lambda f, c, a, b, n: f(c), lambda a, b: 0 * a),
    "createvecindex": (lambda f, c, a, b, n: f(c, 3.0), lambda a, b: flat(a) + 3),
    "arith_progression": (
        lambda f, c, a, b, n: f(c, 1.0, 0.5, n),
        lambda a, b: 1 + 0.5 * flat(a),
    ),
}
NUMBERS: dict[str, tuple[Any, Any]] = {
    "bitwise_and": (lambda f, c, a, b, n: f(c, a, b), np.bitwise_and),
    "bitwise_or": (lambda f, c, a, b, n: f(c, a, b), np.bitwise_or),
    "bitwise_xor": (lambda f, c, a, b, n: f(c, a, b), np.bitwise_xor),
    "bitwise_not": (lambda f, c, a, b, n: f(c, a), lambda a, b: ~a),
    "bitwise_lshift": (lambda f, c, a, b, n: f(c, a, 3), lambda a, b: a << 3),
    "bitwise_rshift": (lambda f, c, a, b, n: f(c, a, 2), lambda a, b: a >> 2),
}


def part_of(form: str) -> tuple[int, ...]:
    shape, _, place = FORMS[form]
    return tuple(np.zeros(shape)[place].shape)


def add_functions(form: str, dtype: str, functions: dict[str, tuple[Any, Any]]) -> None:
    """All into one kernel, each into a tensor of its own."""
    shape, slice_of, place = FORMS[form]
    size = int(np.prod(part_of(form)))

    def apply_all(a: Any, b: Any, c: Any, k: Any, C: Any) -> None:
        for number, (name, (call, _)) in enumerate(functions.items()):
            T.tile.fill(c, 1)
            x, y, z = (slice_of(tile, k) for tile in (a, b, c))
            call(getattr(T.tile, name), z, x, y, size)
            T.copy(c, C[(number, *[0] * len(shape))])

    @T.prim_func
    def main(
        A: T.Tensor(shape, dtype),
        B: T.Tensor(shape, dtype),
        C: T.Tensor((len(functions), *shape), dtype),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, dtype)
            b = T.alloc_ub(shape, dtype)
            c = T.alloc_ub(shape, dtype)
            T.copy(A, a)
            T.copy(B, b)
            for k in T.serial(1, 2):
                apply_all(a, b, c, k, C)

    if dtype.startswith("int"):
        a, b = (random.integers(-99, 99, shape).astype(dtype) for _ in range(2))
        wide = np.int64
    else:
        a, b = (random.uniform(0.5, 2, shape).astype(dtype) for _ in range(2))
        wide = np.float64
    expected = np.ones((len(functions), *shape))
    for result, (_, function) in zip(expected, functions.values(), strict=True):
        result[place] = function(a[place].astype(wide), b[place].astype(wide))
    rtol = 2e-3 if dtype == "float16" else 1e-4
    made = np.zeros(expected.shape, dtype)
    GROUP.add(f"{form} {dtype}", main, [a, b, made], expected, rtol=rtol, atol=rtol)


ROUNDINGS: dict[str, Any] = {
    "CAST_NONE": np.rint,
    "CAST_RINT": np.rint,
    "CAST_FLOOR": np.floor,
    "CAST_CEIL": np.ceil,
    "CAST_ROUND": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5),
    "CAST_TRUNC": np.trunc,
    "CAST_ODD": lambda x: np.where(x == np.rint(x), x, 2 * np.floor(x / 2) + 1),
}


def add_casts(form: str) -> None:
    """To a slice of the same form; to a whole tile of another shape; of half of the elements."""
    shape, slice_of, place = FORMS[form]
    part = part_of(form)
    size = int(np.prod(part))
    half = size // 2

    @T.prim_func
    def main(
        A: T.Tensor(shape, "float32"),
        S: T.Tensor((len(ROUNDINGS), *shape), "float16"),
        W: T.Tensor((len(ROUNDINGS), size), "float16"),
        H: T.Tensor((len(ROUNDINGS), *shape), "float16"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, "float32")
            s = T.alloc_ub(shape, "float16")
            w = T.alloc_ub((size,), "float16")
            T.copy(A, a)
            for k in T.serial(1, 2):
                cast_all(a, s, w, k, S, W, H)

    def cast_all(a: Any, s: Any, w: Any, k: Any, S: Any, W: Any, H: Any) -> None:
        zeros = [0] * len(shape)
        for number, mode in enumerate(ROUNDINGS):
            T.tile.fill(s, 1.0)
            T.tile.cast(slice_of(s, k), slice_of(a, k), mode, size)
            T.copy(s, S[(number, *zeros)])
            T.tile.cast(w, slice_of(a, k), mode, size)
            T.copy(w, W[number, 0])
            T.tile.fill(s, 1.0)
            T.tile.cast(slice_of(s, k), slice_of(a, k), mode, half)
            T.copy(s, H[(number, *zeros)])

    # The unit in the last place of float16 is 1 there.
    a = (random.choice([-1, 1], shape) * random.integers(4096, 8191, shape) / 4).astype(np.float32)
    a[np.abs(a) < 1024] += 0.25
    results = [np.ones((len(ROUNDINGS), *shape)), np.ones((len(ROUNDINGS), size))]
    results.append(results[0].copy())
    for number, rounding in enumerate(ROUNDINGS.values()):
        rounded = rounding(a[place].astype(np.float64))
        results[0][number][place] = rounded
        results[1][number] = rounded.reshape(-1)
        first = np.ones(size)
        first[:half] = rounded.reshape(-1)[:half]
        results[2][number][place] = first.reshape(part)
    made = [np.zeros(result.shape, np.float16) for result in results]
    expected = dict(enumerate(results, 1))
    GROUP.add(f"cast {form}", main, [a, *made], expected, rtol=0, atol=0)


COMPARISONS: dict[str, Any] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "LT": np.less,
    "LE": np.less_equal,
}
#: By form: the shapes of tiles and masks, and how a kernel and NumPy write slices of both.
MASKS: dict[str, Any] = {
    "mask plane": ((2, 8, 64), (2, 64), lambda x, m, k: (x[k, :, :], m[k, :]), np.s_[1]),
    "mask row": ((4, 64), (4, 8), lambda x, m, k: (x[k, :], m[k, :]), np.s_[1]),
    "mask rows": ((4, 64), (4, 8), lambda x, m, k: (x[1:3, :], m[1:3, :]), np.s_[1:3]),
    "mask columns": (
        (4, 128),
        (64,),
        lambda x, m, k: (x[:, 64:128], m[32 * k : 32 * k + 32]),
        np.s_[:, 64:],
    ),
}
SELECTIONS = ("VSEL_CMPMASK_SPR", "VSEL_TENSOR_SCALAR_MODE", "VSEL_TENSOR_TENSOR_MODE")


def add_masks(form: str) -> None:
    """A comparison and a selection by its mask, each in all of its modes."""
    shape, bits, slices, place = MASKS[form]
    count = len(COMPARISONS) + len(SELECTIONS)

    def select_all(x: Any, y: Any, z: Any, m: Any, k: Any, C: Any) -> None:
        zeros = [0] * len(shape)
        a, mask = slices(x, m, k)
        b, c = slices(y, m, k)[0], slices(z, m, k)[0]
        for number, mode in enumerate(COMPARISONS):
            T.tile.fill(z, 1.0)
            T.tile.compare(mask, a, b, mode)
            T.tile.select(c, mask, a, b, "VSEL_TENSOR_TENSOR_MODE")
            T.copy(z, C[(number, *zeros)])
        T.tile.compare(mask, a, 0.0, "GT")
        for number, mode in enumerate(SELECTIONS):
            T.tile.fill(z, 1.0)
            other = -7.0 if mode == "VSEL_TENSOR_SCALAR_MODE" else b
            T.tile.select(c, mask, a, other, mode)
            T.copy(z, C[(len(COMPARISONS) + number, *zeros)])

    @T.prim_func
    def main(
        A: T.Tensor(shape, "float32"),
        B: T.Tensor(shape, "float32"),
        C: T.Tensor((count, *shape), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, "float32")
            b = T.alloc_ub(shape, "float32")
            c = T.alloc_ub(shape, "float32")
            m = T.alloc_ub(bits, "uint8")
            T.copy(A, a)
            T.copy(B, b)
            for k in T.serial(1, 2):
                select_all(a, b, c, m, k, C)

    a, b = (random.integers(-3, 3, shape).astype(np.float32) for _ in range(2))
    expected = np.ones((count, *shape))
    first = a[place] > 0
    size = first.size
    again = np.resize(first.reshape(-1)[: 256 * 8 // 32], size).reshape(first.shape)
    chosen = [by(a[place], b[place]) for by in COMPARISONS.values()]
    for number, mask in enumerate([*chosen, again, first, first]):
        is_scalar = number == len(COMPARISONS) + 1
        expected[number][place] = np.where(mask, a[place], -7 if is_scalar else b[place])
    GROUP.add(form, main, [a, b, np.zeros(expected.shape, np.float32)], expected)


#: With their own kernels: a comparison and a selection, a conversion; what moves elements.
WITH_MODES = ("cast", "compare", "select")
SHAPES = ("broadcast", "transpose", "atomic_add")


def add_shapes() -> None:
    """Of one plane of each tile."""

    @T.prim_func
    def main(
        A: T.Tensor((2, 16, 32), "float32"),
        S: T.Tensor((2, 16), "float32"),
        B: T.Tensor((2, 16, 32), "float32"),
        C: T.Tensor((2, 32, 16), "float32"),
        D: T.Tensor((4, 32), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((2, 16, 32), "float32")
            s = T.alloc_ub((2, 16), "float32")
            b = T.alloc_ub((2, 16, 32), "float32")
            c = T.alloc_ub((2, 32, 16), "float32")
            T.copy(A, a)
            T.copy(S, s)
            T.tile.fill(b, 1.0)
            T.tile.fill(c, 1.0)
            for k in T.serial(1, 2):
                T.tile.broadcast(b[k, :, :], s[k, :], axis=1)
                T.tile.transpose(c[k, :, :], a[k, :, :])
                T.tile.atomic_add(D[1:3, :], a[k, 2:4, :])
            T.copy(b, B)
            T.copy(c, C)

    a = random.standard_normal((2, 16, 32)).astype(np.float32)
    s = random.standard_normal((2, 16)).astype(np.float32)
    b, c, d = np.zeros_like(a), np.zeros((2, 32, 16), np.float32), np.ones((4, 32), np.float32)
    expected = {2: np.ones(b.shape), 3: np.ones(c.shape), 4: d.astype(np.float64)}
    expected[2][1] = s[1][:, None]
    expected[3][1] = a[1].T
    expected[4][1:3] += a[1, 2:4]
    GROUP.add("shapes", main, [a, s, b, c, d], expected)


add_shapes()
for form in FORMS:
    add_functions(form, "float32", FLOATS)
    add_casts(form)
for form in ("plane", "rows", "columns", "padded"):
    add_functions(form, "int16", NUMBERS)
for form in ("plane", "narrow"):
    add_functions(form, "float16", {name: FLOATS[name] for name in ("add", "axpy", "round")})
for form in MASKS:
    add_masks(form)


@pytest.mark.parametrize("name", list(GROUP.cases))
def test_slices(name: str) -> None:
    GROUP.check(name)


ODD = (random.integers(4096, 8191, (3, 64)) / 4).astype(np.float32)


@T.prim_func
def odd_columns(A: T.Tensor((3, 64), "float32"), C: T.Tensor((3, 64), "float16")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((3, 64), "float32")
        c = T.alloc_ub((3, 64), "float16")
        T.copy(A, a)
        T.tile.fill(c, 0.0)
        T.tile.cast(c[:, 0:48], a[:, 0:48], "CAST_ODD", 144)
        T.copy(c, C)


ODD_MADE = np.where(np.arange(64) < 48, ROUNDINGS["CAST_ODD"](ODD), 0)
GROUP.add("odd columns", odd_columns, [ODD, np.zeros((3, 64), np.float16)], ODD_MADE, atol=0)


def test_odd_columns() -> None:
    """Row by row, each an instruction."""
    text = GROUP.check("odd columns").ascendc
    assert "RoundMode::CAST_ODD" in text
    assert "SetValue(" not in text

# SPDX-License-Identifier: Apache-2.0
"""Scalar functions by name: each on the CPU and the interpreter, against NumPy in float64."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

import tilewright
import tilewright.language as T

N = 64


def unary(function, dtype="float32", out=None):
    """A kernel that applies a function of the language to each element."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype), B: T.Tensor((N,), out or dtype)):
        with T.Kernel(1, threads=N):
            for i in T.Parallel(N):
                B[i] = function(A[i])

    return kernel


def binary(function, dtype="float32", out=None):
    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype), C: T.Tensor((N,), out or dtype)):
        with T.Kernel(1, threads=N):
            for i in T.Parallel(N):
                C[i] = function(A[i], B[i])

    return kernel


def floats(low=-4.0, high=4.0, seed=1):
    return np.random.default_rng(seed).uniform(low, high, N).astype(np.float32)


def check_unary(agree, function, reference, a, tolerance=None):
    with np.errstate(all="ignore"):
        expected = reference(a.astype(np.float64)).astype(np.float32)
    agree(unary(function), [a, np.zeros(N, np.float32)], {1: expected}, tolerance)


def test_exponentials(agree):
    check_unary(agree, T.exp, np.exp, floats())
    check_unary(agree, T.exp2, np.exp2, floats())
    check_unary(agree, T.exp10, lambda x: 10.0**x, floats(), 1e-5)
    check_unary(agree, T.__exp, np.exp, floats())
    check_unary(agree, T.__exp10, lambda x: 10.0**x, floats(), 1e-5)
    check_unary(agree, T.sigmoid, lambda x: 1 / (1 + np.exp(-x)), floats())


@pytest.mark.parametrize(("dtype", "least"), [("float32", -104), ("float64", -746)])
def test_sigmoid_in_all_its_range(agree, dtype, least):
    """Down to the least number of the dtype, within 4 of its numbers, on both targets."""
    count = 4096

    @T.prim_func
    def kernel(A: T.Tensor((count,), dtype), B: T.Tensor((count,), dtype)):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(count):
                B[i] = T.sigmoid(A[i])

    x = np.linspace(least, -least, count - 5).astype(dtype)
    x = np.append(x, np.array([-np.inf, np.inf, np.nan, 0.0, -0.0], dtype))
    with np.errstate(all="ignore"):
        growth = np.exp(np.minimum(x.astype(np.longdouble), 0))
        below = growth / (1 + growth)
        above = 1 / (1 + np.exp(-np.maximum(x.astype(np.longdouble), 0)))
    exact = np.where(x < 0, below, above)
    for run in (agree.compiled, agree.interpreted):
        found = run(kernel, [x, np.zeros_like(x)])[1]
        assert np.isnan(found[-3]) and found[-5] == 0 and found[-4] == 1
        known = np.isfinite(x)
        distance = np.abs(found[known].astype(np.longdouble) - exact[known])
        assert (distance <= 4 * np.spacing(exact[known].astype(dtype))).all()
        assert 0 < found[16] < np.finfo(dtype).tiny


def test_logarithms(agree):
    positive = floats(0.01, 9.0)
    check_unary(agree, T.log, np.log, positive)
    check_unary(agree, T.log2, np.log2, positive)
    check_unary(agree, T.log10, np.log10, positive)
    check_unary(agree, T.log1p, np.log1p, positive)
    check_unary(agree, T.__log, np.log, positive)
    check_unary(agree, T.__log2, np.log2, positive)
    check_unary(agree, T.__log10, np.log10, positive)


def test_roots(agree):
    positive = floats(0.01, 9.0)
    check_unary(agree, T.sqrt, np.sqrt, positive)
    check_unary(agree, T.rsqrt, lambda x: 1 / np.sqrt(x), positive)
    check_unary(agree, T.fast_rcp, lambda x: 1 / x, positive)


def test_trigonometry(agree):
    check_unary(agree, T.sin, np.sin, floats())
    check_unary(agree, T.cos, np.cos, floats())
    check_unary(agree, T.tan, np.tan, floats(-1.2, 1.2))
    check_unary(agree, T.__sin, np.sin, floats())
    check_unary(agree, T.__cos, np.cos, floats())
    check_unary(agree, T.__tan, np.tan, floats(-1.2, 1.2))
    check_unary(agree, T.asin, np.arcsin, floats(-1, 1))
    check_unary(agree, T.acos, np.arccos, floats(-1, 1))
    check_unary(agree, T.atan, np.arctan, floats())


def test_hyperbolic_functions(agree):
    check_unary(agree, T.sinh, np.sinh, floats())
    check_unary(agree, T.cosh, np.cosh, floats())
    check_unary(agree, T.tanh, np.tanh, floats())
    check_unary(agree, T.asinh, np.arcsinh, floats())
    check_unary(agree, T.acosh, np.arccosh, floats(1.0, 5.0))
    check_unary(agree, T.atanh, np.arctanh, floats(-0.9, 0.9))
    check_unary(agree, T.erf, np.vectorize(math.erf), floats())


NEAR_ZERO = {
    "log1p": np.log1p, "expm1": np.expm1, "sin": np.sin, "tan": np.tan, "sinh": np.sinh,
    "tanh": np.tanh, "asin": np.arcsin, "atan": np.arctan, "asinh": np.arcsinh,
    "atanh": np.arctanh, "erf": np.vectorize(math.erf),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_that_vanish_at_0_are_right_near_it(dtype):
    """Relative to the result: log(1 + x) instead of log1p(x) is wrong in all digits at 1e-8."""
    low = -30 if dtype == "float32" else -200
    size = np.geomspace(10.0**low, 0.1, N // 2, dtype=dtype)
    a = np.concatenate([-size, size])

    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype), B: T.Tensor((len(NEAR_ZERO), N), dtype)):
        with T.Kernel(1, threads=N):
            for i in T.Parallel(N):
                for row, name in enumerate(NEAR_ZERO):
                    B[row, i] = getattr(T, name)(A[i])

    expected = np.array([function(a.astype(np.float64)) for function in NEAR_ZERO.values()])
    for target in ("cpu", "reference"):
        actual = np.zeros((len(NEAR_ZERO), N), dtype)
        tilewright.compile(kernel, target=target)(a, actual)
        error = np.abs(actual.astype(np.float64) / expected - 1).max(1)
        errors = dict(zip(NEAR_ZERO, error / np.finfo(dtype).eps, strict=True))
        assert max(errors.values()) < 2, (target, errors)
        assert errors["log1p"] < 0.8, (target, errors)  # of float32, 1e-7


def test_nextafter_of_nan(agree):
    numbers = np.array([np.nan, 1.0, np.inf, -np.inf, 0.0, -1e-45], np.float32)
    left, right = (x.ravel() for x in np.meshgrid(numbers, numbers))
    a, b = (np.resize(x, N) for x in (left, right))
    agree(binary(T.nextafter), [a, b, np.zeros(N, np.float32)], {2: np.nextafter(a, b)})


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_nextafter_of_other_dtypes(agree, numpy_dtypes, dtype):
    kind = numpy_dtypes[dtype]
    numbers = np.array([np.nan, 1.0, -2.5, np.inf, -np.inf, 0.0, -0.0, 3e-7], kind)
    left, right = (x.ravel() for x in np.meshgrid(numbers, numbers))
    a, b = (np.resize(x, N) for x in (left, right))
    agree(binary(T.nextafter, dtype), [a, b, np.zeros(N, kind)], {2: np.nextafter(a, b)}, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_exp10_over_the_whole_range(numpy_dtypes, dtype):
    """Within 3 units in the last place of the exact power; 0, infinite and NaN as in C."""
    kind = numpy_dtypes[dtype]
    top = {"float16": 4.75, "float64": 308.2}.get(dtype, 38.5)
    a = np.random.default_rng(10).uniform(-top, top, N).astype(kind)
    a[:8] = [np.nan, np.inf, -np.inf, 1000.0, -1000.0, 0.0, 1.0, -2.0]
    with localcontext() as context:
        context.prec = 40
        expected = np.array([float(Decimal(10) ** Decimal(float(x))) for x in a[6:]])
    spacing = np.spacing(expected.astype(kind)).astype(np.float64)
    for target in ("cpu", "reference"):
        actual = np.zeros(N, kind)
        tilewright.compile(unary(T.exp10, dtype), target=target)(a, actual)
        np.testing.assert_array_equal(
            actual[:6].astype(np.float64),
            np.array([np.nan, np.inf, 0, np.inf, 0, 1]).astype(kind).astype(np.float64),
        )
        units = np.abs(actual[6:].astype(np.float64) - expected) / spacing
        assert units.max() < 3, (target, units.max(), a[6:][units.argmax()])


def test_rounding_functions(agree):
    a = floats()
    a[:8] = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, -3.5]
    check_unary(agree, T.floor, np.floor, a)
    check_unary(agree, T.ceil, np.ceil, a)
    check_unary(agree, T.trunc, np.trunc, a)
    check_unary(agree, T.nearbyint, np.rint, a)
    # Halves away from zero, as C's round.
    check_unary(agree, T.round, lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), a)
    check_unary(agree, T.abs, np.abs, a)


def test_classification(agree):
    a = floats()
    a[:3] = [np.nan, np.inf, -np.inf]
    for function, reference in (
        (T.isnan, np.isnan),
        (T.isinf, np.isinf),
        (T.isfinite, np.isfinite),
    ):
        kernel = unary(function, out="bool")
        agree(kernel, [a, np.zeros(N, np.bool_)], {1: reference(a)})


def test_functions_of_two(agree):
    a, b = floats(0.1, 4.0, 1), floats(0.1, 4.0, 2)
    wide = a.astype(np.float64), b.astype(np.float64)
    for function, reference in (
        (T.pow, np.power),
        (T.fmod, np.fmod),
        (T.atan2, np.arctan2),
        (T.copysign, np.copysign),
        (T.hypot, np.hypot),
        (T.max, np.maximum),
        (T.min, np.minimum),
    ):
        expected = reference(*wide).astype(np.float32)
        agree(binary(function), [a, b, np.zeros(N, np.float32)], {2: expected})


def test_hypot_of_what_overflows_when_squared(agree):
    """As C has it: no overflow or underflow on the way, and infinite beside a NaN."""

    def kernel(dtype, n):
        @T.prim_func
        def lengths(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), C: T.Tensor((n,), dtype)):
            with T.Kernel(1, threads=n):
                for i in T.serial(n):
                    C[i] = T.hypot(A[i], B[i])

        return lengths

    inf, nan = np.inf, np.nan
    pairs = [(3e200, 4e200), (1e308, 1e308), (3e-200, 4e-200), (5e-324, 0), (1e300, 1e-300)]
    pairs += [(-3, 4), (0, 0), (inf, nan), (nan, -inf), (1, nan), (1e-160, 2.5), (1e150, 1e170)]
    for dtype, kind in (("float64", np.float64), ("float32", np.float32)):
        with np.errstate(over="ignore"):
            a, b = (np.array(part, kind) for part in zip(*pairs, strict=True))
        zeros = np.zeros(len(pairs), kind)
        tolerance = 2e-16 if dtype == "float64" else 1e-7
        agree(kernel(dtype, len(pairs)), [a, b, zeros], {2: np.hypot(a, b)}, tolerance)
        for number in np.flatnonzero(np.isfinite(a) & np.isfinite(b)):  # each by its own scale
            one = [a[number : number + 1], b[number : number + 1], zeros[:1]]
            agree(kernel(dtype, 1), one, {2: np.hypot(*one[:2])}, 1.5 * tolerance)


def test_ldexp_and_nextafter(agree):
    @T.prim_func
    def kernel(
        A: T.Tensor((N,), "float32"),
        E: T.Tensor((N,), "int32"),
        B: T.Tensor((N,), "float32"),
        C: T.Tensor((N,), "float32"),
        D: T.Tensor((N,), "float32"),
    ):
        with T.Kernel(1, threads=N):
            for i in T.serial(N):
                B[i] = T.ldexp(A[i], E[i])
                C[i] = T.nextafter(A[i], T.float32(100.0))
                D[i] = T.nextafter(A[i], T.float32(-100.0))

    a = floats()
    a[:2] = [0.0, 100.0]
    e = np.random.default_rng(3).integers(-160, 120, N).astype(np.int32)
    up = np.nextafter(a, np.float32(100))
    down = np.nextafter(a, np.float32(-100))
    zeros = np.zeros(N, np.float32)
    agree(kernel, [a, e, zeros, zeros, zeros], {2: np.ldexp(a, e), 3: up, 4: down}, 1e-7)


def test_integer_functions(agree):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((12, N), "int32")):
        with T.Kernel(1, threads=N):
            for i in T.serial(N):
                B[0, i] = T.floordiv(A[i], 7)
                B[1, i] = T.floormod(A[i], 7)
                B[2, i] = T.truncdiv(A[i], 7)
                B[3, i] = T.truncmod(A[i], 7)
                B[4, i] = T.ceildiv(A[i], 7) + T.cdiv(A[i], 7)
                B[5, i] = T.align_up(A[i], 16)
                B[6, i] = T.bitwise_and(A[i], 0x3C) + T.bitwise_or(A[i], 3)
                B[7, i] = T.bitwise_xor(A[i], 0x55) + T.bitwise_not(A[i])
                B[8, i] = T.shift_left(A[i], 3) + T.shift_right(A[i], 2)
                B[9, i] = T.popcount(A[i])
                B[10, i] = T.clz(A[i])
                B[11, i] = T.__ffs(A[i])

    a = np.random.default_rng(5).integers(-1000, 1000, N).astype(np.int32)
    a[0] = 0
    bits = a.view(np.uint32)
    trunc = np.trunc(a / 7).astype(np.int32)
    ceil = -(-a // 7)
    expected = np.stack(
        [
            a // 7,
            a % 7,
            trunc,
            a - trunc * 7,
            2 * ceil,
            -(-a // 16) * 16,
            (a & 0x3C) + (a | 3),
            (a ^ 0x55) + ~a,
            (a << 3) + (a >> 2),
            [int(b).bit_count() for b in bits],
            [32 - int(b).bit_length() for b in bits],
            [(int(b) & -int(b)).bit_length() for b in bits],
        ]
    ).astype(np.int32)
    agree(kernel, [a, np.zeros((12, N), np.int32)], {1: expected})


def find_nth_set(mask, base, offset):
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    order = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [bit for bit in order if mask >> bit & 1]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else 0xFFFFFFFF


def test_find_nth_set(agree):
    cases = [(0b10110, 0, 1), (0b10110, 0, 3), (0b10110, 2, 0), (0b10110, 3, 0), (0b10110, 4, -2),
             (0b10110, 0, 9), (0xFFFFFFFF, 31, -32), (1 << 31, 0, 1)]  # fmt: skip

    @T.prim_func
    def kernel(A: T.Tensor((8, 3), "uint32"), B: T.Tensor((8,), "uint32")):
        with T.Kernel(1, threads=8):
            for i in T.serial(8):
                B[i] = T.__fns(A[i, 0], A[i, 1], T.cast(A[i, 2], "int32"))

    a = np.array([(m, b, o & 0xFFFFFFFF) for m, b, o in cases], np.uint32)
    expected = np.array([find_nth_set(*case) for case in cases], np.uint32)
    agree(kernel, [a, np.zeros(8, np.uint32)], {1: expected})


def test_limits_and_clamp(agree):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32"), B: T.Tensor((6, N), "float32")):
        with T.Kernel(1, threads=N):
            for i in T.Parallel(N):
                B[0, i] = T.clamp(A[i], -1.0, 2.0)
                B[1, i] = T.max_value("float16")
                B[2, i] = T.min_value("int8")
                B[3, i] = T.infinity("float32")
                B[4, i] = T.Select(T.likely(A[i] > 0), 1.0, -1.0)
                B[5, i] = T.cast(T.max_value("uint16"), "float32")

    a = floats()
    rows = [np.clip(a, -1, 2), 65504, -128, np.inf, np.where(a > 0, 1, -1), 65535]
    expected = np.stack([np.broadcast_to(np.asarray(r, np.float32), (N,)) for r in rows])
    agree(kernel, [a, np.zeros((6, N), np.float32)], {1: expected})


def test_reinterpret(agree):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            T.assume(A.shape[0] == N)
            for i in T.Parallel(N):
                B[i] = T.reinterpret(T.__ldg(A[i]), "int32")

    a = floats()
    agree(kernel, [a, np.zeros(N, np.int32)], {1: a.view(np.int32)})


def test_dp4a(agree):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "int8"), B: T.Tensor((N,), "int8"), C: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=1):
            for k in T.serial(N // 4):
                T.dp4a(A[k * 4], B[k * 4], C[0])

    a, b = (np.random.default_rng(s).integers(-128, 128, N).astype(np.int8) for s in (1, 2))
    expected = np.array([a.astype(np.int32) @ b.astype(np.int32) + 5], np.int32)
    agree(kernel, [a, b, np.array([5], np.int32)], {2: expected})


def test_dp4a_of_buffers(agree):
    """Their first elements count."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), "int8"), B: T.Tensor((N,), "int8"), C: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=1):
            a = T.alloc_local((2, 4), "int8")
            b = T.alloc_local((4,), "int8")
            for k in T.serial(N // 4):
                for i in T.vectorized(4):
                    a[0, i] = A[k * 4 + i]
                    b[i] = B[k * 4 + i]
                T.dp4a(a, b, C)

    a, b = (np.random.default_rng(s).integers(-128, 128, N).astype(np.int8) for s in (1, 2))
    expected = np.array([a.astype(np.int32) @ b.astype(np.int32) + 5], np.int32)
    agree(kernel, [a, b, np.array([5], np.int32)], {2: expected})


# What is refused


def message_of(statement):
    """The messages of a kernel whose body calls `statement(A)`."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), H: T.Tensor((8,), "float16")):
        with T.Kernel(1, threads=8):
            statement(A, H)

    with pytest.raises(tilewright.CompileError) as caught:
        kernel.capture()
    return [d.message for d in caught.value.errors]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (lambda A, H: T.ieee_add(A[0], A[1], "up"),
         "T.ieee_add: there is no rounding mode 'up'; it is rn, rz, ru or rd"),
        (lambda A, H: T.ieee_mul(H[0], H[1], "rz"),
         "T.ieee_mul with mode 'rz' is supported for float32 and float64 only"),
        (lambda A, H: T.ieee_fmaf(H[0], H[1], H[2], "rz"),
         "T.ieee_fmaf with mode 'rz' is supported for float32 and float64 only"),
        (lambda A, H: T.ieee_fmaf(*[T.cast(H[0], "float8_e5m2")] * 3),
         "T.ieee_fmaf of float8_e5m2 is not supported; it is for floats of 16 bits or more"),
        (lambda A, H: T.dp4a(A[0], A[0:4], A[0]),
         "T.dp4a takes three elements, as in T.dp4a(A[0], B[0], C[0])"),
        (lambda A, H: T.rng_rand(), "T.rng_rand needs T.rng_init before it"),
        (lambda A, H: T.rng_init(1, generator="XORWOW"),
         "the generator 'XORWOW' is not supported; there are curandStatePhilox4_32_10_t, "
         "curandStateXORWOW_t, curandStateMRG32k3a_t"),
    ],
)  # fmt: skip
def test_refused(statement, message):
    assert message_of(statement) == [message]


def test_kinds_of_random_numbers():
    def floats_of(A, H):
        T.rng_init(1)
        T.rng_rand_float(16)

    assert message_of(floats_of) == [
        "T.rng_rand_float gives 32 or 64 bits, uniform or normal, not 16 bits, 'uniform'"
    ]


def test_a_kernel_may_have_the_name_of_what_it_calls():
    """Its C function must not take the place of the library's."""

    @T.prim_func
    def sinf(A: T.Tensor((100,), "float32"), B: T.Tensor((100,), "float32")):
        with T.Kernel(1, threads=1) as _:
            for i in T.serial(100):
                if A[i] > 0:
                    B[i] = T.sin(A[i])

    numbers = np.linspace(-3, 3, 100).astype(np.float32)
    sines = np.zeros(100, np.float32)
    tilewright.compile(sinf, target="cpu")(numbers, sines)
    np.testing.assert_allclose(sines, np.where(numbers > 0, np.sin(numbers), 0), rtol=1e-6)


def test_functions_of_numbers_that_are_known(agree):
    """Of two Python numbers the result is a float32."""

    @T.prim_func
    def kernel(A: T.Tensor((6,), "float32")):
        with T.Kernel(1, threads=1):
            A[0] = T.nextafter(1, 2)
            A[1] = T.ldexp(3, 2)
            A[2] = T.fast_rcp(4)
            A[3] = T.hypot(3, 4)
            A[4] = T.copysign(2, -1)
            A[5] = T.atan2(1, 1)

    known = [np.nextafter(np.float32(1), np.float32(2)), 12, 0.25, 5, -2, math.pi / 4]
    agree(kernel, [np.zeros(6, np.float32)], {0: np.array(known, np.float32)})

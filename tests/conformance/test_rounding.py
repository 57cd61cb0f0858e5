# SPDX-License-Identifier: Apache-2.0
"""Narrow floats: every format's values both ways, saturation, and the modes of T.cast."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T

#: Formats that travel as bytes: the dtype, ml_dtypes' type, and the largest finite value.
NARROW = {
    "float8_e4m3fn": (ml_dtypes.float8_e4m3fn, 448.0),
    "float8_e5m2": (ml_dtypes.float8_e5m2, 57344.0),
    "float8_e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, 240.0),
    "float8_e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, 57344.0),
    "float8_e4m3b11fnuz": (ml_dtypes.float8_e4m3b11fnuz, 30.0),
    "float8_e3m4": (ml_dtypes.float8_e3m4, 15.5),
    "float6_e2m3fn": (ml_dtypes.float6_e2m3fn, 7.5),
    "float6_e3m2fn": (ml_dtypes.float6_e3m2fn, 28.0),
}


def both_targets(kernel, arguments, output):
    """What each target writes to argument `output`."""
    found = []
    for target in ("cpu", "reference"):
        own = [a.copy() for a in arguments]
        tilewright.compile(kernel, target=target)(*own)
        found.append(own[output])
    return found


def as_bytes(dtype, array):
    """The array as a kernel takes it: NumPy has no DLPack for these types."""
    torch = pytest.importorskip("torch")
    bits = torch.from_numpy(array.view(np.uint8))
    return bits.view(getattr(torch, dtype)) if hasattr(torch, dtype) else bits


@pytest.mark.parametrize(
    "dtype",
    ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz",
     "float8_e3m4", "float6_e2m3fn", "float6_e3m2fn"],
)  # fmt: skip
def test_every_value_of_a_narrow_float(agree, dtype):
    """Up exactly, and down again to the same pattern."""
    kind, _ = NARROW[dtype]
    count = 1 << (6 if "float6" in dtype else 8)

    @T.prim_func
    def convert(
        A: T.Tensor((count,), dtype), B: T.Tensor((count,), "float32"), C: T.Tensor((count,), dtype)
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(count):
                B[i] = A[i]
                C[i] = B[i]

    a = np.arange(count, dtype=np.uint8)
    wide = a.view(kind).astype(np.float32)
    for target in ("cpu", "reference"):
        b, c = np.zeros(count, np.float32), np.zeros(count, np.uint8)
        tilewright.compile(convert, target=target)(as_bytes(dtype, a), b, as_bytes(dtype, c))
        np.testing.assert_array_equal(b, wide)
        finite = np.isfinite(wide)
        np.testing.assert_array_equal(c[finite], a[finite])
        assert np.isnan(c.view(kind)[np.isnan(wide)].astype(np.float32)).all()


@pytest.mark.parametrize("dtype", list(NARROW))
def test_narrow_floats_round_and_saturate(agree, random, dtype):
    """To nearest even, ties and subnormals included; beyond the range the largest value."""
    kind, largest = NARROW[dtype]
    patterns = np.arange(1 << (6 if "float6" in dtype else 8), dtype=np.uint8).view(kind)
    values = np.unique(patterns.astype(np.float32)[np.isfinite(patterns.astype(np.float32))])
    middles = (values[1:] + values[:-1]) / 2
    near = [np.nextafter(middles, s * np.inf).astype(np.float32) for s in (1, -1)]
    far = np.array([largest * 1.2, -largest * 1.2, 1e30, -1e30, np.inf, -np.inf], np.float32)
    x = np.concatenate([values, middles, *near, far]).astype(np.float32)
    n = len(x)

    @T.prim_func
    def convert(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), dtype), C: T.Tensor((n,), dtype)):
        with T.Kernel(1, threads=32):
            T.copy(A, B)
            for i in T.Parallel(n):
                C[i] = T.cast(A[i], dtype)

    expected = np.clip(x, -largest, largest).astype(kind).astype(np.float32)
    for target in ("cpu", "reference"):
        for_copy, for_cast = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
        kernel = tilewright.compile(convert, target=target)
        kernel(x, as_bytes(dtype, for_copy), as_bytes(dtype, for_cast))
        for made in (for_copy, for_cast):
            np.testing.assert_array_equal(made.view(kind).astype(np.float32), expected)


def test_powers_of_two(agree):
    """float8_e8m0fnu has powers of 2 only: to the nearest, and upwards from the middle on."""
    x = np.array([1, 1.25, 1.5, 1.75, 2, 3, 6, 1e-38, 2.0**-127, 3e38, 1000, np.inf], np.float32)
    x = np.append(x, np.array([-1, -1e-40, -3e38, -np.inf, np.nan], np.float32))
    n = len(x)

    @T.prim_func
    def convert(
        A: T.Tensor((n,), "float32"),
        B: T.Tensor((n,), "float8_e8m0fnu"),
        C: T.Tensor((n,), "float32"),
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                B[i] = A[i]
                C[i] = B[i]

    exponents = [0, 0, 1, 1, 1, 2, 3, -126, -127, 127, 10, 127]
    for target in ("cpu", "reference"):
        codes, back = np.zeros(n, np.uint8), np.zeros(n, np.float32)
        tilewright.compile(convert, target=target)(x, as_bytes("float8_e8m0fnu", codes), back)
        np.testing.assert_array_equal(codes[:12], np.array(exponents) + 127)
        np.testing.assert_array_equal(back[:12], np.ldexp(1.0, exponents).astype(np.float32))
        # The format has no sign: what is below 0 has no power of 2 near it, and is NaN.
        assert (codes[12:] == 255).all() and np.isnan(back[12:]).all(), target


def test_packed_floats_of_four_bits(agree):
    """Two to a byte, the first in the low half; without infinity and NaN."""
    dtype = "float4_e2m1fn"
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)

    @T.prim_func
    def convert(
        A: T.Tensor((16,), dtype), X: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32"),
        C: T.Tensor((16,), dtype),
    ):  # fmt: skip
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((16,), dtype)
            T.copy(A, tile)
            for i in T.Parallel(16):
                B[i] = tile[i]
            for i in T.serial(16):
                C[i] = X[i]

    codes = np.arange(16, dtype=np.uint8)
    packed = codes[::2] | (codes[1::2] << 4)
    x = np.array(
        [0.2, 0.25, 0.3, 0.75, 1.25, 2.5, 3.5, 5, 5.1, 100, -0.3, -7, -1.75, np.inf, -0.0, 6],
        np.float32,
    )
    expected = np.clip(x, -6, 6).astype(ml_dtypes.float4_e2m1fn).view(np.uint8) & 15
    for target in ("cpu", "reference"):
        b, c = np.zeros(16, np.float32), np.zeros(8, np.uint8)
        tilewright.compile(convert, target=target)(packed, x, b, c)
        np.testing.assert_array_equal(b, np.concatenate([values, -values]))
        np.testing.assert_array_equal(c, expected[::2] | (expected[1::2] << 4))


def test_tfloat32_is_float32(agree, random):
    """A GPU's matrix unit drops bits of it; here none are."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "tfloat32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((8,), "tfloat32")
            T.copy(A, tile)
            for i in T.Parallel(8):
                B[i] = T.cast(tile[i], "tfloat32") + 1.0

    a = random.standard_normal(8).astype(np.float32)
    agree(kernel, [a, np.zeros(8, np.float32)], {1: a + np.float32(1)}, 0)


def neighbours(x, kind):
    """The values of a format at or below and at or above each x."""
    bits = 8 * np.dtype(kind).itemsize
    codes = np.arange(1 << bits, dtype=f"uint{bits}").view(kind).astype(np.float64)
    values = np.unique(codes[np.isfinite(codes)])
    low = values[np.clip(np.searchsorted(values, x, "right") - 1, 0, None)]
    high = values[np.clip(np.searchsorted(values, x, "left"), None, len(values) - 1)]
    return low, high


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_directed_rounding(agree, random, numpy_dtypes, dtype):
    kind = numpy_dtypes[dtype]
    x = (random.standard_normal(64) * 2.0 ** random.integers(-12, 7, 64)).astype(np.float32)
    x[:6] = [0, -0.0, 1, 1.5, -1e-7, 1e-7]

    @T.prim_func
    def convert(A: T.Tensor((64,), "float32"), B: T.Tensor((4, 64), dtype)):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                B[0, i] = T.cast(A[i], dtype, round="rz")
                B[1, i] = T.cast(A[i], dtype, round="ru")
                B[2, i] = T.cast(A[i], dtype, round="rd")
                B[3, i] = T.cast(A[i], dtype, round="rn")

    low, high = neighbours(x.astype(np.float64), kind)
    rows = [np.where(x > 0, low, high), high, low, x.astype(kind).astype(np.float64)]
    agree(convert, [x, np.zeros((4, 64), kind)], {1: np.stack(rows).astype(kind)}, 0)


@pytest.mark.parametrize("dtype", ["float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"])
def test_modes_of_numbers_of_few_bits(agree, random, dtype):
    """All their patterns are numbers: beyond the largest one it is that."""
    kind = getattr(ml_dtypes, dtype)
    values = np.unique(
        np.arange(1 << (4 if "4" in dtype[:6] else 6), dtype=np.uint8).view(kind).astype(np.float32)
    )
    x = (random.standard_normal(64) * 2.0 ** random.integers(-5, 4, 64)).astype(np.float32)
    x[:8] = [0, 1, 1.5, -1e-7, 1e-7, 100, -100, np.inf]
    r = random.integers(0, 2**32, 64, dtype=np.uint32)

    @T.prim_func
    def convert(
        A: T.Tensor((64,), "float32"), R: T.Tensor((64,), "uint32"), B: T.Tensor((6, 64), "float32")
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                B[0, i] = T.cast(T.cast(A[i], dtype, round="rz"), "float32")
                B[1, i] = T.cast(T.cast(A[i], dtype, round="rp"), "float32")
                B[2, i] = T.cast(T.cast(A[i], dtype, round="rm"), "float32")
                B[3, i] = T.cast(T.cast(A[i], dtype, round="rn"), "float32")
                B[4, i] = T.cast(T.cast(A[i], dtype, round="rs", rbits=R[i]), "float32")
                B[5, i] = T.cast(T.cast(A[i], dtype, sat=False), "float32")

    low = values[np.clip(np.searchsorted(values, x, "right") - 1, 0, None)]
    high = values[np.clip(np.searchsorted(values, x, "left"), None, len(values) - 1)]
    nearest = np.clip(x, values[0], values[-1]).astype(kind).astype(np.float32)
    expected = np.stack([np.where(x > 0, low, high), high, low, nearest, nearest, nearest])
    made = agree.compiled(convert, [x, r, np.zeros_like(expected)])[2]
    rows = [0, 1, 2, 3, 5]
    np.testing.assert_array_equal(made[rows], expected[rows])
    assert ((made[4] == low) | (made[4] == high)).all()
    between = (low < x) & (x < high)
    assert 0.2 < (made[4] == high)[between].mean() < 0.8
    agree(convert, [x, r, np.zeros_like(expected)], {2: made}, 0)


def test_modes_of_lanes(agree, random):
    """A vector's lanes are rounded as a number alone is."""

    @T.prim_func
    def convert(A: T.Tensor((8, 2), "float32"), B: T.Tensor((2, 8, 2), "float16")):
        with T.Kernel(1, threads=8):
            for i in T.serial(8):
                for mode, name in enumerate(("rz", "ru")):
                    pair = T.cast(T.float32x2(A[i, 0], A[i, 1]), "float16x2", round=name)
                    B[mode, i, 0] = T.extract_lane(pair, 0)
                    B[mode, i, 1] = T.extract_lane(pair, 1)

    x = random.standard_normal((8, 2)).astype(np.float32)
    low, high = (v.reshape(8, 2) for v in neighbours(x.reshape(-1).astype(np.float64), np.float16))
    rows = np.stack([np.where(x > 0, low, high), high])
    agree(convert, [x, np.zeros((2, 8, 2), np.float16)], {1: rows.astype(np.float16)}, 0)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float16"])
def test_without_saturation(agree, numpy_dtypes, dtype):
    """Infinity, or NaN where there is none; toward zero nothing overflows but infinity."""
    kind = numpy_dtypes[dtype]
    x = np.array([1e9, -1e9, np.inf, 1, np.nan, -2, 3, 448], np.float32)

    @T.prim_func
    def convert(A: T.Tensor((8,), "float32"), B: T.Tensor((2, 8), dtype)):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                B[0, i] = T.cast(A[i], dtype, sat=False)
                B[1, i] = T.cast(A[i], dtype, "rz", False)

    with np.errstate(over="ignore"):
        nearest = x.astype(kind)
    cut = nearest.copy()
    cut[:2] = [ml_dtypes.finfo(kind).max, ml_dtypes.finfo(kind).min]
    agree(convert, [x, np.zeros((2, 8), kind)], {1: np.stack([nearest, cut])}, 0)


def test_random_rounding(agree, random):
    """Up where the random bits and the lost ones carry: on average the value itself."""

    @T.prim_func
    def convert(
        A: T.Tensor((1,), "float32"),
        R: T.Tensor((1024,), "uint32"),
        B: T.Tensor((1024,), "float16"),
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(1024):
                B[i] = T.cast(A[0], "float16", round="rs", rbits=R[i])

    step = 2.0**-10
    a = np.array([1 + 0.25 * step], np.float32)
    r = random.integers(0, 2**32, 1024, dtype=np.uint32)
    lost = int(a.view(np.uint32)[0] & 0x1FFF)
    expected = np.where(lost + (r & 0x1FFF) >= 0x2000, 1 + step, 1).astype(np.float16)
    assert 0.15 < (expected > 1).mean() < 0.35
    agree(convert, [a, r, np.zeros(1024, np.float16)], {2: expected}, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"round": "up"}, "T.cast: there is no rounding mode 'up'; it is rn, rz, ru, rd or rs"),
        ({"round": "rs"}, "T.cast: rbits go with the rounding mode 'rs', and it with them"),
        (
            {"sat": False, "dtype": "int8"},
            "round, sat and rbits of T.cast from float32 to int8 are not supported; they are for "
            "float32, float16 and bfloat16, to float16, bfloat16, float8_e5m2, float8_e4m3fn, "
            "float6_e2m3fn, float6_e3m2fn, float4_e2m1fn",
        ),
        ({"sat": 1}, "T.cast: sat must be True or False, not 1"),
    ],
)
def test_wrong_options(options, message):
    wanted = {"dtype": "float16", **options}

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            A[0] = T.cast(T.cast(A[1], **wanted), "float32")

    with pytest.raises(tilewright.CompileError) as caught:
        kernel.capture()
    assert caught.value.diagnostics[0].message == message


@pytest.mark.parametrize("by_way_of", [None, "float32"])
def test_whole_numbers_in_bfloat16(by_way_of):
    """Those of at most 8 bits are known to be exact; the next ones round to even."""
    torch = pytest.importorskip("torch")
    count = 512

    @T.prim_func
    def convert(A: T.Tensor((count,), "int32"), B: T.Tensor((3, count), "bfloat16")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(count):
                few, more = (A[i] & 511) - 256, (A[i] & 1023) - 256
                wide = T.cast(few, by_way_of) if by_way_of else few
                wider = T.cast(more, by_way_of) if by_way_of else more
                B[0, i] = T.cast(wide, "bfloat16")
                B[1, i] = T.cast(wider, "bfloat16")
                B[2, i] = T.cast(A[i] >> 1, "bfloat16")

    numbers = torch.arange(0, 2 * count, 2, dtype=torch.int32) | 1
    numbers[0] = 0
    exact = torch.stack(((numbers & 511) - 256, (numbers & 1023) - 256, numbers >> 1))
    for target in ("cpu", "reference"):
        out = torch.empty(3, count, dtype=torch.bfloat16)
        tilewright.compile(convert, target=target)(numbers, out)
        assert torch.equal(out, exact.bfloat16())


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_powers_of_two_as_truth_values(target):
    """float8_e8m0fnu has no 0: its least number, code 0, is 2 to the power of -127, and true."""

    @T.prim_func
    def convert(A: T.Tensor((256,), "float8_e8m0fnu"), B: T.Tensor((4, 256), "bool")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(256):
                B[0, i] = A[i]
            T.copy(A, B[1, :])
            for i in T.serial(256):
                B[2, i] = T.cast(A[i], "bool")
                B[3, i] = not A[i]

    made = np.zeros((4, 256), bool)
    tilewright.compile(convert, target=target)(np.arange(256, dtype=np.uint8), made)
    assert made[:3].all() and not made[3].any()


#: All formats of at most 8 bits, and what ml_dtypes calls them.
ALL_NARROW = {
    **{name: kind for name, (kind, _) in NARROW.items()},
    "float8_e4m3": ml_dtypes.float8_e4m3fn,
    "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "float4_e2m1fn": ml_dtypes.float4_e2m1fn,
    "float4_e2m1_unpacked": ml_dtypes.float4_e2m1fn,
}
FAR = [1000.0, -1000.0, 1e9, -1e9, np.inf, -np.inf, 61440.0, 449.0, 465.0, -464.0, 15.6, 7.9, 29.5]
LITERALS = [*FAR, np.nan, 1.1, -0.3, 0.0, -0.0, 1e-6, 6.9, 1.75, 2.0**-127, -2.0]


def numbers_written(dtype, literal):
    """One literal by every way, and the same number given when the kernel runs."""

    @T.prim_func
    def kernel(
        A: T.Tensor((1,), "float32"), B: T.Tensor((5,), "float32"), C: T.Tensor((2,), "float32")
    ):
        with T.Kernel(1, threads=1):
            narrow = T.alloc_shared((2,), dtype)
            B[0] = T.cast(T.cast(literal, dtype), "float32")
            B[1] = T.cast(T.cast(T.float32(literal), dtype), "float32")
            T.fill(narrow, literal)
            B[2] = narrow[1]
            narrow[0] = literal
            B[3] = narrow[0]
            B[4] = T.cast(T.cast(T.float64(literal), dtype), "float32")
            C[0] = T.cast(T.cast(A[0], dtype), "float32")
            T.fill(narrow, A[0])
            C[1] = narrow[1]

    return kernel


def whole_numbers_written(dtype, literal):
    @T.prim_func
    def kernel(
        A: T.Tensor((1,), "int32"), B: T.Tensor((5,), "float32"), C: T.Tensor((2,), "float32")
    ):
        with T.Kernel(1, threads=1):
            narrow = T.alloc_shared((2,), dtype)
            B[0] = T.cast(T.cast(literal, dtype), "float32")
            B[1] = T.cast(T.cast(T.int32(literal), dtype), "float32")
            T.fill(narrow, literal)
            B[2] = narrow[1]
            for i in T.unroll(2):
                narrow[i] = i * literal
            B[3] = narrow[1]
            B[4] = T.cast(T.cast(T.int64(literal), dtype), "float32")
            C[0] = T.cast(T.cast(A[0], dtype), "float32")
            T.fill(narrow, A[0])
            C[1] = narrow[1]

    return kernel


@pytest.mark.parametrize("dtype", list(ALL_NARROW))
def test_literals_saturate_as_other_numbers(dtype):
    """What is folded while building is what the running kernel computes, and ml_dtypes."""
    kind = ALL_NARROW[dtype]
    powers = dtype == "float8_e8m0fnu"
    largest = 2.0**127 if powers else float(ml_dtypes.finfo(kind).max)
    for literal in [*LITERALS, 1000, -1000, 3, 449, -70000, 2**30, 0]:
        is_whole = isinstance(literal, int)
        make = whole_numbers_written if is_whole else numbers_written
        given = np.array([literal], np.int32 if is_whole else np.float32)
        clipped = np.clip(given.astype(np.float32), -largest, largest)
        expected = clipped.astype(kind).astype(np.float32)
        if powers and literal <= 0:
            expected = np.full(1, 2.0**-127 if literal == 0 else np.nan, np.float32)
        elif powers and np.isfinite(literal):
            exponent = np.floor(np.log2(clipped / 1.5)) + 1  # from 1.5 on the upper one
            expected = np.ldexp(1.0, exponent.astype(int)).astype(np.float32)
        elif np.isnan(literal) and "float6" in dtype or np.isnan(literal) and "float4" in dtype:
            expected = np.full(1, largest, np.float32)
        for target in ("cpu", "reference"):
            written, run = np.zeros(5, np.float32), np.zeros(2, np.float32)
            tilewright.compile(make(dtype, literal), target=target)(given, written, run)
            made = np.concatenate([written, run])
            np.testing.assert_array_equal(made, np.repeat(expected, 7), err_msg=f"{literal!r}")
            np.testing.assert_array_equal(np.signbit(made), np.signbit(made[6]))


@pytest.mark.parametrize("dtype", list(ALL_NARROW))
def test_limits_of_narrow_floats(dtype):
    kind = ALL_NARROW[dtype]
    has_infinity = dtype in ("float8_e5m2", "float8_e3m4")

    @T.prim_func
    def kernel(B: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=1):
            narrow = T.alloc_shared((2,), dtype)
            B[0] = T.max_value(dtype)
            B[1] = T.min_value(dtype)
            if has_infinity:
                T.fill(narrow, T.infinity(dtype))
                B[2] = narrow[1]
                B[3] = T.infinity(dtype)

    info = ml_dtypes.finfo(kind)
    expected = [float(info.max), float(info.min), *[np.inf if has_infinity else 0] * 2]
    if dtype == "float8_e8m0fnu":
        expected[:2] = [2.0**127, 2.0**-127]
    for target in ("cpu", "reference"):
        made = np.zeros(4, np.float32)
        tilewright.compile(kernel, target=target)(made)
        np.testing.assert_array_equal(made, np.array(expected, np.float32), target)


def test_limits_of_lanes():
    @T.prim_func
    def kernel(B: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=1):
            B[0] = T.extract_lane(T.max_value("float16x2"), 1)
            B[1] = T.extract_lane(T.min_value("int8x4"), 3)

    made = np.zeros(2, np.float32)
    tilewright.compile(kernel)(made)
    assert made.tolist() == [65504, -128]

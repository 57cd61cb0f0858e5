# SPDX-License-Identifier: Apache-2.0
"""Rows of bfloat16, which the CPU target reads where they lie and computes with by pairs."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T

torch = pytest.importorskip("torch")

FAST = {tilewright.PassConfigKey.TL_ENABLE_FAST_MATH: True}


def patterns(rows, columns):
    """Every pattern of bfloat16, row by row."""
    bits = torch.arange(rows * columns, dtype=torch.int32).remainder(1 << 16)
    return bits.to(torch.int16).view(torch.bfloat16).view(rows, columns)


def scaled(rows, columns, factor):
    """Y = X times a number, through a fragment."""

    @T.prim_func
    def kernel(X: T.Tensor((rows, columns), "bfloat16"), Y: T.Tensor((rows, columns), "bfloat16")):
        with T.Kernel(rows, threads=32) as row:
            x = T.alloc_fragment((1, columns), "float32")
            T.copy(X[row, 0], x)
            for i, j in T.Parallel(1, columns):
                Y[row + i, j] = x[i, j] * factor

    return kernel


def same_bits(actual, expected):
    """Equal bit by bit, but for the payloads of NaN."""
    nan = torch.isnan(expected)
    assert torch.equal(torch.isnan(actual), nan)
    assert torch.equal(actual.view(torch.int16)[~nan], expected.view(torch.int16)[~nan])


@pytest.mark.parametrize("columns", [4096, 32, 48])
def test_every_pattern_rounds_to_nearest(columns):
    """Ties, subnormal numbers, infinities and NaN; where columns fill no pairs of vectors, too."""
    rows = -(-(1 << 16) // columns)
    x = patterns(rows, columns)
    y = torch.empty_like(x)
    tilewright.compile(scaled(rows, columns, 1.01171875))(x, y)
    same_bits(y, (x.float() * 1.01171875).bfloat16())


NAN_BITS = [0x7F800001, 0xFF800001, 0x7FBFFFFF, 0x7FC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFF8000]
EDGES = [0x7F7FFFFF, 0x7F7F8000, 0x7F7F7FFF, 0x7F800000, 0xFF800000, 0x80000000, 0x00007FFF]


@pytest.mark.parametrize("factor", ["a number of the row", "1.0", "none"])
@pytest.mark.parametrize("columns", [4096, 48])
def test_every_float_that_is_not_a_number_stays_so(cpus, factor, columns):
    """Signalling NaNs, and those that rounding would carry beyond, from float32; beside ties."""
    rows = 4
    dice = np.random.default_rng(7)
    bits = dice.integers(0, 1 << 32, (rows, columns), dtype=np.uint32)
    bits[:, : len(NAN_BITS)] = NAN_BITS
    bits[:, 16 : 16 + len(EDGES)] = EDGES
    bits[:, 24:48:2] = bits[:, 24:48:2] & 0xFFFF0000 | 0x8000
    x = torch.from_numpy(bits.view(np.float32))

    @T.prim_func
    def kernel(
        X: T.Tensor((rows, columns), "float32"),
        F: T.Tensor((rows,), "float32"),
        Y: T.Tensor((rows, columns), "bfloat16"),
    ):
        with T.Kernel(rows, threads=32) as row:
            x = T.alloc_fragment((1, columns), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(1, columns):
                if factor == "none":
                    Y[row + i, j] = x[i, j]
                elif factor == "1.0":
                    Y[row + i, j] = x[i, j] * 1.0
                else:
                    Y[row + i, j] = x[i, j] * F[row]

    for cpu in cpus:
        y = torch.zeros(rows, columns, dtype=torch.bfloat16)
        tilewright.compile(kernel, cpu=cpu)(x, torch.ones(rows), y)
        same_bits(y, x.bfloat16())


def test_fast_math_takes_subnormal_numbers_for_zero_at_most():
    """Fast math may flush what is below 2^-126, as on GPUs; all else rounds as ever."""
    x = patterns(16, 4096)
    y = torch.empty_like(x)
    tilewright.compile(scaled(16, 4096, 1.01171875), pass_configs=FAST)(x, y)
    exact = (x.float() * 1.01171875).bfloat16()
    tiny = (x.float() * 1.01171875).abs() < 2.0**-126
    same_bits(y[~tiny], exact[~tiny])
    assert bool(((y[tiny] == 0) | (y[tiny] == exact[tiny])).all())


@pytest.mark.parametrize("offset", [1, 7])
def test_rows_may_begin_anywhere(offset):
    """Rows whose words are not where words begin."""
    x = torch.zeros(16 * 4096 + offset, dtype=torch.bfloat16)
    x[offset:] = patterns(16, 4096).view(-1)
    y = torch.empty_like(x)
    kernel = tilewright.compile(scaled(16, 4096, 0.5))
    kernel(x[offset:].view(16, 4096), y[offset:].view(16, 4096))
    same_bits(y[offset:], (x[offset:].float() * 0.5).bfloat16())


def test_the_input_may_be_the_output():
    """What was copied on chip before is what all later nests see."""

    @T.prim_func
    def kernel(X: T.Tensor((8, 2048), "bfloat16"), Y: T.Tensor((8, 2048), "bfloat16")):
        with T.Kernel(8, threads=32) as row:
            x = T.alloc_fragment((1, 2048), "float32")
            largest = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            for i, j in T.Parallel(1, 2048):
                Y[row + i, j] = x[i, j] * 4.0
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(1, 2048):
                Y[row + i, 2047 - j] = x[i, j] - largest[i]

    x = torch.randn(8, 2048).bfloat16()
    wide = x.float()
    expected = (wide - wide.amax(1, keepdim=True)).flip(1).bfloat16()
    tilewright.compile(kernel)(x, x)
    same_bits(x, expected)


def whole_numbers(dtype):
    """Rows whose sums and products are exact, and the same as float32."""
    x = torch.randint(-50, 51, (4, 4096), generator=torch.Generator().manual_seed(0))
    return x.to(getattr(torch, dtype)), x.float()


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_a_view_shows_the_copy(dtype):
    """The copy stays where another name of the fragment reads it."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 4096), dtype), Y: T.Tensor((4, 4096), "float32")):
        with T.Kernel(4, threads=32) as row:
            x = T.alloc_fragment((1, 4096), "float32")
            largest = T.alloc_fragment((1,), "float32")
            flat = T.reshape(x, (4096,))
            T.clear(x)
            T.copy(X[row, 0], x)
            T.reduce_max(x, largest, dim=1)
            for j in T.Parallel(4096):
                Y[row, j] = flat[j] - largest[0]

    x, wide = whole_numbers(dtype)
    y = torch.zeros(4, 4096)
    tilewright.compile(kernel)(x, y)
    assert torch.equal(y, wide - wide.amax(1, keepdim=True))


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_a_nest_may_write_the_row_before_it_reads_it_again(dtype):
    """Two results of one nest, the first of which is the input itself."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 4096), dtype), Z: T.Tensor((4, 4096), "float32")):
        with T.Kernel(4, threads=32) as row:
            x = T.alloc_fragment((1, 4096), "float32")
            largest = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(1, 4096):
                X[row, j] = x[i, j] * 2.0
                Z[row, j] = x[i, j] + largest[i]

    x, wide = whole_numbers(dtype)
    z = torch.zeros(4, 4096)
    tilewright.compile(kernel)(x, z)
    assert torch.equal(z, wide + wide.amax(1, keepdim=True))
    assert torch.equal(x.float(), wide * 2)


@pytest.mark.parametrize("columns", [32, 512, 4096])
def test_softmax_of_extremes(columns):
    """With fast math: infinities, large gaps and NaN, in a row each."""

    @T.prim_func
    def kernel(X: T.Tensor((6, columns), "bfloat16"), Y: T.Tensor((6, columns), "bfloat16")):
        with T.Kernel(6, threads=32) as row:
            x = T.alloc_fragment((1, columns), "float32")
            largest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(1, columns):
                x[i, j] = T.exp(x[i, j] - largest[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(1, columns):
                Y[row + i, j] = x[i, j] / total[i]

    x = torch.randn(6, columns).bfloat16()
    x[1, 3] = -torch.inf
    x[2] = -3e38
    x[2, 5] = 3e38
    x[3] *= 50
    x[4] = 1.0
    y = torch.empty_like(x)
    tilewright.compile(kernel, pass_configs=FAST)(x, y)
    expected = torch.softmax(x.double(), 1)
    assert float((y.double() - expected).abs().max()) <= 4e-3
    assert float(y[1, 3]) == 0
    assert float(y[2, 5]) == 1


def test_a_chain_with_float32_between():
    """Inputs of both widths: in order where float32 is more, by pairs where bfloat16 is."""

    @T.prim_func
    def kernel(
        A: T.Tensor((4096,), "bfloat16"),
        B: T.Tensor((4096,), "bfloat16"),
        C: T.Tensor((4096,), "float32"),
        Y: T.Tensor((4096,), "bfloat16"),
        Z: T.Tensor((4096,), "float32"),
    ):
        with T.Kernel(4, threads=32) as block:
            for i in T.Parallel(1024):
                k = block * 1024 + i
                Z[k] = T.cast(A[k], "float32") * T.cast(B[k], "float32") + 1.0
            for i in T.Parallel(1024):
                k = block * 1024 + i
                Y[k] = T.cast(B[k], "float32") * C[k] - T.cast(A[k], "float32")

    a, b = torch.randn(2, 4096).bfloat16()
    c, y, z = torch.randn(4096), torch.empty(4096, dtype=torch.bfloat16), torch.empty(4096)
    tilewright.compile(kernel)(a, b, c, y, z)
    assert torch.equal(z, a.float() * b.float() + 1.0)
    same_bits(y, (b.float() * c - a.float()).bfloat16())


def test_sums_agree_with_numpy():
    """A sum and a maximum that passes over NaN, of pairs in several accumulators."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 4096), "bfloat16"), Y: T.Tensor((2, 4), "float32")):
        with T.Kernel(4, threads=32) as row:
            x = T.alloc_fragment((1, 4096), "float32")
            total = T.alloc_fragment((1,), "float32")
            largest = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            T.reduce_sum(x, total, dim=1)
            T.reduce_max(x, largest, dim=1)
            Y[0, row] = total[0]
            Y[1, row] = largest[0]

    x = torch.randn(4, 4096).bfloat16()
    x[2, 100] = torch.nan
    y = torch.empty(2, 4)
    tilewright.compile(kernel)(x, y)
    wide = x.double().numpy()
    np.testing.assert_allclose(y[0].numpy(), wide.sum(1), rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(y[1].numpy(), np.fmax.reduce(wide, axis=1))


def test_fast_exponentials_of_whole_vectors():
    """As exact as ex2.approx.f32, where a sum takes them from registers; 0 if subnormal."""

    @T.prim_func
    def kernel(
        X: T.Tensor((16, 4096), "float32"),
        Y: T.Tensor((16, 4096), "float32"),
        S: T.Tensor((16,), "float32"),
    ):
        with T.Kernel(16, threads=32) as row:
            x = T.alloc_fragment((1, 4096), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            for i, j in T.Parallel(1, 4096):
                x[i, j] = T.exp2(x[i, j])
            T.reduce_sum(x, total, dim=1)
            T.copy(x, Y[row, 0])
            S[row] = total[0]

    x = torch.linspace(-160, 127.99, 16 * 4096).view(16, 4096)
    x[0, :5] = torch.tensor([-torch.inf, torch.inf, torch.nan, 128.5, -1e-10])
    y, s = torch.empty_like(x), torch.empty(16)
    tilewright.compile(kernel, pass_configs=FAST)(x, y, s)
    exact = torch.exp2(x.double())
    assert y[0, :4].tolist()[:2] == [0.0, float("inf")]
    assert bool(torch.isnan(y[0, 2]))
    assert y[0, 3].item() == float("inf")
    error = (y.double() - exact).abs()[1:]
    assert bool((error <= torch.clamp(exact[1:] * 2.0**-22, min=2.0**-125)).all())
    assert abs(y[0, 4].item() - 1.0) <= 2.0**-22


#: What a chain's second nest makes of the first one's x, and w; both results are reduced next.
PRODUCTS = {
    "product": lambda x, w: x * w,
    "only x": lambda x, w: x + x,
}


@pytest.mark.parametrize("columns", [32, 48, 64, 128])
@pytest.mark.parametrize("dims", [(1, 0), (0, 1), (1, 1), (0, 0)])
@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("has_third", [False, True])
def test_reductions_between_two_nests(agree, random, cpus, columns, dims, product, has_third):
    """Of rows and of columns, in any order; a third nest may read what the first has made."""
    rows, make = 12, PRODUCTS[product]
    first, second = ((rows, columns)[1 - dim] for dim in dims)

    @T.prim_func
    def kernel(
        X: T.Tensor((rows, columns), "bfloat16"),
        W: T.Tensor((rows, columns), "bfloat16"),
        S: T.Tensor((first,), "float32"),
        C: T.Tensor((second,), "float32"),
        Z: T.Tensor((rows, columns), "bfloat16"),
    ):
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((rows, columns), "float32")
            y = T.alloc_fragment((rows, columns), "float32")
            s = T.alloc_fragment((first,), "float32")
            c = T.alloc_fragment((second,), "float32")
            for i, j in T.Parallel(rows, columns):
                x[i, j] = X[i, j] * 2.0
            T.reduce_sum(x, s, dim=dims[0])
            for i, j in T.Parallel(rows, columns):
                y[i, j] = make(x[i, j], T.cast(W[i, j], "float32"))
            T.reduce_sum(y, c, dim=dims[1])
            if has_third:
                for i, j in T.Parallel(rows, columns):
                    Z[i, j] = x[i, j] + 1.0
            T.copy(s, S)
            T.copy(c, C)

    def whole(*shape):
        return random.integers(-4, 5, shape).astype(ml_dtypes.bfloat16)

    a, b = whole(rows, columns), whole(rows, columns)
    x = 2 * a.astype(np.float32)
    y = make(x, b.astype(np.float32))
    z = np.zeros((rows, columns), ml_dtypes.bfloat16)
    expected = (x + 1).astype(z.dtype) if has_third else z
    results = [np.zeros(n, np.float32) for n in (first, second)]
    sums = {2: x.sum(dims[0]), 3: y.sum(dims[1])}
    agree(kernel, [a, b, *results, z], {**sums, 4: expected}, tolerance=0, cpus=cpus)


def test_choices_among_numbers_as_they_lie(agree, random, cpus):
    """Without instructions for bfloat16 a choice of a choice moves bits, and calls nothing."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 33), "bfloat16"),
        B: T.Tensor((8, 5, 4), "bfloat16"),
        C: T.Tensor((64, 33), "bfloat16"),
    ):
        with T.Kernel(1, threads=32):
            t = T.alloc_shared((8, 5, 4), "bfloat16")
            T.copy(B, t)
            for i, j in T.Parallel(64, 33):
                C[i, j] = (
                    T.if_then_else(
                        t[3, j // 7, i // 16] > T.cast(0, "bfloat16"),
                        t[2, 4, 0] * A[i, j],
                        T.Select(i < 15, t[i // 8, 4, 1], t[2, i // 13, j // 9]),
                    )
                    - A[i, j]
                )

    a, b = (random.integers(-4, 5, s).astype(ml_dtypes.bfloat16) for s in ((64, 33), (8, 5, 4)))
    i, j = np.indices((64, 33))
    wide, t = a.astype(np.float32), b.astype(np.float32)
    chosen = np.where(i < 15, t[i // 8, 4, 1], t[2, i // 13, j // 9])
    expected = np.where(t[3, j // 7, i // 16] > 0, t[2, 4, 0] * wide, chosen) - wide
    agree(kernel, [a, b, np.zeros_like(a)], {2: expected.astype(a.dtype)}, tolerance=0, cpus=cpus)

# SPDX-License-Identifier: Apache-2.0
"""Random numbers: the sequences of cuRAND's generators, and what is made of their bits."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T


def philox(counter, key):
    """Random123's philox4x32-10, in Python's integers."""
    for _ in range(10):
        first, second = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [
            (second >> 32) ^ counter[1] ^ key[0],
            second & 0xFFFFFFFF,
            (first >> 32) ^ counter[3] ^ key[1],
            first & 0xFFFFFFFF,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def test_philox_reference():
    """Random123's published vectors: the oracle itself is right."""
    assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = 0xFFFFFFFF
    assert philox([ones] * 4, [ones] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def stream(seed, sequence, offset, count):
    words = []
    for block in range(offset // 4, (offset + count) // 4 + 1):
        key = [seed & 0xFFFFFFFF, seed >> 32]
        words += philox([block, 0, sequence, 0], key)
    return words[offset % 4 :][:count]


def test_random_bits(agree):
    """Each thread has its own sequence."""

    @T.prim_func
    def kernel(Out: T.Tensor((2, 4, 6), "uint32")):
        with T.Kernel(2, threads=4) as bx:
            tx = T.get_thread_binding()
            T.rng_init(0x1234567890, off=3)
            for k in T.serial(6):
                Out[bx, tx, k] = T.rng_rand()

    expected = [[stream(0x1234567890, b * 4 + t, 3, 6) for t in range(4)] for b in range(2)]
    agree(kernel, [np.zeros((2, 4, 6), np.uint32)], {0: np.array(expected, np.uint32)})


def test_random_floats(agree):
    @T.prim_func
    def kernel(
        U: T.Tensor((8,), "float32"), D: T.Tensor((4,), "float64"), G: T.Tensor((6,), "float32")
    ):
        with T.Kernel(1, threads=1):
            T.rng_init(42, seq=7)
            for k in T.serial(8):
                U[k] = T.rng_rand_float()
            for k in T.serial(4):
                D[k] = T.rng_rand_float(bit=64)
            for k in T.serial(6):
                G[k] = T.rng_rand_float(dist="normal")

    words = stream(42, 7, 0, 22)
    uniform = np.array(words[:8]) * 2.0**-32 + 2.0**-33
    pairs = np.array(words[8:16], np.uint64).reshape(4, 2)
    double = (pairs[:, 0] ^ (pairs[:, 1] << np.uint64(21))) * 2.0**-53 + 2.0**-54
    u, v = (np.array(words[16:22]).reshape(3, 2) * 2.0**-32 + 2.0**-33).T
    radius = np.sqrt(-2 * np.log(u))
    normal = np.stack([np.sin(2 * np.pi * v) * radius, np.cos(2 * np.pi * v) * radius], 1).reshape(
        -1
    )
    arguments = [np.zeros(8, np.float32), np.zeros(4), np.zeros(6, np.float32)]
    expected = {0: uniform.astype(np.float32), 1: double, 2: normal.astype(np.float32)}
    agree(kernel, arguments, expected)


@pytest.mark.parametrize("generator", ["curandStatePhilox4_32_10_t", "curandStateXORWOW_t"])
def test_iterations_of_parallel(agree, generator):
    """No thread is named for an iteration: each has a sequence of its own, also in another loop."""

    @T.prim_func
    def kernel(Out: T.Tensor((2, 2, 6, 5), "uint32"), Last: T.Tensor((2, 4), "uint32"), n: T.int32):
        with T.Kernel(2, threads=4) as bx:
            T.rng_init(0x1234567890, off=3, generator=generator)
            for turn in T.serial(2):
                for i, j in T.Parallel(2, 3):
                    for k in T.serial(5):
                        Out[bx, turn, i * 3 + j, k] = T.rng_rand()
            for i in T.Parallel(n):
                if i > 0:
                    Last[bx, i] = T.rng_rand()

    key = [0x34567890, 0x12]

    def drawn(block, loop, iteration, count):
        words = [philox([n, iteration, block, loop], key) for n in range(3)]
        return [word for four in words for word in four][3:][:count]

    blocks, turns = range(2), range(2)
    out = [[[drawn(b, t + 1, i, 5) for i in range(6)] for t in turns] for b in blocks]
    last = [[drawn(b, 3, i, 1)[0] if i else 0 for i in range(4)] for b in blocks]
    arguments = [np.zeros((2, 2, 6, 5), np.uint32), np.zeros((2, 4), np.uint32), 4]
    agree(kernel, arguments, {0: np.array(out, np.uint32), 1: np.array(last, np.uint32)})


def test_generators_of_branches(agree):
    """A loop after the branch with T.rng_init has no generator, and needs none."""

    @T.prim_func
    def kernel(Out: T.Tensor((8,), "uint32"), n: T.int32):
        with T.Kernel(1, threads=4):
            if n > 0:
                T.rng_init(42, seq=7)
                for i in T.Parallel(4):
                    Out[i] = T.rng_rand()
            for i in T.Parallel(4):
                Out[i + 4] = T.cast(i, "uint32")

    first = [philox([0, i, 7, 1], [42, 0])[0] for i in range(4)]
    expected = np.array([*first, *range(4)], np.uint32)
    agree(kernel, [np.zeros(8, np.uint32), 1], {0: expected})


def _of_loop(number, iteration):
    return philox([0, iteration, 0, number], [7, 0])[0]


@pytest.mark.parametrize("threads", [1, 2, 32])
def test_numbers_do_not_depend_on_the_threads(agree, threads):
    @T.prim_func
    def kernel(B: T.Tensor((8, 8), "uint32")):
        with T.Kernel(1, threads=threads):
            T.rng_init(7)
            for turn in T.serial(2):
                for i in T.Parallel(8):
                    B[turn, i] = T.rng_rand()
            for i, j in T.Parallel(6, 8):
                B[2 + i, j] = T.rng_rand()

    rows = [[_of_loop(turn, i) for i in range(8)] for turn in (1, 2)]
    rest = np.reshape([_of_loop(3, i) for i in range(48)], (6, 8))
    agree(
        kernel, [np.zeros((8, 8), np.uint32)], {0: np.concatenate([rows, rest]).astype(np.uint32)}
    )


def test_loops_of_some_threads(agree):
    """The numbers of the loops behind a branch are the same in all threads, whoever drew in it."""

    @T.prim_func
    def kernel(B: T.Tensor((8, 8), "uint32"), n: T.int32):
        with T.Kernel(1, threads=256):
            T.rng_init(7)
            with T.ws(0):
                for turn in T.serial(n):
                    for i in T.Parallel(8):
                        B[turn, i] = T.rng_rand()
            for i in T.Parallel(8):
                B[3, i] = T.rng_rand()
            if T.get_thread_binding() < 128:
                for i in T.Parallel(8):
                    B[4, i] = T.rng_rand()
            else:
                if n > 2:
                    for i in T.Parallel(8):
                        B[6, i] = T.rng_rand()
                for i in T.Parallel(8):
                    B[5, i] = T.rng_rand()
            for i in T.Parallel(8):
                B[7, i] = T.rng_rand()

    block = 1 << 16
    first = 1 + block
    second = first + 1
    numbers = [1, 2, 3, first, second, second + 4096, second, second + block]
    rows = [[_of_loop(n, i) for i in range(8)] for n in numbers]
    agree(kernel, [np.zeros((8, 8), np.uint32), 3], {0: np.array(rows, np.uint32)})


# The other two generators, whose sequences are far steps of a recurrence


MASK = 2**32 - 1


def xorwow(state):
    """Marsaglia's five words and counter, one step on."""
    *v, count = state
    t = v[0] ^ (v[0] >> 2)
    last = (v[4] ^ (v[4] << 4) ^ t ^ (t << 1)) & MASK
    return [*v[1:], last, (count + 362437) & MASK]


def xorwow_start(seed):
    low, high = (seed & MASK) ^ 0xAAD26B49, (seed >> 32) ^ 0xF7DCEFDD
    a, b = low * 1099087573 & MASK, high * 2591861531 & MASK
    v = [123456789 + a, 362436069 ^ a, 521288629 + b, 88675123 ^ b, 5783321 + a]
    return [word & MASK for word in (*v, 6615241 + a + b)]


def xorwow_far(state, steps):
    """So many steps on: powers of the step's matrix over bits."""
    square = []
    for bit in range(160):
        moved = xorwow([*((1 << bit) >> (32 * n) & MASK for n in range(5)), 0])[:5]
        square.append(sum(word << (32 * n) for n, word in enumerate(moved)))

    def times(vector):
        total = 0
        for column in square:
            total ^= column if vector & 1 else 0
            vector >>= 1
        return total

    vector = sum(word << (32 * n) for n, word in enumerate(state[:5]))
    count = (state[5] + 362437 * steps) & MASK
    while steps:
        vector = times(vector) if steps & 1 else vector
        square = [times(column) for column in square]
        steps >>= 1
    return [*(vector >> (32 * n) & MASK for n in range(5)), count]


def test_xorwow(agree):
    """With the seed of cuRAND's example: its first ten numbers, each from a sequence of its own."""

    @T.prim_func
    def kernel(
        U: T.Tensor((2, 5), "float32"), Out: T.Tensor((5, 4), "uint32"), n: T.int32, m: T.int64
    ):
        with T.Kernel(2, threads=5) as bx:
            tx = T.get_thread_binding()
            T.rng_init(1234, generator="curandStateXORWOW_t")
            U[bx, tx] = T.rng_rand_float()
            if bx == 0 and tx == 0:
                T.rng_init(0x123456789A, 0, 0, "curandStateXORWOW_t")
                for k in T.serial(4):
                    Out[0, k] = T.rng_rand()
                T.rng_init(0x123456789A, 0, 2, "curandStateXORWOW_t")
                for k in T.serial(4):
                    Out[1, k] = T.rng_rand()
                T.rng_init(0x123456789A, 0, n, "curandStateXORWOW_t")
                for k in T.serial(4):
                    Out[2, k] = T.rng_rand()
                T.rng_init(0x123456789A, 1, m, "curandStateXORWOW_t")
                for k in T.serial(4):
                    Out[3, k] = T.rng_rand()
                T.rng_init(0x123456789A, n - 2, generator="curandStateXORWOW_t")
                for k in T.serial(4):
                    Out[4, k] = T.rng_rand()

    # From the documentation of cuRAND, https://docs.nvidia.com/cuda/curand
    published = [0.1455, 0.8202, 0.5504, 0.2948, 0.9147, 0.8690, 0.3219, 0.7829, 0.0113, 0.2855]

    def after(state):
        words = []
        for _ in range(4):
            state = xorwow(state)
            words.append((state[4] + state[5]) & MASK)
        return words

    start = xorwow_start(0x123456789A)
    second = xorwow(xorwow(start))
    third = xorwow(second)
    fourth = xorwow_far(start, 2**67)
    starts = [start, second, third, xorwow_far(fourth, 2**33), fourth]
    rows = np.array([after(s) for s in starts], np.uint32)
    arguments = [np.zeros((2, 5), np.float32), np.zeros((5, 4), np.uint32), 3, 2**33]
    for made in (agree.compiled(kernel, arguments), agree.interpreted(kernel, arguments)):
        np.testing.assert_allclose(made[0].reshape(-1), published, atol=5e-5)
        np.testing.assert_array_equal(made[1], rows)


M1, M2 = 4294967087, 4294944443


def mrg_numbers(seed, first, count):
    """L'Ecuyer's combined generator, from the number `first` on."""
    x, y = (seed & MASK) ^ 0x55555555, (seed >> 32) ^ 0xAAAAAAAA
    scale = (x, y, x, y, x, y) if seed else (1,) * 6
    values = [12345 * s % (M1 if n < 3 else M2) for n, s in enumerate(scale)]
    matrices = []
    for modulus, row in ((M1, (M1 - 810728, 1403580, 0)), (M2, (M2 - 1370589, 0, 527612))):
        power = np.array([[0, 1, 0], [0, 0, 1], row], dtype=object)
        total, rest = np.eye(3, dtype=int).astype(object), first
        while rest:
            total = total @ power % modulus if rest & 1 else total
            power, rest = power @ power % modulus, rest >> 1
        matrices.append(total)
    a = list(matrices[0] @ np.array(values[:3], dtype=object) % M1)
    b = list(matrices[1] @ np.array(values[3:], dtype=object) % M2)
    found = []
    for _ in range(count):
        a = [*a[1:], (1403580 * a[1] - 810728 * a[0]) % M1]
        b = [*b[1:], (527612 * b[2] - 1370589 * b[0]) % M2]
        found.append((a[2] - b[2]) % M1 or M1)
    return found


def test_mrg_reference():
    """The first number that L'Ecuyer's own program prints for seeds of 12345."""
    assert abs(mrg_numbers(0, 0, 1)[0] / (M1 + 1) - 0.127011122046577) < 1e-14


def test_mrg(agree):
    name = "curandStateMRG32k3a_t"

    @T.prim_func
    def kernel(
        Out: T.Tensor((2, 4, 3), "uint32"), U: T.Tensor((3,), "float32"),
        D: T.Tensor((3,), "float64"), E: T.Tensor((2, 3), "uint32"), n: T.int32,
    ):  # fmt: skip
        with T.Kernel(2, threads=4) as bx:
            tx = T.get_thread_binding()
            T.rng_init(0x1234567890, off=n, generator=name)
            for k in T.serial(3):
                Out[bx, tx, k] = T.rng_rand()
            if bx == 0 and tx == 0:
                T.rng_init(0, 0, generator=name)
                for k in T.serial(3):
                    U[k] = T.rng_rand_float()
                for k in T.serial(3):
                    D[k] = T.rng_rand_float(64)
                T.rng_init(7, n - 4, generator=name)
                for k in T.serial(3):
                    E[0, k] = T.rng_rand()
                T.rng_init(7, 2**40, 5, name)
                for k in T.serial(3):
                    E[1, k] = T.rng_rand()

    def bits(seed, first):
        return [int(v * 1.000000048662) for v in mrg_numbers(seed, first, 3)]

    threads = [bits(0x1234567890, (number << 76) + 3) for number in range(8)]
    uniform = np.array(mrg_numbers(0, 0, 6)) * 2.3283065498378288e-10
    starts = [(2**64 - 1) << 76, (2**116) + 5]
    arguments = [np.zeros((2, 4, 3), np.uint32), np.zeros(3, np.float32), np.zeros(3),
                 np.zeros((2, 3), np.uint32), 3]  # fmt: skip
    expected = {
        0: np.array(threads, np.uint32).reshape(2, 4, 3),
        1: uniform[:3].astype(np.float32),
        2: uniform[3:],
        3: np.array([bits(7, first) for first in starts], np.uint32),
    }
    agree(kernel, arguments, expected, 1e-15)


@pytest.mark.parametrize(
    "name", ["curandStatePhilox4_32_10_t", "curandStateXORWOW_t", "curandStateMRG32k3a_t"]
)
def test_normal_numbers(agree, name):
    """Of uniform ones, two at a time; each width keeps a second one of its own."""

    @T.prim_func
    def kernel(
        U: T.Tensor((4,), "float32"), V: T.Tensor((4,), "float64"), G: T.Tensor((3,), "float32"),
        D: T.Tensor((3,), "float64"), M: T.Tensor((4096,), "float64"),
    ):  # fmt: skip
        with T.Kernel(1, threads=1):
            T.rng_init(5, 3, generator=name)
            for k in T.serial(4):
                U[k] = T.rng_rand_float()
            for k in T.serial(4):
                V[k] = T.rng_rand_float(64)
            T.rng_init(5, 3, generator=name)
            G[0] = T.rng_rand_float(dist="normal")
            G[1] = T.rng_rand_float(dist="normal")
            G[2] = T.rng_rand_float(dist="normal")
            T.rng_rand_float()
            T.rng_init(5, 3, 4, generator=name)
            D[0] = T.rng_rand_float(64, "normal")
            D[1] = T.rng_rand_float(64, "normal")
            D[2] = T.rng_rand_float(64, "normal")
            for k in T.serial(4096):
                M[k] = T.rng_rand_float(64, "normal")

    arguments = [np.zeros(4, np.float32), np.zeros(4), np.zeros(3, np.float32), np.zeros(3)]
    arguments.append(np.zeros(4096))
    u, v, g, d, m = agree.compiled(kernel, arguments)
    for uniform, normal in ((u, g), (v, d)):
        wide = uniform.astype(np.float64)
        radius = np.sqrt(-2 * np.log(wide[::2]))
        angle = 2 * np.pi * wide[1::2]
        pairs = np.stack([np.sin(angle) * radius, np.cos(angle) * radius], 1).reshape(-1)
        np.testing.assert_allclose(normal, pairs[:3], rtol=1e-5 if normal is g else 1e-12)
    assert abs(m.mean()) < 0.06 and abs(m.std() - 1) < 0.05
    agree(kernel, arguments, {2: g, 3: d, 4: m}, 1e-6)


def test_normal_numbers_are_the_same_on_all_targets(agree):
    """To the bit; they are rounded once."""

    @T.prim_func
    def kernel(U: T.Tensor((4096,), "float32"), G: T.Tensor((4096,), "float32")):
        with T.Kernel(1, threads=1):
            T.rng_init(5)
            for k in T.serial(4096):
                U[k] = T.rng_rand_float()
            T.rng_init(5)
            for k in T.serial(4096):
                G[k] = T.rng_rand_float(32, "normal")

    arguments = [np.zeros(4096, np.float32)] * 2
    uniform, ours = agree.compiled(kernel, arguments)
    _, reference = agree.interpreted(kernel, arguments)
    np.testing.assert_array_equal(ours.view(np.uint32), reference.view(np.uint32))
    radius = np.sqrt(-2 * np.log(uniform[::2].astype(np.float64)))
    angle = (2 * np.pi * uniform[1::2].astype(np.float64)).astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(ours[::2], radius * np.sin(angle), rtol=0, atol=2e-6)


def test_a_sequence_for_each_thread_of_all_dims(agree):
    """x fastest, as CUDA numbers the threads of a block, and the blocks."""

    @T.prim_func
    def kernel(Out: T.Tensor((2, 3, 2, 4), "uint32")):
        with T.Kernel(3, 2, threads=(4, 2)) as (bx, by):
            tx, ty = T.get_thread_binding(0), T.get_thread_binding(1)
            T.rng_init(11)
            Out[by, bx, ty, tx] = T.rng_rand()

    expected = np.array([stream(11, n, 0, 1)[0] for n in range(48)], np.uint32)
    agree(kernel, [np.zeros((2, 3, 2, 4), np.uint32)], {0: expected.reshape(2, 3, 2, 4)})

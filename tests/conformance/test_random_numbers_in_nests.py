# SPDX-License-Identifier: Apache-2.0
"""T.rng_init and loops of T.Parallel in each other, or with other loops: which are one, and whose
iterations have sequences of their own."""

import numpy as np

import tilewright.language as T

NUMBERS = T.Tensor((8, 8), "uint32")
EMPTY = np.zeros((8, 8), np.uint32)


def test_a_nest_that_draws_nothing(agree):
    @T.prim_func
    def kernel(B: NUMBERS):
        with T.Kernel(1, threads=32):
            T.rng_init(7)
            for i in T.Parallel(8):
                for j in T.Parallel(8):
                    B[i, j] = i * j

    agree(kernel, [EMPTY], {0: np.outer(range(8), range(8)).astype(np.uint32)})


def test_a_nest_draws_as_one_loop(agree):
    @T.prim_func
    def nested(B: NUMBERS):
        with T.Kernel(1, threads=32):
            T.rng_init(7)
            for i in T.Parallel(8):
                for j in T.Parallel(8):
                    B[i, j] = T.rng_rand()

    @T.prim_func
    def flat(B: NUMBERS):
        with T.Kernel(1, threads=32):
            T.rng_init(7)
            for i, j in T.Parallel(8, 8):
                B[i, j] = T.rng_rand()

    (numbers,) = agree.compiled(flat, [EMPTY])
    assert len(np.unique(numbers)) == 64
    agree(nested, [EMPTY], {0: numbers})


def test_other_loops_in_an_iteration_draw_on(agree):
    """Turn by turn, also where the loop is the only statement."""

    @T.prim_func
    def serial(B: NUMBERS):
        with T.Kernel(1, threads=32):
            T.rng_init(7)
            for i in T.Parallel(8):
                for j in T.serial(8):
                    B[i, j] = T.rng_rand()

    @T.prim_func
    def listed(B: NUMBERS):
        with T.Kernel(1, threads=32):
            T.rng_init(7)
            for i in T.Parallel(8):
                for j in [0, 1, 2, 3, 4, 5, 6, 7]:
                    B[i, j] = T.rng_rand()

    (numbers,) = agree.compiled(serial, [EMPTY])
    assert len(np.unique(numbers)) == 64
    agree(serial, [EMPTY], {0: numbers})
    agree(listed, [EMPTY], {0: numbers})

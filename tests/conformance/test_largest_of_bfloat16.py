# SPDX-License-Identifier: Apache-2.0
"""The maximum of rows of bfloat16, which AVX-512 takes of their bits: signs, infinities, NaN."""

import numpy as np
import pytest

import tilewright
import tilewright.language as T

COLUMNS = 512


@tilewright.jit(out_idx=[1])
def largest_of_rows(rows: int, clear: bool):
    @T.prim_func
    def largest_kernel(X: T.Tensor((rows, COLUMNS), "bfloat16"), Y: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, threads=128) as row:
            x = T.alloc_fragment((1, COLUMNS), "float32")
            largest = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            T.fill(largest, -2.0)
            T.reduce_max(x, largest, dim=1, clear=clear)
            for i in T.Parallel(1):
                Y[row + i] = largest[i]

    return largest_kernel


@pytest.mark.parametrize("clear", [True, False])
def test_largest(clear):
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(3)
    rows = random.standard_normal((12, COLUMNS)).astype(np.float32)
    rows[1] = -np.abs(rows[1]) - 1
    rows[2, 100] = np.inf
    rows[3, 7:] = -np.inf
    rows[4] = -np.inf
    rows[5, [0, 33, 511]] = np.nan
    rows[6] = -np.abs(rows[6])
    rows[6, 5::2] = -np.nan
    rows[7] = np.nan
    rows[8] = -np.nan
    rows[9] = -0.0
    rows[10] = -np.abs(rows[10]) - 3
    rows[11, 40] = np.inf
    rows[11, 41] = np.nan
    x = torch.from_numpy(rows).bfloat16()
    x[6, 5::2] = torch.tensor([-64], dtype=torch.int16).view(torch.bfloat16)  # 0xffc0
    x[8] = x[6, 5]
    exact = np.fmax.reduce(x.float().numpy(), axis=1, initial=-np.inf)
    if not clear:
        exact = np.fmax(exact, np.float32(-2))
    np.testing.assert_array_equal(largest_of_rows(12, clear)(x).numpy(), exact)

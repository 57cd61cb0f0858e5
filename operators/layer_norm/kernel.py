# SPDX-License-Identifier: Apache-2.0
"""Layer normalisation of rows: two passes over a row that stays in the cache."""

import tilewright
import tilewright.language as T


@tilewright.jit(out_idx=[3], pass_configs={tilewright.PassConfigKey.TL_ENABLE_FAST_MATH: True})
def layer_norm(rows: int, columns: int, dtype: str, epsilon: float = 1e-5):
    """X and the result [rows, columns], weights and bias [columns]."""

    @T.prim_func
    def layer_norm_kernel(
        X: T.Tensor((rows, columns), dtype),
        W: T.Tensor((columns,), dtype),
        B: T.Tensor((columns,), dtype),
        Y: T.Tensor((rows, columns), dtype),
    ):
        with T.Kernel(rows, threads=128) as row:
            x = T.alloc_fragment((1, columns), "float32")
            square = T.alloc_fragment((1, columns), "float32")
            mean = T.alloc_fragment((1,), "float32")
            factor = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            T.reduce_sum(x, mean, dim=1)
            for i in T.Parallel(1):
                mean[i] = mean[i] / columns
            for i, j in T.Parallel(1, columns):
                square[i, j] = (x[i, j] - mean[i]) * (x[i, j] - mean[i])
            T.reduce_sum(square, factor, dim=1)
            for i in T.Parallel(1):
                factor[i] = T.rsqrt(factor[i] / columns + epsilon)
            for i, j in T.Parallel(1, columns):
                Y[row + i, j] = (x[i, j] - mean[i]) * factor[i] * W[j] + B[j]

    return layer_norm_kernel

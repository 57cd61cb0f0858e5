# SPDX-License-Identifier: Apache-2.0
"""Root-mean-square normalisation of rows."""

import tilewright
import tilewright.language as T


@tilewright.jit(out_idx=[2], pass_configs={tilewright.PassConfigKey.TL_ENABLE_FAST_MATH: True})
def rms_norm(rows: int, columns: int, dtype: str, epsilon: float = 1e-6):
    """X and the result [rows, columns], weights [columns]."""

    @T.prim_func
    def rms_norm_kernel(
        X: T.Tensor((rows, columns), dtype),
        W: T.Tensor((columns,), dtype),
        Y: T.Tensor((rows, columns), dtype),
    ):
        with T.Kernel(rows, threads=128) as row:
            x = T.alloc_fragment((1, columns), "float32")
            square = T.alloc_fragment((1, columns), "float32")
            factor = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            for i, j in T.Parallel(1, columns):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, factor, dim=1)
            for i in T.Parallel(1):
                factor[i] = T.rsqrt(factor[i] / columns + epsilon)
            for i, j in T.Parallel(1, columns):
                Y[row + i, j] = x[i, j] * factor[i] * W[j]

    return rms_norm_kernel

# SPDX-License-Identifier: Apache-2.0
"""Softmax along the rows."""

import tilewright
import tilewright.language as T


@tilewright.jit(out_idx=[1], pass_configs={tilewright.PassConfigKey.TL_ENABLE_FAST_MATH: True})
def softmax(rows: int, columns: int, dtype: str):
    """X and the result [rows, columns]."""

    @T.prim_func
    def softmax_kernel(X: T.Tensor((rows, columns), dtype), Y: T.Tensor((rows, columns), dtype)):
        with T.Kernel(rows, threads=128) as row:
            x = T.alloc_fragment((1, columns), "float32")
            largest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(1, columns):
                x[i, j] = T.exp(x[i, j] - largest[i])
            T.reduce_sum(x, total, dim=1)
            for i in T.Parallel(1):
                total[i] = 1.0 / total[i]
            for i, j in T.Parallel(1, columns):
                Y[row + i, j] = x[i, j] * total[i]

    return softmax_kernel

# SPDX-License-Identifier: Apache-2.0
"""Softmax along the rows."""

import tilewright
import tilewright.language as T

#: The largest element is subtracted from all.
FAST = {tilewright.PassConfigKey.TL_ENABLE_FAST_MATH: True, "tilewright.exp_most": 0}
#: log2(e) in 16 bits: with the 8 of a bfloat16 a product is exact, so that a difference of two is
#: rounded once, however large they are.
LOG2_E = 47274 / 2**15
#: Products of larger numbers with it might overflow; theirs are so far apart that a quarter does.
LARGE = 1e38


def softmax(rows: int, columns: int, dtype: str):
    """X and the result [rows, columns]."""
    if dtype == "bfloat16":
        return softmax_of_bfloat16(rows, columns)
    return softmax_of_floats(rows, columns, dtype)


@tilewright.jit(out_idx=[1], pass_configs=FAST)
def softmax_of_floats(rows: int, columns: int, dtype: str):
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


@tilewright.jit(out_idx=[1], pass_configs={**FAST, "tilewright.exp_bits": 13})
def softmax_of_bfloat16(rows: int, columns: int):
    """As above: a product and a sum in one operation, and an exp2 of 13 bits, of which the result
    shows 8."""
    dtype = "bfloat16"

    @T.prim_func
    def softmax_kernel(X: T.Tensor((rows, columns), dtype), Y: T.Tensor((rows, columns), dtype)):
        with T.Kernel(rows, threads=128) as row:
            x = T.alloc_fragment((1, columns), "float32")
            power = T.alloc_fragment((1, columns), "float32")
            largest = T.alloc_fragment((1,), "float32")
            scale = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            T.reduce_max(x, largest, dim=1)
            for i in T.Parallel(1):
                scale[i] = T.if_then_else(T.abs(largest[i]) < LARGE, LOG2_E, LOG2_E / 4)
                largest[i] *= scale[i]
            for i, j in T.Parallel(1, columns):
                power[i, j] = T.exp2(x[i, j] * scale[i] - largest[i])
            T.reduce_sum(power, total, dim=1)
            for i in T.Parallel(1):
                total[i] = 1.0 / total[i]
            for i, j in T.Parallel(1, columns):
                Y[row + i, j] = power[i, j] * total[i]

    return softmax_kernel

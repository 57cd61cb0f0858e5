# SPDX-License-Identifier: Apache-2.0
"""A chain of element-wise operations: silu(A) B."""

import tilewright
import tilewright.language as T

FAST = {tilewright.PassConfigKey.TL_ENABLE_FAST_MATH: True}


def swiglu(count: int, dtype: str, block: int | None = None):
    """A, B and the result [count], by blocks of 2 KB; computed in float32, of which a bfloat16
    shows 8 bits."""
    block = block or (1024 if dtype == "bfloat16" else 512)
    bits = {"tilewright.exp_bits": 13} if dtype == "bfloat16" else {}
    factory = tilewright.jit(out_idx=[2], pass_configs={**FAST, **bits})(swiglu_of)
    return factory(count, dtype, block)


def swiglu_of(count: int, dtype: str, block: int):
    """As above, with any exp."""

    @T.prim_func
    def swiglu_kernel(
        A: T.Tensor((count,), dtype), B: T.Tensor((count,), dtype), Y: T.Tensor((count,), dtype)
    ):
        with T.Kernel(T.ceildiv(count, block), threads=128) as bx:
            # Copies say what the next block needs, so that it is asked for in time.
            a = T.alloc_fragment((block,), dtype)
            b = T.alloc_fragment((block,), dtype)
            T.copy(A[bx * block], a)
            T.copy(B[bx * block], b)
            for i in T.Parallel(block):
                gate = T.cast(a[i], "float32")
                Y[bx * block + i] = gate / (1.0 + T.exp(-gate)) * b[i]

    return swiglu_kernel

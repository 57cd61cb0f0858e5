# SPDX-License-Identifier: Apache-2.0
"""FlashAttention's forward pass on an Ascend NPU, written as for a GPU: gemms and element-wise code
use the same tiles, and nothing is said of cores, flags or workspaces. The vector cores have the
scores and the result, half of the rows each, and add to them what the cube core multiplies.

Run it without an NPU: tilewright run --target ascend examples/ascend/flash_attention.py
"""

import numpy as np

import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[3], target="ascend")
def flash_attention(
    heads, length, dim, causal, block_M=64, block_N=128, stages=1, npu_threads=None
):
    """softmax(Q K^T / sqrt(dim)) V. `npu_threads`: launched as on an NPU, not as on a GPU."""
    scale = dim**-0.5 * 1.4426950408889634  # 2^x instead of e^x
    shape = (length, heads, dim)
    dtype, accum = "float16", "float32"
    launch = {"is_npu": True, "threads": npu_threads} if npu_threads else {"threads": 128}
    blocks = length // block_M

    @T.prim_func
    def attention(
        Q: T.Tensor(shape, dtype),
        K: T.Tensor(shape, dtype),
        V: T.Tensor(shape, dtype),
        Out: T.Tensor(shape, dtype),
    ):
        with T.Kernel(blocks * heads, **launch) as block:
            bx = block % blocks
            head = block // blocks
            q = T.alloc_shared((block_M, dim), dtype)
            k = T.alloc_shared((block_N, dim), dtype)
            v = T.alloc_shared((block_N, dim), dtype)
            acc_s = T.alloc_fragment((block_M, block_N), accum)
            weights = T.alloc_fragment((block_M, block_N), dtype)
            acc_o = T.alloc_fragment((block_M, dim), accum)
            largest = T.alloc_fragment((block_M,), accum)
            largest_before = T.alloc_fragment((block_M,), accum)
            rescale = T.alloc_fragment((block_M,), accum)
            row_sum = T.alloc_fragment((block_M,), accum)
            total = T.alloc_fragment((block_M,), accum)

            T.copy(Q[bx * block_M : (bx + 1) * block_M, head, :], q)
            T.fill(acc_o, 0)
            T.fill(total, 0)
            T.fill(largest, -T.infinity(accum))
            keys = (bx + 1) * block_M if causal else length
            for step in T.Pipelined(T.ceildiv(keys, block_N), num_stages=stages):
                T.copy(K[step * block_N : (step + 1) * block_N, head, :], k)
                if causal:
                    for i, j in T.Parallel(block_M, block_N):
                        acc_s[i, j] = T.if_then_else(
                            bx * block_M + i >= step * block_N + j, 0, -T.infinity(accum)
                        )
                else:
                    T.clear(acc_s)
                T.gemm(q, k, acc_s, transpose_B=True)
                T.copy(largest, largest_before)
                T.reduce_max(acc_s, largest, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    rescale[i] = T.exp2((largest_before[i] - largest[i]) * scale)
                for i, j in T.Parallel(block_M, block_N):
                    acc_s[i, j] = T.exp2((acc_s[i, j] - largest[i]) * scale)
                T.reduce_sum(acc_s, row_sum, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * rescale[i] + row_sum[i]
                T.copy(acc_s, weights)
                for i, j in T.Parallel(block_M, dim):
                    acc_o[i, j] *= rescale[i]
                T.copy(V[step * block_N : (step + 1) * block_N, head, :], v)
                T.gemm(weights, v, acc_o)
            for i, j in T.Parallel(block_M, dim):
                acc_o[i, j] /= total[i]
            T.copy(acc_o, Out[bx * block_M : (bx + 1) * block_M, head, :])

    return attention


def reference(q, k, v, causal):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(len(q), dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), v)


def main():
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((256, 2, 128)).astype(np.float16) for _ in range(3))
    for causal in (False, True):
        result = flash_attention(2, 256, 128, causal)(q, k, v)
        np.testing.assert_allclose(result, reference(q, k, v, causal), rtol=5e-3, atol=2e-3)
        print(f"FlashAttention, {'causal' if causal else 'full'}: Kernel Output Match!")


if __name__ == "__main__":
    main()

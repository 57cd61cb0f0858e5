# SPDX-License-Identifier: Apache-2.0
"""Seed 002, section 7: weights of 4 bits are unpacked on the vector cores and multiplied on the
cube core, with `vid`, a workspace and no synchronisation in the text."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright.language as T
from tilewright.testing import interpret

VEC_NUM = 2
BLOCK_K_HALF = 128


def w4a8_gemm_cv(M: int, N: int, K: int) -> Any:
    K_half = K // 2
    block_M = 64
    block_N = 16
    block_N_2 = block_N // VEC_NUM
    block_K_chunk = BLOCK_K_HALF * 2

    k_num = T.ceildiv(K_half, BLOCK_K_HALF)
    m_num = T.ceildiv(M, block_M)
    n_num = T.ceildiv(N, block_N)

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "int8"),
        B_packed: T.Tensor((N, K_half), "uint8"),
        workspace: T.Tensor((N, K), "int8"),
        C: T.Tensor((M, N), "int32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(m_num * n_num, is_npu=True) as (cid, vid):
            bm = cid // n_num
            bn = cid % n_num

            packed_ub = T.alloc_shared((BLOCK_K_HALF,), "uint8")
            wide_ub = T.alloc_shared((BLOCK_K_HALF,), "int16")
            low_ub = T.alloc_shared((BLOCK_K_HALF,), "int16")
            high_ub = T.alloc_shared((BLOCK_K_HALF,), "int16")
            output_ub = T.alloc_shared((BLOCK_K_HALF * 2,), "int8")

            for row in T.serial(block_N_2):
                actual_row = bn * block_N + vid * block_N_2 + row
                for k_chunk in T.serial(k_num):
                    chunk_offset = k_chunk * BLOCK_K_HALF
                    T.copy(B_packed[actual_row, chunk_offset], packed_ub)
                    # Both halves of a byte as signed numbers: shifted up, then down again.
                    T.tile.cast(wide_ub, packed_ub, "CAST_NONE")
                    T.tile.bitwise_lshift(low_ub, wide_ub, 12)
                    T.tile.bitwise_rshift(low_ub, low_ub, 12)
                    T.tile.bitwise_lshift(high_ub, wide_ub, 8)
                    T.tile.bitwise_rshift(high_ub, high_ub, 12)
                    for i in T.Parallel(BLOCK_K_HALF):
                        output_ub[2 * i] = low_ub[i]
                        output_ub[2 * i + 1] = high_ub[i]
                    T.copy(output_ub, workspace[actual_row, chunk_offset * 2])

            A_L1 = T.alloc_shared((block_M, block_K_chunk), "int8")
            B_L1 = T.alloc_shared((block_N, block_K_chunk), "int8")
            C_L0 = T.alloc_fragment((block_M, block_N), "int32")

            for k_chunk in T.serial(k_num):
                k_offset = k_chunk * BLOCK_K_HALF * 2
                T.copy(A[bm * block_M, k_offset], A_L1)
                T.copy(workspace[bn * block_N, k_offset], B_L1)
                T.gemm_v0(A_L1, B_L1, C_L0, transpose_B=True, init=(k_chunk == 0))

            T.copy(C_L0, C[bm * block_M, bn * block_N])

    return main


def test_w4a8() -> None:
    random = np.random.default_rng(8)
    M, N, K = 64, 32, 512
    a = random.integers(-128, 128, (M, K)).astype(np.int8)
    weights = random.integers(-8, 8, (N, K))
    nibbles = (weights & 15).astype(np.uint8)
    packed = nibbles[:, 0::2] | (nibbles[:, 1::2] << 4)
    workspace, c = np.zeros((N, K), np.int8), np.zeros((M, N), np.int32)
    interpret(w4a8_gemm_cv(M, N, K), a, packed, workspace, c)
    np.testing.assert_array_equal(workspace, weights)
    np.testing.assert_array_equal(c, a.astype(np.int64) @ weights.T)

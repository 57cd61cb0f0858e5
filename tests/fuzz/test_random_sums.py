# SPDX-License-Identifier: Apache-2.0
"""Random gemms that AMD's AVX-512 makes by sums (multiply_by_sums.cpp): parts of larger tiles,
turned or not, ragged edges, sums that are cleared late, what isn't finite; in small whole numbers,
so that all sums are exact."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

SEED = int(os.environ.get("TILEWRIGHT_FUZZ_SEED", "20261129"))


@tilewright.jit(out_idx=[2], pass_configs={"tilewright.normwise_gemm": True})
def product(case: dict[str, Any]) -> Any:  # noqa: ANN401 - a kernel
    """C = A B; a and b lie behind `margin` rows and columns of their buffers."""
    m, n, k, margin, dtype = (case[x] for x in ("m", "n", "k", "margin", "dtype"))
    rows, columns, depth, turned_a, turned_b = (
        case[x] for x in ("M", "N", "K", "turned_a", "turned_b")
    )
    a_shape, b_shape = (k, m) if turned_a else (m, k), (n, k) if turned_b else (k, n)

    @T.prim_func
    def kernel(
        A: T.Tensor((depth, rows) if turned_a else (rows, depth), dtype),
        B: T.Tensor((columns, depth) if turned_b else (depth, columns), dtype),
        C: T.Tensor((rows, columns), case["out"]),
    ):
        with T.Kernel(T.ceildiv(columns, n), T.ceildiv(rows, m), threads=128) as (bx, by):
            a_buffer = T.alloc_shared((2, a_shape[0] + margin, a_shape[1] + margin), dtype)
            b_buffer = T.alloc_shared((b_shape[0] + margin, b_shape[1] + margin), dtype)
            c = T.alloc_fragment((m, n), "float32")
            if not case["late"]:
                T.clear(c)
            for step in T.Pipelined(T.ceildiv(depth, k), num_stages=2):
                half = step % 2 if case["in_turns"] else 1
                a = a_buffer[half, margin : margin + a_shape[0], margin : margin + a_shape[1]]
                b = b_buffer[margin : margin + b_shape[0], margin : margin + b_shape[1]]
                if turned_a:
                    T.copy(A[step * k : (step + 1) * k, by * m : (by + 1) * m], a)
                else:
                    T.copy(A[by * m : (by + 1) * m, step * k : (step + 1) * k], a)
                if turned_b:
                    T.copy(B[bx * n : (bx + 1) * n, step * k : (step + 1) * k], b)
                else:
                    T.copy(B[step * k : (step + 1) * k, bx * n : (bx + 1) * n], b)
                clear = (step == 0) if case["late"] else False
                T.gemm(a, b, c, transpose_A=turned_a, transpose_B=turned_b, clear_accum=clear)
            T.copy(c, C[by * m, bx * n])

    return kernel


@pytest.mark.parametrize("number", range(30))
def test_gemms_by_sums(number: int) -> None:
    random = np.random.default_rng([SEED, number])
    m, n, k = int(random.integers(1, 140)), 16 * int(random.integers(1, 9)), 8
    k *= int(random.integers(3, 30))
    steps, is_ragged = int(random.integers(1, 4)), bool(random.integers(2))

    def size(whole: int, tile: int) -> int:
        return whole - int(random.integers(0, tile)) * is_ragged

    case: dict[str, Any] = {"m": m, "n": n, "k": k, "margin": 8 * int(random.integers(3))}
    case |= {"M": size(2 * m, m), "N": size(2 * n, n), "K": size(steps * k, k)}
    case |= {x: bool(random.integers(2)) for x in ("turned_a", "turned_b", "late", "in_turns")}
    case |= {x: str(random.choice(["float32", "float16"])) for x in ("dtype", "out")}
    a = random.integers(-6, 7, (case["M"], case["K"])).astype(case["dtype"])
    b = random.integers(-6, 7, (case["K"], case["N"])).astype(case["dtype"])
    if random.integers(3) == 0:
        a[int(random.integers(case["M"])), int(random.integers(case["K"]))] = np.inf
    with np.errstate(invalid="ignore"):
        exact = np.einsum("ik,kj->ij", a.astype(np.float64), b.astype(np.float64))
    given = (a.T if case["turned_a"] else a, b.T if case["turned_b"] else b)
    result = product(case)(*map(np.ascontiguousarray, given))
    np.testing.assert_array_equal(result, exact.astype(case["out"]), err_msg=str(case))

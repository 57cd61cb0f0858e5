# SPDX-License-Identifier: Apache-2.0
"""A T.Pipelined loop in another: each loads ahead what its own iterations begin with, and a load of
the inner one's first iteration stays in the iteration of the outer one that needs it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
random = np.random.default_rng(0)
OUTER, INNER, ROWS, WIDTH = 3, 4, 16, 32


def copies(outer: int, inner: int) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        X: T.Tensor((OUTER * INNER * ROWS, WIDTH), "float32"),
        Y: T.Tensor((OUTER * INNER * ROWS, WIDTH), "float32"),
    ):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_shared((ROWS, WIDTH), "float32")
            for q in T.Pipelined(OUTER, num_stages=outer):
                for k in T.Pipelined(INNER, num_stages=inner):
                    T.copy(X[(q * INNER + k) * ROWS, 0], x)
                    T.copy(x, Y[(q * INNER + k) * ROWS, 0])

    return main


def scores(outer: int, inner: int) -> Any:
    """As attention, without its softmax: a tile of Q beside all of K and V."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        Q: T.Tensor((OUTER * ROWS, WIDTH), "float16"),
        K: T.Tensor((INNER * ROWS, WIDTH), "float16"),
        V: T.Tensor((INNER * ROWS, WIDTH), "float16"),
        O: T.Tensor((OUTER * ROWS, WIDTH), "float32"),  # noqa: E741
    ):
        with T.Kernel(1, threads=128) as _:
            q = T.alloc_shared((ROWS, WIDTH), "float16")
            k = T.alloc_shared((ROWS, WIDTH), "float16")
            v = T.alloc_shared((ROWS, WIDTH), "float16")
            s = T.alloc_fragment((ROWS, ROWS), "float32")
            p = T.alloc_fragment((ROWS, ROWS), "float16")
            o = T.alloc_fragment((ROWS, WIDTH), "float32")
            for t in T.Pipelined(OUTER, num_stages=outer):
                T.copy(Q[t * ROWS, 0], q)
                T.clear(o)
                for j in T.Pipelined(INNER, num_stages=inner):
                    T.copy(K[j * ROWS, 0], k)
                    T.clear(s)
                    T.gemm(q, k, s, transpose_B=True)
                    for a, b in T.Parallel(ROWS, ROWS):
                        s[a, b] = T.max(s[a, b], 0.0)
                    T.copy(s, p)
                    T.copy(V[j * ROWS, 0], v)
                    T.gemm(p, v, o)
                T.copy(o, O[t * ROWS, 0])

    return main


STAGES = [(2, 2), (3, 2), (2, 3), (1, 2), (2, 1)]
X = random.standard_normal((OUTER * INNER * ROWS, WIDTH)).astype(np.float32)
# Small whole numbers: all products and sums are exact.
Q, K, V = (
    random.integers(-2, 3, (count * ROWS, WIDTH)).astype(np.float16)
    for count in (OUTER, INNER, INNER)
)
WEIGHTS = np.maximum(Q.astype(np.float64) @ K.T.astype(np.float64), 0)
for stages in STAGES:
    GROUP.add(f"copies {stages}", copies(*stages), [X, np.zeros_like(X)], X)
    GROUP.add(
        f"scores {stages}",
        scores(*stages),
        [Q, K, V, np.zeros((OUTER * ROWS, WIDTH), np.float32)],
        WEIGHTS @ V.astype(np.float64),
    )


@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("kind", ["copies", "scores"])
def test_nested_pipelines(kind: str, stages: tuple[int, int]) -> None:
    GROUP.check(f"{kind} {stages}")
